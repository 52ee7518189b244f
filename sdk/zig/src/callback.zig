//! What a callback is, and how it joins a run.
//! Knows nothing of how calls come in; `component` and `testing` do.

const std = @import("std");
const json = @import("json.zig");
const memory = @import("memory.zig");
const Hook = @import("event.zig").Hook;

/// Kinds of decisions that a plugin has to announce. Reports and notes are free; writes to knobs go by their names.
pub const Requests = packed struct(u8) {
    stop: bool = false,
    end_epoch: bool = false,
    evaluate: bool = false,
    save: bool = false,
    log: bool = false,
    skip: bool = false,
    restore: bool = false,
    mute: bool = false,
};

/// Whether the loop waits for a callback.
pub const Lane = enum(u8) {
    /// The loop waits for the answer, within the deadline.
    @"inline",
    /// Events are handled on another thread, and the loop does not wait. Only reports and notes are taken.
    background,
};

/// What a plugin is, whatever its configuration. What it asks here is the most that it can ever get.
pub const Manifest = struct {
    /// Lower-case letters, digits and `-`.
    name: []const u8,
    /// Semantic version of the plugin.
    version: []const u8,
    /// One sentence on what it does.
    summary: []const u8,
    /// What it may want to ask for.
    requests: Requests = .{},
    /// Knobs that it may want to write, `*` allowed.
    knobs: []const []const u8 = &.{},
    /// Whether the loop waits for it.
    lane: Lane = .@"inline",
    /// Lower runs earlier. The configuration can override it.
    order: i32 = 0,
    /// Version of the field `state`; raise it when older state no longer reads, and add `migrate`. A new field with a
    /// default needs neither.
    state_version: u32 = 1,
};

/// The run that a callback joins. It lasts as long as the instance.
pub const Run = struct {
    /// Its name.
    name: []const u8 = "",
    /// What everything random in the run comes from.
    seed: u64 = 0,
    /// This process among `world_size`, from 0.
    rank: u32 = 0,
    /// How many processes train together; at least 1.
    world_size: u32 = 1,
    /// The step at which the callback joins: 0 at the beginning, more after a resume.
    step: u64 = 0,
    /// JSON: `model`, `task`, `parameters`, `groups`, `knobs`.
    description: []const u8 = "{}",

    /// The optimizer's parameter groups, in its order. Parsed at each call; they last as long as the instance.
    pub fn groups(run: Run) error{Wrong}![]const Group {
        var problem: json.Problem = .{};
        const Described = struct { groups: []const Group = &.{} };
        const described = try json.parse(Described, run.description, .ignore, memory.lasting, &problem);
        return described.groups;
    }
};

/// One of the optimizer's parameter groups, as configured: a resumed run shows the same values.
pub const Group = struct {
    /// Its name, which ends `learning-rate/<name>` and `weight-decay/<name>`.
    name: []const u8,
    /// The base learning rate.
    learning_rate: f64,
    /// The weight decay.
    weight_decay: f64 = 0,
    /// The names of the parameters in it.
    parameters: []const []const u8 = &.{},
};

/// When a callback is called and what it is shown then.
pub const Subscription = struct { hook: Hook, every: u32, reads: []const []const u8 };

/// What `start` gets: the run, and the means to subscribe or to refuse.
pub const Join = struct {
    /// The run that the callback joins.
    run: Run,
    subscriptions: std.ArrayList(Subscription) = .empty,
    problem: []const u8 = "",

    /// Call at each occurrence of the hook. `reads` names measurements, `*` allowed; they last until `start` returns.
    pub fn on(join: *Join, hook: Hook, reads: []const []const u8) void {
        join.every(1, hook, reads);
    }

    /// Call at every n-th occurrence of the hook, counted from the beginning of the run. The host refuses 0. Several
    /// subscriptions to one hook that are due together are one call, with everything that they read.
    pub fn every(join: *Join, n: u32, hook: Hook, reads: []const []const u8) void {
        const copy = memory.must(memory.scratch().dupe([]const u8, reads));
        const subscription: Subscription = .{ .hook = hook, .every = n, .reads = copy };
        memory.must(join.subscriptions.append(memory.scratch(), subscription));
    }

    /// `return join.refuse("patience is {d}: it has to be 1 or more", .{patience});` — the words are shown to whoever
    /// wrote the configuration.
    pub fn refuse(join: *Join, comptime format: []const u8, arguments: anytype) error{Refused} {
        join.problem = memory.print(format, arguments);
        return error.Refused;
    }
};

/// Settings of a callback that has none: any key in its configuration is a mistake.
pub const NoSettings = struct {};
