//! Lines in the host's log, in the manner of `std.fmt`.
//! Does not decide what is shown: the host cuts long lines, and drops what is too much.

const std = @import("std");
const host = @import("host.zig");
const memory = @import("memory.zig");

/// A line of use while the callback is being written.
pub fn debug(comptime format: []const u8, arguments: anytype) void {
    host.log(0, memory.print(format, arguments));
}

/// A line of use to whoever watches the run.
pub fn info(comptime format: []const u8, arguments: anytype) void {
    host.log(1, memory.print(format, arguments));
}

/// The run goes on, perhaps not as wanted.
pub fn warn(comptime format: []const u8, arguments: anytype) void {
    host.log(2, memory.print(format, arguments));
}

/// Something failed. The last such line is the message of a call that traps after it.
pub fn err(comptime format: []const u8, arguments: anytype) void {
    host.log(3, memory.print(format, arguments));
}

/// For `pub const panic = host.panic;` in a callback's root file: the message of a failed check goes to the log before
/// the call ends with a trap, which says nothing by itself.
pub const panic = std.debug.FullPanic(struct {
    fn write(message: []const u8, _: ?usize) noreturn {
        host.log(3, message);
        @trap();
    }
}.write);
