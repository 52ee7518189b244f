//! Classification: rows of numbers with a label, by a multilayer perceptron or a small convolutional network.
//!
//! It does not read files (`data` does) nor define layers (`model` does). Main type: [`Classification`].

mod data;
mod model;
mod scores;

use std::path::Path;

use burn::tensor::{
    Int, Tensor, TensorData,
    backend::{AutodiffBackend, Backend},
};
use host_callback::{MeasurementSpec, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use self::{data::Table, model::Classifier, scores::Confusion};
use super::{Asked, Description, Size, Step, Task, fraction};
use crate::{Artifact, TrainError, fused::cross_entropy};

/// `[task]` for `kind = "classification"`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClassificationSettings {
    /// CSV file with one sample a row, relative to the configuration file. A first line with words is a header.
    pub data: String,
    /// Header of the label column. Default: the last column.
    #[serde(default)]
    pub label: Option<String>,
    /// Part of the rows that is kept for validation, above 0 and below 1. Default: 0.2.
    #[serde(default = "fifth")]
    #[schemars(range(min = 0.0001, max = 0.9999))]
    pub validation: f64,
    /// Which rows those are: chosen at random by the seed, or the last ones of the file. Default: random.
    #[serde(default)]
    pub split: Split,
    /// How features are brought to mean 0 and variance 1, by the training rows. Default: each feature by itself.
    #[serde(default)]
    pub standardize: Standardize,
    /// The model. Default: mlp.
    #[serde(default)]
    pub model: ModelKind,
    /// Widths of the hidden layers of the MLP, or of the layer after the convolutions. Default: `[128]`.
    #[serde(default = "one_hidden")]
    #[schemars(inner(range(min = 1, max = 65536)), length(max = 16))]
    pub hidden: Vec<usize>,
    /// For the CNN: how a row is an image, as `[channels, height, width]`, channel after channel, row after row.
    #[serde(default)]
    #[schemars(inner(range(min = 1, max = 4096)))]
    pub image: Option<[usize; 3]>,
    /// For the CNN: channels of its 3 x 3 convolutions; each is followed by ReLU, every second one by a 2 x 2
    /// maximum. Default: `[16, 32]`.
    #[serde(default = "two_convolutions")]
    #[schemars(inner(range(min = 1, max = 4096)), length(min = 1, max = 16))]
    pub channels: Vec<usize>,
    /// Part of the activations before the last layers that is dropped in training, at least 0 and below 1. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 0.9999))]
    pub dropout: f64,
    /// Weight of the uniform distribution in the target, at least 0 and below 1. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 0.9999))]
    pub label_smoothing: f64,
}

/// How validation rows are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// At random, by the run's seed.
    #[default]
    Random,
    /// The last rows of the file.
    Last,
}

/// What is standardized together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standardize {
    /// Each column by its own mean and deviation.
    #[default]
    Feature,
    /// All columns by one mean and deviation, as for pixels.
    Global,
    /// Nothing.
    None,
}

/// The models that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// Fully connected layers with ReLU.
    #[default]
    Mlp,
    /// 3 x 3 convolutions, then fully connected layers.
    Cnn,
}

fn fifth() -> f64 {
    0.2
}

fn one_hidden() -> Vec<usize> {
    vec![128]
}

fn two_convolutions() -> Vec<usize> {
    vec![16, 32]
}

/// The task: its data, and what its model looks like.
pub struct Classification {
    settings: ClassificationSettings,
    table: Table,
}

/// Samples of one batch.
pub struct Samples<B: Backend> {
    features: Tensor<B, 2>,
    labels: Tensor<B, 1, Int>,
}

/// Validation samples of one forward pass: large enough to be fast, small enough for any memory.
const EVALUATION_BATCH: usize = 512;

impl Classification {
    /// Reads the data.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, a row is bad, or the settings do not fit the data.
    pub fn open(settings: &ClassificationSettings, base: &Path, seed: u64) -> Result<Self, TrainError> {
        let table = Table::read(&base.join(&settings.data), settings, seed)?;
        if settings.model == ModelKind::Cnn {
            model::check_image(settings, table.features())?;
        }
        Ok(Self { settings: settings.clone(), table })
    }

    fn samples<B: Backend>(&self, rows: &[usize], device: &B::Device) -> Samples<B> {
        let (features, labels) = self.table.gather(rows);
        let shape = [rows.len(), self.table.features()];
        Samples {
            features: Tensor::from_data(TensorData::new(features, shape), device),
            labels: Tensor::from_data(TensorData::new(labels, [rows.len()]), device),
        }
    }

    /// All validation samples, in batches.
    fn validation_samples<'a, B: Backend>(&'a self, device: &'a B::Device) -> impl Iterator<Item = Samples<B>> + 'a {
        self.table.validation().chunks(EVALUATION_BATCH).map(|rows| self.samples(rows, device))
    }

    fn confusion<B: Backend>(&self, model: &Classifier<B>, device: &B::Device) -> (f64, Confusion) {
        let mut confusion = Confusion::new(self.table.classes().len());
        let mut loss = 0.0;
        for samples in self.validation_samples::<B>(device) {
            let size = samples.labels.dims()[0];
            let logits = model.forward(samples.features, 0.0);
            let mean = cross_entropy(logits.clone(), samples.labels.clone(), 0.0);
            loss += mean.into_scalar_f64() * size as f64;
            let guesses = logits.argmax(1).into_data().iter::<i64>().collect::<Vec<_>>();
            let truths = samples.labels.into_data().iter::<i64>().collect::<Vec<_>>();
            truths.iter().zip(&guesses).for_each(|(&truth, &guess)| confusion.add(truth as usize, guess as usize));
        }
        (loss / self.table.validation().len() as f64, confusion)
    }
}

/// Reads a scalar of any float type.
trait IntoScalarF64 {
    fn into_scalar_f64(self) -> f64;
}

impl<B: Backend> IntoScalarF64 for Tensor<B, 1> {
    fn into_scalar_f64(self) -> f64 {
        crate::scalar(self)
    }
}

impl<B: AutodiffBackend> Task<B> for Classification {
    type Model = Classifier<B>;
    type Batch = Samples<B>;

    fn description(&self) -> Description {
        let spec = MeasurementSpec::new;
        Description {
            task: "classification".into(),
            model: model::words(&self.settings, self.table.features(), self.table.classes().len()),
            has_tokens: false,
            measured: vec![spec("accuracy", "1", "part of the batch's samples that are classified right")],
            vectors: vec![spec(
                "sample-losses",
                "nats",
                "cross entropy of each of the step's samples, without smoothing",
            )],
            derived: Vec::new(),
            evaluated: vec![
                spec("eval/loss", "nats", "mean cross entropy of the validation samples"),
                spec("eval/accuracy", "1", "part of the validation samples that are classified right"),
                spec("eval/macro-f1", "1", "mean of the classes' F1 scores on the validation samples"),
                spec(
                    "eval/class-accuracy",
                    "1",
                    "for each class, part of its validation samples that are classified right",
                ),
                spec("eval/confusion", "samples", "validation samples by true and guessed class, row after row"),
            ],
            knobs: vec![
                fraction("dropout", "part of the activations that is dropped", self.settings.dropout),
                fraction(
                    "label-smoothing",
                    "weight of the uniform distribution in the target",
                    self.settings.label_smoothing,
                ),
            ],
        }
    }

    fn model(&self, device: &B::Device) -> Classifier<B> {
        Classifier::new(&self.settings, self.table.features(), self.table.classes().len(), device)
    }

    fn samples(&self) -> usize {
        self.table.training().len()
    }

    fn batch(&self, _epoch: u64, samples: &[usize], device: &B::Device) -> (Samples<B>, Size) {
        let training = self.table.training();
        let rows: Vec<usize> = samples.iter().map(|&sample| training[sample]).collect();
        let count = rows.len() as u64;
        (Self::samples::<B>(self, &rows, device), Size { samples: count, tokens: 0, targets: count })
    }

    fn step(&self, model: &Classifier<B>, batch: Samples<B>, asked: Asked<'_>) -> Step<B> {
        let &[dropout, smoothing] = asked.knobs else { unreachable!("the description has two knobs") };
        let logits = model.forward(batch.features, dropout);
        let loss = cross_entropy(logits.clone(), batch.labels.clone(), smoothing);
        let (logits, labels) = (logits.inner(), batch.labels.inner());
        let mut vectors: Vec<Box<dyn FnOnce() -> Vec<f32>>> = Vec::new();
        if asked.vectors {
            let (logits, labels) = (logits.clone(), labels.clone());
            vectors.push(Box::new(move || super::losses(logits, labels).into_data().iter::<f32>().collect()));
        }
        let accuracy = move || {
            let count = labels.dims()[0] as f64;
            let right = logits.argmax(1).squeeze_dim::<1>(1).equal(labels).int().sum();
            right.into_data().iter::<i64>().sum::<i64>() as f64 / count
        };
        Step { loss, measured: vec![Box::new(accuracy)], vectors }
    }

    fn evaluate(&self, model: &Classifier<B::InnerBackend>, device: &B::Device) -> Vec<(String, Value)> {
        let (loss, confusion) = self.confusion(model, device);
        vec![
            ("eval/loss".into(), loss.into()),
            ("eval/accuracy".into(), confusion.accuracy().into()),
            ("eval/macro-f1".into(), confusion.macro_f1().into()),
            ("eval/class-accuracy".into(), Value::Vector(confusion.class_accuracy())),
            ("eval/confusion".into(), Value::Vector(confusion.flat())),
        ]
    }

    fn tensors(&self, batch: &Samples<B>) -> Vec<(&'static str, TensorData)> {
        vec![("inputs", batch.features.to_data()), ("targets", batch.labels.to_data())]
    }

    fn validation(&self, device: &B::Device) -> Vec<Samples<B>> {
        self.validation_samples(device).collect()
    }

    fn artifacts(&self, model: &Classifier<B::InnerBackend>, device: &B::Device) -> Vec<Artifact> {
        let (_, confusion) = self.confusion(model, device);
        let classes = self.table.classes();
        vec![Artifact::Table {
            name: "confusion matrix (rows: truth, columns: guess)".into(),
            columns: classes.to_vec(),
            rows: classes.iter().cloned().zip(confusion.rows()).collect(),
        }]
    }
}
