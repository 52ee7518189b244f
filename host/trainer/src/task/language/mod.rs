//! Language modelling: the next character of a text, by a decoder-only transformer.
//!
//! It does not read files (`text` does) nor define layers (`model` does). Main type: [`LanguageModel`].

mod generate;
mod model;
mod text;

use std::path::Path;

use burn::tensor::{
    Int, Tensor, TensorData,
    backend::{AutodiffBackend, Backend},
};
use host_callback::{MeasurementSpec, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use self::{model::Transformer, text::Text};
use super::{Asked, Derived, Description, Least, Size, Step, Task, fraction};
use crate::{Artifact, TrainError, fused::cross_entropy};

/// `[task]` for `kind = "language-model"`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LanguageModelSettings {
    /// Text file, relative to the configuration file; UTF-8 where `level` is character.
    pub data: String,
    /// What a token is. Default: character.
    #[serde(default)]
    pub level: Level,
    /// Part at the end of the text that is kept for validation, above 0 and below 1. Default: 0.1.
    #[serde(default = "tenth")]
    #[schemars(range(min = 0.0001, max = 0.9999))]
    pub validation: f64,
    /// Tokens that a prediction can look back on. Default: 64.
    #[serde(default = "context")]
    #[schemars(range(min = 1, max = 65536))]
    pub context: usize,
    /// Transformer blocks. Default: 4.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 1024))]
    pub layers: usize,
    /// Attention heads; they divide the width. Default: 4.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 1024))]
    pub heads: usize,
    /// Width of the activations. Default: 128.
    #[serde(default = "width")]
    #[schemars(range(min = 1, max = 65536))]
    pub width: usize,
    /// Whether the output layer is the token embedding itself. Default: true.
    #[serde(default = "yes")]
    pub tied_head: bool,
    /// Whether linear layers and norms have a bias. Default: false.
    #[serde(default)]
    pub bias: bool,
    /// Part of the activations that is dropped in training, at least 0 and below 1. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 0.9999))]
    pub dropout: f64,
    /// What products of weights and activations are computed in. Default: f32.
    #[serde(default)]
    pub precision: Precision,
    /// Tokens of the sample in the report; 0 for none. Default: 300.
    #[serde(default = "sample")]
    #[schemars(range(max = 100000))]
    pub sample: usize,
    /// Divides the logits when the sample is drawn; above 0. Default: 0.8.
    #[serde(default = "temperature")]
    #[schemars(range(min = 0.01, max = 100.0))]
    pub temperature: f64,
}

/// What a token is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// A character that occurs in the text.
    #[default]
    Character,
    /// One of 256 bytes.
    Byte,
}

/// What products of weights and activations are computed in. Weights, their updates, norms, attention's probabilities and
/// losses are 32-bit floats either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// Floats of 16 bits with the range of 32: faster on GPUs that have units for them, slower on CPUs.
    Bf16,
}

fn tenth() -> f64 {
    0.1
}

fn context() -> usize {
    64
}

fn four() -> usize {
    4
}

fn width() -> usize {
    128
}

fn yes() -> bool {
    true
}

fn sample() -> usize {
    300
}

fn temperature() -> f64 {
    0.8
}

/// The task: a text, and what its model looks like.
pub struct LanguageModel {
    settings: LanguageModelSettings,
    text: Text,
    seed: u64,
}

/// Windows of one batch: `[batch, context]` each, the targets one token further.
pub struct Windows<B: Backend> {
    inputs: Tensor<B, 2, Int>,
    targets: Tensor<B, 1, Int>,
}

/// Tokens of one forward pass in evaluation: as many as a small training batch, so that memory does not grow.
const EVALUATION_TOKENS: usize = 2048;

impl LanguageModel {
    /// Reads the text.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is too short, or the settings contradict each other.
    pub fn open(settings: &LanguageModelSettings, base: &Path, seed: u64) -> Result<Self, TrainError> {
        if !settings.width.is_multiple_of(settings.heads) {
            let message = format!("{} heads do not divide the width {}", settings.heads, settings.width);
            return Err(TrainError::Setting { key: "heads", message });
        }
        let text = Text::read(&base.join(&settings.data), settings)?;
        Ok(Self { settings: settings.clone(), text, seed })
    }

    fn windows<B: Backend>(&self, tokens: &[u16], starts: &[usize], device: &B::Device) -> Windows<B> {
        let context = self.settings.context;
        let gather = |shift: usize| -> Vec<i32> {
            let window = |&start: &usize| &tokens[start + shift..start + shift + context];
            starts.iter().flat_map(window).map(|&token| i32::from(token)).collect()
        };
        let count = starts.len();
        Windows {
            inputs: Tensor::from_data(TensorData::new(gather(0), [count, context]), device),
            targets: Tensor::from_data(TensorData::new(gather(1), [count * context]), device),
        }
    }

    /// All whole windows of the validation part, in batches.
    fn validation_windows<'a, B: Backend>(&'a self, device: &'a B::Device) -> impl Iterator<Item = Windows<B>> + 'a {
        let (context, tokens) = (self.settings.context, self.text.validation());
        let starts: Vec<usize> = (0..(tokens.len() - 1) / context).map(|window| window * context).collect();
        let size = (EVALUATION_TOKENS / context).max(1);
        (0..starts.len())
            .step_by(size)
            .map(move |at| self.windows(tokens, &starts[at..(at + size).min(starts.len())], device))
    }

    /// Mean loss over them.
    fn validation_loss<B: Backend>(&self, model: &Transformer<B>, device: &B::Device) -> f64 {
        let (mut sum, mut count) = (0.0, 0);
        for windows in self.validation_windows::<B>(device) {
            let size = windows.inputs.dims()[0];
            let mean = cross_entropy(model.forward(windows.inputs, 0.0), windows.targets, 0.0);
            sum += crate::scalar(mean) * size as f64;
            count += size;
        }
        sum / count as f64
    }
}

impl<B: AutodiffBackend> Task<B> for LanguageModel {
    type Model = Transformer<B>;
    type Batch = Windows<B>;

    fn description(&self) -> Description {
        let spec = MeasurementSpec::new;
        Description {
            task: "language-model".into(),
            model: model::words(&self.settings, self.text.vocabulary()),
            has_tokens: true,
            measured: Vec::new(),
            vectors: vec![spec("sample-losses", "nats", "mean cross entropy a token of each of the step's windows")],
            derived: vec![Derived {
                spec: spec("perplexity", "1", "exponential of the loss: between how many tokens the model wavers"),
                of_loss: f64::exp,
            }],
            evaluated: vec![
                spec("eval/loss", "nats", "mean cross entropy a token over the whole validation part"),
                spec("eval/perplexity", "1", "exponential of eval/loss"),
            ],
            knobs: vec![
                fraction("dropout", "part of the activations that is dropped", self.settings.dropout),
                fraction("label-smoothing", "weight of the uniform distribution in the target", 0.0),
            ],
        }
    }

    fn least(&self) -> Least {
        let [layers, width, context] =
            [self.settings.layers, self.settings.width, self.settings.context].map(|it| it as u64);
        let vocabulary = self.text.vocabulary() as u64;
        let heads = if self.settings.tied_head { 1 } else { 2 };
        // Of each token a block keeps twice what goes into it, queries, keys and values, what attention gives, and the
        // feed-forward layer's four widths before its activation and after.
        let of_token = (2 + 3 + 1 + 2 * 4) * width * layers + vocabulary;
        let weights = heads * vocabulary * width + context * width + 12 * width * width * layers;
        Least { weights, of_sample: context * of_token }
    }

    fn model(&self, device: &B::Device) -> Transformer<B> {
        Transformer::new(&self.settings, self.text.vocabulary(), device)
    }

    fn samples(&self) -> usize {
        self.text.windows(self.settings.context)
    }

    /// Windows lie side by side, from an offset that each epoch draws anew: over the epochs a token is
    /// predicted from every distance to the window's beginning.
    fn batch(&self, epoch: u64, samples: &[usize], device: &B::Device) -> (Windows<B>, Size) {
        let context = self.settings.context;
        let offset = crate::random::below(self.seed, epoch, context as u64) as usize;
        let starts: Vec<usize> = samples.iter().map(|sample| sample * context + offset).collect();
        let tokens = (starts.len() * context) as u64;
        let size = Size { samples: starts.len() as u64, tokens, targets: tokens };
        (self.windows::<B>(self.text.training(), &starts, device), size)
    }

    fn step(&self, model: &Transformer<B>, batch: Windows<B>, asked: Asked<'_>) -> Step<B> {
        let &[dropout, smoothing] = asked.knobs else { unreachable!("the description has two knobs") };
        let [windows, context] = batch.inputs.dims();
        let logits = model.forward(batch.inputs, dropout);
        let mut vectors: Vec<Box<dyn FnOnce() -> Vec<f32>>> = Vec::new();
        if asked.vectors {
            let (logits, targets) = (logits.clone().inner(), batch.targets.clone().inner());
            vectors.push(Box::new(move || {
                let losses = super::losses(logits, targets).reshape([windows, context]);
                losses.mean_dim(1).into_data().iter::<f32>().collect()
            }));
        }
        Step { loss: cross_entropy(logits, batch.targets, smoothing), measured: Vec::new(), vectors }
    }

    fn evaluate(&self, model: &Transformer<B::InnerBackend>, device: &B::Device) -> Vec<(String, Value)> {
        let loss = self.validation_loss(model, device);
        vec![("eval/loss".into(), loss.into()), ("eval/perplexity".into(), loss.exp().into())]
    }

    fn tensors(&self, batch: &Windows<B>) -> Vec<(&'static str, TensorData)> {
        vec![("inputs", batch.inputs.to_data()), ("targets", batch.targets.to_data())]
    }

    fn validation(&self, device: &B::Device) -> Vec<Windows<B>> {
        self.validation_windows(device).collect()
    }

    fn artifacts(&self, model: &Transformer<B::InnerBackend>, device: &B::Device) -> Vec<Artifact> {
        if self.settings.sample == 0 {
            return Vec::new();
        }
        let prompt = &self.text.validation()[..self.settings.context.min(16)];
        let drawn = generate::sample(model, device, prompt, &self.settings, self.seed);
        let text = format!("{}{}", self.text.decode(prompt), self.text.decode(&drawn));
        vec![Artifact::Text { name: "generated text".into(), text }]
    }
}
