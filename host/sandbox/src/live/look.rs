//! Looks at files: which plugins lie in a folder, and what a file holds.
//!
//! It does not know when a file is still ([`settling`](super::settling) does). Main items: [`Looker`],
//! [`plugin_files`].

use std::{
    collections::HashMap,
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest, Sha256};

use super::settling::Print;
use crate::{
    LoadErrorKind,
    cache::hex,
    compile::{WASM, leb128},
    component::read_capped,
};

/// The `*.wasm` files at the top of a folder, in the order of their names. Hidden ones are left out: programs that copy
/// give such names to what is not whole yet.
///
/// # Errors
///
/// When the folder is not there or cannot be read.
pub fn plugin_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && path.extension().is_some_and(|extension| extension == "wasm") && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads files, and reads one again only if its metadata say that it changed.
#[derive(Debug)]
pub(super) struct Looker {
    max_bytes: u64,
    known: HashMap<PathBuf, (Stamp, Print)>,
}

/// What changes with a file's content, or nearly always.
#[derive(Debug, PartialEq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Inode, and the time of the last change of the inode: those tell a file that was put in another one's place with
    /// its size and its time of modification.
    identity: (u64, i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self { bytes: meta.len(), modified: meta.modified().ok(), identity: identity(meta) }
    }
}

#[cfg(unix)]
fn identity(meta: &Metadata) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (meta.ino(), meta.ctime(), meta.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(_meta: &Metadata) -> (u64, i64, i64) {
    (0, 0, 0)
}

impl Looker {
    /// Of files that are larger than `max_bytes` only the beginning is looked at: nobody loads them.
    pub(super) fn new(max_bytes: u64) -> Self {
        Self { max_bytes, known: HashMap::new() }
    }

    /// What a file holds; `None` where there is none.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read.
    pub(super) fn look(&mut self, path: &Path) -> io::Result<Option<Print>> {
        let meta = match path.metadata() {
            Ok(meta) if meta.is_file() => meta,
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.known.remove(path);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let stamp = Stamp::of(&meta);
        if let Some((known, print)) = self.known.get(path)
            && *known == stamp
        {
            return Ok(Some(print.clone()));
        }
        let bytes = read_capped(path, self.max_bytes).map_err(|error| match error {
            LoadErrorKind::Read(error) => error,
            other => io::Error::other(other.to_string()),
        })?;
        let print = print_of(&bytes);
        self.known.insert(path.to_owned(), (stamp, print.clone()));
        Ok(Some(print))
    }

    /// Reads a file at the next look, whatever its metadata say.
    pub(super) fn forget(&mut self, path: &Path) {
        self.known.remove(path);
    }
}

pub(super) fn print_of(bytes: &[u8]) -> Print {
    Print { bytes: bytes.len() as u64, sha256: hex(&Sha256::digest(bytes)), is_whole: is_whole(bytes) }
}

/// Whether a WebAssembly file ends where its last section does. Of other files only the empty one is not whole.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(mut rest) = bytes.strip_prefix(WASM).and_then(|rest| rest.get(4..)) else {
        return !WASM.starts_with(&bytes[..bytes.len().min(WASM.len())]);
    };
    while let Some((_, after)) = rest.split_first() {
        let Some((size, body)) = leb128(after) else { return false };
        let Some(next) = body.get(size..) else { return false };
        rest = next;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_when_it_was_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.wasm");
        let mut looker = Looker::new(1 << 20);
        assert_eq!(looker.look(&file).unwrap(), None);
        fs::write(&file, "one").unwrap();
        let one = looker.look(&file).unwrap().unwrap();
        assert_eq!(looker.look(&file).unwrap(), Some(one.clone()));
        let beside = folder.path().join("b");
        fs::write(&beside, "two").unwrap();
        let time = file.metadata().unwrap().modified().unwrap();
        fs::File::options().write(true).open(&beside).unwrap().set_modified(time).unwrap();
        fs::rename(&beside, &file).unwrap();
        assert_ne!(looker.look(&file).unwrap(), Some(one), "the same size and time");
        fs::remove_file(&file).unwrap();
        assert_eq!(looker.look(&file).unwrap(), None);
    }

    #[test]
    fn a15_a_file_that_is_cut_off_is_not_whole() {
        let component = wat::parse_str("(component (core module (memory 1)) (core module (func)))").unwrap();
        for end in 0..component.len() {
            // Between two sections nothing tells that more is to come.
            let between = [8, 8 + 2 + component[9] as usize].contains(&end);
            assert_eq!(is_whole(&component[..end]), between, "{end}");
        }
        assert!(is_whole(&component) && is_whole(b"[run]\n") && is_whole(b"\0as?"));
    }

    #[test]
    fn only_plugins_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.wasm", "a.wasm", ".hidden.wasm", "c.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("d.wasm")).unwrap();
        let names: Vec<_> = plugin_files(folder.path()).unwrap();
        assert_eq!(names, [folder.path().join("a.wasm"), folder.path().join("b.wasm")]);
        assert!(plugin_files(&folder.path().join("none")).is_err());
    }
}
