//! How it stands with each instance of a running run.
//!
//! It writes no table: the caller's [`LiveSink`](super::LiveSink) does. Main type: [`LiveRow`].

use host_callback::{Standing, Summary};
use serde::Serialize;

/// One instance at a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveRow {
    /// Who it is and what it did in this process.
    #[serde(flatten)]
    pub summary: Summary,
    /// How it stands with it.
    pub state: Standing,
}
