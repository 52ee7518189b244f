//! The hooks of the contract by name.
//! The type itself is generated; this adds what the generator does not.

use crate::Hook;

impl Hook {
    /// All hooks, in the order in which a step meets them.
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

    /// The name in the contract.
    ///
    /// ```
    /// assert_eq!(host_sdk::Hook::StepEnd.as_str(), "step-end");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

    /// The hook of a name in the contract.
    ///
    /// # Errors
    ///
    /// There is none of this name.
    pub fn named(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|hook| hook.as_str() == name).ok_or_else(|| format!("there is no hook {name}"))
    }
}
