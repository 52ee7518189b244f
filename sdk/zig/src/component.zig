//! The component's exports: calls from the host, in the canonical ABI, to the one callback that a component has.

const std = @import("std");
const abi = @import("abi.zig");
const json = @import("json.zig");
const memory = @import("memory.zig");
const callback = @import("callback.zig");
const Answer = @import("answer.zig").Answer;
const Decision = @import("answer.zig").Decision;
const Event = @import("event.zig").Event;
const Instance = @import("instance.zig").Instance;
const SettingsOf = @import("instance.zig").SettingsOf;

/// Makes `Callback` the callback of this component: `comptime { host.exportCallback(LossCeiling); }`, once, in the root
/// file. Does nothing in a native test.
///
/// `Callback` is a struct with
/// - `pub const manifest: Manifest`;
/// - `pub const Settings`, a struct that the configuration is read into; left out for none;
/// - `pub fn start(settings: Settings, join: *Join) !Callback`;
/// - a method for each hook that it wants, `pub fn stepEnd(self: *Callback, event: *Event, answer: *Answer) void`, or
///   `handle` for all of them; one that returns an error fails the event;
/// - a field `state`, which is saved in checkpoints; everything else is made anew by `start`;
/// - `pub fn migrate(self: *Callback, saved: []const u8, version: u32) !void` for state of another version.
pub fn exportCallback(comptime Callback: type) void {
    if (!@import("builtin").cpu.arch.isWasm()) return;
    const Exports = Component(Callback);
    const prefix = "train-host:callback/callback@0.1.0#";
    for (.{ "describe", "start", "handle", "save", "load" }) |name| {
        @export(&@field(Exports, name), .{ .name = prefix ++ name });
        @export(&Exports.afterwards, .{ .name = "cabi_post_" ++ prefix ++ name });
    }
    @export(&Exports.allocate, .{ .name = "cabi_realloc" });
}

fn Component(comptime Callback: type) type {
    return struct {
        var instance: ?Instance(Callback) = null;

        /// Room for what the host passes in, and for what it answers to a question.
        fn allocate(old: ?[*]u8, old_size: usize, alignment: usize, size: usize) callconv(.c) usize {
            if (size == 0) return alignment;
            const log2: std.mem.Alignment = .fromByteUnits(alignment);
            const new = memory.scratch().rawAlloc(size, log2, @returnAddress()) orelse @panic("no memory is left");
            if (old_size > 0) @memcpy(new[0..@min(size, old_size)], old.?[0..@min(size, old_size)]);
            return @intFromPtr(new);
        }

        /// The host has read what a call returned.
        fn afterwards(_: usize) callconv(.c) void {
            memory.endCall();
        }

        fn describe() callconv(.c) *abi.Manifest {
            const manifest: callback.Manifest = Callback.manifest;
            return kept(abi.Manifest{
                .name = .of(manifest.name),
                .version = .of(manifest.version),
                .summary = .of(manifest.summary),
                .requests = @bitCast(manifest.requests),
                .knobs = texts(manifest.knobs),
                .lane = @backingInt(manifest.lane),
                .order = manifest.order,
                .config_schema = .of(comptime json.schema(SettingsOf(Callback))),
                .state_version = manifest.state_version,
            });
        }

        fn start(
            config: [*]const u8,
            config_length: usize,
            name: [*]const u8,
            name_length: usize,
            seed: u64,
            rank: u32,
            world_size: u32,
            step: u64,
            description: [*]const u8,
            description_length: usize,
        ) callconv(.c) *abi.Result(abi.Subscription) {
            const Answered = abi.Result(abi.Subscription);
            var join: callback.Join = .{ .run = .{
                .name = memory.must(memory.lasting.dupe(u8, name[0..name_length])),
                .seed = seed,
                .rank = rank,
                .world_size = world_size,
                .step = step,
                .description = memory.must(memory.lasting.dupe(u8, description[0..description_length])),
            } };
            instance = Instance(Callback).start(config[0..config_length], &join) catch
                return kept(Answered.wrong(join.problem));
            const list = memory.must(memory.scratch().alloc(abi.Subscription, join.subscriptions.items.len));
            for (list, join.subscriptions.items) |*to, from| {
                to.* = .{ .hook = @backingInt(from.hook), .every = from.every, .reads = texts(from.reads) };
            }
            return kept(Answered.good(list));
        }

        fn handle(
            hook: u32,
            step: u64,
            has_total_steps: u32,
            total_steps: u64,
            epoch: f64,
            samples: u64,
            tokens: u64,
            shape: u32,
            values: [*]const f64,
            value_count: usize,
        ) callconv(.c) *abi.Result(abi.Decision) {
            const Answered = abi.Result(abi.Decision);
            const running = if (instance) |*running| running else return kept(Answered.wrong(before_start));
            var event: Event = .{
                .hook = @fromBackingInt(@intCast(@as(u8, @intCast(hook)))),
                .progress = .{
                    .step = step,
                    .total_steps = if (has_total_steps == 1) total_steps else null,
                    .epoch = epoch,
                    .samples = samples,
                    .tokens = tokens,
                },
                .shape = shape,
                .values = if (value_count == 0) &.{} else values[0..value_count],
            };
            var answer: Answer = .{};
            running.handle(&event, &answer);
            if (answer.failure) |words| return kept(Answered.wrong(words));
            const list = memory.must(memory.scratch().alloc(abi.Decision, answer.decisions.items.len));
            for (list, answer.decisions.items) |*to, from| to.* = lowered(from);
            return kept(Answered.good(list));
        }

        fn save() callconv(.c) *abi.Result(u8) {
            const running = if (instance) |*running| running else return kept(abi.Result(u8).wrong(before_start));
            return kept(abi.Result(u8).good(running.save()));
        }

        fn load(saved: [*]const u8, length: usize, version: u32) callconv(.c) *abi.Result(u8) {
            const running = if (instance) |*running| running else return kept(abi.Result(u8).wrong(before_start));
            const problem = running.load(if (length == 0) "" else saved[0..length], version);
            return kept(if (problem) |words| abi.Result(u8).wrong(words) else abi.Result(u8).good(""));
        }
    };
}

const before_start = "called before start";

fn kept(value: anytype) *@TypeOf(value) {
    const place = memory.must(memory.scratch().create(@TypeOf(value)));
    place.* = value;
    return place;
}

fn texts(names: []const []const u8) abi.List(abi.Text) {
    const list = memory.must(memory.scratch().alloc(abi.Text, names.len));
    for (list, names) |*to, from| to.* = .of(from);
    return .of(list);
}

fn lowered(decision: Decision) abi.Decision {
    return .{
        .tag = @backingInt(decision),
        .content = switch (decision) {
            .evaluate, .log => .{ .words = .of("") },
            .set, .scale, .report => |it| .{ .assignment = .{ .name = .of(it.name), .value = it.value } },
            inline else => |words| .{ .words = .of(words) },
        },
    };
}
