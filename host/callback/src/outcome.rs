//! What became of the decisions at one hook: what the loop has to do, and a record for each decision.
//!
//! It does not act: the loop carries [`Controls`] out and may still refuse one by [`Outcome::refuse`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{CallbackFailure, Decision, Identity, InstanceName, KnobId, Pattern, callback::shared};

/// A request, who made it first, and the record of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked<T> {
    /// Who asked.
    pub by: InstanceName,
    /// What for: a reason or a tag.
    pub what: T,
    /// Index into [`Outcome::records`].
    pub record: usize,
}

/// What the loop has to do after a hook. Requests of the same kind are merged, the first asker first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Controls {
    /// Put weights and optimizer state back, before anything else here.
    pub restore: Option<Asked<String>>,
    /// Knobs and the values that they get; each knob once.
    pub writes: Vec<(KnobId, f64)>,
    /// Drop what the hook announces.
    pub skip: Option<Asked<String>>,
    /// End the run; everybody who asked, with the reason.
    pub stop: Vec<Asked<String>>,
    /// End the epoch.
    pub end_epoch: Option<Asked<String>>,
    /// Evaluate.
    pub evaluate: bool,
    /// Save, under each of these tags; an empty tag is a save without one.
    pub save: Vec<Asked<String>>,
    /// Write a log record.
    pub log: bool,
    /// Names that the log record leaves out.
    pub mute: Vec<Pattern>,
    /// What callbacks report, as `<instance>/<name>`.
    pub reports: Vec<(String, f64)>,
}

/// What became of one decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "why")]
pub enum Verdict {
    /// It is carried out.
    Applied,
    /// Somebody asked for the same before; it is carried out once.
    Merged,
    /// Another decision won over it; names whose.
    Overruled(String),
    /// It is not carried out; says why.
    Refused(String),
}

/// What a knob was and became.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The knob's name.
    pub knob: String,
    /// The value that stood.
    #[serde(with = "crate::number")]
    pub before: f64,
    /// The value that this decision gave it; a later one may have changed it again.
    #[serde(with = "crate::number")]
    pub after: f64,
}

/// One decision and what became of it: a line of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Whose decision it was.
    #[serde(flatten, serialize_with = "shared")]
    pub by: Arc<Identity>,
    /// What was decided.
    pub decision: Decision,
    /// What became of it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The knobs that it moved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A callback that failed at a hook, and so decided nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureRecord {
    /// Who failed.
    #[serde(flatten, serialize_with = "shared")]
    pub by: Arc<Identity>,
    /// How.
    #[serde(flatten)]
    pub failure: CallbackFailure,
}

/// Everything that follows from one hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What the loop has to do.
    pub controls: Controls,
    /// Each decision with its verdict, in the order in which they were made.
    pub records: Vec<Record>,
    /// Callbacks that failed here.
    pub failures: Vec<FailureRecord>,
}

impl Outcome {
    /// Marks a decision as refused after all: the loop could not carry it out.
    pub fn refuse(&mut self, record: usize, why: impl Into<String>) {
        if let Some(record) = self.records.get_mut(record) {
            record.verdict = Verdict::Refused(why.into());
        }
    }

    /// Whether nothing was decided and nobody failed.
    pub fn is_quiet(&self) -> bool {
        self.records.is_empty() && self.failures.is_empty() && self.controls.stop.is_empty()
    }
}
