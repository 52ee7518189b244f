//! What is in a cache folder, for people: its entries, and a way to get rid of them.
//!
//! Main type: [`CacheEntry`].

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{Cache, EXTENSION, UNFINISHED};
use crate::Sandbox;

/// A compiled component on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEntry {
    /// Its file.
    pub file: PathBuf,
    /// SHA-256 of the component that it was compiled from, in hexadecimal.
    pub sha256: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was compiled.
    pub compiled: SystemTime,
    /// This program can use it: it was compiled by the same engine, with the same settings, for this machine.
    pub is_usable: bool,
}

/// What was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Compiled components.
    pub entries: usize,
    /// Their bytes, and those of what was left half-written.
    pub bytes: u64,
}

impl Sandbox {
    /// The compiled components in a folder, the oldest first; none where there is no folder. It changes nothing.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn cache_entries(&self, folder: &Path) -> io::Result<Vec<CacheEntry>> {
        let engine = Cache::engine_name(&self.inner.engine);
        let mut entries: Vec<CacheEntry> = entries(folder)?
            .filter_map(|(file, meta)| {
                let (sha256, of) = name_parts(&file)?;
                let is_usable = of == engine;
                Some(CacheEntry { sha256, bytes: meta.len(), compiled: meta.modified().ok()?, is_usable, file })
            })
            .collect();
        entries.sort_by(|one, other| (one.compiled, &one.file).cmp(&(other.compiled, &other.file)));
        Ok(entries)
    }
}

/// Deletes the compiled components in a folder, and what was left half-written there; other files stay. Runs that use
/// the folder go on, and compile anew when they start the next time.
///
/// # Errors
///
/// When the folder cannot be read, or a file cannot be deleted.
pub fn clear_cache(folder: &Path) -> io::Result<Cleared> {
    let mut cleared = Cleared::default();
    for (file, meta) in entries(folder)? {
        let is_entry = name_parts(&file).is_some();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if !is_entry && !name.starts_with(UNFINISHED) {
            continue;
        }
        match fs::remove_file(&file) {
            Ok(()) => {
                cleared.entries += usize::from(is_entry);
                cleared.bytes += meta.len();
            }
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(cleared)
}

/// The files of a folder; none where there is no folder.
pub(super) fn entries(folder: &Path) -> io::Result<impl Iterator<Item = (PathBuf, fs::Metadata)>> {
    let files = match fs::read_dir(folder) {
        Ok(files) => Some(files),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let files = files.into_iter().flatten().flatten();
    let files = files.filter_map(|file| file.metadata().ok().map(|meta| (file.path(), meta)));
    Ok(files.filter(|(_, meta)| meta.is_file()))
}

/// The component's digest and the engine's name, of which an entry's name is made.
pub(super) fn name_parts(file: &Path) -> Option<(String, String)> {
    let stem = file.file_name()?.to_str()?.strip_suffix(EXTENSION)?.strip_suffix('.')?;
    let (sha256, engine) = stem.split_once('-')?;
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (sha256.len() == 64 && is_hex(sha256) && is_hex(engine)).then(|| (sha256.to_owned(), engine.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SandboxConfig;

    #[test]
    fn entries_are_listed_and_cleared_and_nothing_else_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
        let engine = Cache::engine_name(&sandbox.inner.engine);
        let ours = format!("{}-{engine}.compiled", "a".repeat(64));
        let of_another = format!("{}-0123456789abcdef.compiled", "b".repeat(64));
        for name in [ours.as_str(), &of_another, "notes.txt", "x.compiled", ".new-123"] {
            fs::write(file(name), [0; 10]).unwrap();
        }
        let entries = sandbox.cache_entries(folder.path()).unwrap();
        let usable = |name: &str| entries.iter().find(|entry| entry.file == file(name)).map(|entry| entry.is_usable);
        assert_eq!((entries.len(), usable(&ours), usable(&of_another)), (2, Some(true), Some(false)));
        assert_eq!(clear_cache(folder.path()).unwrap(), Cleared { entries: 2, bytes: 30 });
        assert!(file("notes.txt").exists() && file("x.compiled").exists() && !file(".new-123").exists());
        assert_eq!(clear_cache(folder.path()).unwrap(), Cleared::default());
    }

    #[test]
    fn where_there_is_no_folder_there_are_no_entries() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
        assert_eq!(sandbox.cache_entries(&missing).unwrap(), []);
        assert_eq!(clear_cache(&missing).unwrap(), Cleared::default());
        assert!(!missing.exists());
    }
}
