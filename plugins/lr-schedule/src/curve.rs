//! The curves: which part of its base rate a group has at an update.
//! Plain arithmetic on step numbers; knows nothing of groups, hooks and configuration.

use std::f64::consts::PI;

use host_sdk::prelude::*;

/// Warm-up, then one of seven ways down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    pub(crate) warm_up: WarmUp,
    pub(crate) first_update: FirstUpdate,
    pub(crate) descent: Descent,
}

/// How the rate rises at first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarmUp {
    pub(crate) length: Length,
    pub(crate) shape: Shape,
    /// The part of the base rate that it starts from; without it from 0, or from the lowest rate where `descent`
    /// says so.
    pub(crate) from: Option<f64>,
}

/// How long the warm-up is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Steps(u64),
    /// Of all steps, rounded up.
    Ratio(f64),
}

/// What happens after the warm-up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Descent {
    Constant,
    Linear,
    Cosine { cycles: f64 },
    CosineWithRestarts { cycles: f64 },
    Polynomial { power: f64 },
    InverseSqrt { timescale: Option<f64> },
    WarmupStableDecay { decay_steps: u64, stable_steps: Option<u64>, shape: Shape, cycles: f64 },
}

/// How a rise or a fall is bent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    Linear,
    Cosine,
    /// `1 - sqrt(1 - x)` on the way up, `1 - sqrt(x)` on the way down.
    #[serde(rename = "1-sqrt")]
    OneMinusSqrt,
}

/// Where on the curve the first update is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FirstUpdate {
    /// At its beginning: with a warm-up from 0 the first update changes nothing.
    AtStart,
    /// One step in, so that every update does something. The curve also ends one step earlier.
    OneStepIn,
}

impl Shape {
    fn rise(self, x: f64) -> f64 {
        match self {
            Self::Linear => x,
            Self::Cosine => 0.5 * (1.0 - (PI * x).cos()),
            Self::OneMinusSqrt => 1.0 - (1.0 - x).sqrt(),
        }
    }

    fn fall(self, x: f64, cycles: f64) -> f64 {
        match self {
            Self::Linear => 1.0 - x,
            Self::Cosine => 0.5 * (1.0 + (PI * cycles * 2.0 * x).cos()),
            Self::OneMinusSqrt => 1.0 - x.sqrt(),
        }
    }
}

impl Curve {
    /// Whether the curve can't be drawn without knowing where it ends.
    pub(crate) fn needs_end(&self) -> bool {
        let descent = match self.descent {
            Descent::Constant | Descent::InverseSqrt { .. } => false,
            Descent::WarmupStableDecay { stable_steps, .. } => stable_steps.is_none(),
            _ => true,
        };
        descent || matches!(self.warm_up.length, Length::Ratio(_))
    }

    /// The part of the base rate that update number `step`, counted from 0, is made with. `lowest` is the part that
    /// the curve falls to. From the end on, the rate stays where the curve ends.
    pub(crate) fn factor(&self, step: u64, total_steps: Option<u64>, lowest: f64) -> f64 {
        let total_steps = total_steps.unwrap_or(u64::MAX);
        let warm_up = match self.warm_up.length {
            Length::Steps(steps) => steps,
            Length::Ratio(ratio) => (total_steps as f64 * ratio).ceil() as u64,
        };
        if step < warm_up {
            return self.rising(step, warm_up, lowest);
        }
        let step = match self.first_update {
            FirstUpdate::AtStart => step,
            FirstUpdate::OneStepIn => step.saturating_add(1),
        };
        let fallen = self.falling(step, warm_up, total_steps);
        match self.descent {
            // This one has no end to fall to, so the lowest rate is a floor.
            Descent::InverseSqrt { .. } => fallen.max(lowest),
            _ => lowest + (1.0 - lowest) * fallen,
        }
    }

    fn rising(&self, step: u64, warm_up: u64, lowest: f64) -> f64 {
        let (step, warm_up) = (step as f64, warm_up as f64);
        let x = match (self.first_update, self.warm_up.from) {
            (FirstUpdate::AtStart, _) => step / warm_up,
            (FirstUpdate::OneStepIn, None) => (step + 1.0) / warm_up,
            // With a rate to start from, the first update has exactly this one and the last of the warm-up the base.
            (FirstUpdate::OneStepIn, Some(_)) => step / (warm_up - 1.0).max(1.0),
        };
        let from = self.warm_up.from.unwrap_or(match self.descent {
            Descent::WarmupStableDecay { .. } => lowest,
            _ => 0.0,
        });
        from + (1.0 - from) * self.warm_up.shape.rise(x)
    }

    /// From 1 at the end of the warm-up to, for most, 0 at the end of the run.
    fn falling(&self, step: u64, warm_up: u64, total_steps: u64) -> f64 {
        let x = progress(step, warm_up, total_steps);
        match self.descent {
            Descent::Constant => 1.0,
            Descent::Linear => 1.0 - x,
            Descent::Cosine { cycles } => Shape::Cosine.fall(x, cycles),
            Descent::CosineWithRestarts { .. } if x >= 1.0 => 0.0,
            Descent::CosineWithRestarts { cycles } => 0.5 * (1.0 + (PI * ((cycles * x) % 1.0)).cos()),
            Descent::Polynomial { power } => (1.0 - x).powf(power),
            Descent::InverseSqrt { timescale } => {
                let timescale = timescale.unwrap_or(if warm_up == 0 { 10_000.0 } else { warm_up as f64 });
                (timescale / (step as f64 + timescale - warm_up as f64)).sqrt()
            }
            Descent::WarmupStableDecay { decay_steps, stable_steps, shape, cycles } => {
                let end = match stable_steps {
                    Some(stable_steps) => warm_up + stable_steps + decay_steps,
                    None => total_steps,
                };
                if step >= end {
                    return 0.0;
                }
                // The decay may begin before the warm-up ends: then it is entered part-way.
                let x = 1.0 - (end - step) as f64 / decay_steps.max(1) as f64;
                if x < 0.0 { 1.0 } else { shape.fall(x, cycles) }
            }
        }
    }
}

/// How much of the way between the warm-up and the end is done, at most 1.
fn progress(step: u64, warm_up: u64, total_steps: u64) -> f64 {
    if step >= total_steps {
        return 1.0;
    }
    (step - warm_up) as f64 / (total_steps - warm_up) as f64
}
