//! A line of `timeline.jsonl` as it is read back: what a story needs of it.
//!
//! It does not write lines ([`telemetry`](crate::telemetry) does); a line of a kind that it does not know is
//! [`What::Other`]. Main type: [`Entry`].

use std::collections::BTreeMap;

use host_callback::{Change, Consequence, Decision, FailureKind, Hook};
use host_trainer::Ending;
use serde::{Deserialize, Serialize};

use crate::telemetry::Number;

/// Results of an evaluation, by name.
pub(super) type Results = BTreeMap<String, Number>;

/// One line.
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    pub(super) step: u64,
    #[serde(default)]
    pub(super) epoch: f64,
    /// The time of day, RFC 3339.
    #[serde(default)]
    pub(super) time: String,
    #[serde(flatten)]
    pub(super) what: What,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum What {
    Started {
        device: String,
        parameters: u64,
    },
    Decided(Decided),
    CallbackFailed(Failed),
    Evaluated {
        values: Results,
    },
    EvaluationFailed {
        error: String,
    },
    Saved {
        checkpoint: String,
        tags: Vec<String>,
    },
    SaveFailed {
        error: String,
    },
    Restored {
        tag: String,
        from_step: u64,
    },
    Ended(Ended),
    Story(Told),
    #[serde(other)]
    Other,
}

/// Who acted: a callback, by the name that the run has for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Actor {
    pub(super) instance: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) plugin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
}

impl Actor {
    /// An instance of which no more is told.
    pub(super) fn named(instance: &str) -> Self {
        Self { instance: instance.to_owned(), ..Self::default() }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Decided {
    pub(super) hook: Hook,
    #[serde(flatten)]
    pub(super) by: Actor,
    pub(super) decision: Decision,
    pub(super) outcome: Outcome,
    pub(super) why: Option<String>,
    #[serde(default)]
    pub(super) changes: Vec<Change>,
}

/// What became of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    Applied,
    Merged,
    Overruled,
    Refused,
}

impl Outcome {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Merged => "merged",
            Self::Overruled => "overruled",
            Self::Refused => "refused",
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Failed {
    pub(super) hook: Hook,
    #[serde(flatten)]
    pub(super) by: Actor,
    pub(super) cause: FailureKind,
    pub(super) message: String,
    pub(super) fuel: u64,
    pub(super) seconds: f64,
    pub(super) consequence: Consequence,
}

#[derive(Debug, Deserialize)]
pub(super) struct Ended {
    pub(super) samples: u64,
    pub(super) tokens: u64,
    pub(super) ending: Ending,
    #[serde(default)]
    pub(super) evaluation: Results,
}

/// What the loop knows nothing of.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
    pub(super) topic: String,
    pub(super) instance: Option<String>,
    pub(super) text: String,
    pub(super) warning: bool,
    #[serde(default)]
    pub(super) details: serde_json::Map<String, serde_json::Value>,
}
