//! Checkpoints: what a run needs to go on, in folders that are whole or not there.
//!
//! `files` writes and verifies one folder, `store` keeps a run's folders and tags, `tensors` turns weights into
//! bytes. None of them decides when to save: the loop does.

mod files;
mod store;
mod tensors;

use std::collections::BTreeMap;

use host_callback::{Disabled, SavedState, Value};
use serde::{Deserialize, Serialize};

pub(crate) use self::tensors::{data_bytes, load_model, load_optimizer, model_bytes, optimizer_bytes};
pub use self::{files::Checkpoint, store::Store};
use crate::state::{LoopState, ResumePoint};

/// Everything in a checkpoint besides tensors and the callbacks' bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct RunState {
    pub(crate) run: LoopState,
    pub(crate) resume: ResumePoint,
    /// Knobs by name.
    pub(crate) knobs: BTreeMap<String, f64>,
    /// The last value of every report of a callback.
    pub(crate) reports: BTreeMap<String, Value>,
    /// Callbacks that are not called again.
    pub(crate) disabled: Vec<Disabled>,
    /// Which checkpoint each tag points to, this one included.
    pub(crate) tags: BTreeMap<String, String>,
    /// The observer's mark.
    pub(crate) mark: serde_json::Value,
    /// How the sample order was made: a resumed run needs the same data and seed.
    pub(crate) data: DataIdentity,
}

/// What the position in the data refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DataIdentity {
    pub(crate) task: String,
    pub(crate) samples: usize,
    pub(crate) seed: u64,
}

/// The part of a checkpoint that says where loop and callbacks stand.
pub(crate) struct Snapshot {
    pub(crate) state: RunState,
    pub(crate) callbacks: Vec<SavedState>,
}

/// The content of a checkpoint in memory.
pub(crate) struct Content {
    pub(crate) state: RunState,
    pub(crate) callbacks: Vec<SavedState>,
    pub(crate) model: Vec<u8>,
    pub(crate) optimizer: Vec<u8>,
}
