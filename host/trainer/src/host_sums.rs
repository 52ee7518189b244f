//! Sums over the elements of a tensor that lies in the host's memory, in one pass over it.
//!
//! The same numbers with burn's operations take several passes and a new tensor each, and burn's sum over many elements
//! depends on the number of threads; this one does not. Main function: [`of`].

use std::any::Any;

use burn::{
    backend::Flex,
    tensor::{DType, Tensor, backend::Backend},
};
use burn_flex::{FlexTensor, Layout};

/// What one tensor's elements come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sums {
    /// The sum of their squares.
    pub(crate) square: f64,
    /// How many are NaN or infinite.
    pub(crate) nonfinite: f64,
    /// The largest absolute value; NaN where one is NaN.
    pub(crate) max: f64,
}

/// The sums of a tensor, if it is one of 32-bit floats in the host's memory; burn's own operations are for the others.
/// `with_max` says whether the largest element is wanted.
pub(crate) fn of<I: Backend, const D: usize>(tensor: &Tensor<I, D>, with_max: bool) -> Option<Sums> {
    // The backend is known only at run time here, and a type that is the same is found by looking.
    let tensor = (tensor as &dyn Any).downcast_ref::<Tensor<Flex, D>>()?;
    let primitive: FlexTensor = tensor.clone().into_primitive().tensor();
    if primitive.dtype() == DType::F32 && is_dense(primitive.layout(), primitive.bytes().len() / size_of::<f32>()) {
        return Some(sums(primitive.storage::<f32>(), with_max));
    }
    let primitive = if primitive.is_contiguous() { primitive } else { primitive.to_contiguous() };
    primitive.as_slice::<f32>().map(|elements| sums(elements, with_max))
}

/// Whether a tensor's elements are those of its storage, each once, in whatever order: a transposed gradient is, and
/// need not be copied to be summed.
fn is_dense(layout: &Layout, stored: usize) -> bool {
    let mut dims: Vec<(isize, usize)> = layout.strides().iter().copied().zip(layout.shape().iter().copied()).collect();
    dims.retain(|(_, size)| *size != 1);
    dims.sort_unstable();
    let elements = dims
        .iter()
        .try_fold(1, |inner: usize, (stride, size)| (usize::try_from(*stride) == Ok(inner)).then(|| inner * size));
    layout.start_offset() == 0 && elements == Some(stored)
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

/// Elements that are summed in 32 bits before the sum goes into one of 64.
const BLOCK: usize = 1024;
/// Running sums of a block: as many as the widest vector registers have.
const LANES: usize = 16;

fn square(block: &[f32]) -> f64 {
    let mut lanes = [0.0_f32; LANES];
    let chunks = block.chunks_exact(LANES);
    let rest: f32 = chunks.remainder().iter().map(|element| element * element).sum();
    for chunk in chunks {
        for (lane, element) in lanes.iter_mut().zip(chunk) {
            *lane += element * element;
        }
    }
    let sum = f64::from(lanes.iter().sum::<f32>() + rest);
    // Squares of the largest and of the smallest numbers leave the range of 32 bits, but not that of 64.
    const SMALL: f64 = 1e-28;
    if sum.is_finite() && sum > SMALL {
        return sum;
    }
    block.iter().map(|&element| f64::from(element) * f64::from(element)).sum()
}

#[cfg(test)]
mod tests {
    use burn::backend::flex::FlexDevice;

    use super::*;

    fn tensor(elements: &[f32]) -> Tensor<Flex, 1> {
        Tensor::from_data(elements, &FlexDevice)
    }

    #[test]
    fn sums_are_those_of_64_bits() {
        let elements: Vec<f32> = (0..10_007).map(|at| ((at * 37 % 1009) as f32 - 504.0) / 64.0).collect();
        let exact: f64 = elements.iter().map(|&element| f64::from(element).powi(2)).sum();
        let sums = of(&tensor(&elements), true).unwrap();
        assert!((sums.square / exact - 1.0).abs() < 1e-6, "{} and {exact}", sums.square);
        assert_eq!((sums.nonfinite, sums.max), (0.0, 504.0 / 64.0));
    }

    #[test]
    fn the_largest_and_the_smallest_numbers_are_not_lost() {
        for (element, squared) in [(1e30_f32, 1e60_f64), (1e-30, 1e-60)] {
            let square = of(&tensor(&[element, 0.0]), false).unwrap().square;
            assert!((square / squared - 1.0).abs() < 1e-6, "{square}");
        }
        let sums = of(&tensor(&[f32::NAN, f32::INFINITY, 1.0]), true).unwrap();
        assert!(sums.square.is_nan() && sums.max.is_nan() && sums.nonfinite == 2.0);
        assert_eq!(of(&tensor(&[f32::NEG_INFINITY, 1.0]), true).unwrap().max, f64::INFINITY);
    }

    #[test]
    fn a_view_is_summed_as_what_it_shows() {
        let matrix = Tensor::<Flex, 2>::from_data([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &FlexDevice);
        let column = matrix.clone().transpose().narrow(0, 1, 2);
        assert_eq!(of(&column, true).unwrap(), Sums { square: 4.0 + 25.0 + 9.0 + 36.0, nonfinite: 0.0, max: 6.0 });
        assert_eq!(of(&matrix.clone().transpose(), false).unwrap().square, 91.0);
        let repeated = matrix.clone().narrow(0, 0, 1).expand([3, 3]);
        assert_eq!(of(&repeated, false).unwrap().square, 3.0 * 14.0);
        assert_eq!(of(&matrix.flip([0, 1]), true).unwrap(), Sums { square: 91.0, nonfinite: 0.0, max: 6.0 });
    }

    #[test]
    fn only_a_permutation_of_the_whole_storage_is_dense() {
        let layout =
            |shape: &[usize], strides: &[isize], start| Layout::new(shape.to_vec().into(), strides.to_vec(), start);
        for (shape, strides, start, stored, dense) in [
            (&[2, 3][..], &[3, 1][..], 0, 6, true),
            (&[3, 2], &[1, 3], 0, 6, true),
            (&[4, 1, 2, 3], &[6, 99, 3, 1], 0, 24, true),
            (&[], &[], 0, 1, true),
            (&[2, 3], &[3, 1], 0, 7, false),
            (&[2, 2], &[3, 1], 0, 6, false),
            (&[2, 3], &[0, 1], 0, 6, false),
            (&[2, 2], &[1, 1], 0, 4, false),
            (&[2, 3], &[3, -1], 2, 6, false),
            (&[1, 3], &[3, 1], 3, 6, false),
        ] {
            assert_eq!(is_dense(&layout(shape, strides, start), stored), dense, "{shape:?} {strides:?}");
        }
    }
}
