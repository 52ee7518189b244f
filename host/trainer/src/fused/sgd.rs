//! Stochastic gradient descent with momentum.
//!
//! As PyTorch's `SGD` defines it, on weights `w` with the gradient `g`: `g += decay w`, `v = momentum v + (1 - dampening) g`
//! or `v = g` in the first update, and `w -= rate v`, or with Nesterov's form (Sutskever et al., "On the importance of
//! initialization and momentum in deep learning", 2013) `w -= rate (g + momentum v)`. The order of operations and each
//! rounding are those of the same formula in burn's operations; a velocity below the smallest normal number becomes 0.
//! Main functions: [`sgd`], [`sgd_with_momentum`].

use burn::tensor::{backend::Backend, ops::FloatTensor};

use super::{
    in_place::{Moved, in_place, kept},
    simd::kernels,
};

/// The numbers of one update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sgd {
    /// How much of the last update goes on.
    pub(crate) momentum: f32,
    /// How much of a gradient the velocity takes: 1 - dampening.
    pub(crate) share: f32,
    /// Whether the weights move by Nesterov's form of the momentum.
    pub(crate) nesterov: bool,
    /// Learning rate.
    pub(crate) rate: f32,
    /// Weight decay.
    pub(crate) decay: f32,
    /// Whether there is no velocity yet.
    pub(crate) is_first: bool,
}

/// Updates the weights in place without a momentum, or gives them back with the gradient where they are not in the host's
/// memory.
pub(crate) fn sgd<B: Backend>(
    rule: Sgd,
    gradient: FloatTensor<B>,
    moved: Moved<B, 1>,
) -> Result<Moved<B, 1>, (FloatTensor<B>, Moved<B, 1>)> {
    in_place::<B, 1>(gradient, moved, |gradient, [weights]| plain(&rule, gradient, weights))
}

/// The same with a momentum: behind the weights is the velocity.
pub(crate) fn sgd_with_momentum<B: Backend>(
    rule: Sgd,
    gradient: FloatTensor<B>,
    moved: Moved<B, 2>,
) -> Result<Moved<B, 2>, (FloatTensor<B>, Moved<B, 2>)> {
    in_place::<B, 2>(gradient, moved, |gradient, [weights, velocity]| with_momentum(&rule, gradient, weights, velocity))
}

/// The gradient with the weight decay. Without one it is left alone: 0 times an infinite weight is NaN.
#[inline(always)]
fn decayed(rule: &Sgd, gradient: f32, weight: f32) -> f32 {
    if rule.decay == 0.0 { gradient } else { gradient + weight * rule.decay }
}

kernels! {
    fn plain(rule: &Sgd, gradient: &[f32], weights: &mut [f32]) {
        for (weight, gradient) in weights.iter_mut().zip(gradient) {
            *weight -= decayed(rule, *gradient, *weight) * rule.rate;
        }
    }

    fn with_momentum(rule: &Sgd, gradient: &[f32], weights: &mut [f32], velocity: &mut [f32]) {
        for ((weight, velocity), gradient) in weights.iter_mut().zip(velocity).zip(gradient) {
            let gradient = decayed(rule, *gradient, *weight);
            let moved = if rule.is_first { gradient } else { *velocity * rule.momentum + gradient * rule.share };
            *velocity = kept(moved);
            let direction = if rule.nesterov { gradient + *velocity * rule.momentum } else { *velocity };
            *weight -= direction * rule.rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::{
        simd::chosen::at_each_level,
        testing::{bits, numbers},
    };

    #[test]
    fn every_instruction_set_gives_the_same_bits_and_velocities_end_at_zero() {
        let run = || {
            let (mut weights, mut velocity) = (numbers(101, 9, 1.0), vec![0.0; 101]);
            for update in 0..1000 {
                let rule =
                    Sgd { momentum: 0.9, share: 0.8, nesterov: true, rate: 0.1, decay: 0.01, is_first: update == 0 };
                let gradient = if update < 5 { numbers(101, update, 1.0) } else { vec![0.0; 101] };
                let rule = if update < 5 { rule } else { Sgd { decay: 0.0, ..rule } };
                with_momentum(&rule, &gradient, &mut weights, &mut velocity);
                assert!(velocity.iter().all(|number| number.is_normal() || *number == 0.0), "{update}");
            }
            assert_eq!(velocity, [0.0; 101]);
            let rule = Sgd { momentum: 0.0, share: 1.0, nesterov: false, rate: 0.1, decay: 0.01, is_first: true };
            plain(&rule, &numbers(101, 7, 1.0), &mut weights);
            bits(&weights)
        };
        let mut all = at_each_level(run).into_iter().map(|(_, bits)| bits);
        let first = all.next().unwrap();
        assert!(all.all(|bits| bits == first));
    }
}
