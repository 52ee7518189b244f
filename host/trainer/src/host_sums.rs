//! Sums over the elements of tensors that lie in the host's memory, in one pass over all of them on all threads.
//!
//! The same numbers with burn's operations take several passes and a new tensor each, and burn's sum over many elements
//! depends on the number of threads; these do not. Main functions: [`open`], [`of_all`].

use std::any::Any;

use burn::tensor::{DType, backend::Backend, ops::FloatTensor};
use burn_flex::FlexTensor;

use crate::fused::{each, is_dense, sum_of_squares};

/// What one tensor's elements come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    /// The sum of their squares.
    pub(crate) square: f64,
    /// How many are NaN or infinite.
    pub(crate) nonfinite: f64,
    /// The largest absolute value; NaN where one is NaN.
    pub(crate) max: f64,
}

/// A tensor whose elements lie side by side in the host's memory, in whatever order.
pub(crate) struct Open(FlexTensor);

impl Open {
    fn elements(&self) -> &[f32] {
        // In another order than the tensor's, all of what is stored are its elements.
        self.0.as_slice().unwrap_or_else(|| self.0.storage())
    }
}

/// Opens a tensor, if it is one of 32-bit floats in the host's memory; burn's own operations are for the others.
pub(crate) fn open<I: Backend>(tensor: &FloatTensor<I>) -> Option<Open> {
    // The backend is known only at run time here, and a type that is the same is found by looking.
    let tensor = (tensor as &dyn Any).downcast_ref::<FlexTensor>()?;
    if tensor.dtype() != DType::F32 {
        return None;
    }
    // What is contiguous is told faster than what is dense, and nearly everything is.
    let lies_together = tensor.is_contiguous() || is_dense(tensor);
    Some(Open(if lies_together { tensor.clone() } else { tensor.to_contiguous() }))
}

/// The sums of each tensor. `with_max` says whether the largest element is wanted.
pub(crate) fn of_all<'a>(tensors: impl ExactSizeIterator<Item = &'a Open> + Clone, with_max: bool) -> Vec<Sums> {
    if tensors.clone().map(|tensor| tensor.elements().len()).sum::<usize>() <= TASK {
        return tensors.map(|tensor| sums(tensor.elements(), with_max)).collect();
    }
    let mut all = vec![Sums::default(); tensors.len()];
    let chunks =
        tensors.enumerate().flat_map(|(at, tensor)| tensor.elements().chunks(TASK).map(move |part| (at, part)));
    for (at, part) in each(chunks, |(at, part)| (at, sums(part, with_max))) {
        let Sums { square, nonfinite, max } = &mut all[at];
        *square += part.square;
        *nonfinite += part.nonfinite;
        *max = larger(*max, part.max);
    }
    all
}

/// The larger of two numbers; NaN where one is NaN, which `f64::max` would drop.
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

fn sums(elements: &[f32], with_max: bool) -> Sums {
    let square = elements.chunks(BLOCK).map(square).sum::<f64>();
    let nonfinite = if square.is_finite() { 0 } else { elements.iter().filter(|element| !element.is_finite()).count() };
    let max = match with_max {
        true if square.is_nan() => f64::NAN,
        true => f64::from(elements.iter().fold(0.0, |max: f32, element| max.max(element.abs()))),
        false => 0.0,
    };
    Sums { square, nonfinite: nonfinite as f64, max }
}

/// Elements of one task, and of all tensors that one thread does alone: half a MiB, below which handing work over takes
/// longer than the sum.
const TASK: usize = 128 * BLOCK;
/// Elements that are summed in 32 bits before the sum goes into one of 64.
const BLOCK: usize = 1024;

fn square(block: &[f32]) -> f64 {
    let sum = f64::from(sum_of_squares(block));
    // Squares of the largest and of the smallest numbers leave the range of 32 bits, but not that of 64.
    const SMALL: f64 = 1e-28;
    if sum.is_finite() && sum > SMALL {
        return sum;
    }
    block.iter().map(|&element| f64::from(element) * f64::from(element)).sum()
}

#[cfg(test)]
mod tests {
    use burn::{
        backend::{Flex, flex::FlexDevice},
        tensor::Tensor,
    };

    use super::*;
    use crate::fused::primitive;

    fn of<const D: usize>(tensor: &Tensor<Flex, D>, with_max: bool) -> Sums {
        of_all([open::<Flex>(&primitive(tensor.clone())).unwrap()].iter(), with_max)[0]
    }

    fn tensor(elements: &[f32]) -> Tensor<Flex, 1> {
        Tensor::from_data(elements, &FlexDevice)
    }

    #[test]
    fn sums_are_those_of_64_bits() {
        let elements: Vec<f32> = (0..10_007).map(|at| ((at * 37 % 1009) as f32 - 504.0) / 64.0).collect();
        let exact: f64 = elements.iter().map(|&element| f64::from(element).powi(2)).sum();
        let sums = of(&tensor(&elements), true);
        assert!((sums.square / exact - 1.0).abs() < 1e-6, "{} and {exact}", sums.square);
        assert_eq!((sums.nonfinite, sums.max), (0.0, 504.0 / 64.0));
    }

    #[test]
    fn the_largest_and_the_smallest_numbers_are_not_lost() {
        for (element, squared) in [(1e30_f32, 1e60_f64), (1e-30, 1e-60)] {
            let square = of(&tensor(&[element, 0.0]), false).square;
            assert!((square / squared - 1.0).abs() < 1e-6, "{square}");
        }
        let sums = of(&tensor(&[f32::NAN, f32::INFINITY, 1.0]), true);
        assert!(sums.square.is_nan() && sums.max.is_nan() && sums.nonfinite == 2.0);
        assert_eq!(of(&tensor(&[f32::NEG_INFINITY, 1.0]), true).max, f64::INFINITY);
    }

    #[test]
    fn a_view_is_summed_as_what_it_shows() {
        let matrix = Tensor::<Flex, 2>::from_data([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &FlexDevice);
        let column = matrix.clone().transpose().narrow(0, 1, 2);
        assert_eq!(of(&column, true), Sums { square: 4.0 + 25.0 + 9.0 + 36.0, nonfinite: 0.0, max: 6.0 });
        assert_eq!(of(&matrix.clone().transpose(), false).square, 91.0);
        let repeated = matrix.clone().narrow(0, 0, 1).expand([3, 3]);
        assert_eq!(of(&repeated, false).square, 3.0 * 14.0);
        assert_eq!(of(&matrix.flip([0, 1]), true), Sums { square: 91.0, nonfinite: 0.0, max: 6.0 });
    }
}
