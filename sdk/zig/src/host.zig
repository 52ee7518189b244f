//! What a callback can ask of the host, in Zig's types. In tests, which run natively, `testing` answers in its place.
//! What is returned lasts until the call that is running is over.

const builtin = @import("builtin");
const abi = @import("abi.zig");

const is_real = builtin.cpu.arch.isWasm();
const fake = @import("testing.zig").fake;

pub fn log(level: u32, line: []const u8) void {
    if (is_real) abi.log(level, line.ptr, line.len) else fake.log(level, line);
}

/// The name of a number of the catalog.
pub fn nameOf(key: u32) ?[]const u8 {
    if (!is_real) return fake.nameOf(key);
    var name: abi.Option(abi.Text) = undefined;
    abi.@"name-of"(key, &name);
    return if (name.is_some == 1) name.value.items() else null;
}

/// The number of a name in the catalog.
pub fn keyOf(name: []const u8) ?u32 {
    if (!is_real) return fake.keyOf(name);
    var key: abi.Option(u32) = undefined;
    abi.@"key-of"(name.ptr, name.len, &key);
    return if (key.is_some == 1) key.value else null;
}

/// What of the event.
pub const Kind = enum { keys, vectors, texts };

/// The catalog's numbers of the event's measurements of one kind.
pub fn keysOf(comptime kind: Kind) []const u32 {
    if (!is_real) return fake.keysOf(kind);
    var keys: abi.List(u32) = undefined;
    @field(abi, @tagName(kind))(&keys);
    return keys.items();
}

pub fn detail() []const u8 {
    if (!is_real) return fake.now.detail;
    var words: abi.Text = undefined;
    abi.detail(&words);
    return words.items();
}

pub fn vector(key: u32) ?[]const f32 {
    if (!is_real) return fake.vector(key);
    var values: abi.Option(abi.List(f32)) = undefined;
    abi.vector(key, &values);
    return if (values.is_some == 1) values.value.items() else null;
}

pub fn text(key: u32) ?[]const u8 {
    if (!is_real) return fake.text(key);
    var words: abi.Option(abi.Text) = undefined;
    abi.text(key, &words);
    return if (words.is_some == 1) words.value.items() else null;
}
