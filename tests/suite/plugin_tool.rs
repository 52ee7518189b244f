//! `host plugin new`, `build` and `pack`, as a plugin's author meets them: from nothing to a callback that ends a run, and
//! every way in which that can fail. Each language is built with its own tools where this machine has them; what it
//! lacks is printed. It does not judge the SDKs: `traces` does.

mod build;
mod failures;
mod new;
mod pack;
pub(crate) mod rehearse;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use host_tests::{Outcome, Project, guests};
use serde_json::Value;

/// Every language that `--lang` takes.
const LANGUAGES: [&str; 8] = ["rust", "python", "javascript", "typescript", "c", "cpp", "zig", "go"];

/// The exit codes that these commands have.
const PLUGIN: i32 = 6;
const PROJECT: i32 = 10;
const TOOLCHAIN: i32 = 11;
const BUILD: i32 = 12;

/// Where what is slow to compile is kept from one run of the tests to the next.
fn kept() -> PathBuf {
    guests::target_dir().join("plugin-tool")
}

/// The program, with the tools that `tests/languages.sh` has set up in front of the machine's own.
fn command(project: &Project, arguments: &str) -> Command {
    let mut command = project.command(arguments);
    let tools = guests::target_dir().join("python/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(tools).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(paths).expect("a path")).env_remove("VIRTUAL_ENV");
    // What cargo has set for the program itself is not for a plugin.
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTUP_TOOLCHAIN", "CARGO", "RUSTC"] {
        command.env_remove(name);
    }
    command.env("CARGO_TARGET_DIR", kept().join("target")).env("CARGO_NET_OFFLINE", "true");
    // What compilers have of their libraries is good for any program; what this program has compiled is the tests' own.
    let home = || std::env::home_dir().unwrap_or_default().join(".cache");
    let caches = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    command.env("ZIG_GLOBAL_CACHE_DIR", caches.join("zig")).env("GOCACHE", caches.join("go-build"));
    command.env("XDG_CACHE_HOME", kept().join("cache"));
    command
}

/// Runs the program to its end, however long a compiler takes.
fn run(project: &Project, arguments: &str) -> Outcome {
    finish(project, command(project, arguments))
}

fn finish(project: &Project, mut command: Command) -> Outcome {
    Outcome::new(command.output().expect("the program starts"), project.folder())
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}:\n{}", outcome.stdout))
}

/// Every file below a folder with its content, by its path with `/`.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            files.extend(tree(&path).into_iter().map(|(below, content)| (format!("{name}/{below}"), content)));
        } else {
            files.insert(name, fs::read(path).expect("a file"));
        }
    }
    files
}

/// The files of a folder by their names, without those below.
fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<_> = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    names
}
