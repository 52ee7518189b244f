//! Text drawn from a trained model, token by token.
//!
//! It does not decode tokens. Main function: [`sample`].

use burn::tensor::{Int, Tensor, TensorData, backend::Backend};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{LanguageModelSettings, model::Transformer};

/// Draws `settings.sample` tokens after a prompt, the same ones for the same weights and seed.
pub(super) fn sample<B: Backend>(
    model: &Transformer<B>,
    device: &B::Device,
    prompt: &[u16],
    settings: &LanguageModelSettings,
    seed: u64,
) -> Vec<u16> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut tokens = prompt.to_vec();
    for _ in 0..settings.sample {
        let context = &tokens[tokens.len().saturating_sub(settings.context)..];
        let last = context.len() - 1;
        let inputs: Vec<i32> = context.iter().map(|&token| i32::from(token)).collect();
        let inputs = Tensor::<B, 2, Int>::from_data(TensorData::new(inputs, [1, last + 1]), device);
        let logits = model.forward(inputs, 0.0).narrow(0, last, 1);
        let logits: Vec<f64> = logits.into_data().iter::<f64>().collect();
        tokens.push(draw(&logits, settings.temperature, random.random::<f64>()));
    }
    tokens.split_off(prompt.len())
}

/// The token at a point in [0, 1) of the cumulated softmax.
fn draw(logits: &[f64], temperature: f64, point: f64) -> u16 {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|logit| ((logit - top) / temperature).exp()).collect();
    let mut left = point * weights.iter().sum::<f64>();
    let at = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    // Rounding can leave a little over; so do weights that are NaN.
    at.unwrap_or(logits.len() - 1) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_drawn_by_its_weight() {
        let logits = [0.0, f64::ln(3.0)];
        for (point, token) in [(0.0, 0), (0.24, 0), (0.26, 1), (0.999, 1)] {
            assert_eq!(draw(&logits, 1.0, point), token);
        }
        assert_eq!(draw(&[f64::NAN, f64::NAN], 1.0, 0.5), 1);
    }
}
