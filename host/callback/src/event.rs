//! What happens at a hook: how far the run is, and the event that a callback is shown.
//!
//! It does not choose what a callback sees: [`Chain`](crate::Chain) does, from its subscriptions.

use serde::{Deserialize, Serialize};

use crate::{Hook, Key};

/// How far a run is, counted from its beginning, resumed parts included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Progress {
    /// Steps finished: updates applied, and updates that a `skip` at `gradients` dropped.
    pub step: u64,
    /// Steps that the run will do if nothing stops it, where that is known.
    pub total_steps: Option<u64>,
    /// Epochs finished, with the fraction of the running one.
    pub epoch: f64,
    /// Training samples seen.
    pub samples: u64,
    /// Tokens seen; 0 where the task has no tokens.
    pub tokens: u64,
}

/// A hook that fires now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Which hook.
    pub hook: Hook,
    /// How often it has fired since the beginning of the run, this time included: 1 for the first.
    pub occurrence: u64,
    /// How far the run is.
    pub progress: Progress,
    /// The stop reason at `train-end`, the error at `failure`, the tag at `save-begin` and `save-end`;
    /// empty elsewhere.
    pub detail: String,
}

/// What one callback is shown: the moment, and the values that it reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The hook and how far the run is.
    pub moment: Moment,
    /// Single numbers, by key.
    pub scalars: Vec<(Key, f64)>,
    /// Vectors, by key.
    pub vectors: Vec<(Key, Vec<f32>)>,
    /// Words, by key.
    pub texts: Vec<(Key, String)>,
}
