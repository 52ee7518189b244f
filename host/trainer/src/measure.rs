//! The values that the loop offers, and their computation when somebody reads one.
//!
//! It does not decide who reads what: the callbacks' side asks. Main types: [`Sources`], [`Meter`].

use std::collections::HashMap;

use burn::{
    optim::GradientsParams,
    tensor::{Tensor, backend::AutodiffBackend},
};
use host_callback::{Catalog, Key, KnobId, Knobs, MeasurementSpec, Measurements, Value};

use crate::{
    gradients::Statistics,
    parameters::Parameters,
    settings::GroupSettings,
    state::LoopState,
    task::{Description, Step, Task},
};

/// Where a measurement comes from.
#[derive(Clone, Debug)]
enum Source {
    Loss,
    Measured(usize),
    Derived(fn(f64) -> f64),
    Evaluated(String),
    Knob(KnobId),
    GradientNorm,
    GroupGradientNorm(usize),
    GradientNonfinite,
    Clock(Clock),
    ResidentMemory,
}

/// What the clock tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Step,
    Data,
    Elapsed,
    Samples,
    Tokens,
}

/// The measurements of a run by their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    by_key: HashMap<Key, Source>,
}

impl Sources {
    /// Offers everything that a task, its groups and the loop itself have.
    pub(crate) fn offer(catalog: &Catalog, task: &Description, groups: &[GroupSettings], knobs: &Knobs) -> Self {
        let mut sources = Self::default();
        let mut offer = |spec: MeasurementSpec, source| {
            sources.by_key.insert(catalog.offer(spec), source);
        };
        let spec = |name: &str, unit: &str, meaning: &str| MeasurementSpec::new(name, unit, meaning);
        offer(spec("loss", "nats", "mean loss of the running or last step"), Source::Loss);
        for (at, measured) in task.measured.iter().enumerate() {
            offer(measured.clone(), Source::Measured(at));
        }
        for derived in &task.derived {
            offer(derived.spec.clone(), Source::Derived(derived.of_loss));
        }
        for evaluated in &task.evaluated {
            offer(evaluated.clone(), Source::Evaluated(evaluated.name.clone()));
        }
        for (id, knob) in knobs.iter() {
            let meaning = format!("the knob's value now: {}", knob.spec.meaning);
            offer(spec(&knob.spec.name, &knob.spec.unit, &meaning), Source::Knob(id));
        }
        offer(
            spec("gradient-norm", "1", "L2 norm of all gradients before clipping; known at `gradients`"),
            Source::GradientNorm,
        );
        for (at, group) in groups.iter().enumerate() {
            let meaning = format!("L2 norm of the gradients of group `{}` before clipping", group.name);
            offer(spec(&format!("gradient-norm/{}", group.name), "1", &meaning), Source::GroupGradientNorm(at));
        }
        offer(
            spec("gradient-nonfinite", "1", "elements of the gradients that are NaN or infinite; known at `gradients`"),
            Source::GradientNonfinite,
        );
        offer(spec("time/step", "s", "wall-clock time of the last finished step"), Source::Clock(Clock::Step));
        offer(spec("time/data", "s", "part of it that was spent on fetching the batch"), Source::Clock(Clock::Data));
        offer(spec("time/elapsed", "s", "time spent training, resumed parts included"), Source::Clock(Clock::Elapsed));
        offer(
            spec("throughput/samples", "1/s", "samples a second in the last finished step"),
            Source::Clock(Clock::Samples),
        );
        if task.has_tokens {
            let meaning = "tokens a second in the last finished step";
            offer(spec("throughput/tokens", "1/s", meaning), Source::Clock(Clock::Tokens));
        }
        offer(spec("memory/host/resident", "B", "resident memory of the process"), Source::ResidentMemory);
        sources
    }
}

/// What the clock gave for the last finished step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepClock {
    pub(crate) step: f64,
    pub(crate) data: f64,
    pub(crate) samples: u64,
    pub(crate) tokens: u64,
}

/// The running step's own values, computed at most once.
pub(crate) struct Current<B: AutodiffBackend> {
    /// Losses of the micro-batches on the device, with their shares of the step.
    losses: Vec<(Tensor<B::InnerBackend, 1>, f64)>,
    loss: Option<f64>,
    /// For each of the task's measurements: the micro-batches' parts with their shares, or the value.
    measured: Vec<Lazy>,
    statistics: Option<Statistics>,
    /// Whether the step's update was dropped.
    pub(crate) dropped: bool,
}

enum Lazy {
    Parts(Vec<(Box<dyn FnOnce() -> f64>, f64)>),
    Known(f64),
}

impl<B: AutodiffBackend> Current<B> {
    pub(crate) fn new(measured: usize) -> Self {
        let measured = (0..measured).map(|_| Lazy::Parts(Vec::new())).collect();
        Self { losses: Vec::new(), loss: None, measured, statistics: None, dropped: false }
    }

    /// The loss alone, read or not: the rest may hold much of the device's memory.
    pub(crate) fn only_loss(self) -> Self {
        Self { measured: Vec::new(), statistics: None, ..self }
    }

    /// Takes what the forward pass of a micro-batch gave; `share` is its part of the step's targets.
    pub(crate) fn add(&mut self, step: Step<B>, share: f64) -> Tensor<B, 1> {
        self.losses.push((step.loss.clone().inner(), share));
        for (lazy, part) in self.measured.iter_mut().zip(step.measured) {
            if let Lazy::Parts(parts) = lazy {
                parts.push((part, share));
            }
        }
        step.loss
    }

    /// The step's mean loss; waits for the device at the first call. `None` before the forward pass.
    pub(crate) fn loss(&mut self) -> Option<f64> {
        if self.loss.is_none() && !self.losses.is_empty() {
            let losses = self.losses.drain(..);
            self.loss = Some(losses.map(|(loss, share)| crate::scalar(loss) * share).sum());
        }
        self.loss
    }

    /// The step's mean loss if nothing has to be waited for.
    pub(crate) fn known_loss(&self) -> Option<f64> {
        self.loss
    }

    pub(crate) fn measured(&mut self, at: usize) -> Option<f64> {
        let lazy = self.measured.get_mut(at)?;
        if let Lazy::Parts(parts) = lazy {
            if parts.is_empty() {
                return None;
            }
            *lazy = Lazy::Known(parts.drain(..).map(|(part, share)| part() * share).sum());
        }
        match lazy {
            Lazy::Known(value) => Some(*value),
            Lazy::Parts(_) => None,
        }
    }

    /// Statistics of the gradients, computed at the first call.
    pub(crate) fn statistics<T: Task<B>>(
        &mut self,
        model: &T::Model,
        gradients: &GradientsParams,
        parameters: &Parameters,
    ) -> &Statistics {
        self.statistics.get_or_insert_with(|| Statistics::of::<B, _>(model, gradients, parameters))
    }

    /// Statistics of the gradients if somebody asked for them in this step.
    pub(crate) fn known_statistics(&self) -> Option<&Statistics> {
        self.statistics.as_ref()
    }
}

/// Everything that can be measured at one hook.
pub(crate) struct Meter<'a, B: AutodiffBackend, T: Task<B>> {
    pub(crate) sources: &'a Sources,
    pub(crate) current: &'a mut Current<B>,
    /// At `gradients`: the model and its gradients.
    pub(crate) gradients: Option<(&'a T::Model, &'a GradientsParams)>,
    pub(crate) parameters: &'a Parameters,
    pub(crate) state: &'a LoopState,
    pub(crate) knobs: &'a Knobs,
    pub(crate) clock: StepClock,
}

impl<B: AutodiffBackend, T: Task<B>> Meter<'_, B, T> {
    fn loss(&mut self) -> Option<f64> {
        self.current.loss().or(match self.state.last_loss {
            Some(Value::Scalar(loss)) => Some(loss),
            _ => None,
        })
    }

    fn statistics(&mut self) -> Option<&Statistics> {
        match self.gradients {
            Some((model, gradients)) => Some(self.current.statistics::<T>(model, gradients, self.parameters)),
            None => self.current.known_statistics(),
        }
    }

    fn clock(&self, clock: Clock) -> Option<f64> {
        let StepClock { step, data, samples, tokens } = self.clock;
        let known = step > 0.0;
        match clock {
            Clock::Elapsed => Some(self.state.elapsed),
            Clock::Step => known.then_some(step),
            Clock::Data => known.then_some(data),
            Clock::Samples => known.then(|| samples as f64 / step),
            Clock::Tokens => known.then(|| tokens as f64 / step),
        }
    }
}

impl<B: AutodiffBackend, T: Task<B>> Measurements for Meter<'_, B, T> {
    fn read(&mut self, key: Key) -> Option<Value> {
        let number = match self.sources.by_key.get(&key)? {
            Source::Loss => self.loss(),
            Source::Measured(at) => self.current.measured(*at),
            Source::Derived(of_loss) => self.loss().map(of_loss),
            Source::Evaluated(name) => return self.state.evaluation.get(name).cloned(),
            Source::Knob(id) => Some(self.knobs.value(*id)),
            Source::GradientNorm => self.statistics().map(Statistics::norm),
            &Source::GroupGradientNorm(group) => self.statistics().map(|statistics| statistics.group_norm(group)),
            Source::GradientNonfinite => self.statistics().map(Statistics::nonfinite),
            Source::Clock(clock) => self.clock(*clock),
            Source::ResidentMemory => resident_memory(),
        };
        number.map(Value::Scalar)
    }
}

/// Resident memory of this process in bytes, where the system tells it.
pub(crate) fn resident_memory() -> Option<f64> {
    memory_stats::memory_stats().map(|stats| stats.physical_mem as f64)
}
