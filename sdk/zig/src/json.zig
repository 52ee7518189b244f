//! JSON against Zig's types: settings, state, the run's description.
//!
//! Fields are keys in kebab-case (`min_delta` is `min-delta`), and so are the names of enums. A field with a default, or
//! an optional one, may be missing. NaN and the infinities, for which JSON has no number, are words; every other number
//! reads back to the bit.

const std = @import("std");
const memory = @import("memory.zig");
const Allocator = std.mem.Allocator;
const Value = std.json.Value;

/// What to do with a key that the type does not have.
pub const Unknown = enum { refuse, ignore };

/// How a reading went wrong: the words for people, with the key's name.
pub const Problem = struct { words: []const u8 = "" };

/// A `T` from JSON. Lists and words of it are in `allocator`'s memory.
///
/// The error is `error.Wrong`, with the words in `problem`, which last until the call that is running is over.
pub fn parse(comptime T: type, text: []const u8, unknown: Unknown, allocator: Allocator, problem: *Problem) !T {
    const tree = std.json.parseFromSliceLeaky(Value, memory.scratch(), text, .{}) catch |cause| {
        problem.words = memory.print("it is not JSON: {s}", .{@errorName(cause)});
        return error.Wrong;
    };
    const reader: Reader = .{ .unknown = unknown, .allocator = allocator, .problem = problem };
    return reader.read(T, tree, "");
}

/// JSON of a value, until the call that is running is over.
pub fn write(value: anytype) []const u8 {
    var writer: std.Io.Writer.Allocating = .init(memory.scratch());
    writeValue(&writer.writer, value) catch @panic("no memory is left");
    return writer.written();
}

/// `min_delta` as `min-delta`.
pub fn kebab(comptime name: []const u8) []const u8 {
    comptime {
        var key: [name.len]u8 = undefined;
        for (&key, name) |*to, from| to.* = if (from == '_') '-' else from;
        const fixed = key;
        return &fixed;
    }
}

const Reader = struct {
    unknown: Unknown,
    allocator: Allocator,
    problem: *Problem,

    const Error = error{Wrong};

    fn read(reader: Reader, comptime T: type, value: Value, path: []const u8) Error!T {
        if (T == []const u8) return switch (value) {
            .string => |words| memory.must(reader.allocator.dupe(u8, words)),
            else => reader.expected("words", value, path),
        };
        return switch (@typeInfo(T)) {
            .bool => if (value == .bool) value.bool else reader.expected("true or false", value, path),
            .int => readWhole(T, value) orelse
                reader.expected(std.fmt.comptimePrint("a whole number from {d} to {d}", .{
                    std.math.minInt(T), std.math.maxInt(T),
                }), value, path),
            .float => readNumber(T, value) orelse reader.expected("a number", value, path),
            .optional => |optional| if (value == .null) null else try reader.read(optional.child, value, path),
            .@"enum" => reader.readChoice(T, value, path),
            .@"struct" => reader.readTable(T, value, path),
            .array => |array| list: {
                if (value != .array or value.array.items.len != array.len) {
                    return reader.expected(std.fmt.comptimePrint("a list of {d}", .{array.len}), value, path);
                }
                var list: T = undefined;
                for (&list, value.array.items) |*item, from| item.* = try reader.read(array.child, from, path);
                break :list list;
            },
            .pointer => |pointer| list: {
                if (value != .array) return reader.expected("a list", value, path);
                const list = memory.must(reader.allocator.alloc(pointer.child, value.array.items.len));
                for (list, value.array.items) |*item, from| item.* = try reader.read(pointer.child, from, path);
                break :list list;
            },
            else => @compileError("JSON has nothing for " ++ @typeName(T)),
        };
    }

    fn readTable(reader: Reader, comptime T: type, value: Value, path: []const u8) Error!T {
        if (value != .object) return reader.expected("a table", value, path);
        const info = @typeInfo(T).@"struct";
        var table: T = undefined;
        inline for (info.field_names, info.field_types, info.field_attrs) |name, Field, attributes| {
            const key = comptime kebab(name);
            const found = value.object.get(key);
            // A default counts for `null` too, unless that is a value of its own.
            const is_missing = found == null or (found.? == .null and @typeInfo(Field) != .optional);
            @field(table, name) = if (!is_missing)
                try reader.read(Field, found.?, reader.inside(path, key))
            else if (attributes.defaultValue(Field)) |default|
                default
            else if (@typeInfo(Field) == .optional)
                null
            else
                return reader.wrong("{s} is missing", .{reader.inside(path, key)});
        }
        if (reader.unknown == .ignore) return table;
        keys: for (value.object.keys()) |key| {
            inline for (info.field_names) |name| {
                if (std.mem.eql(u8, key, comptime kebab(name))) continue :keys;
            }
            return reader.wrong("{s} is not a setting of this plugin", .{reader.inside(path, key)});
        }
        return table;
    }

    fn readChoice(reader: Reader, comptime T: type, value: Value, path: []const u8) Error!T {
        comptime var names: []const u8 = "one of ";
        inline for (@typeInfo(T).@"enum".field_names, 0..) |name, index| {
            const word = comptime kebab(name);
            if (value == .string and std.mem.eql(u8, value.string, word)) return @field(T, name);
            names = names ++ (if (index > 0) ", " else "") ++ word;
        }
        return reader.expected(names, value, path);
    }

    fn inside(_: Reader, path: []const u8, key: []const u8) []const u8 {
        return if (path.len == 0) key else memory.print("{s}.{s}", .{ path, key });
    }

    fn expected(reader: Reader, what: []const u8, value: Value, path: []const u8) Error {
        const found = std.json.Stringify.valueAlloc(memory.scratch(), value, .{}) catch "?";
        return reader.wrong("{s} is {s}: it has to be {s}", .{ if (path.len == 0) "it" else path, found, what });
    }

    fn wrong(reader: Reader, comptime format: []const u8, arguments: anytype) Error {
        reader.problem.words = memory.print(format, arguments);
        return error.Wrong;
    }
};

fn readWhole(comptime T: type, value: Value) ?T {
    return switch (value) {
        .integer => |whole| std.math.cast(T, whole),
        .number_string => |digits| std.fmt.parseInt(T, digits, 10) catch null,
        .float => |number| if (@trunc(number) == number and @abs(number) <= 1 << 53)
            std.math.cast(T, @as(i64, @intFromFloat(number)))
        else
            null,
        else => null,
    };
}

fn readNumber(comptime T: type, value: Value) ?T {
    return switch (value) {
        .integer => |whole| @floatFromInt(whole),
        .float => |number| @floatCast(number),
        .number_string => |digits| std.fmt.parseFloat(T, digits) catch null,
        .string => |word| if (std.mem.eql(u8, word, "NaN"))
            std.math.nan(T)
        else if (std.mem.eql(u8, word, "Infinity"))
            std.math.inf(T)
        else if (std.mem.eql(u8, word, "-Infinity"))
            -std.math.inf(T)
        else
            null,
        else => null,
    };
}

fn writeValue(writer: *std.Io.Writer, value: anytype) std.Io.Writer.Error!void {
    const T = @TypeOf(value);
    if (T == []const u8) return std.json.Stringify.encodeJsonString(value, .{}, writer);
    switch (@typeInfo(T)) {
        .bool => try writer.writeAll(if (value) "true" else "false"),
        .int, .comptime_int => try writer.print("{d}", .{value}),
        // With an exponent, and as short as reads back.
        .float, .comptime_float => if (std.math.isNan(value))
            try writer.writeAll("\"NaN\"")
        else if (std.math.isInf(value))
            try writer.writeAll(if (value > 0) "\"Infinity\"" else "\"-Infinity\"")
        else
            try writer.print("{e}", .{value}),
        .optional => if (value) |some| try writeValue(writer, some) else try writer.writeAll("null"),
        .@"enum" => |info| inline for (info.field_names) |name| {
            if (value == @field(T, name)) try writer.writeAll("\"" ++ comptime kebab(name) ++ "\"");
        },
        .@"struct" => |info| {
            inline for (info.field_names, 0..) |name, index| {
                try writer.writeAll((if (index == 0) "{\"" else ",\"") ++ comptime kebab(name) ++ "\":");
                try writeValue(writer, @field(value, name));
            }
            try writer.writeAll(if (info.field_names.len == 0) "{}" else "}");
        },
        .array, .pointer => {
            try writer.writeByte('[');
            for (value, 0..) |item, index| {
                if (index > 0) try writer.writeByte(',');
                try writeValue(writer, item);
            }
            try writer.writeByte(']');
        },
        else => @compileError("JSON has nothing for " ++ @typeName(T)),
    }
}

/// A JSON Schema of a type: what `parse` takes, with defaults, and the descriptions that the type has as
/// `pub const descriptions = .{ .monitor = "The measurement to watch." }`.
pub fn schema(comptime T: type) []const u8 {
    comptime {
        @setEvalBranchQuota(1_000_000);
        return "{" ++ schemaOf(T) ++ "}";
    }
}

fn schemaOf(comptime T: type) []const u8 {
    if (T == []const u8) return "\"type\":\"string\"";
    return switch (@typeInfo(T)) {
        .bool => "\"type\":\"boolean\"",
        .float => "\"type\":\"number\"",
        .int => std.fmt.comptimePrint("\"type\":\"integer\",\"minimum\":{d},\"maximum\":{d}", .{
            std.math.minInt(T), std.math.maxInt(T),
        }),
        .optional => |optional| "\"anyOf\":[{" ++ schemaOf(optional.child) ++ "},{\"type\":\"null\"}]",
        .@"enum" => |info| choices: {
            var names: []const u8 = "";
            for (info.field_names, 0..) |name, index| names = names ++ (if (index > 0) "," else "") ++ quoted(kebab(name));
            break :choices "\"enum\":[" ++ names ++ "]";
        },
        .array => |array| "\"type\":\"array\",\"items\":{" ++ schemaOf(array.child) ++ "}",
        .pointer => |pointer| "\"type\":\"array\",\"items\":{" ++ schemaOf(pointer.child) ++ "}",
        .@"struct" => |info| table: {
            var properties: []const u8 = "";
            var required: []const u8 = "";
            for (info.field_names, info.field_types, info.field_attrs) |name, Field, attributes| {
                const description = if (@hasDecl(T, "descriptions") and @hasField(@TypeOf(T.descriptions), name))
                    ",\"description\":" ++ quoted(@field(T.descriptions, name))
                else
                    "";
                const default = if (attributes.defaultValue(Field)) |value| ",\"default\":" ++ literal(value) else "";
                if (properties.len > 0) properties = properties ++ ",";
                properties = properties ++ quoted(kebab(name)) ++ ":{" ++ schemaOf(Field) ++ default ++ description ++ "}";
                if (default.len > 0 or @typeInfo(Field) == .optional) continue;
                required = required ++ (if (required.len > 0) "," else "") ++ quoted(kebab(name));
            }
            break :table "\"type\":\"object\",\"additionalProperties\":false,\"properties\":{" ++ properties ++
                "},\"required\":[" ++ required ++ "]";
        },
        else => @compileError("JSON has nothing for " ++ @typeName(T)),
    };
}

fn literal(comptime value: anytype) []const u8 {
    var buffer: [4096]u8 = undefined;
    var writer: std.Io.Writer = .fixed(&buffer);
    writeValue(&writer, value) catch @compileError("a default is too long");
    const text = buffer[0..writer.end].*;
    return &text;
}

fn quoted(comptime words: []const u8) []const u8 {
    return literal(words);
}
