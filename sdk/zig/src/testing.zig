//! A host for native tests: events reach a callback only where it subscribed, with only what it reads there.
//! One at a time, as a component has one callback.

const std = @import("std");
const host = @import("host.zig");
const memory = @import("memory.zig");
const names = @import("names.zig");
const callback = @import("callback.zig");
const Answer = @import("answer.zig").Answer;
const Decision = @import("answer.zig").Decision;
const Event = @import("event.zig").Event;
const Hook = @import("event.zig").Hook;
const Progress = @import("event.zig").Progress;
const Instance = @import("instance.zig").Instance;

/// A measurement that is known at a moment.
pub const Measurement = struct {
    name: []const u8,
    value: union(enum) { number: f64, vector: []const f32, text: []const u8 },
};

/// A moment of a run.
pub const Moment = struct {
    hook: Hook,
    progress: Progress = .{},
    detail: []const u8 = "",
    measurements: []const Measurement = &.{},
};

/// A number that is known at a moment.
pub fn number(name: []const u8, value: f64) Measurement {
    return .{ .name = name, .value = .{ .number = value } };
}

/// Plays the host to one callback.
pub fn Harness(comptime Callback: type) type {
    return struct {
        instance: Instance(Callback),
        config: []const u8,
        subscriptions: []const callback.Subscription,
        occurrences: [@typeInfo(Hook).@"enum".field_names.len]u64 = @splat(0),

        const Self = @This();

        /// Joins a run with a configuration in JSON. After `error.Refused`, `refusal` has the words.
        pub fn start(config: []const u8) error{Refused}!Self {
            fake.names = .empty;
            var join: callback.Join = .{ .run = .{ .name = "test" } };
            const instance = Instance(Callback).start(config, &join) catch |cause| {
                refusal = join.problem;
                return cause;
            };
            return .{ .instance = instance, .config = config, .subscriptions = join.subscriptions.items };
        }

        /// Lets a moment happen. Empty where the callback is not called for it.
        pub fn send(harness: *Self, moment: Moment) error{Failed}![]const Decision {
            const occurrence = &harness.occurrences[@backingInt(moment.hook)];
            occurrence.* += 1;
            var is_due = false;
            var shown: std.ArrayList(Measurement) = .empty;
            for (harness.subscriptions) |it| {
                if (it.hook == moment.hook and occurrence.* % it.every == 0) is_due = true;
            }
            if (!is_due) return &.{};
            for (moment.measurements) |measurement| {
                if (harness.reads(moment.hook, occurrence.*, measurement.name)) {
                    memory.must(shown.append(memory.lasting, measurement));
                }
            }
            fake.now = .{ .detail = moment.detail, .measurements = shown.items };
            defer fake.now = .{};
            var event: Event = .{
                .hook = moment.hook,
                .progress = moment.progress,
                .values = fake.numbers(),
                .shape = fake.shape(),
            };
            var answer: Answer = .{};
            harness.instance.handle(&event, &answer);
            if (answer.failure != null) return error.Failed;
            return answer.decisions.items;
        }

        fn reads(harness: *const Self, hook: Hook, occurrence: u64, name: []const u8) bool {
            for (harness.subscriptions) |it| {
                if (it.hook != hook or occurrence % it.every != 0) continue;
                for (it.reads) |pattern| {
                    if (names.matches(pattern, name)) return true;
                }
            }
            return false;
        }

        /// What a resumed run does: a new instance with the same configuration, which is given the saved state.
        pub fn @"resume"(harness: *Self) !void {
            const saved = harness.instance.save();
            const occurrences = harness.occurrences;
            harness.* = try .start(harness.config);
            harness.occurrences = occurrences;
            if (harness.instance.load(saved, Callback.manifest.state_version) != null) return error.Failed;
        }
    };
}

/// Why the last callback refused to start.
pub var refusal: []const u8 = "";

/// What `host` asks instead of the real one.
pub const fake = struct {
    var names: std.ArrayList([]const u8) = .empty;
    pub var now: struct { detail: []const u8 = "", measurements: []const Measurement = &.{} } = .{};

    pub fn log(_: u32, _: []const u8) void {}

    pub fn nameOf(key: u32) ?[]const u8 {
        return if (key < fake.names.items.len) fake.names.items[key] else null;
    }

    pub fn keyOf(name: []const u8) ?u32 {
        for (fake.names.items, 0..) |known, key| {
            if (std.mem.eql(u8, known, name)) return @intCast(key);
        }
        memory.must(fake.names.append(memory.lasting, name));
        return @intCast(fake.names.items.len - 1);
    }

    pub fn keysOf(comptime kind: host.Kind) []const u32 {
        var keys: std.ArrayList(u32) = .empty;
        for (now.measurements) |it| {
            const is_wanted = switch (kind) {
                .keys => it.value == .number,
                .vectors => it.value == .vector,
                .texts => it.value == .text,
            };
            if (is_wanted) memory.must(keys.append(memory.scratch(), keyOf(it.name).?));
        }
        return keys.items;
    }

    pub fn vector(key: u32) ?[]const f32 {
        const found = find(key) orelse return null;
        return if (found.value == .vector) found.value.vector else null;
    }

    pub fn text(key: u32) ?[]const u8 {
        const found = find(key) orelse return null;
        return if (found.value == .text) found.value.text else null;
    }

    fn find(key: u32) ?Measurement {
        for (now.measurements) |it| {
            if (keyOf(it.name).? == key) return it;
        }
        return null;
    }

    fn numbers() []const f64 {
        var values: std.ArrayList(f64) = .empty;
        for (now.measurements) |it| {
            if (it.value == .number) memory.must(values.append(memory.scratch(), it.value.number));
        }
        return values.items;
    }

    /// A number that is the same for equal keys: good enough for a test.
    fn shape() u32 {
        return std.hash.Crc32.hash(std.mem.sliceAsBytes(keysOf(.keys)));
    }
};
