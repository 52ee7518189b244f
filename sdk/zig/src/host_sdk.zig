//! Write a callback that steers a training run, in Zig: a struct, and a method for each hook that it wants.
//! Does not decide what a callback may do; the host checks every answer.
//!
//! A callback is made from its **settings** when it joins a run. What it learns on the way is in its field **`state`**,
//! which is saved in checkpoints. At a **hook** it is shown an `Event` with the **measurements** that it subscribed to,
//! and fills in an `Answer` with **decisions**.

const std = @import("std");

pub const Answer = @import("answer.zig").Answer;
pub const Assignment = @import("answer.zig").Assignment;
pub const Decision = @import("answer.zig").Decision;
pub const Event = @import("event.zig").Event;
pub const Group = @import("callback.zig").Group;
pub const Hook = @import("event.zig").Hook;
pub const Join = @import("callback.zig").Join;
pub const Lane = @import("callback.zig").Lane;
pub const Manifest = @import("callback.zig").Manifest;
pub const NoSettings = @import("callback.zig").NoSettings;
pub const Progress = @import("event.zig").Progress;
pub const Requests = @import("callback.zig").Requests;
pub const Run = @import("callback.zig").Run;
pub const exportCallback = @import("component.zig").exportCallback;
pub const json = @import("json.zig");
pub const log = @import("log.zig");
pub const matches = @import("names.zig").matches;
pub const panic = @import("log.zig").panic;
pub const testing = @import("testing.zig");

/// Memory for what lasts as long as the instance.
pub const lasting = @import("memory.zig").lasting;

/// Memory for what lasts until the call that is running is over. Nothing in it has to be freed.
pub const scratch = @import("memory.zig").scratch;

test {
    std.testing.refAllDecls(@This());
    _ = @import("names.zig");
    _ = @import("tests.zig");
}
