//! The maximum of each 2 x 2 square of an image, which halves its height and width; an odd last row or column is left out.
//!
//! The gradient goes to the element that was the largest, the first of several. NaN is larger than everything, as in
//! PyTorch; in burn's own CPU operation it is lost unless it comes first. Main function: [`max_pool`].

use std::sync::Arc;

use burn::tensor::{Tensor, backend::Backend, module};
use burn_flex::FlexTensor;

use super::{
    host,
    operation::{self, Operation, apply},
};

/// The maxima of images `[batch, channels, height, width]`: `[batch, channels, height / 2, width / 2]`.
pub fn max_pool<B: Backend>(images: Tensor<B, 4>) -> Tensor<B, 4> {
    match apply::<B, _, 1>(&MaxPool, [operation::primitive(images)]) {
        Ok(maxima) => operation::tensor(maxima),
        Err([images]) => module::max_pool2d(operation::tensor(images), [2, 2], [2, 2], [0, 0], [1, 1], false),
    }
}

#[derive(Clone, Debug)]
struct MaxPool;

/// Where each maximum was in its square: 0 and 1 above, 2 and 3 below.
#[derive(Clone, Debug)]
struct Places {
    squares: Arc<[u8]>,
    images: [usize; 4],
}

impl Operation<1> for MaxPool {
    type Kept = Places;

    fn forward(&self, [images]: [FlexTensor; 1], _: bool) -> (FlexTensor, Places) {
        let images = host::dense(&images);
        let shape @ [batch, channels, height, width] = images.layout().shape().dims();
        let (halves, plane) = ([height / 2, width / 2], height * width);
        let square = halves[0] * halves[1];
        let mut maxima = vec![0.0; batch * channels * square];
        let mut squares = vec![0; maxima.len()];
        if square > 0 {
            let planes = (host::ELEMENTS / plane).max(1);
            let tasks = host::numbers(&images).chunks(planes * plane);
            let tasks = tasks.zip(maxima.chunks_mut(planes * square).zip(squares.chunks_mut(planes * square)));
            host::each(tasks, |(images, (maxima, squares))| {
                let parts = maxima.chunks_mut(square).zip(squares.chunks_mut(square));
                for (image, (maxima, squares)) in images.chunks(plane).zip(parts) {
                    halve(image, width, maxima, squares);
                }
            });
        }
        (
            host::tensor(maxima, [batch, channels, halves[0], halves[1]]),
            Places { squares: squares.into(), images: shape },
        )
    }

    fn backward(&self, kept: Places, gradient: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let [batch, channels, height, width] = kept.images;
        let (square, plane) = ((height / 2) * (width / 2), height * width);
        let mut images = vec![0.0; batch * channels * plane];
        if square > 0 {
            let planes = (host::ELEMENTS / plane).max(1);
            let tasks = host::numbers(&gradient).chunks(planes * square).zip(kept.squares.chunks(planes * square));
            host::each(images.chunks_mut(planes * plane).zip(tasks), |(images, (gradient, squares))| {
                let parts = gradient.chunks(square).zip(squares.chunks(square));
                for (image, (gradient, squares)) in images.chunks_mut(plane).zip(parts) {
                    spread(image, width, gradient, squares);
                }
            });
        }
        [Some(host::tensor(images, kept.images))]
    }
}

/// The maxima of one image, and their places.
fn halve(image: &[f32], width: usize, maxima: &mut [f32], squares: &mut [u8]) {
    let half = width / 2;
    let rows = image.chunks_exact(2 * width).zip(maxima.chunks_mut(half).zip(squares.chunks_mut(half)));
    for (pair, (maxima, squares)) in rows {
        let (above, below) = pair.split_at(width);
        let pairs = above.as_chunks::<2>().0.iter().zip(below.as_chunks::<2>().0);
        for ((&[a, b], &[c, d]), (maximum, place)) in pairs.zip(maxima.iter_mut().zip(squares)) {
            let (mut best, mut at) = (a, 0);
            for (number, number_at) in [(b, 1), (c, 2), (d, 3)] {
                // A NaN stays, and takes the place of what is none.
                if number > best || number.is_nan() && !best.is_nan() {
                    (best, at) = (number, number_at);
                }
            }
            (*maximum, *place) = (best, at);
        }
    }
}

fn spread(image: &mut [f32], width: usize, gradient: &[f32], squares: &[u8]) {
    let half = width / 2;
    let rows = image.chunks_exact_mut(2 * width).zip(gradient.chunks(half).zip(squares.chunks(half)));
    for (pair, (gradient, squares)) in rows {
        for (column, (&gradient, &place)) in gradient.iter().zip(squares).enumerate() {
            let (row, second) = (usize::from(place / 2), usize::from(place % 2));
            pair[row * width + 2 * column + second] = gradient;
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::backend::AutodiffBackend;

    use super::*;
    use crate::fused::testing::{Case, Fused, Given, check, results, shapes};

    /// Images of a size, `[batch * channels, height * width]` to the test.
    struct Images([usize; 4]);

    impl Case for Images {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            self.run_plain(inputs)
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            let [batch, channels, height, width] = self.0;
            let maxima = max_pool(inputs[0].clone().reshape(self.0));
            maxima.reshape([batch * channels, (height / 2) * (width / 2)])
        }
    }

    fn given([batch, channels, height, width]: [usize; 4]) -> Given {
        Given::random([batch * channels, height * width], 2.0)
    }

    #[test]
    fn it_is_burns_pooling() {
        let fixed = [[1, 1, 2, 2], [2, 3, 8, 8], [1, 2, 3, 5], [64, 9, 10, 7], [1, 1, 200, 100]];
        for shape in fixed.into_iter().chain(shapes([5, 4, 9, 9]).filter(|shape| shape[2] > 1 && shape[3] > 1)) {
            check(&Images(shape), &[given(shape)], 0.0);
            check(&Images(shape), &[given(shape).transposed()], 0.0);
        }
        let infinite = given([1, 1, 2, 4]).with(1, f32::INFINITY).with(6, f32::NEG_INFINITY);
        check(&Images([1, 1, 2, 4]), &[infinite], 0.0);
    }

    #[test]
    fn what_is_no_number_is_the_largest() {
        for at in 0..4 {
            let images = Images([1, 1, 2, 2]);
            let [maxima, gradient] =
                results::<Fused>(&images, &[given([1, 1, 2, 2]).with(at, f32::NAN)]).try_into().unwrap();
            assert!(maxima[0].is_nan(), "{at}");
            assert_eq!(gradient.iter().position(|number| *number != 0.0), Some(at));
        }
    }

    #[test]
    fn of_equal_ones_the_first_has_the_gradient() {
        let flat = (0..4).fold(given([1, 1, 2, 2]), |given, at| given.with(at, 1.0));
        check(&Images([1, 1, 2, 2]), &[flat], 0.0);
    }
}
