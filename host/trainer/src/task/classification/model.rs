//! The two classifiers: a multilayer perceptron, and convolutions before one.
//!
//! It does not know data or losses. Main type: [`Classifier`].

use burn::{
    module::Module,
    nn::{
        Dropout, Linear, LinearConfig, PaddingConfig2d,
        conv::{Conv2d, Conv2dConfig},
    },
    tensor::{Tensor, backend::Backend},
};

use super::{ClassificationSettings, ModelKind};
use crate::{
    TrainError,
    fused::{convolution, linear, max_pool, relu},
};

/// Convolutions (none for the MLP), then fully connected layers; ReLU between all of them.
#[derive(Module, Debug)]
pub struct Classifier<B: Backend> {
    convolutions: Vec<Conv2d<B>>,
    layers: Vec<Linear<B>>,
    image: [usize; 3],
}

/// After how many convolutions an image is halved.
const CONVOLUTIONS_A_POOL: usize = 2;

impl<B: Backend> Classifier<B> {
    /// A model with random weights for rows of `features` numbers.
    pub(super) fn new(settings: &ClassificationSettings, features: usize, classes: usize, device: &B::Device) -> Self {
        let image = settings.image.unwrap_or([features, 1, 1]);
        let channels = channels(settings);
        let mut inputs = image[0];
        let convolutions = channels
            .iter()
            .map(|&outputs| {
                let config = Conv2dConfig::new([inputs, outputs], [3, 3]).with_padding(PaddingConfig2d::Same);
                inputs = outputs;
                config.init(device)
            })
            .collect();
        let widths = widths(settings, features, classes);
        Self {
            convolutions,
            layers: widths.windows(2).map(|pair| LinearConfig::new(pair[0], pair[1]).init(device)).collect(),
            image,
        }
    }

    /// Logits `[batch, classes]` of rows `[batch, features]`; in training, a part `dropout` of the activations before
    /// the last layer is dropped.
    pub(super) fn forward(&self, rows: Tensor<B, 2>, dropout: f64) -> Tensor<B, 2> {
        let mut x = if self.convolutions.is_empty() { rows } else { self.convolve(rows) };
        for (at, layer) in self.layers.iter().enumerate() {
            if at > 0 {
                x = relu(x);
            }
            if at + 1 == self.layers.len() {
                x = Dropout { prob: dropout }.forward(x);
            }
            x = linear(x, layer, None);
        }
        x
    }

    fn convolve(&self, rows: Tensor<B, 2>) -> Tensor<B, 2> {
        let batch = rows.dims()[0];
        let [channels, height, width] = self.image;
        let mut x = rows.reshape([batch, channels, height, width]);
        for (at, layer) in self.convolutions.iter().enumerate() {
            x = convolution(x, layer);
            // The largest one is the same behind the rectifier, which has a quarter of the work here.
            if (at + 1) % CONVOLUTIONS_A_POOL == 0 {
                x = max_pool(x);
            }
            x = relu(x);
        }
        x.flatten::<2>(1, 3)
    }
}

fn channels(settings: &ClassificationSettings) -> &[usize] {
    match settings.model {
        ModelKind::Mlp => &[],
        ModelKind::Cnn => &settings.channels,
    }
}

/// Widths of the fully connected layers, the input first and the classes last.
fn widths(settings: &ClassificationSettings, features: usize, classes: usize) -> Vec<usize> {
    let input = match (settings.model, settings.image) {
        (ModelKind::Cnn, Some([_, height, width])) => {
            let halvings = settings.channels.len() / CONVOLUTIONS_A_POOL;
            settings.channels.last().copied().unwrap_or(1) * (height >> halvings) * (width >> halvings)
        }
        _ => features,
    };
    [vec![input], settings.hidden.clone(), vec![classes]].concat()
}

/// Whether a row can be an image of the size that the settings say.
pub(super) fn check_image(settings: &ClassificationSettings, features: usize) -> Result<(), TrainError> {
    let bad = |message: String| Err(TrainError::Setting { key: "image", message });
    let Some([channels, height, width]) = settings.image else {
        return bad(format!(
            "the model \"cnn\" needs it; a row has {features} numbers, so channels * height * width = {features}"
        ));
    };
    if channels * height * width != features {
        return bad(format!("{channels} * {height} * {width} is not {features}, the numbers of a row"));
    }
    let halvings = settings.channels.len() / CONVOLUTIONS_A_POOL;
    if height >> halvings == 0 || width >> halvings == 0 {
        return bad(format!(
            "{height} x {width} cannot be halved {halvings} times, as {} convolutions do",
            settings.channels.len()
        ));
    }
    Ok(())
}

/// The model in a few words.
pub(super) fn words(settings: &ClassificationSettings, features: usize, classes: usize) -> String {
    let join = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join("-");
    let dense = join(&widths(settings, features, classes));
    match (settings.model, settings.image) {
        (ModelKind::Cnn, Some([c, h, w])) => format!("cnn {c}x{h}x{w} conv {} mlp {dense}", join(&settings.channels)),
        _ => format!("mlp {dense}"),
    }
}
