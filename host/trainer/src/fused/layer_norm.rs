//! Layer normalization: each row is brought to mean 0 and variance 1, then scaled and shifted column by column.
//!
//! Ba, Kiros and Hinton, "Layer Normalization" (2016): `y = n γ + β` with `n = (x - mean) s` and
//! `s = 1 / sqrt(variance + ε)`, over the row. With `dn = dy γ` the gradients are
//! `dx = s (dn - mean(dn) - n mean(dn n))` row by row, and over all rows `dγ = sum(dy n)` and `dβ = sum(dy)`.
//! Main function: [`layer_norm`].

use burn::tensor::{Tensor, backend::Backend};
use burn_flex::FlexTensor;

use super::{
    host,
    operation::{self, Operation, apply, primitive},
    simd::{kernels, sum, sum_of_pairs},
};

/// Normalizes rows `[rows, width]`; `gamma` and `beta` have a number for each column.
///
/// # Panics
///
/// When shapes do not fit.
pub fn layer_norm<B: Backend>(
    x: Tensor<B, 2>,
    gamma: Tensor<B, 1>,
    beta: Option<Tensor<B, 1>>,
    epsilon: f64,
) -> Tensor<B, 2> {
    let [_, width] = x.dims();
    assert_eq!(gamma.dims(), [width], "gamma has a number for each column");
    assert!(beta.as_ref().is_none_or(|beta| beta.dims() == [width]), "beta has a number for each column");
    let norm = LayerNorm { epsilon, shifts: beta.is_some() };
    let gamma = primitive(gamma);
    // For what is absent another input stands in, which is not looked at.
    let beta = beta.map_or_else(|| gamma.clone(), primitive);
    match apply::<B, _, 3>(&norm, [primitive(x), gamma, beta]) {
        Ok(y) => operation::tensor(y),
        Err([x, gamma, beta]) => operation::tensor(B::layer_norm(x, gamma, norm.shifts.then_some(beta), epsilon)),
    }
}

#[derive(Clone, Copy, Debug)]
struct LayerNorm {
    epsilon: f64,
    /// Whether there is a β.
    shifts: bool,
}

/// Rows, γ, and `[mean, s]` of each row.
#[derive(Clone, Debug)]
struct Kept {
    x: FlexTensor,
    gamma: FlexTensor,
    statistics: FlexTensor,
}

impl Operation<3> for LayerNorm {
    type Kept = Kept;

    fn forward(&self, [x, gamma, beta]: [FlexTensor; 3], _: bool) -> (FlexTensor, Kept) {
        let (x, gamma, beta) = (host::dense(&x), host::dense(&gamma), host::dense(&beta));
        let [rows, width] = host::dims(&x);
        let beta = self.shifts.then(|| host::numbers(&beta));
        let mut statistics = vec![0.0; 2 * rows];
        let y = host::changed(
            host::numbers(&x),
            host::task_of_rows(width),
            statistics.chunks_mut(2 * host::ROWS),
            |rows, statistics| forward(rows, host::numbers(&gamma), beta, self.epsilon as f32, statistics),
        );
        let statistics = host::tensor(statistics, [rows, 2]);
        (host::tensor(y, [rows, width]), Kept { x, gamma, statistics })
    }

    fn backward(&self, kept: Kept, mut gradient: FlexTensor, wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let Kept { x, gamma, statistics } = kept;
        let [_, width] = host::dims(&x);
        let (numbers, gamma, statistics) = (host::numbers(&x), host::numbers(&gamma), host::numbers(&statistics));
        let chunk = host::task_of_rows(width);
        let tasks = host::numbers_mut(&mut gradient).chunks_mut(chunk).zip(numbers.chunks(chunk));
        let tasks = tasks.zip(statistics.chunks(2 * host::ROWS));
        let parts = host::each(tasks, |((gradient, x), statistics)| {
            // Of γ, then of β.
            let mut sums = vec![0.0; 2 * width];
            backward(x, gamma, statistics, gradient, &mut sums);
            sums
        });
        let mut of_gamma = host::sum_of(parts, 2 * width);
        let of_beta = of_gamma.split_off(width);
        [
            wanted[0].then_some(gradient),
            wanted[1].then(|| host::tensor(of_gamma, [width])),
            (wanted[2] && self.shifts).then(|| host::tensor(of_beta, [width])),
        ]
    }
}

kernels! {
    fn forward(rows: &mut [f32], gamma: &[f32], beta: Option<&[f32]>, epsilon: f32, statistics: &mut [f32]) {
        let width = gamma.len();
        for (row, statistics) in rows.chunks_exact_mut(width).zip(statistics.chunks_exact_mut(2)) {
            let mean = sum(row, |x| x) / width as f32;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / width as f32;
            let scale = 1.0 / (variance + epsilon).sqrt();
            for (x, gamma) in row.iter_mut().zip(gamma) {
                *x = (*x - mean) * scale * gamma;
            }
            if let Some(beta) = beta {
                for (x, beta) in row.iter_mut().zip(beta) {
                    *x += beta;
                }
            }
            statistics[0] = mean;
            statistics[1] = scale;
        }
    }

    fn backward(x: &[f32], gamma: &[f32], statistics: &[f32], gradient: &mut [f32], sums: &mut [f32]) {
        let width = gamma.len();
        let (of_gamma, of_beta) = sums.split_at_mut(width);
        let mut normal = vec![0.0; width];
        let rows = x.chunks_exact(width).zip(gradient.chunks_exact_mut(width)).zip(statistics.chunks_exact(2));
        for ((x, gradient), statistics) in rows {
            let (mean, scale) = (statistics[0], statistics[1]);
            for (normal, x) in normal.iter_mut().zip(x) {
                *normal = (x - mean) * scale;
            }
            let sums = of_gamma.iter_mut().zip(of_beta.iter_mut());
            for ((gradient, normal), (of_gamma, of_beta)) in gradient.iter().zip(&normal).zip(sums) {
                *of_gamma += gradient * normal;
                *of_beta += gradient;
            }
            for (gradient, gamma) in gradient.iter_mut().zip(gamma) {
                *gradient *= gamma;
            }
            let mean = sum(gradient, |gradient| gradient) / width as f32;
            let along = sum_of_pairs(gradient, &normal, |gradient, normal| gradient * normal) / width as f32;
            for (gradient, normal) in gradient.iter_mut().zip(&normal) {
                *gradient = scale * (*gradient - mean - normal * along);
            }
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

    impl Case for LayerNorm {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            self.run_plain(inputs)
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            let beta = inputs.get(2).map(|beta| beta.clone().flatten(0, 1));
            layer_norm(inputs[0].clone(), inputs[1].clone().flatten(0, 1), beta, self.epsilon)
        }
    }

    #[test]
    fn it_is_burns_layer_norm() {
        for [rows, width] in [[1, 1], [0, 5], [200, 37], [70, 128]].into_iter().chain(shapes([150, 90])) {
            let x = Given::random([rows, width], 5.0);
            let (gamma, beta) = (Given::random([1, width], 1.0), Given::random([1, width], 2.0));
            // Of few numbers the gradients nearly cancel, and what is left is divided by a small deviation.
            let tolerance = if width < 8 { 1e-4 } else { 2e-5 };
            check(&LayerNorm { epsilon: 1e-5, shifts: false }, &[x.clone(), gamma.clone()], tolerance);
            check(&LayerNorm { epsilon: 1e-3, shifts: true }, &[x.transposed(), gamma, beta], tolerance);
        }
    }

    #[test]
    fn what_is_not_finite_is_passed_on() {
        for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let given = [Given::random([4, 6], 1.0).with(8, special), Given::random([1, 6], 1.0)];
            check(&LayerNorm { epsilon: 1e-5, shifts: false }, &given, 1e-5);
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let (x, gamma, beta) = (numbers(20 * 75, 1, 3.0), numbers(75, 2, 1.0), numbers(75, 3, 1.0));
        let results = at_each_level(|| {
            let (mut y, mut statistics, mut sums) = (x.clone(), vec![0.0; 40], vec![0.0; 150]);
            forward(&mut y, &gamma, Some(&beta), 1e-5, &mut statistics);
            let mut gradient = numbers(x.len(), 4, 1.0);
            backward(&x, &gamma, &statistics, &mut gradient, &mut sums);
            [y, statistics, sums, gradient].map(|numbers| bits(&numbers))
        });
        for (level, result) in &results {
            assert!(*result == results[0].1, "{level:?}");
        }
    }
}
