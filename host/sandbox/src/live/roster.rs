//! Which instances there should be, as the caller's configuration says it.
//!
//! It reads no configuration: the caller does, behind [`Roster`]. Main types: [`Wanted`], [`Roster`].

use std::{path::PathBuf, sync::Arc};

use host_callback::{Grant, InstanceName, Permit};
use serde_json::Value;

use crate::{Limits, OnFailure, Plugin};

/// How one instance is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Its name.
    pub name: InstanceName,
    /// Its plugin's file.
    pub file: PathBuf,
    /// The only SHA-256 that the file may have, in lower-case hexadecimal.
    pub sha256: Option<String>,
    /// What it is granted.
    pub grant: Grant,
    /// Its configuration.
    pub config: Value,
    /// Its place among callbacks; `None` takes the manifest's.
    pub order: Option<i32>,
    /// What it may use.
    pub limits: Limits,
    /// What a failure of it means.
    pub on_failure: OnFailure,
}

/// An instance that was there when the run began.
pub struct Loaded {
    /// How it runs.
    pub wanted: Wanted,
    /// Its plugin.
    pub plugin: Arc<Plugin>,
    /// What it may do.
    pub permit: Permit,
}

/// Says which instances there should be. It is asked on a thread of its own, never by the loop.
pub trait Roster: Send {
    /// The folder whose `*.wasm` files are instances without an entry.
    fn folder(&self) -> PathBuf;

    /// The configuration file that is watched too; `None` where there is none that could be read again.
    fn configuration(&self) -> Option<PathBuf>;

    /// Reads the configuration again. What it says that cannot change in a run comes back as keys.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it; everything stays as it was then.
    fn reread(&mut self) -> Result<Vec<String>, String>;

    /// The instances that have an entry, whether their files are there or not.
    fn listed(&self) -> Vec<Wanted>;

    /// The instance that a file of the folder makes, which no entry names; `None` where an entry says that it makes
    /// none.
    ///
    /// # Errors
    ///
    /// Why it cannot make one.
    fn unlisted(&self, file: &std::path::Path) -> Result<Option<Wanted>, String>;
}
