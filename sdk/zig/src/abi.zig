//! The contract's functions and types as WebAssembly sees them: the canonical ABI, by hand.
//! Nothing else in the library knows it.

/// Text, or bytes.
pub const Text = List(u8);

/// A list of `Item`.
pub fn List(comptime Item: type) type {
    return extern struct {
        pointer: [*]const Item,
        length: usize,

        pub fn of(slice: []const Item) @This() {
            // The host checks the address of an empty list too, and Zig's may lie outside of the memory.
            const place: [*]const Item = if (slice.len == 0) @ptrFromInt(@alignOf(Item)) else slice.ptr;
            return .{ .pointer = place, .length = slice.len };
        }

        /// An empty list may have any address.
        pub fn items(list: @This()) []const Item {
            return if (list.length == 0) &.{} else list.pointer[0..list.length];
        }
    };
}

/// A value that there may be.
pub fn Option(comptime Value: type) type {
    return extern struct { is_some: u8, value: Value };
}

/// `result<list<Item>, string>`; both are a place and a length.
pub fn Result(comptime Item: type) type {
    return extern struct {
        is_error: u8,
        content: extern union { list: List(Item), words: Text },

        pub fn good(slice: []const Item) @This() {
            return .{ .is_error = 0, .content = .{ .list = .of(slice) } };
        }

        pub fn wrong(words: []const u8) @This() {
            return .{ .is_error = 1, .content = .{ .words = .of(words) } };
        }
    };
}

pub const Manifest = extern struct {
    name: Text,
    version: Text,
    summary: Text,
    requests: u8,
    knobs: List(Text),
    lane: u8,
    order: i32,
    config_schema: Text,
    state_version: u32,
};

pub const Subscription = extern struct { hook: u8, every: u32, reads: List(Text) };

pub const Decision = extern struct {
    tag: u8,
    content: extern union { words: Text, assignment: extern struct { name: Text, value: f64 } },
};

pub extern "train-host:callback/host@0.1.0" fn log(level: u32, pointer: [*]const u8, length: usize) void;
pub extern "train-host:callback/host@0.1.0" fn @"name-of"(key: u32, result: *Option(Text)) void;
pub extern "train-host:callback/host@0.1.0" fn @"key-of"(pointer: [*]const u8, length: usize, result: *Option(u32)) void;
pub extern "train-host:callback/host@0.1.0" fn keys(result: *List(u32)) void;
pub extern "train-host:callback/host@0.1.0" fn detail(result: *Text) void;
pub extern "train-host:callback/host@0.1.0" fn vectors(result: *List(u32)) void;
pub extern "train-host:callback/host@0.1.0" fn vector(key: u32, result: *Option(List(f32))) void;
pub extern "train-host:callback/host@0.1.0" fn texts(result: *List(u32)) void;
pub extern "train-host:callback/host@0.1.0" fn text(key: u32, result: *Option(Text)) void;

comptime {
    const std = @import("std");
    if (@import("builtin").cpu.arch.isWasm()) {
        std.debug.assert(@sizeOf(Decision) == 24 and @offsetOf(Decision, "content") == 8);
        std.debug.assert(@sizeOf(Manifest) == 56 and @sizeOf(Subscription) == 16 and @sizeOf(Result(u8)) == 12);
    }
}
