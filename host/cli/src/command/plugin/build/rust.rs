//! Builds a plugin in Rust: with rustup's target where it is installed, or else with a compiler that has it elsewhere.
//!
//! It installs nothing. Main function: [`module`].

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use super::tool::{Tool, failed, shown, version};
use crate::{
    command::toolchains::answer,
    exit::Exit,
    problem::{Problem, Problems},
    terminal,
};

/// What callbacks are compiled for: a bare module without any system interface.
const TARGET: &str = "wasm32-unknown-unknown";
/// The oldest compiler that the SDK takes.
const LEAST: (u32, u32) = (1, 95);
const INSTALL: &str = "rustup target add wasm32-unknown-unknown, or on Debian apt-get install rustc-web cargo-web \
                       rust-web-src lld-22";

/// A compiler that can build for [`TARGET`].
#[derive(Debug)]
struct Compiler {
    cargo: Tool,
    rustc: PathBuf,
    sysroot: PathBuf,
    linker: Option<PathBuf>,
    /// The standard library comes as sources and is built along.
    builds_std: bool,
}

/// Runs `cargo build` and gives the module's file.
pub(super) fn module(folder: &Path) -> Result<PathBuf, Problems> {
    let compiler = find(folder)?;
    let mut command = compiler.cargo.command(folder);
    command.args(["build", "--release", "--target", TARGET, "--message-format=json-render-diagnostics"]);
    command.env("RUSTC", &compiler.rustc).args(["--config", &without_paths(&compiler.sysroot, checkout(folder))]);
    if let Some(linker) = &compiler.linker {
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    }
    if compiler.builds_std {
        command.arg("-Zbuild-std=std,panic_abort").env("RUSTC_BOOTSTRAP", "1");
    }
    let modules = modules_of(&mut command, &folder.join("Cargo.toml"))?;
    match <[PathBuf; 1]>::try_from(modules) {
        Ok([module]) => Ok(module),
        Err(modules) => {
            let problem = Problem::new(format!("cargo made {} modules of {}", modules.len(), folder.display()))
                .help("a plugin is one package whose Cargo.toml says: [lib] crate-type = [\"cdylib\"]");
            Err((Exit::Project, problem).into())
        }
    }
}

/// Runs cargo, which names the files that it made on stdout.
fn modules_of(command: &mut Command, manifest: &Path) -> Result<Vec<PathBuf>, Problems> {
    let words = shown(command);
    let not_started = |error| failed(&words, &format!("cannot be started: {error}"));
    let manifest = manifest.canonicalize().map_err(not_started)?;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(not_started)?;
    let mut modules = Vec::new();
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(|it| it.lines()).map_while(Result::ok) {
        match serde_json::from_str::<Value>(&line) {
            Ok(message) => modules.extend(module_in(&message, &manifest)),
            // What a build script prints.
            Err(_) => terminal::err(&format!("{line}\n")),
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(modules),
        Ok(status) => Err(failed(&words, &format!("ended with {status}"))),
        Err(error) => Err(not_started(error)),
    }
}

/// The module that a message of cargo's says was made of the package itself.
fn module_in(message: &Value, manifest: &Path) -> Option<PathBuf> {
    let is_own = message["reason"] == "compiler-artifact" && Path::new(message["manifest_path"].as_str()?) == manifest;
    let files = message["filenames"].as_array().filter(|_| is_own)?;
    let mut files = files.iter().filter_map(Value::as_str).filter(|file| file.ends_with(".wasm"));
    files.next().map(PathBuf::from)
}

/// A panic carries its place in the source. Whose machine that was is nobody's business, and equal sources should give
/// equal components.
fn without_paths(sysroot: &Path, checkout: Option<PathBuf>) -> String {
    let home = std::env::home_dir();
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| home.as_ref().map(|home| home.join(".cargo")));
    // Below this folder there is one a registry, with a name that depends on how the registry is reached.
    let registries = cargo_home.and_then(|home| std::fs::read_dir(home.join("registry/src")).ok());
    let registries = registries.into_iter().flatten().flatten().map(|registry| (registry.path(), "crates"));
    // Of several that fit a path the last one counts. None depends on the project, whose own paths and those of its copy of
    // the SDK are relative: what other people's crates were compiled to can be used again.
    let places = home.map(|home| (home, "home")).into_iter();
    let places = places.chain([(sysroot.join("lib/rustlib/src/rust"), "rust")]).chain(registries);
    let places = places.chain(checkout.map(|checkout| (checkout, "host")));
    let flags = places.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let flags = toml::Value::Array(flags.map(toml::Value::String).collect());
    format!("target.{TARGET}.rustflags={flags}")
}

/// The repository that a project takes the SDK from, where that is not its own copy.
fn checkout(folder: &Path) -> Option<PathBuf> {
    let manifest: toml::Table = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse().ok()?;
    let path = manifest.get("dependencies")?.get("host-sdk")?.get("path")?.as_str()?;
    let sdk = folder.join(path).canonicalize().ok()?;
    let is_own = sdk.starts_with(folder.canonicalize().ok()?);
    sdk.ancestors().nth(2).filter(|_| !is_own).map(Path::to_owned)
}

/// Cargo and compiler: those on the path, and those where Debian puts them.
fn places() -> [(Tool, PathBuf); 2] {
    [(Tool::new(["cargo"]), "rustc".into()), (Tool::new(["/usr/bin/cargo"]), "/usr/bin/rustc".into())]
}

/// One with the target's library is preferred to one that has to build it.
fn find(folder: &Path) -> Result<Compiler, Problems> {
    let (mut usable, mut looked) = (Vec::new(), Vec::new());
    for (cargo, rustc) in places() {
        let shown = rustc.display();
        match version_of(folder, &rustc) {
            Some(found) if found >= LEAST => {
                looked.push(format!("`{shown}` has no target {TARGET}"));
                usable.extend(sysroot_of(folder, &rustc).map(|sysroot| (cargo, rustc.clone(), sysroot)));
            }
            Some((major, minor)) => looked.push(format!("`{shown}` is {major}.{minor}, too old")),
            None => looked.push(format!("`{shown}` is not there")),
        }
    }
    let has = |sysroot: &Path, part: &str| sysroot.join("lib/rustlib").join(part).exists();
    let linker = linker(folder, &usable);
    let target = usable.iter().find(|(_, _, sysroot)| has(sysroot, "wasm32-unknown-unknown/lib"));
    let source = usable.iter().find(|(_, _, sysroot)| has(sysroot, "src/rust/library/std/Cargo.toml"));
    let builds_std = target.is_none();
    match target.or(source.filter(|_| linker.is_some())) {
        Some((cargo, rustc, sysroot)) => {
            let (cargo, rustc, sysroot) = (cargo.clone(), rustc.clone(), sysroot.clone());
            Ok(Compiler { cargo, rustc, sysroot, linker, builds_std })
        }
        None => {
            let message = format!("Rust 1.95 or newer with its target {TARGET} is needed: {}", looked.join(", "));
            Err((Exit::Toolchain, Problem::new(message).help(format!("install it: {INSTALL}"))).into())
        }
    }
}

fn version_of(folder: &Path, rustc: &Path) -> Option<(u32, u32)> {
    version(&answer(Command::new(rustc).arg("--version").current_dir(folder))?)
}

fn sysroot_of(folder: &Path, rustc: &Path) -> Option<PathBuf> {
    let said = answer(Command::new(rustc).args(["--print", "sysroot"]).current_dir(folder))?;
    Some(PathBuf::from(said.trim()))
}

/// A linker for WebAssembly: the one inside of a rustup toolchain, or LLVM's with or without a version in its name.
fn linker(folder: &Path, compilers: &[(Tool, PathBuf, PathBuf)]) -> Option<PathBuf> {
    let inside = compilers.iter().find_map(|(_, _, sysroot)| {
        let hosts = std::fs::read_dir(sysroot.join("lib/rustlib")).ok()?.flatten();
        hosts.map(|host| host.path().join("bin/rust-lld")).find(|path| path.is_file())
    });
    let versions = (17..=30).rev().map(|version| format!("wasm-ld-{version}"));
    let mut names = std::iter::once("wasm-ld".to_owned()).chain(versions).map(PathBuf::from);
    inside.or_else(|| names.find(|name| answer(Command::new(name).arg("--version").current_dir(folder)).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cargo_says_which_file_it_made_of_the_package_itself() {
        let made = |manifest: &str, files: &[&str]| json!({"reason": "compiler-artifact", "manifest_path": manifest, "filenames": files});
        let own = Path::new("/p/Cargo.toml");
        assert_eq!(module_in(&made("/p/Cargo.toml", &["/t/a.wasm"]), own), Some("/t/a.wasm".into()));
        assert_eq!(module_in(&made("/q/Cargo.toml", &["/t/a.wasm"]), own), None);
        assert_eq!(module_in(&made("/p/Cargo.toml", &["/t/liba.rlib"]), own), None);
        assert_eq!(module_in(&json!({"reason": "build-finished"}), own), None);
    }

    #[test]
    fn paths_are_handed_over_as_toml() {
        let flags = without_paths(Path::new("/s"), Some("/c".into()));
        let (key, value) = flags.split_once('=').unwrap();
        assert_eq!(key, "target.wasm32-unknown-unknown.rustflags");
        assert!(value.contains("\"--remap-path-prefix=/s/lib/rustlib/src/rust=rust\""), "{value}");
        assert!(value.ends_with("\"--remap-path-prefix=/c=host\"]"), "{value}");
        assert!(toml::from_str::<toml::Table>(&flags).is_ok(), "{flags}");
    }

    #[test]
    fn a_checkout_is_what_lies_outside_of_the_project() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        for folder in ["host/sdk/rust", "project/host/sdk/rust"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for (path, expected) in [("../host/sdk/rust", Some(root.path().join("host"))), ("./host/sdk/rust", None)] {
            let manifest = format!("[dependencies]\nhost-sdk = {{ path = \"{path}\" }}\n");
            std::fs::write(project.join("Cargo.toml"), manifest).unwrap();
            assert_eq!(checkout(&project), expected.map(|it| it.canonicalize().unwrap()), "{path}");
        }
    }
}
