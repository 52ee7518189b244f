//! The rectifier: `max(x, 0)`.
//!
//! Nair and Hinton, "Rectified Linear Units Improve Restricted Boltzmann Machines" (2010). NaN stays NaN, as in PyTorch;
//! burn's own CPU operation makes 0 of it, and a broken weight would not be seen. Main function: [`relu`].

use burn::tensor::{Tensor, activation, backend::Backend};
use burn_flex::FlexTensor;

use super::{
    host,
    operation::{self, Operation, apply},
    simd::kernels,
};

/// The larger one of each element and 0.
pub fn relu<B: Backend, const D: usize>(x: Tensor<B, D>) -> Tensor<B, D> {
    match apply::<B, _, 1>(&Relu, [operation::primitive(x)]) {
        Ok(y) => operation::tensor(y),
        Err([x]) => activation::relu(operation::tensor(x)),
    }
}

#[derive(Clone, Debug)]
struct Relu;

impl Operation<1> for Relu {
    /// The result, which is 0 where no gradient passes.
    type Kept = FlexTensor;

    fn forward(&self, [x]: [FlexTensor; 1], _: bool) -> (FlexTensor, FlexTensor) {
        let mut y = host::own(x);
        host::each(host::numbers_mut(&mut y).chunks_mut(host::ELEMENTS), forward);
        (y.clone(), y)
    }

    fn backward(&self, y: FlexTensor, mut gradient: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let tasks = host::numbers_mut(&mut gradient).chunks_mut(host::ELEMENTS);
        host::each(tasks.zip(host::numbers(&y).chunks(host::ELEMENTS)), |(gradient, y)| backward(y, gradient));
        [Some(gradient)]
    }
}

kernels! {
    fn forward(x: &mut [f32]) {
        for x in x {
            // A NaN is not below 0.
            *x = if *x < 0.0 { 0.0 } else { *x };
        }
    }

    fn backward(y: &[f32], gradient: &mut [f32]) {
        for (gradient, &y) in gradient.iter_mut().zip(y) {
            *gradient = if y == 0.0 { 0.0 } else { *gradient };
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::backend::AutodiffBackend;

    use super::*;
    use crate::fused::testing::{Case, Given, check, results, shapes};

    impl Case for Relu {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            relu(inputs[0].clone())
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            relu(inputs[0].clone())
        }
    }

    #[test]
    fn it_is_burns_rectifier() {
        for shape in [[1, 1], [0, 5], [1, 40_000], [130, 129]].into_iter().chain(shapes([40, 90])) {
            check(&Relu, &[Given::random(shape, 3.0)], 0.0);
            check(&Relu, &[Given::random(shape, 3.0).transposed()], 0.0);
        }
        let given = Given::random([2, 5], 1.0).with(3, f32::INFINITY).with(4, f32::NEG_INFINITY).with(5, -0.0);
        check(&Relu, &[given], 0.0);
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let [y, gradient] =
            results::<crate::fused::testing::Fused>(&Relu, &[Given::random([1, 3], 1.0).with(1, f32::NAN)])
                .try_into()
                .unwrap();
        assert!(y[1].is_nan() && y[0].is_finite() && y[2].is_finite(), "{y:?}");
        assert!(gradient[1] != 0.0, "{gradient:?}");
    }
}
