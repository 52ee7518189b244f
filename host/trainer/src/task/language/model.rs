//! A decoder-only transformer: pre-norm blocks with causal attention, a tied or untied head.
//!
//! Activations stay `[batch * context, width]` through every linear layer: with a third dimension burn's
//! backward pass of a linear layer makes one weight gradient a sample and sums them. Main type: [`Transformer`].

use burn::{
    module::{Module, Param},
    nn::{Dropout, Embedding, EmbeddingConfig, Initializer, LayerNorm, LayerNormConfig, Linear, LinearConfig},
    tensor::{FloatDType, Int, Tensor, backend::Backend},
};

use super::{LanguageModelSettings, Precision};
use crate::fused::{Heads, causal_attention, embedding, gelu, layer_norm, linear, linear_with};

/// Deviation of initial weights, as in GPT-2 (Radford et al., 2019).
const DEVIATION: f64 = 0.02;
/// Keeps the variance of a norm from 0, as in GPT-2.
const EPSILON: f64 = 1e-5;

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
    is_bf16: bool,
}

/// What all blocks of one pass share.
struct Pass {
    heads: Heads,
    dropout: Dropout,
    is_bf16: bool,
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
            head: (!settings.tied_head).then(|| layer(settings, width, vocabulary, DEVIATION, device)),
            heads: settings.heads,
            is_bf16: settings.precision == Precision::Bf16,
        }
    }

    /// Logits `[batch * context, vocabulary]` of tokens `[batch, context]`; the context may be shorter than
    /// the model's. In training, a part `dropout` of the activations is dropped.
    pub(super) fn forward(&self, tokens: Tensor<B, 2, Int>, dropout: f64) -> Tensor<B, 2> {
        let [batch, context] = tokens.dims();
        let x = embedding(tokens, self.tokens.weight.val(), self.positions.val());
        let heads = Heads { batch, context, heads: self.heads };
        let pass = Pass { heads, dropout: Dropout { prob: dropout }, is_bf16: self.is_bf16 };
        let x = self.blocks.iter().fold(pass.dropout.forward(x), |x, block| block.forward(x, &pass));
        let x = normalized(&self.norm, x);
        match &self.head {
            Some(head) => pass.linear(x, head, None),
            None => pass.product(x, self.tokens.weight.val().transpose()),
        }
    }
}

impl Pass {
    /// A layer's result for rows, with a residual added to it.
    fn linear<B: Backend>(&self, x: Tensor<B, 2>, layer: &Linear<B>, residual: Option<Tensor<B, 2>>) -> Tensor<B, 2> {
        if !self.is_bf16 {
            return linear(x, layer, residual);
        }
        let y = self.product(x, layer.weight.val());
        let y = match &layer.bias {
            Some(bias) => y + bias.val().unsqueeze(),
            None => y,
        };
        match residual {
            Some(residual) => residual + y,
            None => y,
        }
    }

    /// `x W` as 32-bit floats, whatever it is computed in.
    fn product<B: Backend>(&self, x: Tensor<B, 2>, weight: Tensor<B, 2>) -> Tensor<B, 2> {
        match self.is_bf16 {
            true => x.cast(FloatDType::BF16).matmul(weight.cast(FloatDType::BF16)).cast(FloatDType::F32),
            false => linear_with(x, weight, None, None),
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
            attention_in: layer(settings, width, 3 * width, DEVIATION, device),
            attention_out: layer(settings, width, width, residual, device),
            feed_forward_norm: norm(settings, device),
            feed_forward_in: layer(settings, width, 4 * width, DEVIATION, device),
            feed_forward_out: layer(settings, 4 * width, width, residual, device),
        }
    }

    fn forward(&self, x: Tensor<B, 2>, pass: &Pass) -> Tensor<B, 2> {
        let attended = pass.linear(normalized(&self.attention_norm, x.clone()), &self.attention_in, None);
        let x = added(x, causal_attention(attended, pass.heads), &self.attention_out, pass);
        let hidden = pass.linear(normalized(&self.feed_forward_norm, x.clone()), &self.feed_forward_in, None);
        added(x, gelu(hidden), &self.feed_forward_out, pass)
    }
}

/// The residual stream with a layer's result, of which a part is dropped, added to it.
fn added<B: Backend>(x: Tensor<B, 2>, hidden: Tensor<B, 2>, layer: &Linear<B>, pass: &Pass) -> Tensor<B, 2> {
    match pass.dropout.prob {
        0.0 => pass.linear(hidden, layer, Some(x)),
        _ => x + pass.dropout.forward(pass.linear(hidden, layer, None)),
    }
}

fn normalized<B: Backend>(norm: &LayerNorm<B>, x: Tensor<B, 2>) -> Tensor<B, 2> {
    layer_norm(x, norm.gamma.val(), norm.beta.as_ref().map(|beta| beta.val()), EPSILON)
}

fn norm<B: Backend>(settings: &LanguageModelSettings, device: &B::Device) -> LayerNorm<B> {
    LayerNormConfig::new(settings.width).with_epsilon(EPSILON).with_bias(settings.bias).init(device)
}

fn layer<B: Backend>(
    settings: &LanguageModelSettings,
    inputs: usize,
    outputs: usize,
    deviation: f64,
    device: &B::Device,
) -> Linear<B> {
    let initializer = Initializer::Normal { mean: 0.0, std: deviation };
    LinearConfig::new(inputs, outputs).with_bias(settings.bias).with_initializer(initializer).init(device)
}

/// The model in a few words.
pub(super) fn words(settings: &LanguageModelSettings, vocabulary: usize) -> String {
    let head = if settings.tied_head { "tied" } else { "untied" };
    format!(
        "transformer {} layers, {} heads, width {}, context {}, vocabulary {vocabulary}, {head} head",
        settings.layers, settings.heads, settings.width, settings.context
    )
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use burn::{
        backend::{Flex, flex::FlexDevice},
        module::AutodiffModule,
        optim::{AdamWConfig, GradientsParams, Optimizer},
        tensor::{
            TensorData,
            backend::{AutodiffBackend, Backend as _},
        },
    };
    use serde_json::json;

    use super::*;
    use crate::fused::{
        cross_entropy,
        testing::{Fused, Plain},
    };

    const VOCABULARY: usize = 17;

    fn tokens(batch: usize, context: usize, first: usize) -> Vec<i64> {
        (first..first + batch * context).map(|at| (at % 6 * (at % 5) % VOCABULARY) as i64).collect()
    }

    /// A model whose weights are the same each time: the backend's generator is one for all threads, and a parameter is
    /// drawn when it is first used.
    fn start(settings: serde_json::Value) -> Transformer<Fused> {
        static DRAWING: Mutex<()> = Mutex::new(());
        let settings: LanguageModelSettings = serde_json::from_value(settings).unwrap();
        let _alone = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        Fused::seed(&FlexDevice, 1);
        let model = Transformer::<Fused>::new(&settings, VOCABULARY, &FlexDevice);
        drop(model.valid());
        model
    }

    /// Losses of training steps from the same weights.
    fn losses<B>(start: &Transformer<Fused>, smoothing: f64, steps: usize) -> Vec<f32>
    where
        B: AutodiffBackend<InnerBackend = Flex, Device = FlexDevice>,
    {
        let (batch, context) = (3, 12);
        let mut model = Transformer::<B>::from_inner(start.valid());
        let mut optimizer = AdamWConfig::new().with_weight_decay(0.1).init::<B, Transformer<B>>();
        let step = |step: usize| {
            let windows = |shift: usize| tokens(batch, context, step * 36 % 720 + shift);
            let inputs = Tensor::from_data(TensorData::new(windows(0), [batch, context]), &FlexDevice);
            let targets = Tensor::from_data(TensorData::new(windows(1), [batch * context]), &FlexDevice);
            let loss = cross_entropy(model.forward(inputs, 0.0), targets, smoothing);
            let gradients = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(2e-4, model.clone(), gradients);
            loss.into_data().iter::<f32>().next().unwrap()
        };
        (0..steps).map(step).collect()
    }

    #[test]
    fn products_in_16_bits_train_nearly_as_those_in_32() {
        for tied_head in [true, false] {
            let settings = json!({
                "data": "", "context": 12, "layers": 2, "heads": 2, "width": 24, "bias": !tied_head,
                "tied-head": tied_head, "precision": "bf16",
            });
            let start = start(settings);
            assert!(start.is_bf16);
            let half = losses::<Fused>(&start, 0.0, 200);
            let whole = losses::<Fused>(&Transformer { is_bf16: false, ..start }, 0.0, 200);
            // A number of 8 significant bits is off by up to 0.4 %.
            for (step, (half, whole)) in half.iter().zip(&whole).enumerate() {
                assert!((half / whole - 1.0).abs() < 0.01, "step {step}: {half} and {whole}");
            }
            assert!(whole[199] < 0.9 * whole[0] && half != whole, "it learns: {} and {}", whole[0], whole[199]);
        }
    }

    #[test]
    fn fused_operations_train_as_burns_do() {
        for (bias, tied_head, smoothing) in [(false, true, 0.0), (true, false, 0.1)] {
            let settings = json!({
                "data": "", "context": 12, "layers": 2, "heads": 2, "width": 24, "bias": bias, "tied-head": tied_head,
            });
            let start = start(settings);
            let fused = losses::<Fused>(&start, smoothing, 300);
            let plain = losses::<Plain>(&start, smoothing, 300);
            for (step, (fused, plain)) in fused.iter().zip(&plain).enumerate() {
                assert!((fused - plain).abs() < 1e-4, "bias {bias}, step {step}: {fused} and {plain}");
            }
            assert!(fused[299] < 0.8 * fused[0], "it learns: {} and {}", fused[0], fused[299]);
            assert_ne!(fused, plain, "the second one is burn's");
            assert_eq!(losses::<Fused>(&start, smoothing, 20), fused[..20], "and again to the bit");
        }
    }
}
