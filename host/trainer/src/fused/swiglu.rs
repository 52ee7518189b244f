//! The gate of a feed-forward layer: `silu(g) v` of a gate `g` and a value `v`, with `silu(g) = g σ(g)`.
//!
//! Shazeer, "GLU Variants Improve Transformer" (2020). With `σ = 1 / (1 + e^-g)` the gradients are
//! `dg = dy v σ (1 + g (1 - σ))` and `dv = dy g σ`. Main function: [`swiglu`].

use burn::tensor::{Tensor, activation::silu, backend::Backend};
use burn_flex::FlexTensor;

use super::{
    host,
    operation::{self, Operation, apply, primitive},
    simd::{kernels, sigmoid},
};

/// `silu(gate) * value`, element by element.
///
/// # Panics
///
/// When the shapes differ.
pub fn swiglu<B: Backend, const D: usize>(gate: Tensor<B, D>, value: Tensor<B, D>) -> Tensor<B, D> {
    assert_eq!(gate.dims(), value.dims(), "a value for each gate");
    match apply::<B, _, 2>(&SwiGlu, [primitive(gate), primitive(value)]) {
        Ok(y) => operation::tensor(y),
        Err([gate, value]) => silu(operation::tensor(gate)) * operation::tensor(value),
    }
}

#[derive(Clone, Debug)]
struct SwiGlu;

impl Operation<2> for SwiGlu {
    /// Both inputs.
    type Kept = [FlexTensor; 2];

    fn forward(&self, inputs: [FlexTensor; 2], _: bool) -> (FlexTensor, [FlexTensor; 2]) {
        let inputs = inputs.each_ref().map(host::dense);
        let [gate, value] = inputs.each_ref().map(host::numbers);
        let y = host::changed(gate, host::ELEMENTS, value.chunks(host::ELEMENTS), forward);
        (host::tensor(y, inputs[0].layout().shape().clone()), inputs)
    }

    fn backward(&self, kept: [FlexTensor; 2], mut gradient: FlexTensor, wanted: [bool; 2]) -> [Option<FlexTensor>; 2] {
        let [gate, value] = kept.each_ref().map(host::numbers);
        let chunk = host::ELEMENTS;
        let gradients = host::numbers_mut(&mut gradient).chunks_mut(chunk);
        let parts = gradients.zip(value.chunks(chunk));
        let of_gate = host::changed(gate, chunk, parts, |gate, (gradient, value)| backward(gate, value, gradient));
        let of_gate = host::tensor(of_gate, gradient.layout().shape().clone());
        [wanted[0].then_some(of_gate), wanted[1].then_some(gradient)]
    }
}

kernels! {
    /// The gate becomes the result.
    fn forward(gate: &mut [f32], value: &[f32]) {
        for (gate, value) in gate.iter_mut().zip(value) {
            *gate *= sigmoid(*gate) * value;
        }
    }

    /// The gate becomes its gradient, and the result's gradient that of the value.
    fn backward(gate: &mut [f32], value: &[f32], gradient: &mut [f32]) {
        for ((gradient, gate), value) in gradient.iter_mut().zip(gate).zip(value) {
            let open = sigmoid(*gate);
            let passed = *gate * open;
            *gate = *gradient * value * (open + passed * (1.0 - open));
            *gradient *= passed;
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

    impl Case for SwiGlu {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            self.run_plain(inputs)
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            swiglu(inputs[0].clone(), inputs[1].clone())
        }
    }

    #[test]
    fn it_is_what_burns_operations_come_to() {
        for shape in [[1, 1], [0, 5], [130, 257]].into_iter().chain(shapes([40, 90])) {
            let (gate, value) = (Given::random(shape, 4.0), Given::random(shape, 2.0));
            check(&SwiGlu, &[gate.clone(), value.clone()], 2e-6);
            check(&SwiGlu, &[gate.transposed(), value], 2e-6);
        }
        check(&SwiGlu, &[Given::special([2, 40]), Given::random([2, 40], 1.0)], 2e-6);
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let (gate, value) = (numbers(1000, 1, 9.0), numbers(1000, 2, 1.0));
        let results = at_each_level(|| {
            let (mut y, mut of_gate, mut gradient) = (gate.clone(), gate.clone(), numbers(gate.len(), 3, 1.0));
            forward(&mut y, &value);
            backward(&mut of_gate, &value, &mut gradient);
            [y, gradient, of_gate].map(|numbers| bits(&numbers))
        });
        for (level, result) in &results {
            assert!(*result == results[0].1, "{level:?}");
        }
    }
}
