//! `zig build` makes `zig-out/bin/loss-ceiling.wasm`; `zig build test` tests it without a host.

const std = @import("std");
const host_sdk = @import("host_sdk");

pub fn build(b: *std.Build) void {
    _ = host_sdk.addCallback(b, .{
        .name = "loss-ceiling",
        .root_source_file = b.path("src/loss_ceiling.zig"),
    });
}
