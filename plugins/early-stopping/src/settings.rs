//! The settings of early stopping, their defaults, and which of them go together.
//! Does not judge values; `rule` does.

use host_sdk::prelude::*;

use crate::rule::{Rule, Terms};

/// Ends a run whose evaluation no longer gets better.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The measurement to watch.
    pub(crate) monitor: String,
    /// Whether lower or higher is better.
    pub(crate) mode: Mode,
    /// Stop after this many checks in a row without improvement. 0 is as 1.
    pub(crate) patience: u32,
    /// A value has to be better than the best by more than this to count.
    #[schemars(range(min = 0))]
    pub(crate) min_delta: f64,
    /// When the measurement is checked.
    pub(crate) check_at: CheckAt,
    /// Check at every n-th occurrence of that moment.
    #[schemars(range(min = 1))]
    pub(crate) check_every: u32,
    /// Checks before this many steps are finished are left out.
    pub(crate) warm_up: u64,
    /// Checks before this epoch, counted from 0, are left out.
    pub(crate) start_from_epoch: u64,
    /// Save each new best, and put it back when the run ends.
    pub(crate) restore_best: bool,
    /// The tag of the best checkpoint.
    pub(crate) tag: String,
    /// Whose rule decides what is better and when to stop.
    pub(crate) rule: Rule,
    /// Stop at a value better than this.
    pub(crate) stopping_threshold: Option<f64>,
    /// Stop at a value worse than this.
    pub(crate) divergence_threshold: Option<f64>,
    /// Stop at a value that is not finite. The default is the rule's: `true` for `lightning`, `false` for `sound`.
    pub(crate) check_finite: Option<bool>,
    /// An improvement that does not beat this does not give the patience back.
    pub(crate) baseline: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            monitor: "eval/loss".into(),
            mode: Mode::Min,
            patience: 3,
            min_delta: 0.0,
            check_at: CheckAt::EvaluateEnd,
            check_every: 1,
            warm_up: 0,
            start_from_epoch: 0,
            restore_best: true,
            tag: "best".into(),
            rule: Rule::Sound,
            stopping_threshold: None,
            divergence_threshold: None,
            check_finite: None,
            baseline: None,
        }
    }
}

/// A moment at which a measurement can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::enum_variant_names, reason = "they are the contract's names")]
pub(crate) enum CheckAt {
    EvaluateEnd,
    EpochEnd,
    StepEnd,
}

impl CheckAt {
    pub(crate) fn hook(self) -> Hook {
        match self {
            Self::EvaluateEnd => Hook::EvaluateEnd,
            Self::EpochEnd => Hook::EpochEnd,
            Self::StepEnd => Hook::StepEnd,
        }
    }
}

impl Settings {
    /// Refuses what the schema can't.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(self.min_delta >= 0.0 && self.min_delta.is_finite()) {
            return Err(format!("min-delta is {}: it has to be 0 or more", self.min_delta));
        }
        if self.check_every == 0 {
            return Err("check-every is 0: it has to be 1 or more".into());
        }
        let given = [
            ("stopping-threshold", self.stopping_threshold.is_some()),
            ("divergence-threshold", self.divergence_threshold.is_some()),
            ("check-finite", self.check_finite.is_some()),
            ("baseline", self.baseline.is_some()),
        ];
        let known = self.rule.knows();
        match given.into_iter().find(|(name, given)| *given && !known.contains(name)) {
            Some((name, _)) => {
                Err(format!("{name} is not part of the {} rule; leave it out, or the rule", self.rule.name()))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn terms(&self) -> Terms {
        Terms {
            mode: self.mode,
            patience: self.patience,
            min_delta: self.min_delta,
            stopping_threshold: self.stopping_threshold,
            divergence_threshold: self.divergence_threshold,
            check_finite: self.check_finite.unwrap_or(self.rule == Rule::Lightning),
            baseline: self.baseline,
        }
    }

    pub(crate) fn is_warming_up(&self, progress: &Progress) -> bool {
        progress.step < self.warm_up || epoch_index(progress) < self.start_from_epoch
    }
}

/// The epoch, counted from 0, that the last step belonged to: a check at the very end of an epoch is still about it.
pub(crate) fn epoch_index(progress: &Progress) -> u64 {
    // Counting up is exact here: an epoch that has ended is a whole number.
    (progress.epoch.ceil() as u64).saturating_sub(1)
}
