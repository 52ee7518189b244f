//! Where memory comes from: some lasts until a call is over, some as long as the instance.
//! Without memory left a call ends with a trap, which costs the host one instance; so no caller has to handle it.

const std = @import("std");
const builtin = @import("builtin");

const pages = if (builtin.cpu.arch.isWasm()) std.heap.wasm_allocator else std.heap.page_allocator;

/// For what lasts as long as the instance.
pub const lasting: std.mem.Allocator = pages;

/// For what lasts until the call that is running is over: what the host passed in, and what is answered.
pub fn scratch() std.mem.Allocator {
    return .{ .ptr = undefined, .vtable = &.{
        .alloc = alloc,
        .resize = std.mem.Allocator.noResize,
        .remap = std.mem.Allocator.noRemap,
        .free = std.mem.Allocator.noFree,
    } };
}

/// Ends a call. The memory is kept for the next one.
pub fn endCall() void {
    used = 0;
    if (has_overflowed) _ = overflow.reset(.retain_capacity);
    has_overflowed = false;
}

/// An event and its answer fit in here, as a rule, and then an allocation is an addition.
var room: [16 << 10]u8 align(16) = undefined;
var used: usize = 0;
var overflow: std.heap.ArenaAllocator = .init(pages);
var has_overflowed = false;

fn alloc(_: *anyopaque, length: usize, alignment: std.mem.Alignment, caller: usize) ?[*]u8 {
    const start = alignment.forward(used);
    if (alignment.toByteUnits() <= 16 and start <= room.len and length <= room.len - start) {
        used = start + length;
        return room[start..].ptr;
    }
    has_overflowed = true;
    return overflow.allocator().rawAlloc(length, alignment, caller);
}

/// The value, where only a lack of memory stands in its way.
pub fn must(result: anytype) @typeInfo(@TypeOf(result)).error_union.payload {
    return result catch @panic("no memory is left");
}

/// Text in the manner of `std.fmt`, until the call is over.
pub fn print(comptime format: []const u8, arguments: anytype) []const u8 {
    return must(std.fmt.allocPrint(scratch(), format, arguments));
}
