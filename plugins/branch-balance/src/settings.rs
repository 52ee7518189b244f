//! The settings of the balance, their defaults, and the groups that they are about.
//! Does not compute; `balance` does.

use host_sdk::Description;
use host_sdk::prelude::*;

use crate::balance::{Adjust, Terms};
use crate::{Branch, Rate};

/// Moves the learning rates of two branches until their gradients weigh what they should.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Settings {
    /// The first branch.
    pub(crate) a: BranchSettings,
    /// The second branch.
    pub(crate) b: BranchSettings,
    /// How many times the weight of `b` that of `a` should be. A weight is the average norm of the branch's gradients
    /// times what its rates have been multiplied by.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    target: f64,
    /// A ratio that differs from the target by no more than this part of it is left alone.
    #[serde(default = "default_tolerance")]
    #[schemars(range(min = 0))]
    tolerance: f64,
    /// Steps from one adjustment to the next.
    #[serde(default = "default_every")]
    #[schemars(range(min = 1))]
    pub(crate) every: u64,
    /// Steps from one look at the norms to the next.
    #[serde(default = "default_measure_every")]
    #[schemars(range(min = 1))]
    pub(crate) measure_every: u32,
    /// Before this many steps are finished nothing is adjusted.
    #[serde(default)]
    pub(crate) warm_up: u64,
    /// How much of the average norm stays at each look, below 1; 0 for no average.
    #[serde(default = "default_decay")]
    #[schemars(range(min = 0, max = 1))]
    pub(crate) decay: f64,
    /// By what part a rate may change in one adjustment: at 0.1 it is multiplied by at most 1.1, and divided by at most
    /// that.
    #[serde(default = "default_rate")]
    #[schemars(range(min = 0))]
    rate: f64,
    /// What all adjustments together may multiply a rate by at least.
    #[serde(default = "default_min_factor")]
    #[schemars(range(min = 0, max = 1))]
    min_factor: f64,
    /// What all adjustments together may multiply a rate by at most.
    #[serde(default = "default_max_factor")]
    #[schemars(range(min = 1))]
    max_factor: f64,
    /// Which rates are adjusted.
    #[serde(default = "both")]
    adjust: Adjust,
}

/// A part of the model.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct BranchSettings {
    /// Its parameters, as a pattern with `*`, or the name of a parameter group: what its gradients are.
    pub(crate) parameters: String,
    /// The parameter groups whose learning rates are its own, `*` allowed.
    #[schemars(length(min = 1))]
    groups: Vec<String>,
}

fn one() -> f64 {
    1.0
}

fn default_tolerance() -> f64 {
    0.05
}

fn default_every() -> u64 {
    10
}

fn default_measure_every() -> u32 {
    1
}

fn default_decay() -> f64 {
    0.9
}

fn default_rate() -> f64 {
    0.1
}

fn default_min_factor() -> f64 {
    0.1
}

fn default_max_factor() -> f64 {
    10.0
}

fn both() -> Adjust {
    Adjust::Both
}

impl Settings {
    /// Refuses what the schema can't.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in [("target", self.target), ("rate", self.rate)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(format!("{name} is {value}: it has to be above 0"));
            }
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(format!("tolerance is {}: it has to be 0 or more", self.tolerance));
        }
        for (name, value) in [("every", self.every), ("measure-every", self.measure_every.into())] {
            if value == 0 {
                return Err(format!("{name} is 0: it has to be 1 or more"));
            }
        }
        if !(0.0..1.0).contains(&self.decay) {
            return Err(format!("decay is {}: it has to be 0 or more, and below 1", self.decay));
        }
        if !(self.min_factor > 0.0 && self.min_factor <= 1.0) {
            return Err(format!("min-factor is {}: it has to be above 0 and at most 1", self.min_factor));
        }
        if !(self.max_factor >= 1.0 && self.max_factor.is_finite()) {
            return Err(format!("max-factor is {}: it has to be 1 or more", self.max_factor));
        }
        if self.a.parameters == self.b.parameters {
            return Err(format!("a and b have the same parameters, {}: they can't differ", self.a.parameters));
        }
        Ok(())
    }

    pub(crate) fn terms(&self) -> Terms {
        Terms {
            target: self.target,
            tolerance: self.tolerance,
            rate: self.rate,
            min_factor: self.min_factor,
            max_factor: self.max_factor,
            adjust: self.adjust,
        }
    }

    /// The learning rates of both branches, a's first.
    pub(crate) fn rates(&self, run: &Description) -> Result<Vec<Rate>, String> {
        let mut rates: Vec<Rate> = Vec::new();
        for (name, branch, settings) in [("a", Branch::A, &self.a), ("b", Branch::B, &self.b)] {
            let groups = run.groups_matching(&settings.groups).map_err(|error| format!("{name}: {error}"))?;
            for group in groups {
                let rate = format!("learning-rate/{}", group.name);
                if rates.iter().any(|other| other.name == rate) {
                    return Err(format!("parameter group {} is in both branches", group.name));
                }
                rates.push(Rate { name: rate, branch });
            }
        }
        Ok(rates)
    }
}
