//! Names of measurements against their numbers in the run's catalog, and against the shapes of events: each asked of
//! the host once. Does not know which measurements a run has; the host does.

const std = @import("std");
const host = @import("host.zig");
const memory = @import("memory.zig");

/// What the catalog answered so far. Only found names are kept: a missing one may be reported later.
var known: std.MultiArrayList(struct { name: []const u8, key: u32 }) = .empty;

fn remember(name: []const u8, key: u32) []const u8 {
    const kept = memory.must(memory.lasting.dupe(u8, name));
    memory.must(known.append(memory.lasting, .{ .name = kept, .key = key }));
    return kept;
}

/// The name of a number of the catalog; empty for one that it does not have.
pub fn nameOf(key: u32) []const u8 {
    if (std.mem.indexOfScalar(u32, known.items(.key), key)) |index| return known.items(.name)[index];
    return remember(host.nameOf(key) orelse return "", key);
}

/// The number of a name in the catalog.
pub fn keyOf(name: []const u8) ?u32 {
    for (known.items(.name), known.items(.key)) |other, key| {
        if (isSame(other, name)) return key;
    }
    const key = host.keyOf(name) orelse return null;
    _ = remember(name, key);
    return key;
}

/// So many shapes are remembered at one time. A callback has one or two for each of its hooks, as a rule.
const max_shapes = 64;

const Shape = struct { number: u32, names: []const []const u8 };

var shapes: [max_shapes]Shape = undefined;
var shape_count: usize = 0;

/// What the numbers of events of this shape are called, in their order.
pub fn ofShape(number: u32) []const []const u8 {
    for (shapes[0..shape_count]) |shape| {
        if (shape.number == number) return shape.names;
    }
    if (shape_count == max_shapes) {
        for (shapes) |shape| memory.lasting.free(shape.names);
        shape_count = 0;
    }
    const keys = host.keysOf(.keys);
    const names = memory.must(memory.lasting.alloc([]const u8, keys.len));
    for (names, keys) |*name, key| name.* = nameOf(key);
    shapes[shape_count] = .{ .number = number, .names = names };
    shape_count += 1;
    return names;
}

/// Forgets everything, as a new instance does.
pub fn forget() void {
    known = .empty;
    shape_count = 0;
}

/// Whether two names are equal. Two that share their place are; others are compared.
pub fn isSame(one: []const u8, other: []const u8) bool {
    return one.len == other.len and (one.ptr == other.ptr or std.mem.eql(u8, one, other));
}

/// Whether `name` fits `pattern`, in which `*` stands for any characters, also none.
pub fn matches(pattern: []const u8, name: []const u8) bool {
    var parts = std.mem.splitScalar(u8, pattern, '*');
    const first = parts.first();
    if (parts.peek() == null) return std.mem.eql(u8, pattern, name);
    if (!std.mem.startsWith(u8, name, first)) return false;
    var left = name[first.len..];
    // Each part between two stars is taken where it comes first, which leaves the most for those behind it.
    while (parts.next()) |part| {
        if (parts.peek() == null) return std.mem.endsWith(u8, left, part);
        const place = std.mem.indexOf(u8, left, part) orelse return false;
        left = left[place + part.len ..];
    }
    unreachable;
}

test "stars stand for any characters" {
    const cases = .{
        .{ "loss", "loss", true },              .{ "loss", "losses", false },        .{ "*", "", true },
        .{ "*", "eval/loss", true },            .{ "eval/*", "eval/loss", true },    .{ "eval/*", "eval", false },
        .{ "*/loss", "eval/loss", true },       .{ "*/loss", "eval/loss/2", false }, .{ "a*b*c", "abc", true },
        .{ "a*b*c", "a-b-b-c", true },          .{ "a*b*c", "acb", false },          .{ "ab*ba", "aba", false },
        .{ "*norm*", "gradient-norm/x", true },
    };
    inline for (cases) |case| try std.testing.expectEqual(case[2], matches(case[0], case[1]));
}
