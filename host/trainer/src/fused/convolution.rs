//! A convolution of images that keeps their size: stride 1, an odd kernel, zeros around the image.
//!
//! Some images at a time are unrolled, so that each column has what the kernel sees at one place, and the kernels are
//! multiplied with that (Chellapilla, Puri and Simard, "High Performance Convolutional Neural Networks for Document
//! Processing", 2006). With unrolled images `X`, kernels `W` and the gradient `dY`: `dW` sums `dY X^T` over the images,
//! `dX = W^T dY` is rolled up again by adding what stood for one element, and the bias's gradient sums dY over places.
//! Images are unrolled anew in the backward pass: kept, they would take as much memory as the kernel has elements a channel.
//! Main function: [`convolution`].

use burn::{
    nn::{PaddingConfig2d, conv::Conv2d},
    tensor::{Tensor, backend::Backend, module, ops::ConvOptions},
};
use burn_flex::FlexTensor;

use super::{
    host,
    matrix::{Matrix, MatrixMut},
    operation::{self, Operation, apply, primitive},
    product::{Onto, Threads, product},
    simd::{add, kernels, sum},
};

/// Places of the images that one task unrolls: enough for an efficient product, few enough for the second cache.
const PLACES: usize = 512;

/// The layer's result for images `[batch, inputs, height, width]`: `[batch, outputs, height, width]`.
///
/// # Panics
///
/// When the layer changes the images' size, or has groups: such layers are burn's to compute.
pub fn convolution<B: Backend>(images: Tensor<B, 4>, layer: &Conv2d<B>) -> Tensor<B, 4> {
    let keeps = layer.padding == PaddingConfig2d::Same && layer.stride == [1, 1] && layer.dilation == [1, 1];
    assert!(keeps && layer.groups == 1, "a convolution that keeps the size, in one group");
    convolution_with(images, layer.weight.val(), layer.bias.as_ref().map(|bias| bias.val()))
}

/// The same with kernels `[outputs, inputs, height, width]` and a bias `[outputs]`.
///
/// # Panics
///
/// When shapes do not fit, or a kernel's height or width is even.
pub fn convolution_with<B: Backend>(
    images: Tensor<B, 4>,
    kernels: Tensor<B, 4>,
    bias: Option<Tensor<B, 1>>,
) -> Tensor<B, 4> {
    let [outputs, inputs, height, width] = kernels.dims();
    assert_eq!(images.dims()[1], inputs, "a kernel has a part for each channel");
    assert!(height % 2 == 1 && width % 2 == 1, "kernels of {height} x {width} have no middle");
    assert!(bias.as_ref().is_none_or(|bias| bias.dims() == [outputs]), "the bias has a number for each output");
    let with = Convolution { bias: bias.is_some() };
    let images = primitive(images);
    // For an absent one another input stands in, which is not looked at.
    let bias = bias.map_or_else(|| images.clone(), primitive);
    match apply::<B, _, 3>(&with, [images, primitive(kernels), bias]) {
        Ok(y) => operation::tensor(y),
        Err([images, kernels, bias]) => {
            let bias = with.bias.then(|| operation::tensor(bias));
            let options = ConvOptions::new([1, 1], [height / 2, width / 2], [1, 1], 1);
            module::conv2d(operation::tensor(images), operation::tensor(kernels), bias, options)
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Convolution {
    bias: bool,
}

/// The sizes that a pass needs.
#[derive(Clone, Copy)]
struct Sizes {
    inputs: usize,
    outputs: usize,
    image: [usize; 2],
    kernel: [usize; 2],
    /// Images of one task: a function of the sizes, so that what tasks sum does not depend on threads.
    together: usize,
}

impl Sizes {
    fn of(images: &FlexTensor, kernels: &FlexTensor) -> Self {
        let [_, inputs, height, width] = images.layout().shape().dims();
        let [outputs, _, kernel_height, kernel_width] = kernels.layout().shape().dims();
        let together = (PLACES / (height * width).max(1)).max(1);
        Self { inputs, outputs, image: [height, width], kernel: [kernel_height, kernel_width], together }
    }

    fn places(self) -> usize {
        self.image[0] * self.image[1]
    }

    /// What a kernel sees at one place.
    fn seen(self) -> usize {
        self.inputs * self.kernel[0] * self.kernel[1]
    }

    /// Numbers of one task's images, of so many channels each.
    fn task(self, channels: usize) -> usize {
        (self.together * channels * self.places()).max(1)
    }

    /// For each row of unrolled images: its channel, and how far what is seen lies from the place, down and to the right.
    fn rows(self) -> impl Iterator<Item = (usize, [isize; 2])> {
        let [height, width] = self.kernel;
        let away = move |at: usize, side: usize| at as isize - (side / 2) as isize;
        (0..self.seen()).map(move |row| {
            let [down, right] = [row / width % height, row % width];
            (row / (height * width), [away(down, height), away(right, width)])
        })
    }

    /// Places that see something at a distance, as numbers of a plane, and how far from each that is. Those at the ends
    /// of rows may be among them wrongly: see [`Sizes::clear`].
    fn seeing(self, [down, right]: [isize; 2]) -> (std::ops::Range<usize>, isize) {
        let distance = down * self.image[1] as isize + right;
        let places = self.places() as isize;
        let (first, last) = ((-distance).clamp(0, places), (places - distance).clamp(0, places));
        (first as usize..last.max(first) as usize, distance)
    }

    /// Sets to 0 what is seen beside the image, at the ends of the rows of a plane.
    fn clear(self, plane: &mut [f32], right: isize) {
        let width = self.image[1];
        let outside = right.unsigned_abs().min(width);
        for row in plane.chunks_mut(width) {
            match right {
                0 => {}
                1.. => row[width - outside..].fill(0.0),
                _ => row[..outside].fill(0.0),
            }
        }
    }

    /// Unrolls images into `[seen, images * places]`.
    fn unroll(self, images: &[f32], unrolled: &mut Vec<f32>) {
        let places = self.places();
        let count = images.len() / (self.inputs * places);
        unrolled.clear();
        unrolled.resize(self.seen() * count * places, 0.0);
        for ((channel, away), row) in self.rows().zip(unrolled.chunks_mut(count * places)) {
            let (seeing, distance) = self.seeing(away);
            for (image, plane) in images.chunks(self.inputs * places).zip(row.chunks_mut(places)) {
                let seen = &image[channel * places..][..places];
                if !seeing.is_empty() {
                    let from = seeing.start.wrapping_add_signed(distance);
                    plane[seeing.clone()].copy_from_slice(&seen[from..][..seeing.len()]);
                }
                self.clear(plane, away[1]);
            }
        }
    }

    /// Adds up what stands for one element. What is unrolled is spent.
    fn roll(self, unrolled: &mut [f32], images: &mut [f32]) {
        let places = self.places();
        let count = images.len() / (self.inputs * places);
        for ((channel, away), row) in self.rows().zip(unrolled.chunks_mut(count * places)) {
            let (seeing, distance) = self.seeing(away);
            for (image, plane) in images.chunks_mut(self.inputs * places).zip(row.chunks_mut(places)) {
                self.clear(plane, away[1]);
                if !seeing.is_empty() {
                    let to = seeing.start.wrapping_add_signed(distance);
                    add(&mut image[channel * places..][to..to + seeing.len()], &plane[seeing.clone()]);
                }
            }
        }
    }
}

impl Operation<3> for Convolution {
    /// Images and kernels.
    type Kept = [FlexTensor; 2];

    fn forward(&self, [images, weight, bias]: [FlexTensor; 3], _: bool) -> (FlexTensor, [FlexTensor; 2]) {
        let [images, weight, bias] = [images, weight, bias].each_ref().map(host::dense);
        let (sizes, batch) = (Sizes::of(&images, &weight), images.layout().shape()[0]);
        let (outputs, places) = (sizes.outputs, sizes.places());
        let mut y = vec![0.0; batch * outputs * places];
        let bias = self.bias.then(|| host::numbers(&bias));
        let weight_of = Matrix::new(host::numbers(&weight), [outputs, sizes.seen()]);
        let tasks = host::numbers(&images).chunks(sizes.task(sizes.inputs)).zip(y.chunks_mut(sizes.task(outputs)));
        host::each(tasks, |(images, y)| {
            let mut unrolled = Vec::new();
            sizes.unroll(images, &mut unrolled);
            let columns = y.len() / outputs;
            let seen = Matrix::new(&unrolled, [sizes.seen(), columns]);
            let mut sums = vec![0.0; outputs * columns];
            product(MatrixMut::new(&mut sums, [outputs, columns]), Onto::Nothing, 1.0, weight_of, seen, Threads::One);
            for (at, image) in y.chunks_mut(outputs * places).enumerate() {
                for (output, plane) in image.chunks_mut(places).enumerate() {
                    plane.copy_from_slice(&sums[output * columns + at * places..][..places]);
                    if let Some(bias) = bias {
                        shift(plane, bias[output]);
                    }
                }
            }
        });
        let shape = [batch, outputs, sizes.image[0], sizes.image[1]];
        (host::tensor(y, shape), [images, weight])
    }

    fn backward(
        &self,
        [images, weight]: [FlexTensor; 2],
        dy: FlexTensor,
        wanted: [bool; 3],
    ) -> [Option<FlexTensor>; 3] {
        let sizes = Sizes::of(&images, &weight);
        let (outputs, places, seen) = (sizes.outputs, sizes.places(), sizes.seen());
        let weight_of = Matrix::new(host::numbers(&weight), [outputs, seen]);
        let mut dx = vec![0.0; if wanted[0] { host::numbers(&images).len() } else { 0 }];
        let mut parts: Vec<&mut [f32]> = dx.chunks_mut(sizes.task(sizes.inputs)).collect();
        let tasks = host::numbers(&images).chunks(sizes.task(sizes.inputs));
        parts.resize_with(tasks.len(), Default::default);
        let tasks = tasks.zip(host::numbers(&dy).chunks(sizes.task(outputs))).zip(parts);
        let sums = host::each(tasks, |((images, dy), dx)| {
            let columns = dy.len() / outputs;
            let mut by_output = vec![0.0; dy.len()];
            for (at, image) in dy.chunks(outputs * places).enumerate() {
                for (output, plane) in image.chunks(places).enumerate() {
                    by_output[output * columns + at * places..][..places].copy_from_slice(plane);
                }
            }
            let dy = Matrix::new(&by_output, [outputs, columns]);
            let mut unrolled = Vec::new();
            let mut sum = vec![0.0; outputs * (seen + 1)];
            let (of_kernels, of_bias) = sum.split_at_mut(outputs * seen);
            if wanted[1] {
                sizes.unroll(images, &mut unrolled);
                let seen_by = Matrix::new(&unrolled, [seen, columns]).transposed();
                let of_kernels = MatrixMut::new(of_kernels, [outputs, seen]);
                product(of_kernels, Onto::Nothing, 1.0, dy, seen_by, Threads::One);
            }
            if wanted[2] && self.bias {
                of_bias.iter_mut().zip(by_output.chunks(columns)).for_each(|(of, dy)| *of = total(dy));
            }
            if !dx.is_empty() {
                unrolled.resize(seen * columns, 0.0);
                let of_seen = MatrixMut::new(&mut unrolled, [seen, columns]);
                product(of_seen, Onto::Nothing, 1.0, weight_of.transposed(), dy, Threads::One);
                sizes.roll(&mut unrolled, dx);
            }
            sum
        });
        let mut of_kernels = host::sum_of(sums, outputs * (seen + 1));
        let of_bias = of_kernels.split_off(outputs * seen);
        [
            wanted[0].then(|| host::tensor(dx, images.layout().shape().clone())),
            wanted[1].then(|| host::tensor(of_kernels, weight.layout().shape().clone())),
            (wanted[2] && self.bias).then(|| host::tensor(of_bias, [outputs])),
        ]
    }
}

kernels! {
    fn shift(numbers: &mut [f32], by: f32) {
        for number in numbers {
            *number += by;
        }
    }

    fn total(numbers: &[f32]) -> f32 {
        sum(numbers, |number| number)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::backend::AutodiffBackend;

    use super::*;
    use crate::fused::testing::{Case, Given, check, shapes};

    /// Batch, inputs, outputs, height and width of images, height and width of kernels; all are matrices to the test.
    struct Layer([usize; 7], bool);

    impl Case for Layer {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            self.run_plain(inputs)
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            let [batch, channels, outputs, height, width, kernel_height, kernel_width] = self.0;
            let images = inputs[0].clone().reshape([batch, channels, height, width]);
            let kernels = inputs[1].clone().reshape([outputs, channels, kernel_height, kernel_width]);
            let bias = self.1.then(|| inputs[2].clone().flatten(0, 1));
            convolution_with(images, kernels, bias).reshape([batch * outputs, height * width])
        }
    }

    impl Layer {
        fn given(&self, transposed: bool) -> Vec<Given> {
            let [batch, inputs, outputs, height, width, kernel_height, kernel_width] = self.0;
            let images = Given::random([batch * inputs, height * width], 2.0).transposed_if(transposed);
            let kernels = Given::random([outputs, inputs * kernel_height * kernel_width], 1.0);
            let bias = self.1.then(|| Given::random([1, outputs], 2.0));
            [images, kernels].into_iter().chain(bias).collect()
        }
    }

    #[test]
    fn it_is_burns_convolution() {
        let odd = shapes([9, 4, 6, 9, 11, 3, 3]).map(|mut sizes| {
            sizes[5..].iter_mut().for_each(|side| *side = *side * 2 - 1);
            sizes
        });
        let fixed = [[1, 1, 1, 1, 1, 1, 1], [32, 16, 32, 8, 8, 3, 3], [40, 1, 16, 8, 8, 3, 3], [2, 3, 4, 30, 40, 5, 1]];
        for (at, sizes) in fixed.into_iter().chain(odd).enumerate() {
            let layer = Layer(sizes, at % 2 == 0);
            // A kernel's gradient has sums of up to 2,560 terms around 1.
            check(&layer, &layer.given(at % 3 == 1), 1e-4);
        }
    }

    #[test]
    fn what_is_not_finite_is_passed_on() {
        for special in [f32::NAN, f32::INFINITY] {
            let layer = Layer([2, 2, 3, 4, 5, 1, 1], true);
            let [images, kernels, bias] = layer.given(false).try_into().unwrap_or_else(|_| panic!("three inputs"));
            check(&layer, &[images.clone().with(3, special), kernels.clone(), bias.clone()], 1e-5);
            check(&layer, &[images, kernels.with(1, special), bias.with(0, special)], 1e-5);
        }
    }
}
