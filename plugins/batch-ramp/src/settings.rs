//! The settings of a ramp, and the way that they describe.
//! Does not compute samples; `ramp` does.

use host_sdk::prelude::*;

use crate::ramp::{Length, Ramp, Shape};

/// Raises the samples of an update from one number to another over steps or samples.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Settings {
    /// Samples of an update at the beginning.
    #[schemars(range(min = 1))]
    pub(crate) from: u64,
    /// Samples of an update at the end and from then on.
    #[schemars(range(min = 2))]
    pub(crate) to: u64,
    /// The step at which the end is reached. Exactly one of this and `over-samples`.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) over_steps: Option<u64>,
    /// How many samples have been seen when the end is reached.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) over_samples: Option<u64>,
    /// How the number rises.
    #[serde(default = "linear")]
    pub(crate) shape: Shape,
    /// What is written.
    #[serde(default = "by_accumulation")]
    pub(crate) by: By,
}

/// The knob that a ramp turns; the other one is taken as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum By {
    /// The samples of a forward pass: fewer and larger passes, as memory allows.
    BatchSize,
    /// The forward passes of an update: memory stays the same.
    Accumulation,
}

fn linear() -> Shape {
    Shape::Linear
}

fn by_accumulation() -> By {
    By::Accumulation
}

impl Settings {
    /// The way that the settings describe.
    pub(crate) fn ramp(&self) -> Result<Ramp, String> {
        let length = match (self.over_steps, self.over_samples) {
            (Some(steps), None) => Length::Steps(steps),
            (None, Some(samples)) => Length::Samples(samples),
            _ => return Err("give exactly one of over-steps and over-samples: how long the ramp is".into()),
        };
        if let Length::Steps(0) | Length::Samples(0) = length {
            return Err("a ramp over 0 steps or samples is none: give the configuration the number itself".into());
        }
        let (from, to) = (self.from, self.to);
        if from == 0 {
            return Err("from is 0: it has to be 1 or more".into());
        }
        if from >= to {
            return Err(format!("from is {from} and to is {to}: the samples of an update have to rise"));
        }
        Ok(Ramp { from, to, length, shape: self.shape })
    }
}
