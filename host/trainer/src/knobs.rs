//! The knobs of a run: their ranges, and where their values are read.
//!
//! A new one of the loop is a field and an entry in [`LoopKnobs::offer`], and a read where its value counts; a new one
//! of a task is an entry in its `description`, and comes back to it in `step`.

use host_callback::{Hook, KnobId, KnobSpec, Knobs};

use crate::{Settings, optimizer::Rates, parameters::Parameters, task::Description};

/// Where the loop finds the knobs.
#[derive(Clone, Debug)]
pub(crate) struct LoopKnobs {
    learning_rates: Vec<KnobId>,
    weight_decays: Vec<KnobId>,
    clip_norm: KnobId,
    clip_value: KnobId,
    batch_size: KnobId,
    accumulation: KnobId,
    loss_scale: KnobId,
    /// One for each parameter, in their order.
    trainable: Vec<KnobId>,
    /// What the task adds, in the order of its description.
    task: Vec<KnobId>,
}

/// Larger rates are typing errors; a callback that asks for one is refused.
const MAX_RATE: f64 = 1e3;
/// Larger batches do not fit anywhere.
const MAX_BATCH: f64 = 16_777_216.0;
/// Scales of losses are powers of two in practice; the largest with which a loss of 1 and its gradients stay finite in
/// 32-bit floats, with room for sums.
const MAX_SCALE: f64 = 16_777_216.0;

impl LoopKnobs {
    pub(crate) fn offer(knobs: &mut Knobs, settings: &Settings, parameters: &Parameters, task: &Description) -> Self {
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
        let scale = "the loss is multiplied by it and the gradients are divided by it, against underflow";
        let size = (1.0, MAX_BATCH);
        let clip_norm = offer("clip-norm", limit, false, Hook::Gradients, norm, settings.clip_norm);
        let clip_value = offer("clip-value", limit, false, Hook::Gradients, element, settings.clip_value);
        let batch_size = offer("batch-size", size, true, Hook::StepBegin, batch, settings.batch_size as f64);
        let accumulation = offer("accumulation", size, true, Hook::StepBegin, passes, settings.accumulation as f64);
        let loss_scale = offer("loss-scale", (1.0, MAX_SCALE), false, Hook::StepBegin, scale, 1.0);
        let trainable = parameters.iter().map(|parameter| {
            let meaning = "whether the parameter learns, 1 or 0; frozen, it gets no gradient and no update";
            offer(&format!("{TRAINABLE}{}", parameter.name), (0.0, 1.0), true, Hook::StepBegin, meaning, 1.0)
        });
        let trainable = trainable.collect();
        let task = task.knobs.iter().map(|knob| knobs.offer(knob.spec.clone(), knob.value)).collect();
        Self {
            learning_rates,
            weight_decays,
            clip_norm,
            clip_value,
            batch_size,
            accumulation,
            loss_scale,
            trainable,
            task,
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

    pub(crate) fn loss_scale(&self, knobs: &Knobs) -> f64 {
        knobs.value(self.loss_scale)
    }

    /// Whether each parameter learns, in their order.
    pub(crate) fn trainable(&self, knobs: &Knobs) -> impl ExactSizeIterator<Item = bool> {
        self.trainable.iter().map(|&knob| knobs.value(knob) != 0.0)
    }

    /// The task's own, in the order of its description.
    pub(crate) fn task(&self, knobs: &Knobs) -> Vec<f64> {
        self.task.iter().map(|&knob| knobs.value(knob)).collect()
    }
}

const TRAINABLE: &str = "trainable/";

/// Whether a knob has its place in log records: not those that every parameter has.
pub(crate) fn is_logged(spec: &KnobSpec) -> bool {
    !spec.name.starts_with(TRAINABLE)
}
