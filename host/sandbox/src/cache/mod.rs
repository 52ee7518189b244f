//! Compiled code on disk, so that a component is compiled once and not at each start.
//!
//! It holds the crate's only unsafe code and does not decide what is compiled. Several processes may share a
//! folder: an entry is written beside and renamed, and a reader takes the whole file or nothing. Of several that need
//! the same component at one time, one compiles it and the others wait for that. Main type: [`Cache`].
//!
//! An entry is a header (a magic word, then the SHA-256 of what follows) and the engine's own format. One
//! that is truncated, damaged, of another engine or not ours at all is a miss, and is written anew.

mod entries;

use std::{
    fs::{self, File},
    hash::{Hash, Hasher},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};

pub use self::entries::{CacheEntry, Cleared, clear_cache};
use self::entries::{entries, name_parts};
use crate::error::LoadErrorKind;

/// Changed whenever the layout of an entry does.
const MAGIC: &[u8; 24] = b"train-host compiled 0001";
const DIGEST_BYTES: usize = 32;

/// An entry that is larger was not written by us: a component of the largest size that is loaded compiles
/// to less.
const MAX_ENTRY_BYTES: u64 = 1 << 30;

/// When a new entry makes the folder larger than this, the oldest go. Python components have 60 MB each.
const MAX_FOLDER_BYTES: u64 = 2 << 30;

const EXTENSION: &str = "compiled";

/// How the names of files begin that are still written.
const UNFINISHED: &str = ".new-";

/// Components whose digests begin with the same digit are compiled one after another, since they share a lock. Few
/// files, so that none of them ever has to be deleted, which could not be done safely.
const LOCK: &str = ".lock-";

/// A private folder with compiled components.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    /// Stands for the engine's version, settings and target: other ones could not run the code.
    engine: String,
}

impl Cache {
    /// Uses a folder, and makes it if there is none.
    ///
    /// It gets the mode 0700: whoever could write into it could run native code in this process. Where the
    /// folder is somebody else's, changing the mode fails, and so does this.
    pub(crate) fn open(folder: &Path, engine: &Engine) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        make_private(folder)?;
        Ok(Self { folder: folder.to_owned(), engine: Self::engine_name(engine) })
    }

    /// The name of an engine in names of entries.
    fn engine_name(engine: &Engine) -> String {
        let mut hasher = Digesting(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hex(&hasher.0.finalize()[..8])
    }

    /// The compiled form of a plugin's file, from disk or through `compile`.
    pub(crate) fn get_or_compile(
        &self,
        engine: &Engine,
        file: &[u8],
        compile: impl FnOnce() -> Result<Vec<u8>, LoadErrorKind>,
    ) -> Result<Component, LoadErrorKind> {
        let entry = self.entry(file);
        let find = || read(&entry).and_then(|payload| deserialize(engine, &payload));
        if let Some(found) = find() {
            return Ok(found);
        }
        // Held to the end. The system lets go of it when the process dies.
        let lock = self.lock(&entry);
        if let Some(found) = lock.as_ref().and_then(|_| find()) {
            return Ok(found);
        }
        let code = compile()?;
        // A folder that is full or gone costs time at the next start and nothing else.
        if self.write(&entry, &code).is_ok() {
            self.shrink(&entry);
        }
        load(engine, &code)
    }

    fn entry(&self, file: &[u8]) -> PathBuf {
        self.folder.join(format!("{}-{}.{EXTENSION}", hex(&Sha256::digest(file)), self.engine))
    }

    /// Waits until nobody else compiles this component. None where files can't be locked: then it is compiled twice.
    fn lock(&self, entry: &Path) -> Option<File> {
        let digit = entry.file_name()?.to_str()?.get(..1)?;
        let path = self.folder.join(format!("{LOCK}{digit}"));
        let file = File::options().create(true).truncate(false).write(true).open(path).ok()?;
        file.lock().ok()?;
        Some(file)
    }

    fn write(&self, entry: &Path, payload: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        file.write_all(MAGIC)?;
        file.write_all(&Sha256::digest(payload))?;
        file.write_all(payload)?;
        file.persist(entry)?;
        Ok(())
    }

    /// Deletes the oldest entries, never the one that was just written. Another process may delete at the
    /// same time, so nothing here is an error.
    fn shrink(&self, keep: &Path) {
        let Ok(files) = entries(&self.folder) else { return };
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = files
            .filter(|(path, _)| name_parts(path).is_some())
            .filter_map(|(path, meta)| meta.modified().ok().map(|modified| (modified, meta.len(), path)))
            .collect();
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in entries {
            if total <= MAX_FOLDER_BYTES {
                return;
            }
            if path != keep && fs::remove_file(&path).is_ok() {
                total -= bytes;
            }
        }
    }
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn make_private(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// What an entry holds, if it is whole.
fn read(entry: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(entry).ok()?;
    file.take(MAX_ENTRY_BYTES).read_to_end(&mut bytes).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?;
    let (digest, payload) = rest.split_at_checked(DIGEST_BYTES)?;
    if Sha256::digest(payload)[..] != *digest {
        return None;
    }
    let at = MAGIC.len() + DIGEST_BYTES;
    Some(bytes.split_off(at))
}

/// The component of code that has just been compiled.
pub(crate) fn load(engine: &Engine, code: &[u8]) -> Result<Component, LoadErrorKind> {
    deserialize(engine, code).ok_or_else(|| LoadErrorKind::Host("what was compiled cannot be loaded".into()))
}

#[expect(unsafe_code, reason = "the engine cannot check compiled code; the argument is below")]
fn deserialize(engine: &Engine, payload: &[u8]) -> Option<Component> {
    // SAFETY: the bytes must be what `Engine::precompile_component` gave, unmodified. Either they have just been
    // compiled, here or by a process that this one has started for it; or they come from a folder that only this user
    // can write to (mode 0700, set when it was opened), under a name that contains the digest of the file and the
    // engine's compatibility hash, and they have the digest that was written with them, so a torn or damaged file does
    // not get here. The engine itself refuses code of another version, other settings or another target. What remains
    // is that this very user, who could as well replace this program, forges an entry.
    let component = unsafe { Component::deserialize(engine, payload) };
    component.ok()
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hasher whose result is the same in every process and release, unlike the standard library's.
struct Digesting(Sha256);

impl Hasher for Digesting {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest.iter().take(8).fold(0, |sum, &byte| sum << 8 | u64::from(byte))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        sync::{
            Barrier,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
    };

    use super::*;

    const COMPONENT: &[u8] = b"(component (core module (func)))";

    struct Fixture {
        folder: tempfile::TempDir,
        engine: Engine,
        compiled: Cell<usize>,
    }

    impl Fixture {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap(), engine: Engine::default(), compiled: Cell::new(0) }
        }

        fn cache(&self) -> Cache {
            Cache::open(&self.folder.path().join("cache"), &self.engine).unwrap()
        }

        /// Loads the component and says whether it was compiled.
        fn load(&self) -> bool {
            let before = self.compiled.get();
            let compile = || {
                self.compiled.set(before + 1);
                Ok(self.engine.precompile_component(&wat::parse_bytes(COMPONENT).unwrap()).unwrap())
            };
            self.cache().get_or_compile(&self.engine, COMPONENT, compile).unwrap();
            self.compiled.get() > before
        }

        fn entry(&self) -> PathBuf {
            self.cache().entry(COMPONENT)
        }
    }

    #[test]
    fn the_second_load_compiles_nothing() {
        let fixture = Fixture::new();
        assert!(fixture.load());
        assert!(!fixture.load());
    }

    #[test]
    fn a16_a_bad_entry_is_a_miss_and_is_rewritten() {
        let fixture = Fixture::new();
        fixture.load();
        let good = fs::read(fixture.entry()).unwrap();
        let flipped = {
            let mut bytes = good.clone();
            *bytes.last_mut().unwrap() ^= 1;
            bytes
        };
        let of_another_engine = [&MAGIC[..], &Sha256::digest(b"\x7fELF not ours"), b"\x7fELF not ours"].concat();
        for (name, bad) in [
            ("empty", Vec::new()),
            ("truncated", good[..good.len() / 2].to_vec()),
            ("only a header", good[..30].to_vec()),
            ("flipped", flipped),
            ("foreign", b"something else".to_vec()),
            ("of another engine", of_another_engine),
        ] {
            fs::write(fixture.entry(), bad).unwrap();
            assert!(fixture.load(), "{name}: compiled again");
            assert_eq!(fs::read(fixture.entry()).unwrap(), good, "{name}: rewritten");
            assert!(!fixture.load(), "{name}: and used");
        }
    }

    #[test]
    fn a_cache_that_cannot_be_written_costs_only_time() {
        let fixture = Fixture::new();
        let cache = fixture.cache();
        fs::remove_dir_all(&cache.folder).unwrap();
        let bytes = wat::parse_bytes(COMPONENT).unwrap();
        let compile = || Ok(fixture.engine.precompile_component(&bytes).unwrap());
        assert!(cache.get_or_compile(&fixture.engine, COMPONENT, compile).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let fixture = Fixture::new();
        let mode = fs::metadata(fixture.cache().folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fixture.load();
        let names: Vec<String> = fs::read_dir(fixture.cache().folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with(LOCK))
            .collect();
        assert_eq!(names.len(), 1, "nothing is left beside the entry: {names:?}");
    }

    #[test]
    fn of_several_that_need_one_component_one_compiles_it() {
        let fixture = Fixture::new();
        let compiled = AtomicUsize::new(0);
        let all_look = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    // A cache each, as processes have.
                    let cache = Cache::open(&fixture.folder.path().join("cache"), &fixture.engine).unwrap();
                    all_look.wait();
                    let compile = || {
                        compiled.fetch_add(1, Ordering::Relaxed);
                        Ok(fixture.engine.precompile_component(&wat::parse_bytes(COMPONENT).unwrap()).unwrap())
                    };
                    cache.get_or_compile(&fixture.engine, COMPONENT, compile).unwrap();
                });
            }
        });
        assert_eq!(compiled.into_inner(), 1);
    }

    #[test]
    fn another_engine_has_other_entries() {
        let fixture = Fixture::new();
        let mut config = wasmtime::Config::new();
        config.consume_fuel(true);
        let other = Cache::open(fixture.folder.path(), &Engine::new(&config).unwrap()).unwrap();
        assert_ne!(other.engine, fixture.cache().engine);
        assert_eq!(Cache::open(fixture.folder.path(), &Engine::default()).unwrap().engine, fixture.cache().engine);
    }
}
