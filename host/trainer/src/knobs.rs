//! The knobs that the loop itself has: their ranges, and where their values are read.
//!
//! A new one is an entry in [`LoopKnobs::offer`] and a read where its value counts.

use host_callback::{Hook, KnobId, KnobSpec, Knobs};

use crate::{Settings, optimizer::Rates};

/// Where the loop finds its own knobs.
#[derive(Clone, Debug)]
pub(crate) struct LoopKnobs {
    learning_rates: Vec<KnobId>,
    weight_decays: Vec<KnobId>,
    clip_norm: KnobId,
    clip_value: KnobId,
    batch_size: KnobId,
    accumulation: KnobId,
}

/// Larger rates are typing errors; a callback that asks for one is refused.
const MAX_RATE: f64 = 1e3;
/// Larger batches do not fit anywhere.
const MAX_BATCH: f64 = 16_777_216.0;

impl LoopKnobs {
    pub(crate) fn offer(knobs: &mut Knobs, settings: &Settings) -> Self {
        let mut offer = |name: &str, (min, max): (f64, f64), whole, effective, meaning: &str, value| {
            let (name, unit, meaning) = (name.to_owned(), "1".to_owned(), meaning.to_owned());
            knobs.offer(KnobSpec { name, unit, min, max, whole, effective, meaning }, value)
        };
        let rate = (0.0, MAX_RATE);
        let learning_rates = settings.groups.iter().map(|group| {
            let name = format!("learning-rate/{}", group.name);
            offer(&name, rate, false, Hook::Gradients, "step size of the group's updates", group.learning_rate)
        });
        let learning_rates = learning_rates.collect();
        let weight_decays = settings.groups.iter().map(|group| {
            let name = format!("weight-decay/{}", group.name);
            offer(&name, rate, false, Hook::Gradients, "how fast the group's weights shrink", group.weight_decay)
        });
        let weight_decays = weight_decays.collect();
        let limit = (0.0, f64::MAX);
        let norm = "largest L2 norm of all gradients; 0 for no limit";
        let element = "largest absolute value of a gradient's element; 0 for no limit";
        let batch = "samples of one forward pass";
        let passes = "forward passes whose gradients are averaged for one update";
        let size = (1.0, MAX_BATCH);
        Self {
            learning_rates,
            weight_decays,
            clip_norm: offer("clip-norm", limit, false, Hook::Gradients, norm, settings.clip_norm),
            clip_value: offer("clip-value", limit, false, Hook::Gradients, element, settings.clip_value),
            batch_size: offer("batch-size", size, true, Hook::StepBegin, batch, settings.batch_size as f64),
            accumulation: offer("accumulation", size, true, Hook::StepBegin, passes, settings.accumulation as f64),
        }
    }

    /// The rates of each group.
    pub(crate) fn rates(&self, knobs: &Knobs) -> Vec<Rates> {
        let pairs = self.learning_rates.iter().zip(&self.weight_decays);
        let rates =
            pairs.map(|(rate, decay)| Rates { learning_rate: knobs.value(*rate), weight_decay: knobs.value(*decay) });
        rates.collect()
    }

    pub(crate) fn clip_norm(&self, knobs: &Knobs) -> f64 {
        knobs.value(self.clip_norm)
    }

    pub(crate) fn clip_value(&self, knobs: &Knobs) -> f64 {
        knobs.value(self.clip_value)
    }

    pub(crate) fn batch_size(&self, knobs: &Knobs) -> usize {
        knobs.value(self.batch_size) as usize
    }

    pub(crate) fn accumulation(&self, knobs: &Knobs) -> usize {
        knobs.value(self.accumulation) as usize
    }
}
