//! When a measurement has stopped getting better, as `ReduceLROnPlateau` of torch sees it.
//! Plain arithmetic on what has been seen; knows nothing of hooks and rates.

use host_sdk::prelude::*;

/// What the threshold is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ThresholdMode {
    /// A part of the best value.
    Rel,
    /// The measurement's own unit.
    Abs,
}

/// What a value is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) mode: Mode,
    pub(crate) patience: u32,
    pub(crate) threshold: f64,
    pub(crate) threshold_mode: ThresholdMode,
    pub(crate) cooldown: u32,
}

/// What is remembered from check to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// The best value so far. NaN never is.
    pub(crate) best: Option<f64>,
    /// Checks in a row without improvement.
    pub(crate) bad: u32,
    /// Checks left in which nothing counts as bad.
    pub(crate) cooldown: u32,
}

impl Memory {
    /// Takes one value, and says whether the rate should fall.
    pub(crate) fn take(&mut self, terms: &Terms, value: f64) -> bool {
        if terms.better(value, self.best) {
            self.best = Some(value);
            self.bad = 0;
        } else {
            self.bad = self.bad.saturating_add(1);
        }
        if self.cooldown > 0 {
            self.cooldown -= 1;
            self.bad = 0;
        }
        let falls = self.bad > terms.patience;
        if falls {
            self.cooldown = terms.cooldown;
            self.bad = 0;
        }
        falls
    }
}

impl Terms {
    fn better(&self, value: f64, best: Option<f64>) -> bool {
        let best = best.unwrap_or(self.mode.worst());
        match (self.mode, self.threshold_mode) {
            (Mode::Min, ThresholdMode::Rel) => value < best * (1.0 - self.threshold),
            (Mode::Min, ThresholdMode::Abs) => value < best - self.threshold,
            (Mode::Max, ThresholdMode::Rel) => value > best * (1.0 + self.threshold),
            (Mode::Max, ThresholdMode::Abs) => value > best + self.threshold,
        }
    }
}
