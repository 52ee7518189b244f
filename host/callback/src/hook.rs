//! The moments of a training loop at which callbacks run, and what may be asked at each.
//!
//! It does not decide when a hook fires: that is the loop's part.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Request;

/// A moment in the training loop, in the order in which a step meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    /// Once in the life of a run, before its first step; not sent again after a resume.
    TrainBegin,
    /// Before the first step of an epoch.
    EpochBegin,
    /// Before the batch is fetched.
    StepBegin,
    /// All gradients of this update are summed, not yet clipped or applied.
    Gradients,
    /// The optimizer has been applied, or the update was dropped.
    StepEnd,
    /// An evaluation is about to run.
    EvaluateBegin,
    /// An evaluation is complete; its results are known.
    EvaluateEnd,
    /// A log record is about to be written.
    Log,
    /// A checkpoint is about to be written.
    SaveBegin,
    /// The checkpoint is durable on disk.
    SaveEnd,
    /// After the last step of an epoch.
    EpochEnd,
    /// The loop failed.
    Failure,
    /// The run ends.
    TrainEnd,
}

impl Hook {
    /// Every hook, in order.
    pub const ALL: [Self; 13] = [
        Self::TrainBegin,
        Self::EpochBegin,
        Self::StepBegin,
        Self::Gradients,
        Self::StepEnd,
        Self::EvaluateBegin,
        Self::EvaluateEnd,
        Self::Log,
        Self::SaveBegin,
        Self::SaveEnd,
        Self::EpochEnd,
        Self::Failure,
        Self::TrainEnd,
    ];

    /// The hook's name in the contract, such as `evaluate-end`.
    pub fn name(self) -> &'static str {
        match self {
            Self::TrainBegin => "train-begin",
            Self::EpochBegin => "epoch-begin",
            Self::StepBegin => "step-begin",
            Self::Gradients => "gradients",
            Self::StepEnd => "step-end",
            Self::EvaluateBegin => "evaluate-begin",
            Self::EvaluateEnd => "evaluate-end",
            Self::Log => "log",
            Self::SaveBegin => "save-begin",
            Self::SaveEnd => "save-end",
            Self::EpochEnd => "epoch-end",
            Self::Failure => "failure",
            Self::TrainEnd => "train-end",
        }
    }

    /// Position in [`Hook::ALL`], for tables with one row a hook.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether a request means something here. What does not is refused, whoever asks.
    ///
    /// - `skip` belongs to the hooks that announce something which can be dropped.
    /// - `mute` belongs to `log`.
    /// - At `failure` nothing can be asked for; at `train-end` only `restore`, which decides on the
    ///   weights that the run leaves behind.
    /// - Before the first step there is neither an epoch to end nor a checkpoint to go back to.
    pub fn allows(self, request: Request) -> bool {
        match request {
            Request::Skip => matches!(self, Self::StepBegin | Self::Gradients | Self::EvaluateBegin | Self::SaveBegin),
            Request::Mute => self == Self::Log,
            Request::Restore => !matches!(self, Self::TrainBegin | Self::Failure),
            Request::EndEpoch => !matches!(self, Self::TrainBegin | Self::EpochEnd | Self::Failure | Self::TrainEnd),
            Request::Stop | Request::Evaluate | Request::Save | Request::Log => {
                !matches!(self, Self::Failure | Self::TrainEnd)
            }
        }
    }

    /// Whether a knob written here still has an effect. At `failure` it has one where the loop can try the step
    /// again, as after running out of memory; the loop refuses the rest.
    pub fn takes_knobs(self) -> bool {
        self != Self::TrainEnd
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Hook {
    type Err = UnknownHook;

    fn from_str(text: &str) -> Result<Self, UnknownHook> {
        Self::ALL.into_iter().find(|hook| hook.name() == text).ok_or_else(|| UnknownHook(text.to_owned()))
    }
}

/// A word that names no hook.
#[derive(Debug, thiserror::Error)]
#[error("no hook is called `{0}`")]
pub struct UnknownHook(String);
