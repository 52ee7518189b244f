//! One checkpoint's folder: written beside and renamed, verified by size and hash before anything is used.
//!
//! It does not know which checkpoints a run has: `store` does. Main type: [`Checkpoint`].

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use host_callback::{Disabled, SavedState, Value};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use super::{Content, RunState};
use crate::{error::CheckpointError, state::ResumePoint};

/// The number that changes when old checkpoints cannot be read any more.
const FORMAT: u32 = 1;
const MANIFEST: &str = "checkpoint.json";
const MODEL: &str = "model.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";
const CALLBACKS: &str = "callbacks.json";

/// A whole checkpoint on disk, verified.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
    step: u64,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// Version of the program that wrote it, for people.
    host: String,
    step: u64,
    /// Whether it was saved in the course of the run, and not because this part of it ended.
    regular: bool,
    files: BTreeMap<String, FileEntry>,
}

#[derive(Serialize, Deserialize)]
struct FileEntry {
    bytes: u64,
    sha256: String,
}

/// A callback's state without its bytes, which lie in a file of their own.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct CallbackEntry {
    file: String,
    #[serde(flatten)]
    state: SavedState,
}

impl Checkpoint {
    /// Verifies a checkpoint's folder: every file is there, with its size and its hash.
    ///
    /// # Errors
    ///
    /// When the folder is no checkpoint, is of another format, or a file is missing or damaged.
    pub fn open(path: &Path) -> Result<Self, CheckpointError> {
        let damaged = |message: String| CheckpointError::Damaged { path: path.to_owned(), message, older: None };
        let manifest_path = path.join(MANIFEST);
        if !manifest_path.is_file() {
            return Err(damaged(format!("it has no {MANIFEST}")));
        }
        let manifest: Manifest =
            parse(&read(&manifest_path)?).map_err(|error| damaged(format!("{MANIFEST}: {error}")))?;
        if manifest.format != FORMAT {
            let message = format!(
                "it has format {}, written by host {}; this program reads format {FORMAT}",
                manifest.format, manifest.host
            );
            return Err(CheckpointError::Mismatch { path: path.to_owned(), message });
        }
        for (name, entry) in &manifest.files {
            let bytes = fs::read(path.join(name)).map_err(|error| damaged(format!("{name}: {error}")))?;
            if bytes.len() as u64 != entry.bytes {
                return Err(damaged(format!("{name} has {} bytes and should have {}", bytes.len(), entry.bytes)));
            }
            if hash(&bytes) != entry.sha256 {
                return Err(damaged(format!("{name} is not what was written (its SHA-256 differs)")));
            }
        }
        Ok(Self { path: path.to_owned(), step: manifest.step })
    }

    /// The checkpoint's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The step after which it was saved.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The observer's mark from when it was saved.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn mark(&self) -> Result<serde_json::Value, CheckpointError> {
        Ok(self.state()?.mark)
    }

    pub(crate) fn state(&self) -> Result<RunState, CheckpointError> {
        self.json(STATE)
    }

    pub(crate) fn model(&self) -> Result<Vec<u8>, CheckpointError> {
        read(&self.path.join(MODEL))
    }

    pub(crate) fn optimizer(&self) -> Result<Vec<u8>, CheckpointError> {
        read(&self.path.join(OPTIMIZER))
    }

    /// The state of each callback that had one.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub fn callbacks(&self) -> Result<Vec<SavedState>, CheckpointError> {
        let entries: Vec<CallbackEntry> = self.json(CALLBACKS)?;
        let load = |entry: CallbackEntry| Ok(SavedState { bytes: read(&self.path.join(&entry.file))?, ..entry.state });
        entries.into_iter().map(load).collect()
    }

    /// The last value of every report of a callback, by `<instance>/<name>`.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn reports(&self) -> Result<BTreeMap<String, Value>, CheckpointError> {
        Ok(self.state()?.reports)
    }

    /// The callbacks that were not called any more.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn disabled(&self) -> Result<Vec<Disabled>, CheckpointError> {
        Ok(self.state()?.disabled)
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, CheckpointError> {
        parse(&read(&self.path.join(name))?).map_err(|error| CheckpointError::Damaged {
            path: self.path.clone(),
            message: format!("{name}: {error}"),
            older: None,
        })
    }
}

/// Whether a checkpoint was saved in the course of its run; `false` where that cannot be read.
pub(super) fn is_regular(path: &Path) -> bool {
    let manifest = read(&path.join(MANIFEST)).ok().and_then(|bytes| parse::<Manifest>(&bytes).ok());
    manifest.is_some_and(|manifest| manifest.regular)
}

/// Writes a checkpoint under `parent/name`; the folder appears when all of it is durable.
pub(super) fn write(parent: &Path, name: &str, content: &Content) -> Result<(), CheckpointError> {
    let path = parent.join(name);
    let failed = |source| CheckpointError::Io { action: "cannot write checkpoint", path: path.clone(), source };
    let beside = parent.join(format!(".{name}.{}", std::process::id()));
    let written = write_folder(&beside, content).and_then(|()| {
        fs::rename(&beside, &path)?;
        sync_folder(parent)
    });
    if let Err(error) = written {
        // The folder is of no use to anybody; if it cannot be removed either, the next start removes it.
        drop(fs::remove_dir_all(&beside));
        return Err(failed(error));
    }
    Ok(())
}

fn write_folder(folder: &Path, content: &Content) -> io::Result<()> {
    fs::create_dir(folder)?;
    let mut files = BTreeMap::new();
    let mut put = |name: &str, bytes: &[u8]| {
        files.insert(name.to_owned(), FileEntry { bytes: bytes.len() as u64, sha256: hash(bytes) });
        write_durably(&folder.join(name), bytes)
    };
    put(MODEL, &content.model)?;
    put(OPTIMIZER, &content.optimizer)?;
    put(STATE, &serde_json::to_vec_pretty(&content.state)?)?;
    let mut entries = Vec::new();
    for state in &content.callbacks {
        let file = format!("callback-{}.state", state.instance);
        put(&file, &state.bytes)?;
        entries.push(CallbackEntry { file, state: SavedState { bytes: Vec::new(), ..state.clone() } });
    }
    put(CALLBACKS, &serde_json::to_vec_pretty(&entries)?)?;
    let step = content.state.run.step;
    let regular = content.state.resume != ResumePoint::Boundary;
    let manifest = Manifest { format: FORMAT, host: env!("CARGO_PKG_VERSION").into(), step, regular, files };
    write_durably(&folder.join(MANIFEST), &serde_json::to_vec_pretty(&manifest)?)?;
    sync_folder(folder)
}

/// Writes a file so that it survives a power cut.
fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Replaces a file by rename: readers and a power cut see the old content or the new one.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder(folder)
}

/// Makes names in a folder durable, where the system lets a folder be synced.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn read(path: &Path) -> Result<Vec<u8>, CheckpointError> {
    fs::read(path).map_err(|source| CheckpointError::Io { action: "cannot read", path: path.to_owned(), source })
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(bytes)
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
