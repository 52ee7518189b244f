//! Root mean square normalization: each row is divided by the root of its mean square, then scaled column by column.
//!
//! Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019): `y = x s γ` with `s = 1 / sqrt(mean(x^2) + ε)`.
//! With `dn = dy γ` and `n = x s` the gradients are `dx = s (dn - n mean(dn n))` row by row and `dγ = sum(dy n)` over
//! all rows. Main function: [`rms_norm`].

use burn::tensor::{Tensor, backend::Backend};
use burn_flex::FlexTensor;

use super::{
    host,
    operation::{self, Operation, apply, primitive},
    simd::{kernels, sum, sum_of_pairs},
};

/// Normalizes rows `[rows, width]`; `gamma` has a number for each column.
///
/// # Panics
///
/// When shapes do not fit.
pub fn rms_norm<B: Backend>(x: Tensor<B, 2>, gamma: Tensor<B, 1>, epsilon: f64) -> Tensor<B, 2> {
    let [_, width] = x.dims();
    assert_eq!(gamma.dims(), [width], "gamma has a number for each column");
    match apply::<B, _, 2>(&RmsNorm { epsilon }, [primitive(x), primitive(gamma)]) {
        Ok(y) => operation::tensor(y),
        Err([x, gamma]) => {
            let (x, gamma) = (operation::tensor::<B, 2>(x), operation::tensor::<B, 1>(gamma));
            let root = x.clone().square().mean_dim(1).add_scalar(epsilon).sqrt();
            x / root * gamma.unsqueeze()
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct RmsNorm {
    epsilon: f64,
}

impl Operation<2> for RmsNorm {
    /// Rows, γ, and `s` of each row.
    type Kept = [FlexTensor; 3];

    fn forward(&self, [x, gamma]: [FlexTensor; 2], _: bool) -> (FlexTensor, [FlexTensor; 3]) {
        let (x, gamma) = (host::dense(&x), host::dense(&gamma));
        let [rows, width] = host::dims(&x);
        let mut scales = vec![0.0; rows];
        let y = host::changed(
            host::numbers(&x),
            host::task_of_rows(width),
            scales.chunks_mut(host::ROWS),
            |rows, scales| forward(rows, host::numbers(&gamma), self.epsilon as f32, scales),
        );
        (host::tensor(y, [rows, width]), [x, gamma, host::tensor(scales, [rows])])
    }

    fn backward(&self, kept: [FlexTensor; 3], mut gradient: FlexTensor, wanted: [bool; 2]) -> [Option<FlexTensor>; 2] {
        let width = host::dims(&kept[0])[1];
        let [x, gamma, scales] = kept.each_ref().map(host::numbers);
        let chunk = host::task_of_rows(width);
        let tasks = host::numbers_mut(&mut gradient).chunks_mut(chunk).zip(x.chunks(chunk));
        let parts = host::each(tasks.zip(scales.chunks(host::ROWS)), |((gradient, x), scales)| {
            let mut sums = vec![0.0; width];
            backward(x, gamma, scales, gradient, &mut sums);
            sums
        });
        let of_gamma = || host::tensor(host::sum_of(parts, width), [width]);
        [wanted[0].then_some(gradient), wanted[1].then(of_gamma)]
    }
}

kernels! {
    fn forward(rows: &mut [f32], gamma: &[f32], epsilon: f32, scales: &mut [f32]) {
        let width = gamma.len();
        for (row, kept) in rows.chunks_exact_mut(width).zip(scales) {
            let scale = 1.0 / (sum(row, |x| x * x) / width as f32 + epsilon).sqrt();
            for (x, gamma) in row.iter_mut().zip(gamma) {
                *x = *x * scale * gamma;
            }
            *kept = scale;
        }
    }

    fn backward(x: &[f32], gamma: &[f32], scales: &[f32], gradient: &mut [f32], sums: &mut [f32]) {
        let width = gamma.len();
        let rows = x.chunks_exact(width).zip(gradient.chunks_exact_mut(width)).zip(scales);
        for ((x, gradient), &scale) in rows {
            for ((gradient, x), (sum, gamma)) in gradient.iter_mut().zip(x).zip(sums.iter_mut().zip(gamma)) {
                *sum += *gradient * (x * scale);
                *gradient *= gamma;
            }
            let along = sum_of_pairs(gradient, x, |gradient, x| gradient * (x * scale)) / width as f32;
            for (gradient, x) in gradient.iter_mut().zip(x) {
                *gradient = scale * (*gradient - x * scale * along);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::{
        backend::{Flex, flex::FlexDevice},
        nn::RmsNormConfig,
        tensor::{TensorData, backend::AutodiffBackend},
    };

    use super::*;
    use crate::fused::{
        simd::chosen::at_each_level,
        testing::{Case, Given, bits, check, near, numbers, shapes},
    };

    impl Case for RmsNorm {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            self.run_plain(inputs)
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            rms_norm(inputs[0].clone(), inputs[1].clone().flatten(0, 1), self.epsilon)
        }
    }

    #[test]
    fn it_is_what_burns_operations_come_to() {
        for [rows, width] in [[1, 1], [0, 5], [200, 37], [70, 128]].into_iter().chain(shapes([150, 90])) {
            let (x, gamma) = (Given::random([rows, width], 5.0), Given::random([1, width], 1.0));
            check(&RmsNorm { epsilon: 1e-5 }, &[x.clone(), gamma.clone()], 2e-5);
            check(&RmsNorm { epsilon: 1e-5 }, &[x.transposed(), gamma], 2e-5);
        }
        for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let given = [Given::random([4, 6], 1.0).with(8, special), Given::random([1, 6], 1.0)];
            check(&RmsNorm { epsilon: 1e-5 }, &given, 1e-5);
        }
    }

    #[test]
    fn it_is_burns_module() {
        let x = Tensor::<Flex, 2>::from_data(TensorData::new(numbers(5 * 24, 1, 3.0), [5, 24]), &FlexDevice);
        let theirs = RmsNormConfig::new(24).with_epsilon(1e-3).init::<Flex>(&FlexDevice);
        let ours = rms_norm(x.clone(), theirs.gamma.val(), 1e-3);
        let [ours, theirs] = [ours, theirs.forward(x)].map(|y| y.into_data().iter::<f32>().collect::<Vec<_>>());
        near("result", &ours, &theirs, 1e-6);
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let (x, gamma) = (numbers(20 * 75, 1, 3.0), numbers(75, 2, 1.0));
        let results = at_each_level(|| {
            let (mut y, mut scales, mut sums) = (x.clone(), vec![0.0; 20], vec![0.0; 75]);
            forward(&mut y, &gamma, 1e-5, &mut scales);
            let mut gradient = numbers(x.len(), 4, 1.0);
            backward(&x, &gamma, &scales, &mut gradient, &mut sums);
            [y, scales, sums, gradient].map(|numbers| bits(&numbers))
        });
        for (level, result) in &results {
            assert!(*result == results[0].1, "{level:?}");
        }
    }
}
