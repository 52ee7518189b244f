//! The files of the repository that are in the program, and the SDK's part of them as a project gets it.
//!
//! It writes nothing. Main functions: [`template`], [`copy_of_sdk`].

use std::{borrow::Cow, sync::LazyLock};

use toml::{Table, Value};

use crate::args::Language;

/// Paths from the root of the repository, sorted, with contents. The build script gathers them.
static SOURCES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// A file of a project: its path there, with `/` on every system, and its content.
pub(super) type Source = (String, Cow<'static, [u8]>);

/// The files below a folder of the repository, by their paths from there.
fn below(folder: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    SOURCES.iter().filter_map(move |(path, content)| {
        let path = path.strip_prefix(folder)?.strip_prefix('/')?;
        Some((path, *content))
    })
}

/// The files of a language's first callback, as they stand in the repository.
pub(super) fn template(language: Language) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    below(language.template())
}

/// The versions of other people's crates that the plugins of the repository are built and tested with.
pub(super) fn tested_versions() -> &'static [u8] {
    file("plugins/Cargo.lock")
}

fn file(path: &str) -> &'static [u8] {
    let found = SOURCES.iter().find(|(known, _)| *known == path);
    found.map_or(&[], |(_, content)| content)
}

/// What a project refers to, at the paths that it has in the repository, so that it could be a checkout.
pub(super) fn copy_of_sdk(language: Language) -> Vec<Source> {
    let mut files = vec![
        ("README.md".to_owned(), Cow::from(about(language).into_bytes())),
        ("LICENSE-APACHE".to_owned(), Cow::from(file("LICENSE-APACHE"))),
        ("LICENSE-MIT".to_owned(), Cow::from(file("LICENSE-MIT"))),
    ];
    for folder in language.sources() {
        let own = below(folder).filter(|(path, _)| !path.starts_with("template"));
        files.extend(own.map(|(path, content)| (format!("{folder}/{path}"), Cow::from(content))));
    }
    for (path, content) in &mut files {
        if path == "sdk/rust/Cargo.toml" {
            *content = Cow::from(standalone(content).into_bytes());
        }
    }
    files
}

fn about(language: Language) -> String {
    format!(
        "# A copy of host's SDK for {}\n\nFrom host {}, written by `host plugin new`. The folders are those of host's \
         repository, in the parts that this project\nneeds. For a newer SDK let a newer host make a new project, and put \
         its folder `host` here in place of this one.\n",
        language.name(),
        env!("CARGO_PKG_VERSION"),
    )
}

/// The workspace that the Rust SDK takes its versions from.
static WORKSPACE: LazyLock<Table> = LazyLock::new(|| parse(file("plugins/Cargo.toml")));

fn parse(manifest: &[u8]) -> Table {
    let text = String::from_utf8_lossy(manifest);
    text.parse().expect("manifests of the repository are TOML")
}

/// A manifest that takes nothing from its workspace: each `x.workspace = true` becomes what stands there.
fn standalone(manifest: &[u8]) -> String {
    let mut manifest = parse(manifest);
    let workspace = &WORKSPACE["workspace"];
    for (own, from) in [("package", "package"), ("dependencies", "dependencies")] {
        let Some(table) = manifest.get_mut(own).and_then(Value::as_table_mut) else { continue };
        for (key, value) in table.iter_mut() {
            if value.get("workspace").is_some() {
                *value = workspace[from][key].clone();
            }
        }
        table.remove("workspace");
    }
    manifest.remove("lints");
    let text = toml::to_string(&manifest).expect("what was read as TOML can be written");
    format!("# The manifest of the repository, with what it takes from its workspace put in.\n{text}")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_template_and_sdk_is_whole() {
        for language in Language::value_variants() {
            let files: Vec<&str> = template(*language).map(|(path, _)| path).collect();
            assert!(files.contains(&"README.md") && files.contains(&".gitignore"), "{language:?}: {files:?}");
            let is_test = |path: &&str| path.contains("test") || path.ends_with("lib.rs") || path.ends_with(".zig");
            assert!(files.iter().any(is_test), "{language:?}: {files:?}");
            let sdk = copy_of_sdk(*language);
            for folder in language.sources() {
                let of_it = sdk.iter().filter(|(path, _)| path.starts_with(folder));
                assert!(of_it.count() >= 1, "{language:?}: {folder}");
            }
            assert!(sdk.iter().any(|(path, _)| path.ends_with("/README.md")), "{language:?}");
            assert!(sdk.iter().map(|(_, content)| content.len()).sum::<usize>() < 1 << 20, "{language:?}");
        }
    }

    #[test]
    fn nothing_that_tools_leave_behind_is_embedded() {
        for (path, _) in SOURCES {
            for part in ["node_modules", "__pycache__", "zig-out", ".zig-cache", ".wasm", "/target/", "/examples/"] {
                assert!(!path.contains(part), "{path}");
            }
        }
    }

    #[test]
    fn the_manifest_of_the_rust_sdk_stands_by_itself() {
        let text = standalone(file("sdk/rust/Cargo.toml"));
        let manifest: Table = text.parse().unwrap();
        assert!(!text.contains("workspace = "), "{text}");
        assert_eq!(manifest["package"]["edition"].as_str(), Some("2024"));
        assert!(manifest["dependencies"]["wit-bindgen"]["version"].is_str(), "{text}");
    }
}
