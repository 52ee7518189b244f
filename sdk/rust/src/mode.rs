//! Which direction of a measurement is better.
//! Has no threshold of its own: rules for when a gain counts differ.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether lower or higher values are better, for the settings of a callback that looks for the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Lower is better: a loss.
    Min,
    /// Higher is better: an accuracy.
    Max,
}

impl Mode {
    /// Whether `value` is strictly better than another one. Never with NaN, on either side.
    ///
    /// ```
    /// use host_sdk::Mode;
    /// assert!(Mode::Min.is_better(0.5, 1.0));
    /// assert!(!Mode::Max.is_better(f64::NAN, 1.0));
    /// ```
    #[must_use]
    pub fn is_better(self, value: f64, than: f64) -> bool {
        match self {
            Self::Min => value < than,
            Self::Max => value > than,
        }
    }

    /// What every number but itself is better than.
    #[must_use]
    pub fn worst(self) -> f64 {
        match self {
            Self::Min => f64::INFINITY,
            Self::Max => f64::NEG_INFINITY,
        }
    }
}
