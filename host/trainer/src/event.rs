//! What an observer of a run is told: one stream of plain values for the terminal, files and trackers.
//!
//! An observer cannot change a run and cannot fail it. Main types: [`Observer`], [`RunEvent`]; what a task leaves
//! for the report is an [`Artifact`].

use std::collections::BTreeMap;

use host_callback::{FailureRecord, Hook, Progress, Record, Summary, Value};
use serde::Serialize;

/// Something that happened in a run.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum RunEvent<'a> {
    /// The loop begins, or goes on after a resume.
    Started {
        /// The device in words.
        device: &'a str,
        /// How many numbers the model learns.
        parameters: usize,
        /// Where it starts; step 0 unless resumed.
        progress: Progress,
    },
    /// A step is finished.
    Stepped {
        /// How far the run is.
        progress: Progress,
        /// The step's loss if it is known without waiting for the device.
        loss: Option<f64>,
        /// Wall-clock seconds of the step.
        seconds: f64,
    },
    /// A log record is due.
    Logged {
        /// How far the run is.
        progress: Progress,
        /// Reproducible values: the same in every run with this seed, by name.
        values: &'a [(String, Value)],
        /// Values that a clock or the system gave, by name.
        performance: &'a [(String, Value)],
    },
    /// Callbacks reported values.
    Reported {
        /// How far the run is.
        progress: Progress,
        /// Values by `<instance>/<name>`.
        values: &'a [(String, f64)],
    },
    /// An evaluation begins.
    EvaluationStarted {
        /// How far the run is.
        progress: Progress,
    },
    /// An evaluation is complete.
    Evaluated {
        /// How far the run is.
        progress: Progress,
        /// Results by name, such as `eval/loss`.
        values: &'a [(String, Value)],
        /// Wall-clock seconds that it took.
        seconds: f64,
    },
    /// An evaluation could not be made, and there are no results of it.
    EvaluationFailed {
        /// How far the run is.
        progress: Progress,
        /// Why, in words.
        error: &'a str,
    },
    /// A callback decided something.
    Decided {
        /// How far the run is.
        progress: Progress,
        /// At which hook.
        hook: Hook,
        /// What, and what became of it.
        record: &'a Record,
    },
    /// A callback failed.
    CallbackFailed {
        /// How far the run is.
        progress: Progress,
        /// At which hook.
        hook: Hook,
        /// Who and how.
        failure: &'a FailureRecord,
    },
    /// A checkpoint is durable.
    Saved {
        /// How far the run is.
        progress: Progress,
        /// The checkpoint's folder name.
        checkpoint: &'a str,
        /// Its tags.
        tags: &'a [String],
        /// Seconds that the loop spent on it.
        seconds: f64,
    },
    /// A checkpoint could not be written; the run goes on and older ones are as they were.
    SaveFailed {
        /// How far the run is.
        progress: Progress,
        /// Why.
        error: &'a str,
    },
    /// Weights and optimizer state were put back.
    Restored {
        /// How far the run is.
        progress: Progress,
        /// The tag that was asked for.
        tag: &'a str,
        /// The step of the checkpoint.
        step: u64,
    },
    /// The run has ended.
    Ended {
        /// How far the run came.
        progress: Progress,
        /// How it ended.
        ending: &'a Ending,
        /// Results, by name, of the weights that the run leaves; of the last evaluation where it was interrupted
        /// after it.
        evaluation: &'a BTreeMap<String, Value>,
        /// What each callback did.
        callbacks: &'a [Summary],
    },
}

/// Who wants to know what happens in a run.
pub trait Observer {
    /// Something happened.
    fn observe(&mut self, event: &RunEvent<'_>);

    /// A mark that is kept in the checkpoint that is being written, so that an observer can go on at
    /// exactly this point after a resume (how many lines a file has, say).
    fn mark(&mut self) -> serde_json::Value {
        serde_json::Value::Null
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn observe(&mut self, _event: &RunEvent<'_>) {}
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Ending {
    /// The planned length was reached.
    Completed,
    /// Callbacks asked for it.
    Stopped {
        /// Who asked first.
        by: String,
        /// The reasons, one for each who asked.
        reasons: Vec<String>,
    },
    /// A person or the system asked for it, or the part that this process was to do is done; the run can
    /// be resumed.
    Interrupted {
        /// What asked for it.
        by: String,
    },
    /// A callback that must not be missing is lost.
    GuardLost {
        /// Which one.
        instance: String,
        /// How it failed.
        error: String,
    },
    /// The loop failed.
    Failed {
        /// The error and its causes.
        error: String,
    },
}

impl Ending {
    /// Whether the run came to an end of its own, so that resuming it trains no further.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Completed | Self::Stopped { .. })
    }

    /// One line for people: the `stop_reason` of the report.
    pub fn words(&self) -> String {
        match self {
            Self::Completed => "planned length reached".into(),
            Self::Stopped { by, reasons } => format!("{by}: {}", reasons.join("; ")),
            Self::Interrupted { by } => format!("interrupted by {by}"),
            Self::GuardLost { instance, error } => format!("guard `{instance}` lost: {error}"),
            Self::Failed { error } => format!("failed: {error}"),
        }
    }
}

/// Something that a task leaves at the end of a run for people to look at.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Artifact {
    /// Words, such as a generated sample.
    Text {
        /// What it is.
        name: String,
        /// The words; may have several lines.
        text: String,
    },
    /// Numbers with names, such as a confusion matrix.
    Table {
        /// What it is.
        name: String,
        /// Names of the columns of numbers.
        columns: Vec<String>,
        /// A name and as many numbers as there are columns, for each row.
        rows: Vec<(String, Vec<f64>)>,
    },
}
