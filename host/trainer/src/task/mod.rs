//! What the loop asks of a task: data, a model, a loss, an evaluation.
//!
//! A task does not know callbacks, checkpoints or devices by name. A new one is a folder here and a line in
//! [`tasks!`](self). Main trait: [`Task`].

mod classification;
mod language;
mod scenario;

use std::path::Path;

use burn::{
    module::AutodiffModule,
    tensor::{
        Int, Tensor, TensorData,
        activation::log_softmax,
        backend::{AutodiffBackend, Backend},
    },
};
use host_callback::{Hook, Knob, KnobSpec, MeasurementSpec, Value};
use schemars::Schema;
use serde::{Deserialize, Serialize};

pub use self::{
    classification::{Classification, ClassificationSettings},
    language::{LanguageModel, LanguageModelSettings},
    scenario::{Course, Scenario, ScenarioSettings},
};
use crate::{Artifact, TrainError};

/// How much a batch counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Samples in the batch.
    pub samples: u64,
    /// Tokens in the batch; 0 where the task has none.
    pub tokens: u64,
    /// Terms that the mean loss averages: the weight of the batch among micro-batches.
    pub targets: u64,
}

impl std::ops::Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            samples: self.samples + other.samples,
            tokens: self.tokens + other.tokens,
            targets: self.targets + other.targets,
        }
    }
}

impl Size {
    /// Samples without tokens, each of which has one term in the mean loss.
    pub fn of_samples(samples: usize) -> Self {
        Self { samples: samples as u64, tokens: 0, targets: samples as u64 }
    }
}

/// What training keeps in memory at least, as far as a task's sizes tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Least {
    /// Numbers that the model learns.
    pub weights: u64,
    /// Numbers that a forward pass keeps of each sample for the backward pass.
    pub of_sample: u64,
}

/// What a task is, for people and for callbacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The task's kind, such as `classification`.
    pub task: String,
    /// The model in a few words, such as `mlp 64-128-10`.
    pub model: String,
    /// Whether batches have tokens.
    pub has_tokens: bool,
    /// What [`Step`] offers besides the loss, in the order of [`Step::measured`].
    pub measured: Vec<MeasurementSpec>,
    /// Lists of numbers that [`Step`] offers, in the order of [`Step::vectors`].
    pub vectors: Vec<MeasurementSpec>,
    /// What follows from the mean loss alone, such as the perplexity.
    pub derived: Vec<Derived>,
    /// What an evaluation gives, by full name (`eval/loss`).
    pub evaluated: Vec<MeasurementSpec>,
    /// What can be turned in [`Task::step`], with the values at first.
    pub knobs: Vec<Knob>,
}

impl Description {
    /// A task with a model, in words, that offers nothing but its loss.
    pub fn new(task: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            model: model.into(),
            has_tokens: false,
            measured: Vec::new(),
            vectors: Vec::new(),
            derived: Vec::new(),
            evaluated: Vec::new(),
            knobs: Vec::new(),
        }
    }
}

/// A knob of a task's own for a fraction, such as a dropout: at least 0 and below 1, from the next step on.
pub(crate) fn fraction(name: &str, meaning: &str, value: f64) -> Knob {
    /// The largest number below 1 that a 32-bit float holds.
    const BELOW_ONE: f64 = 0.999_999_94;
    let spec = KnobSpec {
        name: name.into(),
        unit: "1".into(),
        min: 0.0,
        max: BELOW_ONE,
        whole: false,
        effective: Hook::StepBegin,
        meaning: meaning.into(),
    };
    Knob { spec, value }
}

/// Cross entropy of each row of logits `[n, classes]` against its right class `[n]`, in nats.
pub(crate) fn losses<B: Backend>(logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>) -> Tensor<B, 1> {
    log_softmax(logits, 1).gather(1, targets.unsqueeze_dim::<2>(1)).squeeze_dim::<1>(1).neg()
}

/// A measurement that is a function of the loss.
#[derive(Clone, Debug)]
pub struct Derived {
    /// Its name, unit and meaning.
    pub spec: MeasurementSpec,
    /// The function.
    pub of_loss: fn(f64) -> f64,
}

impl PartialEq for Derived {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec
    }
}

/// One forward pass in training.
pub struct Step<B: AutodiffBackend> {
    /// The mean loss over the batch's targets, with one element.
    pub loss: Tensor<B, 1>,
    /// Means over the batch for [`Description::measured`], computed only when somebody reads one.
    pub measured: Vec<Box<dyn FnOnce() -> f64>>,
    /// Numbers for [`Description::vectors`], computed only when somebody reads them. Those of micro-batches are put one
    /// behind the other, and cut at [`MAX_VECTOR`].
    pub vectors: Vec<Box<dyn FnOnce() -> Vec<f32>>>,
}

impl<B: AutodiffBackend> Step<B> {
    /// A forward pass that gives its mean loss and nothing else.
    pub fn of_loss(loss: Tensor<B, 1>) -> Self {
        Self { loss, measured: Vec::new(), vectors: Vec::new() }
    }
}

/// What is asked of a forward pass.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The values of [`Description::knobs`], in their order.
    pub knobs: &'a [f64],
    /// Whether somebody may read one of [`Description::vectors`]. Without it [`Step::vectors`] can stay empty, and
    /// nothing has to be kept for them.
    pub vectors: bool,
}

/// The most numbers of one list that callbacks are shown.
pub const MAX_VECTOR: usize = 4096;

/// Fetches batches as a task does, on another thread: the samples of an epoch with these numbers, on a device.
pub type Fetcher<Batch, Device> = Box<dyn Fn(u64, &[usize], &Device) -> (Batch, Size) + Send>;

/// Something that can be trained.
pub trait Task<B: AutodiffBackend> {
    /// The model.
    type Model: AutodiffModule<B>;
    /// Some samples on the device.
    type Batch: Send + 'static;

    /// What the task is; the same answer each time.
    fn description(&self) -> Description;

    /// What training keeps in memory at least: a run that cannot fit is refused before it begins. By default nothing is
    /// known, and nothing refused.
    fn least(&self) -> Least {
        Least::default()
    }

    /// A new model. The backend's random generator is seeded before the call.
    fn model(&self, device: &B::Device) -> Self::Model;

    /// How many training samples an epoch has; at least 1.
    fn samples(&self) -> usize;

    /// The samples with these numbers (below [`samples`](Self::samples)) on the device, and their size.
    ///
    /// The loop chooses the order; the same epoch and numbers must give the same batch.
    fn batch(&self, epoch: u64, samples: &[usize], device: &B::Device) -> (Self::Batch, Size);

    /// What fetches batches on another thread while a step is computed, where that is worth a thread: for data that is
    /// read from a disk, decoded or augmented, and not for numbers that lie in memory. By default there is none, and
    /// [`batch`](Self::batch) is called between steps.
    ///
    /// It must give the same batches as [`batch`](Self::batch), which is still asked for what could not be foreseen: the
    /// first step of an epoch, and one whose size a callback changed.
    fn fetcher(&self) -> Option<Fetcher<Self::Batch, B::Device>> {
        None
    }

    /// The forward pass of a batch.
    ///
    /// It may panic when memory runs out: the step is then tried again with what callbacks make of it.
    fn step(&self, model: &Self::Model, batch: Self::Batch, asked: Asked<'_>) -> Step<B>;

    /// Evaluates on the validation data; names as in [`Description::evaluated`].
    fn evaluate(
        &self,
        model: &<Self::Model as AutodiffModule<B>>::InnerModule,
        device: &B::Device,
    ) -> Vec<(String, Value)>;

    /// The tensors of a batch by name, for a comparison with another program that trains the same model: `inputs` and
    /// `targets`, say. By default there are none, and nothing can be compared.
    fn tensors(&self, _batch: &Self::Batch) -> Vec<(&'static str, TensorData)> {
        Vec::new()
    }

    /// The validation data, in batches, for the same comparison: what [`evaluate`](Self::evaluate) goes through. By default
    /// there is none.
    fn validation(&self, _device: &B::Device) -> Vec<Self::Batch> {
        Vec::new()
    }

    /// What the finished model has to show in the report.
    fn artifacts(
        &self,
        _model: &<Self::Model as AutodiffModule<B>>::InnerModule,
        _device: &B::Device,
    ) -> Vec<Artifact> {
        Vec::new()
    }
}

/// A kind of task that a configuration can name.
#[derive(Clone, Copy, Debug)]
pub struct TaskKind {
    /// The value of `task.kind`.
    pub name: &'static str,
    /// What it trains, in one sentence.
    pub summary: &'static str,
    /// JSON Schema of the other keys of `[task]`.
    pub schema: fn() -> Schema,
}

/// Does something with a task of a kind that is known only at run time.
pub trait Visitor<B: AutodiffBackend> {
    /// What comes out.
    type Output;

    /// Takes the task.
    fn visit<T: Task<B> + 'static>(self, task: T) -> Self::Output;
}

macro_rules! tasks {
    ($($name:literal => $task:ident, $settings:ident, $summary:literal;)*) => {
        /// Every kind of task that there is.
        pub const KINDS: &[TaskKind] = &[
            $(TaskKind { name: $name, summary: $summary, schema: || schemars::schema_for!($settings) },)*
        ];

        /// Opens the task of a kind: reads its settings and its data, relative to `base`.
        ///
        /// # Errors
        ///
        /// When the kind does not exist, or the settings or the data are wrong.
        pub fn open<B: AutodiffBackend, V: Visitor<B>>(
            kind: &str,
            settings: &serde_json::Value,
            base: &Path,
            seed: u64,
            visitor: V,
        ) -> Result<V::Output, TrainError> {
            match kind {
                $($name => Ok(visitor.visit($task::open(&read::<$settings>(settings)?, base, seed)?)),)*
                _ => {
                    let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
                    Err(TrainError::UnknownTask { kind: kind.to_owned(), known: known.join(", ") })
                }
            }
        }
    };
}

tasks! {
    "classification" => Classification, ClassificationSettings, "rows of numbers with a label, by an MLP or a small CNN";
    "language-model" => LanguageModel, LanguageModelSettings, "the next character of a text, by a decoder-only transformer";
    "scenario" => Scenario, ScenarioSettings, "a made-up course without data, to try callbacks";
}

/// Whoever calls [`open`] has checked the settings against the schema; this error is for embedders who have not.
fn read<S: serde::de::DeserializeOwned>(settings: &serde_json::Value) -> Result<S, TrainError> {
    serde_json::from_value(settings.clone())
        .map_err(|error| TrainError::Setting { key: "task", message: error.to_string() })
}
