//! Which language a folder's plugin is written in, by the files that the language itself asks for.
//!
//! It does not read those files. Main function: [`language`].

use std::path::{Path, PathBuf};

use crate::{
    args::Language,
    exit::Exit,
    problem::{Problem, Problems},
};

/// A file, and the language whose projects have it.
const FILES: [(&str, Language); 5] = [
    ("Cargo.toml", Language::Rust),
    ("pyproject.toml", Language::Python),
    ("package.json", Language::Javascript),
    ("build.zig", Language::Zig),
    ("go.mod", Language::Go),
];

/// What C and C++ have; others have one too at times, beside their own, so it counts only by itself.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// The language of a plugin's folder.
///
/// # Errors
///
/// The folder is none, has none of the files, or those of several languages.
pub(super) fn language(folder: &Path) -> Result<Language, Problems> {
    let failed = |message: String, help: &str| Err((Exit::Project, Problem::new(message).help(help)).into());
    if !folder.is_dir() {
        return failed(format!("{} is no folder", folder.display()), "`host plugin new` makes one");
    }
    let found: Vec<_> = FILES.into_iter().filter(|(file, _)| folder.join(file).is_file()).collect();
    match found[..] {
        [(_, Language::Javascript)] if folder.join("tsconfig.json").is_file() => Ok(Language::Typescript),
        [(_, language)] => Ok(language),
        [] if MAKEFILES.iter().any(|file| folder.join(file).is_file()) => Ok(of_make(folder)),
        [] => failed(
            format!("{} is no plugin's folder", folder.display()),
            "it has no Cargo.toml, pyproject.toml, package.json, build.zig, go.mod or Makefile; `host plugin new` makes a \
             folder that has",
        ),
        _ => {
            let files: Vec<_> = found.iter().map(|(file, _)| *file).collect();
            let message = format!("{} has {}", folder.display(), files.join(" and "));
            failed(message, "--lang says which of them builds the plugin")
        }
    }
}

/// C++ where there is any source of it.
fn of_make(folder: &Path) -> Language {
    let entries = [folder.to_owned(), folder.join("src")].into_iter().flat_map(std::fs::read_dir).flatten().flatten();
    let mut ends = entries.filter_map(|entry| entry.path().extension().map(|end| end.to_string_lossy().into_owned()));
    if ends.any(|end| ["cpp", "cc", "cxx", "hpp"].contains(&end.as_str())) { Language::Cpp } else { Language::C }
}

/// The Python of the environment that a folder has for itself, if it has one.
pub(super) fn environment(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    let places = [".venv/bin/python", ".venv/Scripts/python.exe"];
    places.map(|place| folder.join(place)).into_iter().find(|python| python.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_by_its_files() {
        for (files, expected) in [
            (&["Cargo.toml"][..], Some(Language::Rust)),
            (&["package.json"], Some(Language::Javascript)),
            (&["package.json", "tsconfig.json"], Some(Language::Typescript)),
            (&["go.mod", "Makefile"], Some(Language::Go)),
            (&["Makefile", "a.c"], Some(Language::C)),
            (&["Makefile", "a.cpp"], Some(Language::Cpp)),
            (&["pyproject.toml", "package.json"], None),
            (&["a.c"], None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            files.iter().for_each(|file| std::fs::write(folder.path().join(file), "").unwrap());
            assert_eq!(language(folder.path()).ok(), expected, "{files:?}");
        }
    }
}
