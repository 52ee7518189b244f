//! A linear layer on rows: `y = x W`, with a bias and what is added around the layer, if there is any.
//!
//! The result's rows begin as `bias + residual` and the product is added to them, so neither is a pass of its own. With
//! the gradient `dy`: `dx = dy W^T`, `dW = x^T dy`, the bias's is the sum of dy's rows and the residual's is dy.
//! Main function: [`linear`].

use burn::{
    nn::Linear,
    tensor::{Tensor, backend::Backend, module},
};
use burn_flex::FlexTensor;

use super::{
    host,
    matrix::{Matrix, MatrixMut},
    operation::{self, Operation, apply, primitive},
    product::{Onto, Threads, new_product, product},
    simd::add,
};

/// A layer's result for rows `[rows, inputs]`, with `residual`, `[rows, outputs]`, added to it.
pub fn linear<B: Backend>(x: Tensor<B, 2>, layer: &Linear<B>, residual: Option<Tensor<B, 2>>) -> Tensor<B, 2> {
    linear_with(x, layer.weight.val(), layer.bias.as_ref().map(|bias| bias.val()), residual)
}

/// `x W + bias + residual` for `x` `[rows, inputs]`, `W` `[inputs, outputs]`, a bias `[outputs]` and a residual
/// `[rows, outputs]`. `W` may be a transposed view.
///
/// # Panics
///
/// When shapes do not fit.
pub fn linear_with<B: Backend>(
    x: Tensor<B, 2>,
    weight: Tensor<B, 2>,
    bias: Option<Tensor<B, 1>>,
    residual: Option<Tensor<B, 2>>,
) -> Tensor<B, 2> {
    let ([rows, inputs], [weight_inputs, outputs]) = (x.dims(), weight.dims());
    assert_eq!(inputs, weight_inputs, "the weights have a row for each input");
    assert!(bias.as_ref().is_none_or(|bias| bias.dims() == [outputs]), "the bias has a number for each output");
    assert!(residual.as_ref().is_none_or(|it| it.dims() == [rows, outputs]), "the residual has the result's shape");
    let added = Added { bias: bias.is_some(), residual: residual.is_some() };
    let x = primitive(x);
    // For what is absent another input stands in, which is not looked at.
    let bias = bias.map_or_else(|| x.clone(), primitive);
    let residual = residual.map_or_else(|| x.clone(), primitive);
    match apply::<B, _, 4>(&added, [x, primitive(weight), bias, residual]) {
        Ok(y) => operation::tensor(y),
        Err([x, weight, bias, residual]) => {
            let (bias, residual) = (added.bias.then_some(bias), added.residual.then_some(residual));
            let y = module::linear(operation::tensor(x), operation::tensor(weight), bias.map(operation::tensor));
            match residual {
                Some(residual) => operation::tensor::<B, 2>(residual) + y,
                None => y,
            }
        }
    }
}

/// What is added to the product.
#[derive(Clone, Copy, Debug)]
struct Added {
    bias: bool,
    residual: bool,
}

impl Operation<4> for Added {
    /// The rows and the weights.
    type Kept = [FlexTensor; 2];

    fn forward(&self, [x, weight, bias, residual]: [FlexTensor; 4], _: bool) -> (FlexTensor, [FlexTensor; 2]) {
        let (x, weight) = (host::dense(&x), forwards(weight));
        let shape = [host::dims(&x)[0], host::dims(&weight)[1]];
        let (left, right) = (Matrix::of(&x), Matrix::of(&weight));
        let y = match self.start(&bias, &residual, shape[0]) {
            None => new_product(left, right, Threads::All),
            Some(mut y) => {
                product(MatrixMut::new(&mut y, shape), Onto::Sum, 1.0, left, right, Threads::All);
                y
            }
        };
        (host::tensor(y, shape), [x, weight])
    }

    fn backward(&self, [x, weight]: [FlexTensor; 2], dy: FlexTensor, wanted: [bool; 4]) -> [Option<FlexTensor>; 4] {
        let (by_output, rows) = (Matrix::of(&dy), Matrix::of(&x));
        let of_product = |left: Matrix<'_>, right: Matrix<'_>| {
            host::tensor(new_product(left, right, Threads::All), [left.dims()[0], right.dims()[1]])
        };
        let dx = wanted[0].then(|| of_product(by_output, Matrix::of(&weight).transposed()));
        let dw = wanted[1].then(|| of_product(rows.transposed(), by_output));
        let db = (wanted[2] && self.bias).then(|| sum_of_rows(&dy));
        [dx, dw, db, (wanted[3] && self.residual).then_some(dy)]
    }
}

impl Added {
    /// The numbers that the product is added to, unless there are none.
    fn start(&self, bias: &FlexTensor, residual: &FlexTensor, rows: usize) -> Option<Vec<f32>> {
        let bias = self.bias.then(|| host::dense(bias));
        let residual = self.residual.then(|| host::dense(residual));
        match (bias.as_ref().map(host::numbers), residual.as_ref().map(host::numbers)) {
            (None, None) => None,
            (Some(bias), None) => Some(bias.repeat(rows)),
            (None, Some(residual)) => Some(host::copy(residual)),
            (Some(bias), Some(residual)) => {
                let width = bias.len();
                let all = std::iter::repeat(());
                Some(host::changed(residual, host::task_of_rows(width), all, |rows, ()| {
                    rows.chunks_mut(width).for_each(|row| add(row, bias));
                }))
            }
        }
    }
}

/// The tensor, or a copy where its view counts backwards through its memory.
fn forwards(tensor: FlexTensor) -> FlexTensor {
    match tensor.layout().has_positive_strides() {
        true => tensor,
        false => host::dense(&tensor),
    }
}

fn sum_of_rows(rows: &FlexTensor) -> FlexTensor {
    let width = host::dims(rows)[1];
    let parts = host::each(host::numbers(rows).chunks(host::task_of_rows(width)), |rows| {
        let mut sum = vec![0.0; width];
        rows.chunks(width).for_each(|row| add(&mut sum, row));
        sum
    });
    host::tensor(host::sum_of(parts, width), [width])
}

#[cfg(test)]
mod tests {
    use burn::tensor::backend::AutodiffBackend;

    use super::*;
    use crate::fused::testing::{Case, Given, check, shapes};

    impl Case for Added {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            self.run_plain(inputs)
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            let mut rest = inputs[2..].iter().cloned();
            let bias = self.bias.then(|| rest.next().unwrap()).map(|bias| bias.flatten(0, 1));
            linear_with(inputs[0].clone(), inputs[1].clone(), bias, self.residual.then(|| rest.next().unwrap()))
        }
    }

    #[test]
    fn it_is_burns_linear_layer() {
        let all = [false, true].into_iter().flat_map(|bias| [false, true].map(|residual| Added { bias, residual }));
        let fixed = [[1, 1, 1], [3, 5, 7], [0, 3, 2], [150, 33, 65], [300, 200, 130]];
        for [rows, inputs, outputs] in fixed.into_iter().chain(shapes([150, 40, 40])) {
            for added in all.clone() {
                let x = Given::random([rows, inputs], 1.0).transposed_if(outputs % 2 == 1);
                let weight = Given::random([inputs, outputs], 1.0).transposed_if(inputs % 2 == 1);
                let bias = added.bias.then(|| Given::random([1, outputs], 2.0));
                let residual = added.residual.then(|| Given::random([rows, outputs], 3.0));
                check(&added, &[x, weight].into_iter().chain(bias).chain(residual).collect::<Vec<_>>(), 1e-5);
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_passed_on() {
        let added = Added { bias: true, residual: true };
        let (bias, residual) = (Given::random([1, 3], 1.0), Given::random([4, 3], 1.0));
        let (x, weight) = (Given::random([4, 5], 1.0), Given::random([5, 3], 1.0));
        for special in [f32::NAN, f32::INFINITY] {
            let given = [x.clone().with(7, special), weight.clone(), bias.clone(), residual.clone().with(11, special)];
            check(&added, &given, 1e-5);
            let given = [x.clone(), weight.clone().with(7, special), bias.clone().with(0, special), residual.clone()];
            check(&added, &given, 1e-5);
        }
    }
}
