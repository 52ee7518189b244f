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
    /// The input.
    type Kept = FlexTensor;

    #[expect(unsafe_code, reason = "to fill the result before it is computed would be a pass over memory")]
    fn forward(&self, [x]: [FlexTensor; 1], _: bool) -> (FlexTensor, FlexTensor) {
        let x = host::dense(&x);
        // SAFETY: `forward` writes as many places as there are numbers.
        let y = unsafe { host::mapped(host::numbers(&x), forward) };
        (host::tensor(y, x.layout().shape().clone()), x)
    }

    fn backward(&self, x: FlexTensor, mut gradient: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let tasks = host::numbers_mut(&mut gradient).chunks_mut(host::ELEMENTS);
        let tasks = tasks.zip(host::numbers(&x).chunks(host::ELEMENTS));
        host::each(tasks, |(gradient, x)| backward(x, gradient));
        [Some(gradient)]
    }
}

kernels! {
    fn forward(x: &[f32], y: &mut [MaybeUninit<f32>]) {
        for (&x, y) in x.iter().zip(y) {
            y.write(x * normal(x).0);
        }
    }

    fn backward(x: &[f32], gradient: &mut [f32]) {
        /// `1 / sqrt(2 π)`.
        const PEAK: f32 = 0.398_942_3;
        for (gradient, &x) in gradient.iter_mut().zip(x) {
            let (below, bell) = normal(x);
            *gradient *= below + x * (PEAK * bell);
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

    #[test]
    fn every_level_gives_the_same_bits() {
        // One task, which this thread does.
        let x = [numbers(15_011, 1, 4.0), vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-30]].concat();
        let results = at_each_level(|| {
            let mut gradient = numbers(x.len(), 2, 1.0);
            let y = Gelu.forward([host::tensor(x.clone(), [x.len()])], false).0;
            backward(&x, &mut gradient);
            [bits(host::numbers(&y)), bits(&gradient)]
        });
        for (level, result) in &results {
            assert!(*result == results[0].1, "{level:?}");
        }
    }
}
