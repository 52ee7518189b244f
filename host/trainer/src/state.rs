//! Where a run stands: everything besides weights and optimizer that makes a resumed run the same run.
//!
//! It does not read or write files: `checkpoint` does. Main type: [`LoopState`].

use std::collections::BTreeMap;

use host_callback::{Hook, Progress, Value};
use serde::{Deserialize, Serialize};

use crate::Travelled;

/// Counters, the position in the data, and what is still to be done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct LoopState {
    pub(crate) step: u64,
    /// Epochs that are over.
    pub(crate) epoch: u64,
    /// Samples of the running epoch that were handed out, dropped ones included.
    pub(crate) position: usize,
    /// 1 while a step is running whose samples were handed out: it is neither finished nor ahead.
    #[serde(skip)]
    pub(crate) in_flight: u64,
    /// Whether `epoch-begin` was sent for the running epoch.
    pub(crate) epoch_begun: bool,
    /// Whether the running epoch is over and `epoch-end` is still to be sent.
    pub(crate) epoch_over: bool,
    /// Batches of the running epoch that were trained on.
    pub(crate) trained_in_epoch: u64,
    pub(crate) samples: u64,
    pub(crate) tokens: u64,
    /// Seconds spent training, resumed parts included.
    pub(crate) elapsed: f64,
    /// What `elapsed` was when spans of time were last looked at: what passes in evaluations and saves counts too.
    pub(crate) checked: f64,
    pub(crate) occurrences: [u64; Hook::ALL.len()],
    /// Losses since the last log record: their sum and their number.
    pub(crate) logged: LossSum,
    /// The loss of the last step, if it was read.
    pub(crate) last_loss: Option<Value>,
    /// Results of the last evaluation.
    pub(crate) evaluation: BTreeMap<String, Value>,
    /// The step of the last evaluation.
    pub(crate) evaluated_at: Option<u64>,
    pub(crate) pending: Pending,
    /// The checkpoint that is being written, whose `save-end` is still to be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) saving: Option<Saving>,
}

/// A checkpoint between its `save-begin` and its `save-end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Saving {
    /// Its folder's name.
    pub(crate) checkpoint: String,
    /// The tags that point to it.
    pub(crate) tags: Vec<String>,
    /// After this many steps `save-end` is sent at the latest.
    pub(crate) due: u64,
}

/// A mean in the making.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LossSum {
    #[serde(with = "host_callback::number")]
    pub(crate) sum: f64,
    pub(crate) count: u64,
}

impl LossSum {
    pub(crate) fn add(&mut self, loss: f64) {
        self.sum += loss;
        self.count += 1;
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// Requests that wait for their safe point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Pending {
    /// Who asked to stop, and why.
    pub(crate) stop: Vec<(String, String)>,
    pub(crate) evaluate: bool,
    pub(crate) log: bool,
    /// Tags to save under.
    pub(crate) save: Vec<String>,
}

/// Where a resumed run goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ResumePoint {
    /// Between two steps.
    #[default]
    Boundary,
    /// The checkpoint was saved in the course of a step: `save-end` with these tags comes first.
    AfterSave(Vec<String>),
    /// It was saved in the course of a step, and `save-end` comes when it is due.
    Saving,
}

impl LoopState {
    /// Whole epochs that are over, the running one included once its last batch is done.
    fn epochs_over(&self) -> u64 {
        self.epoch + u64::from(self.epoch_over)
    }

    pub(crate) fn travelled(&self) -> Travelled {
        Travelled {
            steps: self.step,
            epochs: self.epochs_over(),
            samples: self.samples,
            time: std::time::Duration::from_secs_f64(self.elapsed),
        }
    }

    pub(crate) fn progress(&self, total_steps: Option<u64>, samples_in_epoch: usize) -> Progress {
        let running = if self.epoch_over { 0.0 } else { self.position as f64 / samples_in_epoch as f64 };
        Progress {
            step: self.step,
            total_steps,
            epoch: self.epochs_over() as f64 + running,
            samples: self.samples,
            tokens: self.tokens,
        }
    }
}
