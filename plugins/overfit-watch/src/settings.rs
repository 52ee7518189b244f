//! The settings of the watch, their defaults, and the weight decays that it may raise.
//! Does not judge gaps; `gap` does.

use host_sdk::Description;
use host_sdk::prelude::*;

use crate::gap::Terms;

/// Watches the gap between evaluation and training, and acts when it grows time after time.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// What is measured at an evaluation.
    pub(crate) evaluated: String,
    /// What is measured in training: the mean of its values since the last evaluation counts.
    pub(crate) trained: String,
    /// Whether lower or higher is better.
    pub(crate) mode: Mode,
    /// Act when the gap has grown this many evaluations in a row.
    #[schemars(range(min = 1))]
    pub(crate) patience: u32,
    /// Growth counts only where the gap is above this, in the measurements' unit.
    max_gap: Option<f64>,
    /// Growth counts only where the worse value is more than this many times the better one. With both limits either is
    /// enough; without any the evaluation has to be worse at all.
    #[schemars(range(min = 0))]
    max_ratio: Option<f64>,
    /// Read the training measurement at every n-th step.
    #[schemars(range(min = 1))]
    pub(crate) measure_every: u32,
    /// What is done.
    pub(crate) action: Action,
    /// `scale-weight-decay`: what the weight decay is multiplied by each time.
    #[schemars(range(min = 1))]
    pub(crate) factor: f64,
    /// `scale-weight-decay`: what it is multiplied by at most, all in all.
    #[schemars(range(min = 1))]
    pub(crate) max_factor: f64,
    /// `scale-weight-decay`: the parameter groups whose decay is raised, `*` allowed.
    groups: Vec<String>,
}

/// What is done when the gap has grown for long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    /// A line in the timeline.
    Note,
    /// The run ends.
    Stop,
    /// The weights shrink faster.
    ScaleWeightDecay,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            evaluated: "eval/loss".into(),
            trained: "loss".into(),
            mode: Mode::Min,
            patience: 3,
            max_gap: None,
            max_ratio: None,
            measure_every: 1,
            action: Action::Note,
            factor: 2.0,
            max_factor: 16.0,
            groups: vec!["*".into()],
        }
    }
}

impl Settings {
    /// Refuses what the schema can't.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in [("patience", self.patience), ("measure-every", self.measure_every)] {
            if value == 0 {
                return Err(format!("{name} is 0: it has to be 1 or more"));
            }
        }
        if let Some(limit) = self.max_gap
            && !limit.is_finite()
        {
            return Err(format!("max-gap is {limit}: it has to be a number"));
        }
        if let Some(limit) = self.max_ratio
            && !(limit > 0.0 && limit.is_finite())
        {
            return Err(format!("max-ratio is {limit}: it has to be above 0"));
        }
        if !(self.factor > 1.0 && self.factor.is_finite()) {
            return Err(format!("factor is {}: it has to be above 1", self.factor));
        }
        if !(self.max_factor >= self.factor && self.max_factor.is_finite()) {
            let (max_factor, factor) = (self.max_factor, self.factor);
            return Err(format!("max-factor is {max_factor}: it has to be at least the factor of {factor}"));
        }
        Ok(())
    }

    pub(crate) fn terms(&self) -> Terms {
        Terms { patience: self.patience, max_gap: self.max_gap, max_ratio: self.max_ratio }
    }

    /// The weight decays of the groups that the settings are about. One of 0 stays 0, so it is left out.
    pub(crate) fn decays(&self, run: &Description) -> Result<Vec<String>, String> {
        let groups = run.groups_matching(&self.groups)?;
        let decays = groups.iter().filter(|group| group.weight_decay > 0.0);
        let decays: Vec<String> = decays.map(|group| format!("weight-decay/{}", group.name)).collect();
        if decays.is_empty() {
            let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
            return Err(format!("the weight decay of {} is 0: there is nothing to multiply", names.join(", ")));
        }
        Ok(decays)
    }
}
