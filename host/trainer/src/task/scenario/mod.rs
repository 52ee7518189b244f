//! A made-up training, to try callbacks without data: its losses go as a [`Course`] says, whatever the weights are.
//!
//! The loop, hooks, knobs, checkpoints and decisions are the real ones; only what is measured is made up. Main type:
//! [`Scenario`].

mod course;

use std::{cell::Cell, path::Path};

use burn::{
    module::{Module, Param},
    tensor::{
        Tensor,
        backend::{AutodiffBackend, Backend},
    },
};
use host_callback::{MeasurementSpec, Value};
use schemars::JsonSchema;
use serde::Deserialize;

pub use self::course::Course;
use super::{Asked, Description, Size, Step, Task, fraction};
use crate::{TrainError, random};

/// `[task]` for `kind = "scenario"`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScenarioSettings {
    /// How the training goes.
    pub course: Course,
    /// Samples of an epoch. Default: 80.
    #[serde(default = "eighty")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub samples: usize,
    /// Epochs over which the course stretches. Default: 10.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100_000))]
    pub epochs: u64,
    /// Samples of a batch for which the course is drawn: the noise of larger batches is no smaller. Default: 4.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 65_536))]
    pub batch: usize,
}

fn eighty() -> usize {
    80
}

fn ten() -> u64 {
    10
}

fn four() -> usize {
    4
}

/// The task.
pub struct Scenario {
    settings: ScenarioSettings,
    seed: u64,
    /// The samples of an epoch by their place in it, with the epoch that it is.
    places: Cell<(u64, Vec<usize>)>,
    /// The batch of the course that was fetched last; an evaluation is one of its place.
    at: Cell<u64>,
}

impl Scenario {
    /// A scenario; nothing is read.
    ///
    /// # Errors
    ///
    /// None: the settings are checked by their schema.
    pub fn open(settings: &ScenarioSettings, _base: &Path, seed: u64) -> Result<Self, TrainError> {
        Ok(Self { settings: settings.clone(), seed, places: Cell::new((u64::MAX, Vec::new())), at: Cell::new(0) })
    }

    fn point(&self, at: u64) -> course::Point {
        let length = self.settings.epochs * self.settings.samples as u64 / self.settings.batch as u64;
        self.settings.course.point(self.seed, at, length.max(1))
    }

    /// Where in its epoch a sample comes.
    fn place(&self, epoch: u64, sample: usize) -> usize {
        let (mut of, mut places) = self.places.take();
        if of != epoch {
            places = vec![0; self.settings.samples];
            for (place, sample) in random::order(self.seed, epoch, self.settings.samples).into_iter().enumerate() {
                places[sample] = place;
            }
            of = epoch;
        }
        let place = places[sample];
        self.places.set((of, places));
        place
    }
}

/// Two parameters, so that patterns have something to tell apart.
#[derive(Module, Debug)]
pub struct Weights<B: Backend> {
    encoder: Param<Tensor<B, 1>>,
    head: Param<Tensor<B, 1>>,
}

/// A batch: where it is in the course, and how many samples it has.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    at: u64,
    samples: usize,
}

/// Elements of a parameter; its gradient is the same in each.
const ELEMENTS: usize = 4;

/// What one parameter adds to the loss: nothing, with a gradient of this norm.
fn pull<B: AutodiffBackend>(param: &Param<Tensor<B, 1>>, norm: f64) -> Tensor<B, 1> {
    let product = (param.val() * (norm / (ELEMENTS as f64).sqrt())).sum();
    product.clone() - product.detach()
}

impl<B: AutodiffBackend> Task<B> for Scenario {
    type Model = Weights<B>;
    type Batch = Place;

    fn description(&self) -> Description {
        let spec = MeasurementSpec::new;
        Description {
            measured: vec![spec("accuracy", "1", "made up of the loss: e to the power of its negative")],
            evaluated: vec![
                spec("eval/loss", "nats", "made-up loss on validation data"),
                spec("eval/accuracy", "1", "made up of it: e to the power of its negative"),
            ],
            knobs: vec![
                fraction("dropout", "has no effect here", 0.0),
                fraction("label-smoothing", "has no effect here", 0.0),
            ],
            ..Description::new("scenario", "two parameters of 4 numbers")
        }
    }

    fn model(&self, device: &B::Device) -> Weights<B> {
        let ones = || Param::from_tensor(Tensor::ones([ELEMENTS], device));
        Weights { encoder: ones(), head: ones() }
    }

    fn samples(&self) -> usize {
        self.settings.samples
    }

    fn batch(&self, epoch: u64, samples: &[usize], _device: &B::Device) -> (Place, Size) {
        let before = epoch * self.settings.samples as u64;
        let place = samples.iter().map(|&sample| self.place(epoch, sample)).min().unwrap_or_default();
        let at = (before + place as u64) / self.settings.batch as u64;
        self.at.set(at);
        (Place { at, samples: samples.len() }, Size::of_samples(samples.len()))
    }

    fn step(&self, model: &Weights<B>, Place { at, samples }: Place, _asked: Asked<'_>) -> Step<B> {
        let point = self.point(at);
        let fits = self.settings.batch as f64 * point.fits;
        if samples as f64 > fits.max(1.0) && point.fits < 1.0 {
            // As a backend says it; it is no fault of the program, so nothing is printed.
            std::panic::resume_unwind(Box::new(format!("out of memory: {samples} samples do not fit")));
        }
        let [encoder, head] = point.gradients;
        let loss = pull(&model.encoder, encoder) + pull(&model.head, head) + point.loss;
        Step { measured: vec![Box::new(move || (-point.loss).exp())], ..Step::of_loss(loss) }
    }

    fn evaluate(&self, _model: &Weights<B::InnerBackend>, _device: &B::Device) -> Vec<(String, Value)> {
        let loss = self.point(self.at.get()).evaluated;
        vec![("eval/loss".into(), loss.into()), ("eval/accuracy".into(), (-loss).exp().into())]
    }
}
