//! Early stopping: ends a run whose evaluation no longer gets better, and puts the best weights back.
//! Does not compare by itself; `rule` does, and this file turns verdicts into decisions.

const std = @import("std");
const host = @import("host_sdk");
const rules = @import("rule.zig");
const SettingsOf = @import("settings.zig").Settings;

pub const panic = host.panic;

comptime {
    host.exportCallback(EarlyStopping);
}

/// What the callback is; public for its tests.
pub const EarlyStopping = struct {
    settings: Settings,
    terms: rules.Terms,
    /// What has been seen so far.
    state: struct {
        memory: rules.Memory = .{},
        /// The step of the weights that the tag points to.
        best_step: ?u64 = null,
        /// Somebody has been told that the monitored value is missing.
        told_missing: bool = false,
    } = .{},

    pub const manifest: host.Manifest = .{
        .name = "early-stopping",
        .version = "0.1.0",
        .summary = "Ends a run whose evaluation no longer gets better, and puts the best weights back.",
        .requests = .{ .stop = true, .save = true, .restore = true },
    };

    pub const Settings = SettingsOf;

    pub fn start(settings: Settings, join: *host.Join) !EarlyStopping {
        try settings.check(join);
        const hook: host.Hook = switch (settings.check_at) {
            .evaluate_end => .evaluate_end,
            .epoch_end => .epoch_end,
            .step_end => .step_end,
        };
        join.every(settings.check_every, hook, &.{settings.monitor});
        join.on(.train_end, &.{});
        return .{ .settings = settings, .terms = .{
            .mode = settings.mode,
            .patience = settings.patience,
            .min_delta = settings.min_delta,
            .stopping_threshold = settings.stopping_threshold,
            .divergence_threshold = settings.divergence_threshold,
            .check_finite = settings.check_finite orelse (settings.rule == .lightning),
            .baseline = settings.baseline,
        } };
    }

    pub fn handle(self: *EarlyStopping, event: *host.Event, answer: *host.Answer) void {
        if (event.hook == .train_end) self.putBack(event, answer) else self.check(event, answer);
    }

    fn check(self: *EarlyStopping, event: *host.Event, answer: *host.Answer) void {
        const settings = &self.settings;
        const state = &self.state;
        const step = event.progress.step;
        const epoch = epochIndex(event.progress);
        if (step < settings.warm_up or epoch < settings.start_from_epoch) return;
        const value = event.getOrTell(settings.monitor, &state.told_missing, answer) orelse return;
        const verdict = settings.rule.judge(&self.terms, &state.memory, value, epoch);
        if (verdict.improved) {
            state.best_step = step;
            if (settings.restore_best) answer.save(settings.tag);
        }
        if (state.memory.best) |best| answer.report("best", best);
        answer.report("wait", @floatFromInt(state.memory.wait));
        if (verdict.stop) |cause| self.stop(cause, value, answer);
    }

    fn putBack(self: *EarlyStopping, event: *host.Event, answer: *host.Answer) void {
        const best_step = self.state.best_step orelse return;
        // The weights of this very step are the best ones already.
        if (self.settings.restore_best and best_step != event.progress.step) answer.restore(self.settings.tag);
    }

    /// Ends the run, and says why.
    fn stop(self: *const EarlyStopping, cause: rules.Cause, value: f64, answer: *host.Answer) void {
        const memory = self.state.memory;
        var room: [512]u8 = undefined;
        const best = if (memory.best != null and self.state.best_step != null)
            std.fmt.bufPrint(&room, "best {d} at step {d}", .{ memory.best.?, self.state.best_step.? }) catch "a best"
        else
            "never a best";
        const start_of = .{ self.settings.monitor, value, best };
        switch (cause) {
            .patience => answer.stop("{s} has not improved for {d} checks: now {d}, {s}", .{
                self.settings.monitor, memory.wait, value, best,
            }),
            .not_finite => answer.stop("{s} is {d}, which is not finite; {s}", start_of),
            .reached => answer.stop("{s} is {d} and has passed its stopping threshold; {s}", start_of),
            .diverged => answer.stop("{s} is {d} and has passed its divergence threshold; {s}", start_of),
        }
    }
};

/// The epoch, from 0, that the last step belonged to: a check at the very end of an epoch is still about it.
fn epochIndex(progress: host.Progress) u64 {
    // Counting up is exact here: an epoch that has ended is a whole number.
    return @as(u64, @intFromFloat(@ceil(progress.epoch))) -| 1;
}

test {
    _ = @import("tests.zig");
}
