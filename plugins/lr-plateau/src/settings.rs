//! The settings of a plateau, their defaults, and the groups that they are about.
//! Does not judge values; `plateau` does.

use std::collections::BTreeMap;

use host_sdk::prelude::*;
use host_sdk::{Description, Group};

use crate::WatchedGroup;
use crate::plateau::{Terms, ThresholdMode};

/// Lowers the learning rate when a measurement stops getting better.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The measurement to watch, at the end of each evaluation.
    pub(crate) monitor: String,
    /// Whether lower or higher is better.
    pub(crate) mode: Mode,
    /// What the rate is multiplied by.
    #[schemars(range(min = 0))]
    pub(crate) factor: f64,
    /// Checks in a row without improvement that are put up with; the next one lowers the rate.
    pub(crate) patience: u32,
    /// By how much a value has to be better than the best.
    pub(crate) threshold: f64,
    /// Whether the threshold is a part of the best value or in the measurement's own unit.
    pub(crate) threshold_mode: ThresholdMode,
    /// Checks after a reduction in which nothing counts as bad.
    pub(crate) cooldown: u32,
    /// The rate that is not gone below: a number for all groups, or a table by group.
    pub(crate) min_lr: LowestRate,
    /// A reduction by no more than this is left out.
    #[schemars(range(min = 0))]
    pub(crate) eps: f64,
    /// The groups whose rate falls, `*` allowed.
    pub(crate) groups: Vec<String>,
}

/// One rate for all groups, or one for each that is named.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum LowestRate {
    All(f64),
    ByGroup(BTreeMap<String, f64>),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            monitor: "eval/loss".into(),
            mode: Mode::Min,
            factor: 0.1,
            patience: 10,
            threshold: 1e-4,
            threshold_mode: ThresholdMode::Rel,
            cooldown: 0,
            min_lr: LowestRate::All(0.0),
            eps: 1e-8,
            groups: vec!["*".into()],
        }
    }
}

impl Settings {
    /// Refuses what the schema can't.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(0.0..1.0).contains(&self.factor) {
            return Err(format!("factor is {}: it has to be below 1, and not below 0", self.factor));
        }
        Ok(())
    }

    pub(crate) fn terms(&self) -> Terms {
        Terms {
            mode: self.mode,
            patience: self.patience,
            threshold: self.threshold,
            threshold_mode: self.threshold_mode,
            cooldown: self.cooldown,
        }
    }

    /// The run's groups that the settings are about.
    pub(crate) fn groups(&self, run: &Description) -> Result<Vec<WatchedGroup>, String> {
        if let LowestRate::ByGroup(rates) = &self.min_lr {
            for name in rates.keys() {
                run.groups_matching(std::slice::from_ref(name)).map_err(|error| format!("min-lr: {error}"))?;
            }
        }
        Ok(run.groups_matching(&self.groups)?.into_iter().map(|group| self.group(group)).collect())
    }

    fn group(&self, group: &Group) -> WatchedGroup {
        let lowest_rate = match &self.min_lr {
            LowestRate::All(rate) => *rate,
            LowestRate::ByGroup(rates) => rates.get(&group.name).copied().unwrap_or(0.0),
        };
        let rate_name = format!("learning-rate/{}", group.name);
        WatchedGroup { rate_name, base_rate: group.learning_rate, lowest_rate }
    }
}
