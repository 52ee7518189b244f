//! Puts the SDKs, their templates and the contract into the program, which `host plugin new` writes them from.
//! It leaves out what a build or a test leaves behind, and compiles nothing.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// What is embedded, from the root of the repository.
const TREES: [&str; 12] = [
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "plugins/Cargo.lock",
    "plugins/Cargo.toml",
    "sdk/c",
    "sdk/cpp",
    "sdk/go",
    "sdk/javascript",
    "sdk/python",
    "sdk/rust",
    "sdk/zig",
    "wit/0.1.0",
];

/// In an SDK, what its users do not need.
const OF_THE_SDK: [&str; 5] = ["examples", "test", "tests", ".npmrc", "tsconfig.json"];

/// Anywhere, what tools leave behind.
const LEFT_BEHIND: [&str; 11] = [
    "target",
    "node_modules",
    "package-lock.json",
    "Cargo.lock",
    "zig-out",
    "zig-pkg",
    ".zig-cache",
    "__pycache__",
    ".venv",
    "build",
    "dist",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let mut files = Vec::new();
    for tree in TREES {
        collect(&root, tree, &mut files)?;
    }
    files.sort();
    let mut code = String::from("[\n");
    for file in &files {
        writeln!(code, "    ({file:?}, include_bytes!({:?})),", root.join(file).display().to_string())?;
    }
    code.push(']');
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("sources.rs"), code)?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

/// Adds the files of a tree, by their paths from the root with `/` on every system.
fn collect(root: &Path, path: &str, files: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    let here = root.join(path);
    // Not an SDK's own folder: cargo would look through all that was ever installed there.
    if path.matches('/').count() != 1 || here.is_file() {
        println!("cargo::rerun-if-changed={}", here.display());
    }
    if here.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    let in_template = path.split('/').any(|part| part.starts_with("template"));
    for entry in fs::read_dir(&here)? {
        let name = entry?.file_name().into_string().map_err(|name| format!("{path}: {name:?} is not UTF-8"))?;
        let is_output = LEFT_BEHIND.contains(&name.as_str())
            || [".wasm", ".egg-info", ".tgz", "_test.go"].iter().any(|end| name.ends_with(end) && !in_template)
            || name.ends_with(".wasm");
        if !is_output && (in_template || !OF_THE_SDK.contains(&name.as_str())) {
            collect(root, &format!("{path}/{name}"), files)?;
        }
    }
    Ok(())
}
