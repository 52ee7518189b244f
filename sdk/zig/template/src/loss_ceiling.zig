//! Stops a run whose loss stays too high.

const std = @import("std");
const host = @import("host_sdk");

pub const panic = host.panic;

comptime {
    host.exportCallback(LossCeiling);
}

const LossCeiling = struct {
    settings: Settings,
    /// What is learned on the way. It is saved in checkpoints.
    state: struct {
        /// Steps in a row with a loss that was too high.
        strikes: u32 = 0,
    } = .{},

    pub const manifest: host.Manifest = .{
        .name = "loss-ceiling",
        .version = "0.1.0",
        .summary = "Stops a run whose loss stays too high.",
        .requests = .{ .stop = true },
    };

    /// What stands in `[plugin.config]`. The texts are shown to whoever configures a run.
    pub const Settings = struct {
        ceiling: f64,
        patience: u32 = 3,

        pub const descriptions = .{
            .ceiling = "A loss above this is too high.",
            .patience = "The run stops after so many steps in a row.",
        };
    };

    pub fn start(settings: Settings, join: *host.Join) !LossCeiling {
        if (settings.patience == 0) return join.refuse("patience is 0: it has to be 1 or more", .{});
        join.on(.step_end, &.{"loss"});
        return .{ .settings = settings };
    }

    pub fn stepEnd(self: *LossCeiling, event: *host.Event, answer: *host.Answer) void {
        const ceiling = self.settings.ceiling;
        const loss = event.get("loss") orelse return;
        self.state.strikes = if (loss > ceiling) self.state.strikes + 1 else 0;
        if (self.state.strikes == self.settings.patience) {
            const found = .{ ceiling, self.settings.patience, loss };
            answer.stop("the loss was above {d} {d} times in a row: now {d}", found);
        }
    }
};

fn at(harness: *host.testing.Harness(LossCeiling), loss: f64) ![]const host.Decision {
    return harness.send(.{ .hook = .step_end, .measurements = &.{host.testing.number("loss", loss)} });
}

test "a loss that stays too high stops the run" {
    var harness: host.testing.Harness(LossCeiling) = try .start("{\"ceiling\": 5, \"patience\": 2}");
    for ([_]f64{ 6, 4, 7 }) |loss| try std.testing.expect((try at(&harness, loss)).len == 0);
    try harness.@"resume"();
    const decisions = try at(&harness, 8);
    try std.testing.expectEqualStrings("the loss was above 5 2 times in a row: now 8", decisions[0].stop);
}
