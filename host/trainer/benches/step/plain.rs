//! The same transformer as a program without us writes it: burn's own modules, on `[batch, context, width]`.
//!
//! It does not measure. Main type: [`Plain`].

use burn::{
    module::{Module, Param},
    nn::{
        Embedding, EmbeddingConfig, Initializer, LayerNorm, LayerNormConfig,
        attention::generate_autoregressive_mask,
        loss::CrossEntropyLossConfig,
        transformer::{TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput},
    },
    optim::{GradientsParams, Optimizer},
    tensor::{
        Int, Tensor, TensorData,
        backend::{AutodiffBackend, Backend},
    },
};

/// Embeddings, burn's encoder with a causal mask, and the token embedding as the head.
#[derive(Module, Debug)]
pub(crate) struct PlainModel<B: Backend> {
    tokens: Embedding<B>,
    positions: Param<Tensor<B, 2>>,
    blocks: TransformerEncoder<B>,
    norm: LayerNorm<B>,
}

/// What the model is measured with.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) vocabulary: usize,
    pub(crate) batch: usize,
    pub(crate) context: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) width: usize,
}

impl<B: Backend> PlainModel<B> {
    fn new(size: Size, device: &B::Device) -> Self {
        let normal = Initializer::Normal { mean: 0.0, std: 0.02 };
        let blocks = TransformerEncoderConfig::new(size.width, 4 * size.width, size.heads, size.layers);
        Self {
            tokens: EmbeddingConfig::new(size.vocabulary, size.width).with_initializer(normal.clone()).init(device),
            positions: normal.init([size.context, size.width], device),
            blocks: blocks.with_norm_first(true).with_dropout(0.0).with_initializer(normal).init(device),
            norm: LayerNormConfig::new(size.width).init(device),
        }
    }

    fn loss(&self, tokens: Tensor<B, 2, Int>, targets: Tensor<B, 1, Int>) -> Tensor<B, 1> {
        let ([batch, context], device) = (tokens.dims(), tokens.device());
        let x = self.tokens.forward(tokens) + self.positions.val().unsqueeze();
        let mask = generate_autoregressive_mask(batch, context, &device);
        let x = self.norm.forward(self.blocks.forward(TransformerEncoderInput::new(x).mask_attn(mask)));
        let logits = x.matmul(self.tokens.weight.val().transpose().unsqueeze());
        CrossEntropyLossConfig::new().init(&device).forward(logits.flatten(0, 1), targets)
    }
}

/// A training loop around the model, on tokens that do not matter.
pub(crate) struct Plain<B: AutodiffBackend, O> {
    size: Size,
    rate: f64,
    model: Option<PlainModel<B>>,
    optimizer: O,
    at: usize,
}

impl<B: AutodiffBackend, O: Optimizer<PlainModel<B>, B>> Plain<B, O> {
    pub(crate) fn new(size: Size, rate: f64, optimizer: O, device: &B::Device) -> Self {
        Self { size, rate, model: Some(PlainModel::new(size, device)), optimizer, at: 0 }
    }

    /// Forward, backward, clipping and update.
    pub(crate) fn step(&mut self, device: &B::Device) {
        let Size { vocabulary, batch, context, .. } = self.size;
        let Some(model) = self.model.take() else { return };
        let token = |at: usize| ((self.at + at) * 31 % vocabulary) as i32;
        let tokens = |shift: usize| (0..batch * context).map(|at| token(at + shift)).collect::<Vec<_>>();
        let inputs = Tensor::from_data(TensorData::new(tokens(0), [batch, context]), device);
        let targets = Tensor::from_data(TensorData::new(tokens(1), [batch * context]), device);
        self.at += batch * context;
        let gradients = GradientsParams::from_grads(model.loss(inputs, targets).backward(), &model);
        self.model = Some(self.optimizer.step(self.rate, model, gradients));
    }
}
