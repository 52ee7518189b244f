//! What the plugin decides: what is saved and put back, which checks count, which settings go together.

const std = @import("std");
const host = @import("host_sdk");
const EarlyStopping = @import("early_stopping.zig").EarlyStopping;
const Harness = host.testing.Harness(EarlyStopping);
const expect = std.testing.expect;
const expectEqualStrings = std.testing.expectEqualStrings;

fn evaluate(harness: *Harness, step: u64, loss: f64) ![]const host.Decision {
    return harness.send(.{
        .hook = .evaluate_end,
        .progress = .{ .step = step, .epoch = @floatFromInt(step) },
        .measurements = &.{host.testing.number("eval/loss", loss)},
    });
}

fn stops(decisions: []const host.Decision) bool {
    for (decisions) |decision| if (decision == .stop) return true;
    return false;
}

test "an improvement saves and a stop says why" {
    var harness: Harness = try .start("{\"patience\": 2}");
    const first = try evaluate(&harness, 10, 0.5);
    try expectEqualStrings("best", first[0].save);
    try expect(first[1].report.value == 0.5 and first[2].report.value == 0);
    try expect((try evaluate(&harness, 20, 0.75)).len == 2);
    const last = try evaluate(&harness, 30, 0.625);
    try expectEqualStrings("eval/loss has not improved for 2 checks: now 0.625, best 0.5 at step 10", last[2].stop);
    const end = try harness.send(.{ .hook = .train_end, .progress = .{ .step = 30 } });
    try expectEqualStrings("best", end[0].restore);
}

test "a resumed run stops at the same step" {
    const losses = [_]f64{ 1.0, 0.5, 0.75, std.math.nan(f64), 0.625, 0.5 };
    for (0..losses.len) |resumed_before| {
        var harness: Harness = try .start("{\"patience\": 4}");
        for (losses, 0..) |loss, index| {
            if (index == resumed_before) try harness.@"resume"();
            try expect(stops(try evaluate(&harness, index, loss)) == (index == 5));
        }
    }
}

test "settings that make no sense are refused with the reason" {
    inline for (.{
        .{ "{\"min-delta\": -1}", "min-delta is -1: it has to be 0 or more" },
        .{ "{\"check-every\": 0}", "check-every is 0: it has to be 1 or more" },
        .{
            "{\"rule\": \"keras\", \"check-finite\": true}",
            "check-finite is not part of the keras rule; leave it out, or the rule",
        },
    }) |case| {
        try std.testing.expectError(error.Refused, Harness.start(case[0]));
        try expectEqualStrings(case[1], host.testing.refusal);
    }
}

test "a value that is missing is told once" {
    var harness: Harness = try .start("{\"monitor\": \"loss\"}");
    try expectEqualStrings("loss is not known here, so nothing was checked", (try evaluate(&harness, 1, 1))[0].note);
    try expect((try evaluate(&harness, 2, 1)).len == 0);
}
