//! What a plugin says of itself, what it listens to, and the run that it is told about.
//!
//! It does not say what a plugin gets: [`Permit`](crate::Permit) does, from this and the configuration.

use serde::{Deserialize, Serialize};

use crate::{Hook, Pattern, Request};

/// What a plugin is, whatever its configuration. What it asks here is the most that it can get.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Manifest {
    /// The plugin's name.
    pub name: String,
    /// Its semantic version.
    pub version: String,
    /// One sentence on what it does.
    pub summary: String,
    /// The requests that it may make.
    pub requests: Vec<Request>,
    /// The knobs that it may write.
    pub knobs: Vec<Pattern>,
    /// Whether the loop waits for it.
    pub lane: Lane,
    /// Lower runs earlier; ties go by instance name.
    pub order: i32,
    /// JSON Schema of its configuration; empty where it is not checked before it starts.
    pub config_schema: String,
    /// Version of the state that it saves.
    pub state_version: u32,
}

/// Whether the loop waits for a callback's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// The loop waits, within the deadline.
    #[default]
    Inline,
    /// The loop does not depend on it: only `report` and `note` are taken.
    Background,
}

/// When a callback is called and what it is shown then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscription {
    /// The hook.
    pub hook: Hook,
    /// Every n-th occurrence since the beginning of the run; at least 1.
    pub every: u32,
    /// Names of measurements.
    pub reads: Vec<Pattern>,
}

impl Subscription {
    /// Whether an occurrence (1 for the first of the run) is one that it is called at.
    pub fn is_due(&self, occurrence: u64) -> bool {
        occurrence.is_multiple_of(u64::from(self.every))
    }
}

/// The run that a callback joins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunInfo {
    /// The run's name.
    pub run: String,
    /// The run's seed.
    pub seed: u64,
    /// The rank on which callbacks run: 0.
    pub rank: u32,
    /// How many ranks there are.
    pub world_size: u32,
    /// The step at which the callback joins: 0 at the beginning, more after a resume.
    pub step: u64,
    /// JSON with `model`, `task`, `parameters`, `groups` and `knobs`; the contract says what is in them.
    pub description: String,
}
