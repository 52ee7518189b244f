//! Builds the guests: cargo makes modules, `wit-component` makes components of them.
//! Does not look for compilers, and writes only below the target folder and, when asked, beside the plugins' sources.

use std::fs;
use std::path::Path;

use wit_component::{ComponentEncoder, DecodedWasm};

use super::toolchain::{TARGET, Toolchain};
use super::{component_path, plugins, root, shipped, shipped_source_hash, source_hash, target_dir, test_guests};

/// The package whose interfaces a guest may import, and one of which it exports.
const CONTRACT: &str = "train-host:callback/";

/// The guest that asks for more of the world on purpose, and what that begins with.
const WORLDLY: (&str, &str) = ("wasi", "wasi:");

/// Builds all guests into the folder that [`super::component`] looks in, and gives their names.
///
/// # Errors
///
/// A guest does not compile, or is not a component of the contract's world.
pub fn build(toolchain: &Toolchain) -> Result<Vec<String>, String> {
    compile(toolchain)?;
    let mut names = plugins().and_then(|mut names| {
        names.extend(test_guests()?);
        Ok(names)
    });
    let names = names.as_mut().map_err(|error| format!("listing the guests: {error}"))?;
    for name in &*names {
        make_component(name).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(std::mem::take(names))
}

/// Builds, and puts the plugins beside their sources with the hash of what they were built from.
///
/// # Errors
///
/// Building fails, or a file can't be written.
pub fn ship(toolchain: &Toolchain) -> Result<Vec<String>, String> {
    build(toolchain)?;
    let names = plugins().map_err(|error| format!("listing the plugins: {error}"))?;
    for name in &names {
        ship_one(name).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(names)
}

fn ship_one(name: &str) -> Result<(), String> {
    let component = fs::read(component_path(name)).map_err(|error| error.to_string())?;
    let hash = source_hash(name).map_err(|error| error.to_string())?;
    write(&shipped(name), &component)?;
    write(&shipped_source_hash(name), format!("{hash}\n").as_bytes())
}

fn compile(toolchain: &Toolchain) -> Result<(), String> {
    let status = toolchain
        .cargo_build()
        .args(["--release", "--locked", "--workspace", "--exclude", "host-sdk", "--target-dir"])
        .arg(target_dir())
        .current_dir(root().join("plugins"))
        .status()
        .map_err(|error| format!("cargo can't be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo ended with {status}")) }
}

fn make_component(name: &str) -> Result<(), String> {
    let module = target_dir().join(TARGET).join("release").join(format!("{}.wasm", name.replace('-', "_")));
    let module = fs::read(&module).map_err(|error| format!("{}: {error}", module.display()))?;
    let component = encode(&module).map_err(|error| format!("{error:#}"))?;
    check_world(name, &component)?;
    write(&component_path(name), &component)
}

fn encode(module: &[u8]) -> Result<Vec<u8>, impl std::fmt::Display + use<>> {
    ComponentEncoder::default().validate(true).module(module).and_then(|encoder| encoder.encode())
}

/// A guest that imports more, or exports something else, would be refused by a host in the middle of a test.
fn check_world(name: &str, component: &[u8]) -> Result<(), String> {
    let decoded = wit_component::decode(component).map_err(|error| format!("{error:#}"))?;
    let DecodedWasm::Component(resolve, world) = decoded else { return Err("not a component".into()) };
    let world = &resolve.worlds[world];
    for import in world.imports.keys().map(|key| resolve.name_world_key(key)) {
        let is_worldly = name == WORLDLY.0 && import.starts_with(WORLDLY.1);
        if !import.starts_with(CONTRACT) && !is_worldly {
            return Err(format!("imports {import}"));
        }
    }
    let exports: Vec<String> = world.exports.keys().map(|key| resolve.name_world_key(key)).collect();
    if exports.iter().any(|export| export.starts_with(CONTRACT)) {
        return Ok(());
    }
    Err(format!("does not export the contract's interface, but {exports:?}"))
}

/// By rename, so that nobody ever sees half a file; not at all where nothing changed, so that a running host that
/// watches the folder is not told of a change.
fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let beside = path.with_extension(format!("partial-{}", std::process::id()));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&beside, content))
        .and_then(|()| fs::rename(&beside, path))
        .map_err(|error| format!("{}: {error}", path.display()))
}
