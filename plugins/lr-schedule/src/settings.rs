//! The settings of a schedule, their defaults, and which of them go together.
//! Draws no curve; turns the configuration into one.

use host_sdk::prelude::*;
use host_sdk::{Description, Group};

use crate::ScheduledGroup;
use crate::curve::{Curve, Descent, FirstUpdate, Length, Shape, WarmUp};

/// Sets each group's learning rate by step: warm-up, then one of seven curves.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The curve after the warm-up.
    pub(crate) kind: Kind,
    /// Steps of warm-up.
    pub(crate) warm_up: Option<u64>,
    /// The same as a part of all steps, rounded up.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) warm_up_ratio: Option<f64>,
    /// How the warm-up is bent.
    pub(crate) warm_up_shape: Shape,
    /// The part of the base rate that the warm-up starts from: 0, or for `warmup-stable-decay` the lowest rate.
    #[schemars(range(min = 0))]
    pub(crate) warm_up_from: Option<f64>,
    /// Where on the curve the first update is.
    pub(crate) first_update: FirstUpdate,
    /// The step at which the curve ends; by default the run's last.
    pub(crate) total_steps: Option<u64>,
    /// The rate that the curve falls to, the same for all groups.
    #[schemars(range(min = 0))]
    pub(crate) min_lr: Option<f64>,
    /// The same as a part of each group's base rate.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) min_lr_ratio: Option<f64>,
    /// `cosine`, `warmup-stable-decay`: waves until the end, by default half of one. `cosine-with-restarts`: falls
    /// until the end, by default one.
    #[schemars(range(min = 0))]
    pub(crate) cycles: Option<f64>,
    /// `polynomial`: the power, by default 1.
    pub(crate) power: Option<f64>,
    /// `inverse-sqrt`: steps after which the rate is 1/sqrt(2) of the base, by default the warm-up's or 10,000.
    pub(crate) timescale: Option<f64>,
    /// `warmup-stable-decay`: steps of the decay.
    pub(crate) decay_steps: Option<u64>,
    /// `warmup-stable-decay`: steps between warm-up and decay, by default what is left of all.
    pub(crate) stable_steps: Option<u64>,
    /// `warmup-stable-decay`: how the decay is bent, by default `cosine`.
    pub(crate) decay_shape: Option<Shape>,
    /// The groups whose rate is written, `*` allowed.
    pub(crate) groups: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            kind: Kind::Constant,
            warm_up: None,
            warm_up_ratio: None,
            warm_up_shape: Shape::Linear,
            warm_up_from: None,
            first_update: FirstUpdate::AtStart,
            total_steps: None,
            min_lr: None,
            min_lr_ratio: None,
            cycles: None,
            power: None,
            timescale: None,
            decay_steps: None,
            stable_steps: None,
            decay_shape: None,
            groups: vec!["*".into()],
        }
    }
}

/// The curve after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Stays at the base rate.
    Constant,
    /// Falls in a line.
    Linear,
    /// Falls along a cosine.
    Cosine,
    /// Falls along a cosine, several times.
    CosineWithRestarts,
    /// Falls as a power of what is left.
    Polynomial,
    /// Falls with the square root of the steps, without an end.
    InverseSqrt,
    /// Stays at the base rate, then falls over the last steps.
    WarmupStableDecay,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Linear => "linear",
            Self::Cosine => "cosine",
            Self::CosineWithRestarts => "cosine-with-restarts",
            Self::Polynomial => "polynomial",
            Self::InverseSqrt => "inverse-sqrt",
            Self::WarmupStableDecay => "warmup-stable-decay",
        }
    }

    /// The settings that only some curves have.
    fn knows(self) -> &'static [&'static str] {
        match self {
            Self::Constant => &[],
            Self::Linear => &["min-lr"],
            Self::Cosine | Self::CosineWithRestarts => &["min-lr", "cycles"],
            Self::Polynomial => &["min-lr", "power"],
            Self::InverseSqrt => &["min-lr", "timescale"],
            Self::WarmupStableDecay => &["min-lr", "cycles", "decay-steps", "stable-steps", "decay-shape"],
        }
    }
}

impl Settings {
    /// The curve, and where it ends if that is configured.
    pub(crate) fn curve(&self) -> Result<(Curve, Option<u64>), String> {
        self.check()?;
        let length = match self.warm_up_ratio {
            Some(ratio) => Length::Ratio(ratio),
            None => Length::Steps(self.warm_up.unwrap_or(0)),
        };
        let warm_up = WarmUp { length, shape: self.warm_up_shape, from: self.warm_up_from };
        Ok((Curve { warm_up, first_update: self.first_update, descent: self.descent()? }, self.total_steps))
    }

    fn descent(&self) -> Result<Descent, String> {
        Ok(match self.kind {
            Kind::Constant => Descent::Constant,
            Kind::Linear => Descent::Linear,
            Kind::Cosine => Descent::Cosine { cycles: self.cycles.unwrap_or(0.5) },
            Kind::CosineWithRestarts => Descent::CosineWithRestarts { cycles: self.cycles.unwrap_or(1.0) },
            Kind::Polynomial => Descent::Polynomial { power: self.power.unwrap_or(1.0) },
            Kind::InverseSqrt => Descent::InverseSqrt { timescale: self.timescale },
            Kind::WarmupStableDecay => Descent::WarmupStableDecay {
                decay_steps: self.decay_steps.ok_or("warmup-stable-decay needs decay-steps")?,
                stable_steps: self.stable_steps,
                shape: self.decay_shape.unwrap_or(Shape::Cosine),
                cycles: self.cycles.unwrap_or(0.5),
            },
        })
    }

    /// Refuses what the schema can't.
    fn check(&self) -> Result<(), String> {
        let given = [
            ("min-lr", self.min_lr.is_some() || self.min_lr_ratio.is_some()),
            ("cycles", self.cycles.is_some()),
            ("power", self.power.is_some()),
            ("timescale", self.timescale.is_some()),
            ("decay-steps", self.decay_steps.is_some()),
            ("stable-steps", self.stable_steps.is_some()),
            ("decay-shape", self.decay_shape.is_some()),
        ];
        let known = self.kind.knows();
        if let Some((name, _)) = given.into_iter().find(|(name, given)| *given && !known.contains(name)) {
            return Err(format!("{name} is not part of a {} schedule", self.kind.name()));
        }
        for (one, other, both) in [
            ("warm-up", "warm-up-ratio", self.warm_up.is_some() && self.warm_up_ratio.is_some()),
            ("min-lr", "min-lr-ratio", self.min_lr.is_some() && self.min_lr_ratio.is_some()),
            ("total-steps", "stable-steps", self.total_steps.is_some() && self.stable_steps.is_some()),
        ] {
            if both {
                return Err(format!("{one} and {other} say the same thing: give one of them"));
            }
        }
        for (name, value, lowest, highest) in [
            ("warm-up-ratio", self.warm_up_ratio, 0.0, 1.0),
            ("warm-up-from", self.warm_up_from, 0.0, f64::MAX),
            ("min-lr", self.min_lr, 0.0, f64::MAX),
            ("min-lr-ratio", self.min_lr_ratio, 0.0, 1.0),
            ("cycles", self.cycles, 0.0, f64::MAX),
            ("power", self.power, 0.0, f64::MAX),
            ("timescale", self.timescale, 1.0, f64::MAX),
        ] {
            if let Some(value) = value
                && !(lowest..=highest).contains(&value)
            {
                return Err(format!("{name} is {value}, out of its range"));
            }
        }
        Ok(())
    }

    /// The run's groups that the schedule is for.
    pub(crate) fn groups(&self, run: &Description) -> Result<Vec<ScheduledGroup>, String> {
        run.groups_matching(&self.groups)?.into_iter().map(|group| self.group(group)).collect()
    }

    fn group(&self, group: &Group) -> Result<ScheduledGroup, String> {
        let base_rate = group.learning_rate;
        let lowest_rate = self.min_lr.unwrap_or(base_rate * self.min_lr_ratio.unwrap_or(0.0));
        if lowest_rate > base_rate {
            return Err(format!(
                "min-lr is {lowest_rate}, above the {base_rate} that group {} starts from",
                group.name
            ));
        }
        Ok(ScheduledGroup { knob: format!("learning-rate/{}", group.name), base_rate, lowest_rate })
    }
}
