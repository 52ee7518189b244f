//! The components that tests load and the plugins that are shipped: where they are, and what they were built from.
//! Does not build them; [`build`] does, with the toolchain that [`toolchain`] finds, when `./test.sh` asks for it.

pub mod build;
pub mod toolchain;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_path_buf()
}

/// The folder that everything about guests is built in. It follows `CARGO_TARGET_DIR`, of which a relative path
/// counts from the repository's root.
#[must_use]
pub fn target_dir() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    root().join(target).join("guests")
}

/// A built component: a plugin, or a guest of the tests.
///
/// # Panics
///
/// It has not been built.
#[must_use]
pub fn component(name: &str) -> PathBuf {
    let path = component_path(name);
    assert!(path.is_file(), "{} is missing: run ./test.sh, which builds the guests first", path.display());
    path
}

/// The same, if it has been built: what is not written in Rust needs tools that not every machine has.
#[must_use]
pub fn built(name: &str) -> Option<PathBuf> {
    Some(component_path(name)).filter(|path| path.is_file())
}

fn component_path(name: &str) -> PathBuf {
    target_dir().join("components").join(format!("{name}.wasm"))
}

/// The components of a plugin in other languages that were built, with the language: `<plugin>-in-<language>.wasm`.
///
/// # Errors
///
/// The folder of the components can't be read.
pub fn translations(plugin: &str) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(target_dir().join("components"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let language = name.strip_prefix(plugin).and_then(|rest| rest.strip_prefix("-in-")?.strip_suffix(".wasm"));
        found.extend(language.map(|language| (language.to_owned(), path.clone())));
    }
    found.sort();
    Ok(found)
}

/// The names of the plugins that are shipped, sorted.
///
/// # Errors
///
/// The folder of the plugins can't be read.
pub fn plugins() -> io::Result<Vec<String>> {
    crates_in(&root().join("plugins"))
}

/// The names of the guests that only tests load, sorted.
///
/// # Errors
///
/// The folder of the guests can't be read.
pub fn test_guests() -> io::Result<Vec<String>> {
    crates_in(&root().join("tests/guests"))
}

/// Folders with a manifest. A package has the name of its folder.
fn crates_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The component that is committed beside a plugin's sources.
#[must_use]
pub fn shipped(plugin: &str) -> PathBuf {
    root().join("plugins").join(plugin).join(format!("{plugin}.wasm"))
}

/// The file that says which sources [`shipped`] was built from.
#[must_use]
pub fn shipped_source_hash(plugin: &str) -> PathBuf {
    shipped(plugin).with_extension("wasm.source-sha256")
}

/// SHA-256, in hexadecimal, over everything in the repository that a plugin is made of: its own sources, the SDK, the
/// contract, and the workspace's manifest and lock file. Paths count as well as contents.
///
/// # Errors
///
/// A source can't be read.
pub fn source_hash(plugin: &str) -> io::Result<String> {
    let root = root();
    let plugin = format!("plugins/{plugin}");
    let mut sources = vec!["plugins/Cargo.toml".to_owned(), "plugins/Cargo.lock".to_owned()];
    for package in [plugin.as_str(), "sdk/rust"] {
        sources.push(format!("{package}/Cargo.toml"));
        collect(&root, &format!("{package}/src"), &mut sources)?;
    }
    collect(&root, "wit/0.1.0", &mut sources)?;
    sources.sort();
    let mut hash = Sha256::new();
    for path in sources {
        let content = fs::read(root.join(&path))?;
        // Lengths keep the end of one file apart from the beginning of the next.
        for part in [path.as_bytes(), &content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Adds the files under a folder, as paths from the root with `/` on every system.
fn collect(root: &Path, folder: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_plugins_are_built_from_the_sources_beside_them() {
        for plugin in plugins().unwrap() {
            let built_from = fs::read_to_string(shipped_source_hash(&plugin)).unwrap_or_default();
            assert_eq!(
                built_from.trim(),
                source_hash(&plugin).unwrap(),
                "the sources of {plugin} have moved on: cargo run --release --bin guests -- plugins"
            );
            assert!(shipped(&plugin).is_file(), "{plugin}");
        }
    }
}
