//! The module `host_sdk`, its tests, and `addCallback` for the build files of callbacks.

const std = @import("std");

pub fn build(b: *std.Build) void {
    _ = b.addModule("host_sdk", .{ .root_source_file = b.path("src/host_sdk.zig") });

    const tests = b.addTest(.{ .root_module = b.createModule(.{
        .root_source_file = b.path("src/host_sdk.zig"),
        .target = b.graph.host,
        .optimize = .debug,
        .single_threaded = true,
    }) });
    b.step("test", "Test the library, without a host").dependOn(&b.addRunArtifact(tests).step);
}

/// What a callback is built from.
pub const CallbackOptions = struct {
    /// The file is called `<name>.wasm`.
    name: []const u8,
    /// The file with `comptime { host.exportCallback(...); }`.
    root_source_file: std.Build.LazyPath,
    /// `.safe` keeps the checks whose messages end up in the host's log; it makes larger modules.
    optimize: std.lang.Optimize = .small,
};

/// A callback that `zig build` leaves as `zig-out/bin/<name>.wasm`, and whose tests `zig build test` runs natively.
pub fn addCallback(b: *std.Build, options: CallbackOptions) *std.Build.Step.Compile {
    const sdk = b.dependencyFromBuildZig(@This(), .{});
    const callback = b.addExecutable(.{
        .name = options.name,
        .root_module = b.createModule(.{
            .root_source_file = options.root_source_file,
            .target = b.resolveTargetQuery(.{ .cpu_arch = .wasm32, .os_tag = .freestanding }),
            .optimize = options.optimize,
            .single_threaded = true,
            .strip = true,
            .imports = &.{.{ .name = "host_sdk", .module = sdk.module("host_sdk") }},
        }),
    });
    callback.entry = .disabled;
    callback.rdynamic = true;
    // It holds a section with the type of the component, by which the host knows what the module is.
    callback.root_module.addObjectFile(sdk.path("bindings/plugin_component_type.o"));
    b.installArtifact(callback);

    const tests = b.addTest(.{ .root_module = b.createModule(.{
        .root_source_file = options.root_source_file,
        .target = b.graph.host,
        .optimize = .debug,
        .single_threaded = true,
        .imports = &.{.{ .name = "host_sdk", .module = sdk.module("host_sdk") }},
    }) });
    b.step("test", "Test the callback, without a host").dependOn(&b.addRunArtifact(tests).step);
    return callback;
}
