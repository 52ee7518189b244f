//! A callback that has joined a run: settings in, hooks called by name, state out and in.
//! Knows nothing of how calls come in; `component` and `testing` do.

const std = @import("std");
const json = @import("json.zig");
const memory = @import("memory.zig");
const names = @import("names.zig");
const callback = @import("callback.zig");
const Answer = @import("answer.zig").Answer;
const Event = @import("event.zig").Event;
const Hook = @import("event.zig").Hook;

/// The type of a callback's settings.
pub fn SettingsOf(comptime Callback: type) type {
    return if (@hasDecl(Callback, "Settings")) Callback.Settings else callback.NoSettings;
}

/// The one instance of a callback that there is in a component.
pub fn Instance(comptime Callback: type) type {
    return struct {
        running: Callback,

        const Self = @This();
        const has_state = @hasField(Callback, "state");
        const version = Callback.manifest.state_version;

        /// Joins a run. After an error `join.problem` has the words for whoever wrote the configuration.
        pub fn start(config: []const u8, join: *callback.Join) error{Refused}!Self {
            names.forget();
            var problem: json.Problem = .{};
            const text = if (std.mem.trim(u8, config, " \t\r\n").len == 0) "{}" else config;
            const settings = json.parse(SettingsOf(Callback), text, .refuse, memory.lasting, &problem) catch
                return join.refuse("{s}", .{problem.words});
            const running: Callback = Callback.start(settings, join) catch |cause| {
                if (join.problem.len == 0) return join.refuse("{s}", .{@errorName(cause)});
                return error.Refused;
            };
            return .{ .running = running };
        }

        /// Calls the method of the event's hook: `stepEnd` for `step_end`, or `handle` where there is that one.
        pub fn handle(instance: *Self, event: *Event, answer: *Answer) void {
            if (@hasDecl(Callback, "handle")) return instance.call("handle", event, answer);
            switch (event.hook) {
                inline else => |hook| {
                    const method = comptime methodOf(hook);
                    if (@hasDecl(Callback, method)) instance.call(method, event, answer);
                },
            }
        }

        fn call(instance: *Self, comptime method: []const u8, event: *Event, answer: *Answer) void {
            const result = @field(Callback, method)(&instance.running, event, answer);
            if (@typeInfo(@TypeOf(result)) == .error_union) {
                result catch |cause| if (answer.failure == null) answer.fail("{s}", .{@errorName(cause)});
            }
        }

        /// The state as JSON, empty for none; until the call is over.
        pub fn save(instance: *const Self) []const u8 {
            return if (has_state) json.write(instance.running.state) else "";
        }

        /// Takes back what `save` of this or an earlier version gave. Gives the words for what is wrong.
        pub fn load(instance: *Self, saved: []const u8, saved_version: u32) ?[]const u8 {
            if (saved.len == 0 or !has_state) return null;
            var problem: json.Problem = .{};
            if (saved_version == version) {
                const State = @TypeOf(instance.running.state);
                instance.running.state = json.parse(State, saved, .ignore, memory.lasting, &problem) catch
                    return memory.print("state of version {d}: {s}", .{ version, problem.words });
                return null;
            }
            if (!@hasDecl(Callback, "migrate")) return memory.print(
                "state of version {d} was saved, and this version of the plugin reads {d}",
                .{ saved_version, version },
            );
            instance.running.migrate(saved, saved_version) catch |cause|
                return memory.print("state of version {d}: {s}", .{ saved_version, @errorName(cause) });
            return null;
        }
    };
}

/// `step_end` as `stepEnd`.
fn methodOf(comptime hook: Hook) []const u8 {
    comptime {
        var method: []const u8 = "";
        var parts = std.mem.splitScalar(u8, @tagName(hook), '_');
        while (parts.next()) |part| {
            const first = if (method.len == 0) part[0] else std.ascii.toUpper(part[0]);
            method = method ++ [_]u8{first} ++ part[1..];
        }
        return method;
    }
}
