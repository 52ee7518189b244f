//! GELU: `x Φ(x)`, with the normal distribution's cumulative function Φ.
//!
//! Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016), in the exact form, not the one by tanh. Its derivative
//! is `Φ(x) + x φ(x)` with the density `φ(x) = e^(-x^2 / 2) / sqrt(2 π)`. Main function: [`gelu`].

use std::mem::MaybeUninit;

use burn::tensor::{Tensor, activation, backend::Backend};
use burn_flex::FlexTensor;

use super::{
    host,
    operation::{self, Operation, apply},
    simd::{kernels, normal},
};

/// GELU of each element, in its exact form.
pub fn gelu<B: Backend, const D: usize>(x: Tensor<B, D>) -> Tensor<B, D> {
    match apply::<B, _, 1>(&Gelu, [operation::primitive(x)]) {
        Ok(y) => operation::tensor(y),
        Err([x]) => activation::gelu(operation::tensor(x)),
    }
}

#[derive(Clone, Debug)]
struct Gelu;

impl Operation<1> for Gelu {
    /// The derivative at each element, where the input was.
    type Kept = FlexTensor;

    #[expect(unsafe_code, reason = "to fill the result before it is computed would be a pass over memory")]
    fn forward(&self, [x]: [FlexTensor; 1], keep: bool) -> (FlexTensor, FlexTensor) {
        let mut x = host::own(x);
        let shape = x.layout().shape().clone();
        let tasks = host::numbers_mut(&mut x).chunks_mut(host::ELEMENTS);
        if !keep {
            host::each(tasks, forward);
            return (x.clone(), x);
        }
        let write = |places: &mut [MaybeUninit<f32>]| {
            host::each(tasks.zip(places.chunks_mut(host::ELEMENTS)), |(x, y)| forward_to_train(x, y));
        };
        // SAFETY: there are as many places as numbers, each is in one task, and a task writes all of its places.
        let y = unsafe { host::written(shape.num_elements(), write) };
        (host::tensor(y, shape), x)
    }

    fn backward(&self, derivative: FlexTensor, mut gradient: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let tasks = host::numbers_mut(&mut gradient).chunks_mut(host::ELEMENTS);
        let tasks = tasks.zip(host::numbers(&derivative).chunks(host::ELEMENTS));
        host::each(tasks, |(gradient, derivative)| backward(derivative, gradient));
        [Some(gradient)]
    }
}

kernels! {
    /// In place.
    fn forward(x: &mut [f32]) {
        for x in x {
            *x *= normal(*x).0;
        }
    }

    /// What was the input becomes the derivative.
    fn forward_to_train(x: &mut [f32], y: &mut [MaybeUninit<f32>]) {
        /// `1 / sqrt(2 π)`.
        const PEAK: f32 = 0.398_942_3;
        for (x, y) in x.iter_mut().zip(y) {
            let (below, bell) = normal(*x);
            y.write(*x * below);
            *x = below + *x * (PEAK * bell);
        }
    }

    fn backward(derivative: &[f32], gradient: &mut [f32]) {
        for (gradient, derivative) in gradient.iter_mut().zip(derivative) {
            *gradient *= derivative;
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::backend::AutodiffBackend;

    use super::*;
    use crate::fused::{
        simd::chosen::at_each_level,
        testing::{Case, Given, bits, check, numbers, shapes},
    };

    impl Case for Gelu {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            gelu(inputs[0].clone())
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            gelu(inputs[0].clone())
        }
    }

    #[test]
    fn it_is_burns_gelu() {
        for shape in [[1, 1], [0, 5], [1, 40_000], [130, 129]].into_iter().chain(shapes([40, 90])) {
            check(&Gelu, &[Given::random(shape, 3.0)], 2e-6);
            check(&Gelu, &[Given::random(shape, 3.0).transposed()], 2e-6);
        }
        check(&Gelu, &[Given::special([2, 40])], 2e-6);
    }

    /// The second one writes where the first one's result was, which nobody else has.
    struct OfItself;

    impl Case for OfItself {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            gelu(gelu(inputs[0].clone()))
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            gelu(gelu(inputs[0].clone()))
        }
    }

    #[test]
    fn it_takes_the_place_of_what_nobody_else_has() {
        for shape in shapes([130, 300]) {
            check(&OfItself, &[Given::random(shape, 3.0)], 4e-6);
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        // One task, which this thread does.
        let x = [numbers(15_011, 1, 4.0), vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-30]].concat();
        let results = at_each_level(|| {
            let given = || [host::tensor(x.clone(), [x.len()])];
            let gradient = host::tensor(numbers(x.len(), 2, 1.0), [x.len()]);
            let ((only, _), (y, derivative)) = (Gelu.forward(given(), false), Gelu.forward(given(), true));
            let [of_x] = Gelu.backward(derivative, gradient, [true]);
            [only, y, of_x.unwrap()].map(|tensor| bits(host::numbers(&tensor)))
        });
        for (level, result) in &results {
            assert!(*result == results[0].1, "{level:?}");
            assert!(result[0] == result[1], "{level:?}: with and without a derivative");
        }
    }
}
