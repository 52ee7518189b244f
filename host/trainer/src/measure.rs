//! The values that the loop offers, and their computation when somebody reads one.
//!
//! It does not decide who reads what: the callbacks' side asks. A step's own values are in `current`. Main types:
//! [`Sources`], [`Meter`].

use std::sync::Arc;

use burn::{optim::GradientsParams, tensor::backend::AutodiffBackend};
use host_callback::{Catalog, Key, KnobId, Knobs, MeasurementSpec, Measurements, Value};

use crate::{
    GroupSettings,
    current::Current,
    device::DeviceKind,
    memory,
    parameters::Parameters,
    state::LoopState,
    statistics::{FAMILIES, Statistic, Subject, Tensors, Wanted},
    task::{Description, Task},
};

/// Where a measurement comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Loss,
    Measured(usize),
    Vector(usize),
    Derived(fn(f64) -> f64),
    Evaluated(String),
    Knob(KnobId),
    Statistic(Statistic),
    Clock(Clock),
    DeviceMemory(fn(memory::DeviceMemory) -> f64),
    ResidentMemory,
    /// Not the loop's: somebody's report.
    Foreign,
}

/// What the clock tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Seconds of the last finished step, or of a part of it.
    Part(Part),
    Elapsed,
    Samples,
    Tokens,
}

/// What time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Step,
    Data,
    Forward,
    Backward,
    Optimizer,
    Callbacks,
    Evaluation,
    Checkpoint,
}

/// What the clock tells, with the name and the meaning of each.
const TIMES: [(Part, &str, &str); 8] = [
    (Part::Step, "time/step", "wall-clock time of the last finished step, until its `step-end`"),
    (Part::Data, "time/data", "part of it that was spent on fetching batches"),
    (Part::Forward, "time/forward", "part of it that was spent in forward passes; on a GPU, on asking for them"),
    (Part::Backward, "time/backward", "part of it that was spent in backward passes; on a GPU, on asking for them"),
    (Part::Optimizer, "time/optimizer", "part of it that was spent on clipping and the update"),
    (Part::Callbacks, "time/callbacks", "time in callbacks from the end of the step before to that of the last one"),
    (Part::Evaluation, "time/evaluation", "wall-clock time of the last evaluation"),
    (Part::Checkpoint, "time/checkpoint", "time that the loop spent on the last checkpoint"),
];

/// The measurements of a run by their number.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    by_key: Vec<Option<Source>>,
    catalog: Catalog,
    groups: Vec<GroupSettings>,
}

impl Sources {
    /// Offers everything that a task, its parameters and the loop itself have.
    pub(crate) fn offer(
        catalog: &Catalog,
        task: &Description,
        parameters: &Parameters,
        groups: &[GroupSettings],
        knobs: &Knobs,
    ) -> Self {
        let mut sources = Self { by_key: Vec::new(), catalog: catalog.clone(), groups: groups.to_vec() };
        let mut offer = |spec: MeasurementSpec, source| {
            let key = catalog.offer(spec);
            sources.put(key, source);
        };
        let spec = |name: &str, unit: &str, meaning: &str| MeasurementSpec::new(name, unit, meaning);
        offer(spec("loss", "nats", "mean loss of the running or last step"), Source::Loss);
        for (at, measured) in task.measured.iter().enumerate() {
            offer(measured.clone(), Source::Measured(at));
        }
        for (at, vector) in task.vectors.iter().enumerate() {
            offer(vector.clone(), Source::Vector(at));
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
        let names = parameters.iter().map(|parameter| parameter.name.clone());
        let members: Arc<[String]> = groups.iter().map(|group| group.name.clone()).chain(names).collect();
        for family in FAMILIES {
            let statistic = Statistic::named(family.name, parameters, groups).expect("it is the name of a family");
            offer(spec(family.name, "1", family.meaning), Source::Statistic(statistic));
            catalog.offer_family(spec(family.name, "1", family.meaning), &members);
        }
        for (part, name, meaning) in TIMES {
            offer(spec(name, "s", meaning), Source::Clock(Clock::Part(part)));
        }
        offer(spec("time/elapsed", "s", "time spent training, resumed parts included"), Source::Clock(Clock::Elapsed));
        let samples = "samples a second in the last finished step";
        offer(spec("throughput/samples", "1/s", samples), Source::Clock(Clock::Samples));
        if task.has_tokens {
            let tokens = "tokens a second in the last finished step";
            offer(spec("throughput/tokens", "1/s", tokens), Source::Clock(Clock::Tokens));
        }
        let allocated = "device memory that tensors take; on the CPU, resident memory of the process";
        let reserved = "device memory that the program holds; on the CPU, resident memory of the process";
        let total = "memory of the device; on the CPU, of the machine or the process's control group";
        offer(spec("memory/device/allocated", "B", allocated), Source::DeviceMemory(|memory| memory.allocated));
        offer(spec("memory/device/reserved", "B", reserved), Source::DeviceMemory(|memory| memory.reserved));
        offer(spec("memory/device/total", "B", total), Source::DeviceMemory(|memory| memory.total));
        offer(spec("memory/host/resident", "B", "resident memory of the process"), Source::ResidentMemory);
        sources
    }

    fn put(&mut self, key: Key, source: Source) {
        let at = key as usize;
        if self.by_key.len() <= at {
            self.by_key.resize(at + 1, None);
        }
        self.by_key[at] = Some(source);
    }

    /// Where a measurement comes from. A name that entered the catalog after the run was prepared is looked at once.
    pub(crate) fn get(&mut self, key: Key, parameters: &Parameters) -> &Source {
        if self.by_key.get(key as usize).is_none_or(Option::is_none) {
            let name = self.catalog.name(key).unwrap_or_default();
            let found = Statistic::named(&name, parameters, &self.groups);
            self.put(key, found.map_or(Source::Foreign, Source::Statistic));
        }
        self.by_key[key as usize].as_ref().expect("it was just put there")
    }
}

/// What the clock gave for the last finished step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepClock {
    seconds: [Option<f64>; TIMES.len()],
    pub(crate) samples: u64,
    pub(crate) tokens: u64,
}

impl StepClock {
    pub(crate) fn set(&mut self, part: Part, seconds: f64) {
        self.seconds[part as usize] = Some(seconds);
    }

    pub(crate) fn add(&mut self, part: Part, seconds: f64) {
        *self.seconds[part as usize].get_or_insert(0.0) += seconds;
    }

    pub(crate) fn seconds(&self, part: Part) -> Option<f64> {
        self.seconds[part as usize]
    }

    /// Something a second in the last finished step.
    pub(crate) fn rate(&self, count: u64) -> Option<f64> {
        self.seconds(Part::Step).filter(|seconds| *seconds > 0.0).map(|seconds| count as f64 / seconds)
    }

    /// Every part that is known, with its name.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, f64)> {
        TIMES.iter().filter_map(|&(part, name, _)| Some((name, self.seconds(part)?)))
    }
}

/// Where gradients and weights from before the update are, at the hooks that have them.
#[derive(Clone, Copy)]
pub(crate) enum Shown<'a> {
    /// Neither.
    Nothing,
    /// The gradients of the update.
    Gradients(&'a GradientsParams),
    /// The weights from before the update that has just been made.
    Updated(&'a GradientsParams),
}

/// Everything that can be measured at one hook.
pub(crate) struct Meter<'a, B: AutodiffBackend, T: Task<B>> {
    pub(crate) sources: &'a mut Sources,
    pub(crate) current: &'a mut Current<B>,
    pub(crate) model: Option<&'a T::Model>,
    pub(crate) shown: Shown<'a>,
    pub(crate) parameters: &'a Parameters,
    pub(crate) state: &'a LoopState,
    pub(crate) knobs: &'a Knobs,
    pub(crate) clock: StepClock,
    pub(crate) device: &'a DeviceKind,
}

impl<B: AutodiffBackend, T: Task<B>> Meter<'_, B, T> {
    fn loss(&mut self) -> Option<f64> {
        self.current.loss().or(match self.state.last_loss {
            Some(Value::Scalar(loss)) => Some(loss),
            _ => None,
        })
    }

    /// Measures what several statistics need, in one pass over each subject that is there.
    fn measure(&mut self, statistics: &[Statistic]) {
        let Some(model) = self.model else { return };
        for subject in [Subject::Gradients, Subject::Updates, Subject::Parameters] {
            let tensors = match (subject, self.shown) {
                (Subject::Gradients, Shown::Gradients(gradients)) => Tensors::Gradients(gradients),
                (Subject::Updates, Shown::Updated(before)) => Tensors::Updates(before),
                (Subject::Parameters, _) => Tensors::Parameters,
                // What was measured earlier in the step is still known.
                _ => continue,
            };
            let wanted = Wanted::by(statistics, subject, self.parameters.len());
            self.current.statistics_mut(subject).measure::<B, _>(model, tensors, self.parameters, &wanted);
        }
    }

    fn clock(&self, clock: Clock) -> Option<f64> {
        match clock {
            Clock::Elapsed => Some(self.state.elapsed),
            Clock::Part(part) => self.clock.seconds(part),
            Clock::Samples => self.clock.rate(self.clock.samples),
            Clock::Tokens => self.clock.rate(self.clock.tokens),
        }
    }
}

impl<B: AutodiffBackend, T: Task<B>> Measurements for Meter<'_, B, T> {
    fn read(&mut self, key: Key) -> Option<Value> {
        let number = match self.sources.get(key, self.parameters) {
            Source::Loss => self.loss(),
            Source::Measured(at) => self.current.measured(*at),
            Source::Vector(at) => return self.current.vector(*at).map(Value::Vector),
            Source::Derived(of_loss) => {
                let of_loss = *of_loss;
                self.loss().map(of_loss)
            }
            Source::Evaluated(name) => return self.state.evaluation.get(name).cloned(),
            Source::Knob(id) => Some(self.knobs.value(*id)),
            Source::Statistic(statistic) => self.current.statistic(statistic),
            Source::Clock(clock) => {
                let clock = *clock;
                self.clock(clock)
            }
            Source::DeviceMemory(part) => memory::device(self.device).map(part),
            Source::ResidentMemory => memory::resident(),
            Source::Foreign => None,
        };
        number.map(Value::Scalar)
    }

    fn prefetch(&mut self, keys: &[Key]) {
        let mut statistics: Vec<Statistic> = Vec::new();
        for &key in keys {
            if let Source::Statistic(statistic) = self.sources.get(key, self.parameters) {
                statistics.push(statistic.clone());
            }
        }
        if !statistics.is_empty() {
            self.measure(&statistics);
        }
    }
}
