//! The decisions of one call, collected in order.
//! Does not check them: the host does, and names each one that it refuses in the run's timeline.

const std = @import("std");
const memory = @import("memory.zig");

/// A knob or a report, and a number for it.
pub const Assignment = struct { name: []const u8, value: f64 };

/// One thing that a callback decided.
pub const Decision = union(enum) {
    stop: []const u8,
    end_epoch: []const u8,
    evaluate,
    save: []const u8,
    log,
    skip: []const u8,
    restore: []const u8,
    set: Assignment,
    scale: Assignment,
    report: Assignment,
    mute: []const u8,
    note: []const u8,
};

/// What a callback answers to one event. An empty answer is "go on". Names and tags have to last until the hook returns;
/// words in the manner of `std.fmt` are written down at once.
pub const Answer = struct {
    /// What has been decided so far in this call.
    decisions: std.ArrayList(Decision) = .empty,
    /// Why the event could not be handled.
    failure: ?[]const u8 = null,

    /// End the run after this event, cleanly. The words are the reason that people read.
    pub fn stop(answer: *Answer, comptime format: []const u8, arguments: anytype) void {
        answer.decide(.{ .stop = memory.print(format, arguments) });
    }

    /// Go on with the next epoch.
    pub fn endEpoch(answer: *Answer, comptime format: []const u8, arguments: anytype) void {
        answer.decide(.{ .end_epoch = memory.print(format, arguments) });
    }

    /// Evaluate at the next safe point.
    pub fn evaluate(answer: *Answer) void {
        answer.decide(.evaluate);
    }

    /// Save a checkpoint at the next safe point, and point `tag` to it; lower-case letters, digits, `-`; empty for none.
    pub fn save(answer: *Answer, tag: []const u8) void {
        answer.decide(.{ .save = tag });
    }

    /// Write a log record at the next safe point.
    pub fn log(answer: *Answer) void {
        answer.decide(.log);
    }

    /// Drop what this hook announces.
    pub fn skip(answer: *Answer, comptime format: []const u8, arguments: anytype) void {
        answer.decide(.{ .skip = memory.print(format, arguments) });
    }

    /// Put weights and optimizer state back to the checkpoint that `tag` points to.
    pub fn restore(answer: *Answer, tag: []const u8) void {
        answer.decide(.{ .restore = tag });
    }

    /// Give a knob a value. A name such as `learning-rate` addresses all of `learning-rate/<group>`.
    pub fn set(answer: *Answer, knob: []const u8, value: f64) void {
        answer.decide(.{ .set = .{ .name = knob, .value = value } });
    }

    /// Multiply a knob by a factor.
    pub fn scale(answer: *Answer, knob: []const u8, factor: f64) void {
        answer.decide(.{ .scale = .{ .name = knob, .value = factor } });
    }

    /// Publish a measurement of the callback's own, which others see as `<instance>/<name>`.
    pub fn report(answer: *Answer, name: []const u8, value: f64) void {
        answer.decide(.{ .report = .{ .name = name, .value = value } });
    }

    /// At `log`: leave a name (`*` allowed) out of the record.
    pub fn mute(answer: *Answer, name: []const u8) void {
        answer.decide(.{ .mute = name });
    }

    /// Leave a line in the run's timeline.
    pub fn note(answer: *Answer, comptime format: []const u8, arguments: anytype) void {
        answer.decide(.{ .note = memory.print(format, arguments) });
    }

    /// Add a decision that was made elsewhere.
    pub fn decide(answer: *Answer, decision: Decision) void {
        memory.must(answer.decisions.append(memory.scratch(), decision));
    }

    /// Tell the host that the event could not be handled. The decisions of this call are dropped, the callback is made
    /// anew with its last good state, and its failure policy counts one more.
    pub fn fail(answer: *Answer, comptime format: []const u8, arguments: anytype) void {
        answer.failure = memory.print(format, arguments);
    }
};
