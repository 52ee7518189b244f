//! Builds plugins with Zig: its own, and those in C and C++, for which it is the compiler.
//!
//! It installs nothing. Main functions: [`module`], [`module_by_make`].

use std::path::{Path, PathBuf};

use super::{
    project::environment,
    tool::{Tool, Wanted, run},
};
use crate::{
    exit::Exit,
    problem::{Problem, Problems},
};

const ZIG: Wanted = Wanted {
    name: "Zig",
    least: (0, 17),
    ask: &["version"],
    install: "pip install ziglang==0.17.1, or https://ziglang.org/download",
};

const MAKE: Wanted = Wanted {
    name: "GNU Make",
    least: (3, 81),
    ask: &["--version"],
    install: "on Debian apt-get install make, on macOS xcode-select --install",
};

/// On the path, or as a package of Python's.
fn find(folder: &Path) -> Result<Tool, Problems> {
    let pythons = environment(folder).into_iter().chain(["python3".into(), "python".into()]);
    let packages = pythons.map(|python: PathBuf| Tool::new([python.as_os_str(), "-m".as_ref(), "ziglang".as_ref()]));
    ZIG.find(folder, std::iter::once(Tool::new(["zig"])).chain(packages))
}

/// Runs `zig build` and gives the one module that it installs.
pub(super) fn module(folder: &Path, scratch: &Path) -> Result<PathBuf, Problems> {
    let zig = find(folder)?;
    run(zig.command(folder).args(["build", "--prefix"]).arg(scratch))?;
    let made = std::fs::read_dir(scratch.join("bin")).into_iter().flatten().flatten();
    let mut made = made.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "wasm"));
    match (made.next(), made.next()) {
        (Some(module), None) => Ok(module),
        _ => {
            let problem = Problem::new("`zig build` has to install exactly one .wasm file")
                .help("build.zig makes it with host_sdk.addCallback(b, .{ .name = ..., .root_source_file = ... })");
            Err((Exit::Project, problem).into())
        }
    }
}

/// Runs `make OUT=FILE` with Zig as the compiler, and gives the file.
pub(super) fn module_by_make(folder: &Path, scratch: &Path) -> Result<PathBuf, Problems> {
    let make = MAKE.find(folder, [Tool::new(["make"]), Tool::new(["gmake"])])?;
    let zig = find(folder)?;
    let module = scratch.join("module.wasm");
    let mut command = make.command(folder);
    command.arg(format!("OUT={}", module.display()));
    command.env("CC", format!("{} cc", zig.shown())).env("CXX", format!("{} c++", zig.shown()));
    run(&mut command)?;
    if module.is_file() {
        return Ok(module);
    }
    let problem = Problem::new("`make OUT=FILE` did not write FILE")
        .help("the Makefile's first rule has to make $(OUT), as that of `host plugin new NAME --lang c` does");
    Err((Exit::Project, problem).into())
}
