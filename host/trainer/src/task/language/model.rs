//! A decoder-only transformer: pre-norm blocks with causal attention, a tied or untied head.
//!
//! Activations stay `[batch * context, width]` through every linear layer: with a third dimension burn's
//! backward pass of a linear layer makes one weight gradient a sample and sums them. Main type: [`Transformer`].

use burn::{
    module::{Module, Param},
    nn::{
        Dropout, Embedding, EmbeddingConfig, Initializer, LayerNorm, LayerNormConfig, Linear, LinearConfig,
        loss::CrossEntropyLossConfig,
    },
    tensor::{Int, Tensor, backend::Backend},
};

use super::LanguageModelSettings;
use crate::fused::{Heads, causal_attention, gelu};

/// Deviation of initial weights, as in GPT-2 (Radford et al., 2019).
const DEVIATION: f64 = 0.02;

/// The model.
#[derive(Module, Debug)]
pub struct Transformer<B: Backend> {
    tokens: Embedding<B>,
    positions: Param<Tensor<B, 2>>,
    blocks: Vec<Block<B>>,
    norm: LayerNorm<B>,
    /// `None` where the head is the token embedding.
    head: Option<Linear<B>>,
    heads: usize,
}

/// Attention and feed-forward, each behind a norm and around a residual.
#[derive(Module, Debug)]
pub struct Block<B: Backend> {
    attention_norm: LayerNorm<B>,
    /// Queries, keys and values in one.
    attention_in: Linear<B>,
    attention_out: Linear<B>,
    feed_forward_norm: LayerNorm<B>,
    feed_forward_in: Linear<B>,
    feed_forward_out: Linear<B>,
}

impl<B: Backend> Transformer<B> {
    /// A model with random weights.
    pub(super) fn new(settings: &LanguageModelSettings, vocabulary: usize, device: &B::Device) -> Self {
        let normal = Initializer::Normal { mean: 0.0, std: DEVIATION };
        let width = settings.width;
        Self {
            tokens: EmbeddingConfig::new(vocabulary, width).with_initializer(normal.clone()).init(device),
            positions: normal.init([settings.context, width], device),
            blocks: (0..settings.layers).map(|_| Block::new(settings, device)).collect(),
            norm: norm(settings, device),
            head: (!settings.tied_head).then(|| linear(settings, width, vocabulary, DEVIATION, device)),
            heads: settings.heads,
        }
    }

    /// Logits `[batch * context, vocabulary]` of tokens `[batch, context]`; the context may be shorter than
    /// the model's. In training, a part `dropout` of the activations is dropped.
    pub(super) fn forward(&self, tokens: Tensor<B, 2, Int>, dropout: f64) -> Tensor<B, 2> {
        let [batch, context] = tokens.dims();
        let embedded = self.tokens.forward(tokens);
        let positions = self.positions.val().narrow(0, 0, context).unsqueeze::<3>();
        let width = embedded.dims()[2];
        let x = (embedded + positions).reshape([batch * context, width]);
        let heads = Heads { batch, context, heads: self.heads };
        let dropout = Dropout { prob: dropout };
        let x = self.blocks.iter().fold(dropout.forward(x), |x, block| block.forward(x, heads, &dropout));
        let x = self.norm.forward(x);
        match &self.head {
            Some(head) => head.forward(x),
            None => x.matmul(self.tokens.weight.val().transpose()),
        }
    }
}

impl<B: Backend> Block<B> {
    fn new(settings: &LanguageModelSettings, device: &B::Device) -> Self {
        let width = settings.width;
        // Each block adds twice to the residual stream; scaled so that its variance does not grow with depth.
        let residual = DEVIATION / (2.0 * settings.layers as f64).sqrt();
        Self {
            attention_norm: norm(settings, device),
            attention_in: linear(settings, width, 3 * width, DEVIATION, device),
            attention_out: linear(settings, width, width, residual, device),
            feed_forward_norm: norm(settings, device),
            feed_forward_in: linear(settings, width, 4 * width, DEVIATION, device),
            feed_forward_out: linear(settings, 4 * width, width, residual, device),
        }
    }

    fn forward(&self, x: Tensor<B, 2>, heads: Heads, dropout: &Dropout) -> Tensor<B, 2> {
        let attended = self.attention_in.forward(self.attention_norm.forward(x.clone()));
        let attended = self.attention_out.forward(causal_attention(attended, heads));
        let x = x + dropout.forward(attended);
        let hidden = gelu(self.feed_forward_in.forward(self.feed_forward_norm.forward(x.clone())));
        x + dropout.forward(self.feed_forward_out.forward(hidden))
    }
}

fn norm<B: Backend>(settings: &LanguageModelSettings, device: &B::Device) -> LayerNorm<B> {
    LayerNormConfig::new(settings.width).with_bias(settings.bias).init(device)
}

fn linear<B: Backend>(
    settings: &LanguageModelSettings,
    inputs: usize,
    outputs: usize,
    deviation: f64,
    device: &B::Device,
) -> Linear<B> {
    let initializer = Initializer::Normal { mean: 0.0, std: deviation };
    LinearConfig::new(inputs, outputs).with_bias(settings.bias).with_initializer(initializer).init(device)
}

/// Mean cross entropy of logits `[n, vocabulary]` against the right tokens `[n]`, in nats. A part `smoothing` of the
/// target is spread over all tokens.
pub(super) fn cross_entropy<B: Backend>(
    logits: Tensor<B, 2>,
    targets: Tensor<B, 1, Int>,
    smoothing: f64,
) -> Tensor<B, 1> {
    let device = logits.device();
    let smoothing = Some(smoothing as f32).filter(|smoothing| *smoothing > 0.0);
    CrossEntropyLossConfig::new().with_smoothing(smoothing).init(&device).forward(logits, targets)
}

/// The model in a few words.
pub(super) fn words(settings: &LanguageModelSettings, vocabulary: usize) -> String {
    let head = if settings.tied_head { "tied" } else { "untied" };
    format!(
        "transformer {} layers, {} heads, width {}, context {}, vocabulary {vocabulary}, {head} head",
        settings.layers, settings.heads, settings.width, settings.context
    )
}
