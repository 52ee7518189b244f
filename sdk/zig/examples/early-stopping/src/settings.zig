//! The settings of early stopping, their defaults, and which of them go together.
//! Does not judge values; `rule` does.

const std = @import("std");
const host = @import("host_sdk");
const rules = @import("rule.zig");

/// The fields are keys in kebab-case.
pub const Settings = struct {
    monitor: []const u8 = "eval/loss",
    mode: rules.Mode = .min,
    patience: u32 = 3,
    min_delta: f64 = 0,
    check_at: enum { evaluate_end, epoch_end, step_end } = .evaluate_end,
    check_every: u32 = 1,
    warm_up: u64 = 0,
    start_from_epoch: u64 = 0,
    restore_best: bool = true,
    tag: []const u8 = "best",
    rule: rules.Rule = .sound,
    stopping_threshold: ?f64 = null,
    divergence_threshold: ?f64 = null,
    check_finite: ?bool = null,
    baseline: ?f64 = null,

    pub const descriptions = .{
        .monitor = "The measurement to watch.",
        .mode = "Whether lower or higher is better.",
        .patience = "Stop after this many checks in a row without improvement. 0 is as 1.",
        .min_delta = "A value has to be better than the best by more than this to count.",
        .check_at = "When the measurement is checked.",
        .check_every = "Check at every n-th occurrence of that moment.",
        .warm_up = "Checks before this many steps are finished are left out.",
        .start_from_epoch = "Checks before this epoch, counted from 0, are left out.",
        .restore_best = "Save each new best, and put it back when the run ends.",
        .tag = "The tag of the best checkpoint.",
        .rule = "Whose rule decides what is better and when to stop.",
        .stopping_threshold = "Stop at a value better than this.",
        .divergence_threshold = "Stop at a value worse than this.",
        .check_finite = "Stop at a value that is not finite. The default is the rule's: `true` for `lightning`, " ++
            "`false` for `sound`.",
        .baseline = "An improvement that does not beat this does not give the patience back.",
    };

    /// Refuses what the schema can't.
    pub fn check(settings: Settings, join: *host.Join) !void {
        if (!(settings.min_delta >= 0 and std.math.isFinite(settings.min_delta))) {
            return join.refuse("min-delta is {d}: it has to be 0 or more", .{settings.min_delta});
        }
        if (settings.check_every == 0) return join.refuse("check-every is 0: it has to be 1 or more", .{});
        inline for (.{ "stopping_threshold", "divergence_threshold", "check_finite", "baseline" }) |name| {
            const is_known = switch (settings.rule) {
                .sound => true,
                .huggingface => false,
                .lightning => !std.mem.eql(u8, name, "baseline"),
                .keras => std.mem.eql(u8, name, "baseline"),
            };
            if (@field(settings, name) != null and !is_known) {
                const key = comptime host.json.kebab(name);
                return join.refuse("{s} is not part of the {t} rule; leave it out, or the rule", .{ key, settings.rule });
            }
        }
    }
};
