//! The library against its own harness: settings, events, answers, state.

const std = @import("std");
const sdk = @import("host_sdk.zig");
const testing = sdk.testing;
const expect = std.testing.expect;
const expectEqualStrings = std.testing.expectEqualStrings;

/// Shows all that it is shown, and keeps everything that state can hold.
const Everything = struct {
    settings: Settings,
    state: struct {
        number: f64 = 0.1,
        single: f32 = 0.1,
        maybe: ?f64 = null,
        large: u64 = 0,
        list: [3]f64 = .{ 1, 2, 3 },
        words: []const u8 = "none",
        inner: struct { is_on: bool = false } = .{},
    } = .{},

    pub const manifest: sdk.Manifest = .{ .name = "everything", .version = "1.0.0", .summary = "Tests.", .state_version = 2 };

    pub const Settings = struct {
        min_delta: f64,
        mode: enum { min, slowly_max } = .min,
        patience: u32 = 3,
        names: []const []const u8 = &.{},
        limit: ?f64 = null,
        pub const descriptions = .{ .mode = "Which \"direction\" is better." };
    };

    pub fn start(settings: Settings, join: *sdk.Join) !Everything {
        if (settings.patience == 0) return join.refuse("patience is {d}", .{settings.patience});
        join.every(2, .step_end, &.{ "loss", "gradient-norm/*", "loads", "sample" });
        join.on(.train_end, &.{});
        return .{ .settings = settings };
    }

    pub fn stepEnd(self: *Everything, event: *sdk.Event, answer: *sdk.Answer) !void {
        for (event.names(), event.values) |name, value| {
            if (sdk.matches("gradient-norm/*", name)) answer.scale(name, value);
        }
        if (event.get("loss")) |loss| answer.report("loss", loss);
        if (event.vector("loads")) |loads| answer.report("loads", loads[1]);
        if (event.text("sample")) |sample| answer.note("{s}", .{sample});
        if (event.get("hidden") != null) return error.Hidden;
        self.state.large += 1;
    }

    pub fn trainEnd(_: *Everything, event: *sdk.Event, answer: *sdk.Answer) void {
        answer.stop("{s}", .{event.detail()});
    }

    pub fn migrate(self: *Everything, saved: []const u8, version: u32) !void {
        if (version != 1) return error.Unknown;
        self.state.words = try sdk.lasting.dupe(u8, saved);
    }
};

const Harness = testing.Harness(Everything);

test "an event shows what is read, when it is due" {
    var harness: Harness = try .start("{\"min-delta\": 0}");
    const moment: testing.Moment = .{ .hook = .step_end, .measurements = &.{
        testing.number("hidden", 1),
        testing.number("loss", 0.5),
        .{ .name = "loads", .value = .{ .vector = &.{ 1, 2 } } },
        .{ .name = "sample", .value = .{ .text = "words" } },
        testing.number("gradient-norm/a", 4),
    } };
    try expect((try harness.send(moment)).len == 0);
    const decisions = try harness.send(moment);
    try expect(decisions.len == 4);
    try expectEqualStrings("gradient-norm/a", decisions[0].scale.name);
    try expect(decisions[1].report.value == 0.5 and decisions[2].report.value == 2);
    try expectEqualStrings("words", decisions[3].note);
    const end = try harness.send(.{ .hook = .train_end, .detail = "done" });
    try expectEqualStrings("done", end[0].stop);
    try expect((try harness.send(.{ .hook = .epoch_end })).len == 0);
}

test "a mistake in the settings is named" {
    inline for (.{
        .{ "{}", "min-delta is missing" },
        .{ "{\"min-delta\": \"x\"}", "min-delta is \"x\": it has to be a number" },
        .{ "{\"min-delta\": 0, \"patience\": -1}", "patience is -1: it has to be a whole number from 0 to 4294967295" },
        .{ "{\"min-delta\": 0, \"mode\": \"least\"}", "mode is \"least\": it has to be one of min, slowly-max" },
        .{ "{\"min-delta\": 0, \"patiense\": 1}", "patiense is not a setting of this plugin" },
        .{ "{\"min-delta\": 0, \"patience\": 0}", "patience is 0" },
        .{ "{\"min-delta\": 0, \"names\": 1}", "names is 1: it has to be a list" },
        .{ "[", "it is not JSON: UnexpectedEndOfInput" },
    }) |case| {
        try std.testing.expectError(error.Refused, Harness.start(case[0]));
        try expectEqualStrings(case[1], testing.refusal);
    }
}

test "settings are read" {
    const harness: Harness = try .start(
        \\{"min-delta": "-Infinity", "mode": "slowly-max", "patience": 4.0, "names": ["a"], "limit": null}
    );
    const settings = harness.instance.running.settings;
    try expect(settings.min_delta == -std.math.inf(f64) and settings.mode == .slowly_max and settings.patience == 4);
    try expect(settings.limit == null and settings.names.len == 1);
}

test "every bit of the state comes back" {
    var harness: Harness = try .start("{\"min-delta\": 0}");
    const numbers = [_]f64{ 0.1, -0.0, 5e-324, 1.7976931348623157e308, std.math.inf(f64), -std.math.inf(f64), 1.0 / 3.0 };
    for (numbers) |number| {
        harness.instance.running.state = .{
            .number = number,
            .single = @floatCast(number),
            .maybe = std.math.nan(f64),
            .large = std.math.maxInt(u64),
            .list = .{ number, 0, 1e21 },
            .words = "\"\\\n\x01\u{2713}",
            .inner = .{ .is_on = true },
        };
        const before = harness.instance.running.state;
        try harness.@"resume"();
        const after = harness.instance.running.state;
        try expect(@as(u64, @bitCast(before.number)) == @as(u64, @bitCast(after.number)));
        try expect(@as(u32, @bitCast(before.single)) == @as(u32, @bitCast(after.single)));
        try expect(std.math.isNan(after.maybe.?) and after.large == before.large and after.inner.is_on);
        try expect(std.mem.eql(u8, std.mem.asBytes(&before.list), std.mem.asBytes(&after.list)));
        try expectEqualStrings(before.words, after.words);
    }
}

test "state of another version is migrated or refused" {
    var harness: Harness = try .start("{\"min-delta\": 0}");
    try expect(harness.instance.load("old", 1) == null);
    try expectEqualStrings("old", harness.instance.running.state.words);
    try expectEqualStrings("state of version 7: Unknown", harness.instance.load("old", 7).?);
    try expect(harness.instance.load("{\"large\": 5, \"gone\": 1}", 2) == null);
    try expect(harness.instance.running.state.large == 5 and harness.instance.running.state.number == 0.1);
}

test "the schema says what the settings are" {
    const schema = comptime sdk.json.schema(Everything.Settings);
    const parsed = try std.json.parseFromSlice(std.json.Value, std.testing.allocator, schema, .{});
    defer parsed.deinit();
    const properties = parsed.value.object.get("properties").?.object;
    try expect(properties.get("patience").?.object.get("default").?.integer == 3);
    try expectEqualStrings("Which \"direction\" is better.", properties.get("mode").?.object.get("description").?.string);
    try expectEqualStrings("min-delta", parsed.value.object.get("required").?.array.items[0].string);
}

test "a run's groups are read" {
    const run: sdk.Run = .{ .description =
        \\{"model": "two layers", "groups": [{"name": "head", "learning-rate": 0.5, "new": 1}], "knobs": {}}
    };
    const groups = try run.groups();
    try expect(groups.len == 1 and groups[0].learning_rate == 0.5 and groups[0].weight_decay == 0);
    try std.testing.expectError(error.Wrong, (sdk.Run{ .description = "" }).groups());
}
