//! What a callback is shown at a hook. Holds only what was subscribed to; a value that is not known now is missing.

const std = @import("std");
const host = @import("host.zig");
const log = @import("log.zig");
const catalog = @import("names.zig");
const Answer = @import("answer.zig").Answer;

/// A moment in the training loop, in the order in which a run meets them. A callback's method for it has the same name,
/// written `stepEnd`.
pub const Hook = enum(u8) {
    /// Once in the life of a run, before its first step. Not sent again after a resume.
    train_begin,
    /// Before the first step of an epoch.
    epoch_begin,
    /// Before the batch is fetched. A skip drops the batch.
    step_begin,
    /// The update's gradients are there, not yet clipped or applied. A skip drops the update.
    gradients,
    /// The optimizer has been applied, or the update was dropped.
    step_end,
    /// A skip drops this evaluation.
    evaluate_begin,
    /// An evaluation is complete. One that was cut short does not get here.
    evaluate_end,
    /// A log record is about to be written.
    log,
    /// A skip drops this save.
    save_begin,
    /// The checkpoint is durable on disk.
    save_end,
    /// After the last step, evaluation and save of an epoch.
    epoch_end,
    /// The loop failed; `Event.detail` says how.
    failure,
    /// The run ends; `Event.detail` says why. A restore is still possible.
    train_end,
};

/// How far the run is, counted from its beginning, resumed parts included.
pub const Progress = struct {
    /// Steps finished: 0 at `step_begin` of the first one, 1 at its `step_end`.
    step: u64 = 0,
    /// Steps that the run will do if nothing stops it, where that is known.
    total_steps: ?u64 = null,
    /// Epochs finished, with the fraction of the running one; finite, 0 or more.
    epoch: f64 = 0,
    /// Training samples seen.
    samples: u64 = 0,
    /// Tokens seen; 0 where the task has none.
    tokens: u64 = 0,
};

/// What a callback is shown at a hook. Everything in it lasts until the hook returns.
pub const Event = struct {
    /// The moment.
    hook: Hook,
    /// How far the run is.
    progress: Progress,
    /// The measurements that are single numbers; `names` says what they are called.
    values: []const f64,
    shape: u32,
    known_names: ?[]const []const u8 = null,
    next: usize = 0,

    /// What the numbers in `values` are called, in their order. Asked of the host once for all events that are alike;
    /// the names themselves last as long as the instance.
    pub fn names(event: *Event) []const []const u8 {
        if (event.known_names == null) event.known_names = catalog.ofShape(event.shape);
        return event.known_names.?;
    }

    /// The measurement of this name, if it is one number, was subscribed to and is known now. It can be NaN.
    ///
    /// Costs a comparison where measurements are read in the order in which they were subscribed to.
    pub fn get(event: *Event, name: []const u8) ?f64 {
        const all = event.names();
        var place = event.next;
        if (place >= all.len or !catalog.isSame(all[place], name)) {
            place = for (all, 0..) |known, index| {
                if (catalog.isSame(known, name)) break index;
            } else return null;
        }
        event.next = place + 1;
        return event.values[place];
    }

    /// As `get`, and the first time that it is missing says so in the log and the timeline.
    ///
    /// For a name from the settings: the run may offer it and yet not know it at this hook, and a callback that
    /// silently does nothing looks like one that works. `told` is part of the callback's state.
    pub fn getOrTell(event: *Event, name: []const u8, told: *bool, answer: *Answer) ?f64 {
        if (event.get(name)) |value| return value;
        if (!told.*) {
            log.warn("{s} is not known here, so nothing was checked", .{name});
            answer.note("{s} is not known here, so nothing was checked", .{name});
        }
        told.* = true;
        return null;
    }

    /// The measurement of this name, if it is several numbers. Each call asks the host.
    pub fn vector(_: *const Event, name: []const u8) ?[]const f32 {
        return host.vector(catalog.keyOf(name) orelse return null);
    }

    /// The measurement of this name, if it is words. Each call asks the host.
    pub fn text(_: *const Event, name: []const u8) ?[]const u8 {
        return host.text(catalog.keyOf(name) orelse return null);
    }

    /// Why: the stop reason at `train_end`, the error at `failure`, the tag at `save_begin` and `save_end`; else empty.
    pub fn detail(_: *const Event) []const u8 {
        return host.detail();
    }

    /// The names of all measurements that are several numbers. For texts there is `textNames`.
    pub fn vectorNames(_: *const Event) []const []const u8 {
        return named(host.keysOf(.vectors));
    }

    /// The names of all measurements that are words.
    pub fn textNames(_: *const Event) []const []const u8 {
        return named(host.keysOf(.texts));
    }
};

fn named(keys: []const u32) []const []const u8 {
    const memory = @import("memory.zig");
    const all = memory.must(memory.scratch().alloc([]const u8, keys.len));
    for (all, keys) |*name, key| name.* = catalog.nameOf(key);
    return all;
}
