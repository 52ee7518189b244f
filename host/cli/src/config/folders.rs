//! Paths of a configuration, and the user's cache folder.
//!
//! It does not touch the file system. Main functions: [`under`], [`user_cache`].

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The folder of a file; `.` where the file has none.
pub(crate) fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A path that is meant relative to a folder. An absolute one stays what it is.
pub(super) fn under(folder: &Path, path: &str) -> PathBuf {
    let path = Path::new(path.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(path));
    if path == Path::new(".") {
        folder.to_owned()
    } else if folder == Path::new(".") {
        // `runs/a-1` and not `./runs/a-1`: these paths are read by people.
        path.to_owned()
    } else {
        folder.join(path)
    }
}

/// The name of a run whose configuration gives it none: the file's stem, as far as a name can hold it.
pub(super) fn default_name(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default();
    let fits = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let name: String = stem.chars().map(fits).take(host_callback::MAX_NAME_BYTES).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "run".into() } else { name.into() }
}

/// The folder for compiled plugins where the configuration names none: `train-host` in the user's cache folder.
///
/// `variable` looks up the environment. Without a home there is no private place, and it is in the system's
/// folder for temporary files.
pub(crate) fn user_cache(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    // Relative values of XDG variables are to be ignored, says the specification.
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = if cfg!(windows) { folder("LOCALAPPDATA") } else { folder("XDG_CACHE_HOME") };
    let cache = cache.or_else(|| folder("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("train-host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_from_the_folder_of_the_file() {
        for (file, path, expected) in [
            ("train.toml", "runs", "runs"),
            ("train.toml", "./runs", "runs"),
            ("a/train.toml", "runs", "a/runs"),
            ("a/train.toml", ".", "a"),
            ("a/train.toml", "../runs", "a/../runs"),
            ("a/train.toml", "/runs", "/runs"),
            ("train.toml", ".", "."),
        ] {
            assert_eq!(under(&folder_of(Path::new(file)), path), Path::new(expected), "{file} {path}");
        }
    }

    #[test]
    fn a_file_name_becomes_a_run_name() {
        for (file, name) in
            [("digits.toml", "digits"), ("a/My Run_2.toml", "my-run-2"), ("___.toml", "run"), ("", "run")]
        {
            assert_eq!(default_name(Path::new(file)), name);
        }
    }

    #[test]
    fn the_cache_follows_the_environment() {
        for (variables, expected) in [
            (&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")][..], "/c/train-host"),
            (&[("XDG_CACHE_HOME", "c"), ("HOME", "/h")], "/h/.cache/train-host"),
            (&[("HOME", "/h")], "/h/.cache/train-host"),
        ] {
            let variable = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
            assert_eq!(user_cache(variable), Path::new(expected), "{variables:?}");
        }
        assert!(user_cache(|_| None).ends_with("train-host"));
    }
}
