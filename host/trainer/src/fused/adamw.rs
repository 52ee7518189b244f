//! AdamW: Adam whose weight decay is not part of the gradient.
//!
//! Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019), algorithm 2, on weights `w` with the gradient
//! `g` in the `t`-th update: `m = β1 m + (1 - β1) g`, `v = β2 v + (1 - β2) g^2`, and
//! `w = w (1 - rate decay) - rate (m / (1 - β1^t)) / (sqrt(v / (1 - β2^t)) + ε)`. Division takes most of the time: there is
//! one for each weight, and what is the same for all of them is divided once. So weights differ from those of burn's
//! `AdamW` in the last bits. Moments do not, but that one below the smallest normal number becomes 0. Main function:
//! [`adamw`].

use burn::tensor::{backend::Backend, ops::FloatTensor};

use super::{
    in_place::{Moved, in_place, kept},
    simd::kernels,
};

/// The numbers of one update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamW {
    /// Decay of the first and of the second moment.
    pub(crate) betas: (f32, f32),
    /// Keeps the divisor from 0.
    pub(crate) epsilon: f32,
    /// Learning rate.
    pub(crate) rate: f64,
    /// Weight decay.
    pub(crate) decay: f64,
    /// Updates with this one.
    pub(crate) time: usize,
}

/// Updates the weights, and behind them the moments of their gradients, in place; or gives them back with the gradient
/// where they are not in the host's memory. The moments are zeros before the first update.
pub(crate) fn adamw<B: Backend>(
    rule: AdamW,
    gradient: FloatTensor<B>,
    moved: Moved<B, 3>,
) -> Result<Moved<B, 3>, (FloatTensor<B>, Moved<B, 3>)> {
    let numbers = rule.numbers();
    in_place::<B, 3>(gradient, moved, |gradient, [weights, first, second]| {
        update(&numbers, gradient, weights, first, second);
    })
}

/// What a loop needs of the rule.
struct Numbers {
    betas: [f32; 2],
    /// What a new gradient counts for in each moment.
    shares: [f32; 2],
    /// The second moment times this is what it would be without the zeros that it began with.
    correction: f32,
    epsilon: f32,
    /// The learning rate, with the correction of the first moment.
    rate: f32,
    /// What is left of a weight.
    left: f32,
}

impl AdamW {
    fn numbers(&self) -> Numbers {
        let betas = [self.betas.0, self.betas.1];
        let corrections = betas.map(|beta| 1.0 / (1.0 - f64::from(beta.powi(self.time as i32))));
        Numbers {
            betas,
            shares: betas.map(|beta| 1.0 - beta),
            correction: corrections[1] as f32,
            epsilon: self.epsilon,
            rate: (self.rate * corrections[0]) as f32,
            left: (1.0 - self.rate * f64::from(self.decay as f32)) as f32,
        }
    }
}

kernels! {
    fn update(numbers: &Numbers, gradient: &[f32], weights: &mut [f32], first: &mut [f32], second: &mut [f32]) {
        let moments = first.iter_mut().zip(second);
        for ((weight, (first, second)), gradient) in weights.iter_mut().zip(moments).zip(gradient) {
            *first = kept(*first * numbers.betas[0] + gradient * numbers.shares[0]);
            *second = kept(*second * numbers.betas[1] + (gradient * gradient) * numbers.shares[1]);
            let spread = (*second * numbers.correction).sqrt() + numbers.epsilon;
            *weight = *weight * numbers.left - *first * numbers.rate / spread;
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::{
        backend::{Flex, flex::FlexDevice},
        optim::{AdamWConfig, SimpleOptimizer},
        tensor::{Tensor, TensorData},
    };

    use super::*;
    use crate::fused::{
        operation::{primitive, tensor},
        simd::chosen::at_each_level,
        testing::{bits, near, numbers, with_threads},
    };

    fn matrix(numbers: Vec<f32>, shape: [usize; 2]) -> Tensor<Flex, 2> {
        Tensor::from_data(TensorData::new(numbers, shape), &FlexDevice)
    }

    fn bits_of(tensor: Tensor<Flex, 2>) -> Vec<u32> {
        bits(&tensor.into_data().iter::<f32>().collect::<Vec<_>>())
    }

    /// Five updates of a matrix, with gradients of all kinds.
    fn gradients(shape: [usize; 2]) -> impl Iterator<Item = Tensor<Flex, 2>> {
        let count = shape[0] * shape[1];
        (0..5).map(move |update| {
            let mut numbers = numbers(count, update, 10.0_f32.powi(update as i32 - 2));
            numbers.iter_mut().step_by(11).for_each(|number| *number = 0.0);
            if update == 4 {
                numbers
                    .iter_mut()
                    .step_by(97)
                    .zip([f32::NAN, f32::INFINITY, 1e30, 1e-30])
                    .for_each(|(number, it)| *number = it);
            }
            // A gradient is often a transposed view.
            match update % 2 {
                0 => matrix(numbers, shape),
                _ => matrix(numbers, [shape[1], shape[0]]).transpose(),
            }
        })
    }

    fn ours(shape: [usize; 2], decay: f64) -> [Vec<u32>; 3] {
        let count = shape[0] * shape[1];
        let zeros = || primitive(matrix(vec![0.0; count], shape));
        let mut moved: Moved<Flex, 3> = [primitive(matrix(numbers(count, 9, 1.0), shape)), zeros(), zeros()];
        for (at, gradient) in gradients(shape).enumerate() {
            let rule = AdamW { betas: (0.9, 0.99), epsilon: 1e-8, rate: 3e-3, decay, time: at + 1 };
            moved = adamw::<Flex>(rule, primitive(gradient), moved).ok().unwrap();
        }
        moved.map(|moved| bits_of(tensor(moved)))
    }

    #[test]
    fn it_is_burns_adamw_with_the_same_moments_and_the_same_bits_everywhere() {
        for (shape, decay) in [([1, 1], 0.1), ([3, 67], 0.0), ([200, 301], 0.01), ([0, 4], 0.1)] {
            let rule = AdamWConfig::new().with_beta_1(0.9).with_beta_2(0.99).with_epsilon(1e-8);
            let rule = rule.with_weight_decay(decay as f32).build();
            let (mut weights, mut state) = (matrix(numbers(shape[0] * shape[1], 9, 1.0), shape), None);
            for gradient in gradients(shape) {
                (weights, state) = rule.step(3e-3, weights, gradient, state);
            }
            let momentum = state.unwrap().momentum;
            let once = ours(shape, decay);
            assert!(once[1..] == [momentum.moment_1, momentum.moment_2].map(bits_of), "{shape:?}");
            let floats = |bits: Vec<u32>| bits.into_iter().map(f32::from_bits).collect::<Vec<_>>();
            near(&format!("{shape:?}"), &floats(once[0].clone()), &floats(bits_of(weights)), 1e-6);
            for threads in 1..=3 {
                assert!(with_threads(threads, || ours(shape, decay)) == once, "{shape:?}: {threads} threads");
            }
            for (level, ours) in at_each_level(|| with_one_task(shape, decay)) {
                assert!(ours == once, "{shape:?}: {level:?}");
            }
        }
    }

    /// On this thread only, so that the level is the chosen one.
    fn with_one_task(shape: [usize; 2], decay: f64) -> [Vec<u32>; 3] {
        let count = shape[0] * shape[1];
        let (mut weights, mut first, mut second) = (numbers(count, 9, 1.0), vec![0.0; count], vec![0.0; count]);
        for (at, gradient) in gradients(shape).enumerate() {
            let rule = AdamW { betas: (0.9, 0.99), epsilon: 1e-8, rate: 3e-3, decay, time: at + 1 };
            let gradient: Vec<f32> = gradient.into_data().iter::<f32>().collect();
            update(&rule.numbers(), &gradient, &mut weights, &mut first, &mut second);
        }
        [weights, first, second].map(|numbers| bits(&numbers))
    }

    #[test]
    fn the_moments_of_a_weight_that_gets_no_gradient_any_more_end_at_zero() {
        let rule = |time| AdamW { betas: (0.9, 0.99), epsilon: 1e-8, rate: 1e-3, decay: 0.0, time }.numbers();
        for (level, is_right) in at_each_level(|| {
            let (mut weight, mut first, mut second) = ([1.0], [0.0], [0.0]);
            update(&rule(1), &[1.0], &mut weight, &mut first, &mut second);
            let mut normal = 0;
            for time in 2..=10_000 {
                update(&rule(time), &[0.0], &mut weight, &mut first, &mut second);
                assert!([first[0], second[0]].iter().all(|moment| moment.is_normal() || *moment == 0.0), "{time}");
                normal += i32::from(first[0] != 0.0);
            }
            // 0.1 times 0.9 to this power is the last normal number.
            normal == 807 && first == [0.0] && second == [0.0] && weight[0].is_normal()
        }) {
            assert!(is_right, "{level:?}");
        }
    }

    #[test]
    fn weights_that_somebody_holds_stay_as_they_are() {
        let weights = matrix(vec![1.0; 4], [2, 2]);
        let moved = [weights.clone(), weights.clone().zeros_like(), weights.clone().zeros_like()].map(primitive);
        let rule = AdamW { betas: (0.9, 0.99), epsilon: 1e-8, rate: 0.5, decay: 0.0, time: 1 };
        let [new, ..] = adamw::<Flex>(rule, primitive(weights.clone()), moved).ok().unwrap();
        assert_eq!(bits_of(weights), bits(&[1.0; 4]));
        assert_eq!(bits_of(tensor(new)), bits(&[0.5; 4]));
    }
}
