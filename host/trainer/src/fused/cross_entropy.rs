//! Cross entropy of a softmax against the right classes, with label smoothing and without targets that are ignored.
//!
//! A row with logits `x` and the right class `c` among `n` costs `-sum(t log p)` with `p = softmax(x)` and
//! `t = (1 - s) [c] + s / n` (smoothing: Szegedy et al., "Rethinking the Inception Architecture" (2016), section 7).
//! With `l = log(sum(e^x))` that is `l - (1 - s) x_c - s mean(x)`. The loss is the mean over the rows that count, and a
//! row's gradient is `(p - t) / count`. Main function: [`cross_entropy`].

use std::sync::Arc;

use burn::tensor::{DType, Int, Tensor, activation::log_softmax, backend::Backend};
use burn_flex::FlexTensor;

use super::{
    host,
    operation::{self, Operation, apply, is_on_host, primitive, same},
    simd::{exp, kernels, max, sum},
};

/// Mean cross entropy of logits `[rows, classes]` against the right classes `[rows]`, in nats.
///
/// A row whose target is negative is ignored; without any other row the loss is NaN, as in PyTorch. A part `smoothing`
/// of each target, at least 0 and below 1, is spread over all classes.
///
/// # Panics
///
/// When there is no target for a row, or one that is no class.
pub fn cross_entropy<B: Backend>(logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>, smoothing: f64) -> Tensor<B, 1> {
    assert_eq!(targets.dims(), [logits.dims()[0]], "a target for each row");
    let Some(on_host) = on_host(&targets) else { return composed(logits, targets, smoothing) };
    let loss = CrossEntropy { targets: on_host.into(), smoothing: smoothing as f32 };
    match apply::<B, _, 1>(&loss, [primitive(logits)]) {
        Ok(loss) => operation::tensor(loss),
        Err([logits]) => composed(operation::tensor(logits), targets, smoothing),
    }
}

/// The same with burn's operations.
fn composed<B: Backend>(logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>, smoothing: f64) -> Tensor<B, 1> {
    let ignored = targets.clone().lower_elem(0);
    let logs = log_softmax(logits, 1);
    let right = logs.clone().gather(1, targets.clamp_min(0).unsqueeze_dim(1)).squeeze_dim(1);
    let losses: Tensor<B, 1> = if smoothing == 0.0 {
        right
    } else {
        right.mul_scalar(1.0 - smoothing) + logs.mean_dim(1).squeeze_dim(1).mul_scalar(smoothing)
    };
    let count = ignored.clone().bool_not().float().sum();
    losses.mask_fill(ignored, 0.0).sum().neg() / count
}

/// The targets, where they lie in the host's memory.
fn on_host<B: Backend>(targets: &Tensor<B, 1, Int>) -> Option<Vec<i64>> {
    if !is_on_host::<B>() {
        return None;
    }
    let targets: FlexTensor = same(targets.clone().into_primitive());
    let targets = host::dense(&targets);
    match targets.dtype() {
        DType::I64 => Some(targets.storage::<i64>().to_vec()),
        DType::I32 => Some(targets.storage::<i32>().iter().map(|&target| target.into()).collect()),
        _ => None,
    }
}

#[derive(Clone, Debug)]
struct CrossEntropy {
    /// Negative where a row is ignored.
    targets: Arc<[i64]>,
    smoothing: f32,
}

impl Operation<1> for CrossEntropy {
    /// `p - t`, where it was asked for.
    type Kept = FlexTensor;

    fn forward(&self, [logits]: [FlexTensor; 1], keep: bool) -> (FlexTensor, FlexTensor) {
        let logits = host::dense(&logits);
        let [rows, classes] = host::dims(&logits);
        let numbers = host::numbers(&logits);
        let is_class = |&target: &i64| target < classes as i64;
        assert!(self.targets.iter().all(is_class), "a target is none of the {classes} classes");
        let mut slopes = vec![0.0; if keep { rows * classes } else { 0 }];
        let chunk = host::task_of_rows(classes);
        let chunks = slopes.chunks_mut(chunk).map(Some).chain(std::iter::repeat_with(|| None));
        let tasks = numbers.chunks(chunk).zip(self.targets.chunks(host::ROWS)).zip(chunks);
        let losses = host::each(tasks, |((logits, targets), slopes)| forward(logits, targets, self.smoothing, slopes));
        let loss = losses.into_iter().sum::<f64>() / self.count();
        (host::tensor(vec![loss as f32], [1]), host::tensor(slopes, [if keep { rows } else { 0 }, classes]))
    }

    fn backward(&self, mut slopes: FlexTensor, gradient: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        // Slopes of ignored rows are 0, and stay so where there are no others.
        let factor = (f64::from(host::numbers(&gradient)[0]) / self.count().max(1.0)) as f32;
        host::each(host::numbers_mut(&mut slopes).chunks_mut(host::ELEMENTS), |slopes| scale(slopes, factor));
        [Some(slopes)]
    }
}

impl CrossEntropy {
    /// Rows that count.
    fn count(&self) -> f64 {
        self.targets.iter().filter(|target| **target >= 0).count() as f64
    }
}

kernels! {
    /// The sum of the rows' losses; writes the slopes of each row's loss, if there is a place for them.
    fn forward(logits: &[f32], targets: &[i64], smoothing: f32, slopes: Option<&mut [f32]>) -> f64 {
        let classes = logits.len() / targets.len().max(1);
        let mut scratch = vec![0.0; if slopes.is_none() { logits.len() } else { 0 }];
        let slopes = slopes.unwrap_or(&mut scratch);
        let mut loss = 0.0;
        let rows = logits.chunks_exact(classes).zip(slopes.chunks_exact_mut(classes)).zip(targets);
        for ((logits, slopes), &target) in rows {
            let Ok(target) = usize::try_from(target) else {
                slopes.fill(0.0);
                continue;
            };
            let top = max(logits);
            for (slope, logit) in slopes.iter_mut().zip(logits) {
                *slope = exp(logit - top);
            }
            let total = sum(slopes, |power| power);
            // Against the largest logit, where little is lost to rounding.
            let mut of_row = total.ln() - (1.0 - smoothing) * (logits[target] - top);
            if smoothing > 0.0 {
                of_row -= smoothing * (sum(logits, |logit| logit - top) / classes as f32);
            }
            loss += f64::from(of_row);
            let (part, each) = (1.0 / total, smoothing / classes as f32);
            for slope in slopes.iter_mut() {
                *slope = *slope * part - each;
            }
            slopes[target] -= 1.0 - smoothing;
        }
        loss
    }

    fn scale(slopes: &mut [f32], factor: f32) {
        for slope in slopes {
            *slope *= factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::{
        backend::{Flex, flex::FlexDevice},
        nn::loss::CrossEntropyLossConfig,
        tensor::{TensorData, backend::AutodiffBackend},
    };

    use super::*;
    use crate::fused::{
        simd::chosen::at_each_level,
        testing::{Case, Given, bits, check, near, numbers, shapes},
    };

    impl Case for CrossEntropy {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            self.run_plain(inputs)
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            let targets = TensorData::new(self.targets.to_vec(), [self.targets.len()]);
            let targets = Tensor::from_data(targets, &inputs[0].device());
            cross_entropy(inputs[0].clone(), targets, self.smoothing.into()).unsqueeze()
        }
    }

    /// Every fifth target is ignored.
    fn loss([rows, classes]: [usize; 2], smoothing: f32) -> CrossEntropy {
        let target = |row: usize| if row % 5 == 4 { -100 } else { (row * 7 % classes) as i64 };
        CrossEntropy { targets: (0..rows).map(target).collect(), smoothing }
    }

    #[test]
    fn it_is_what_burns_operations_come_to() {
        for shape in [[1, 1], [0, 5], [4, 300], [200, 96]].into_iter().chain(shapes([150, 90])) {
            for smoothing in [0.0, 0.1] {
                check(&loss(shape, smoothing), &[Given::random(shape, 10.0)], 2e-6);
                check(&loss(shape, smoothing), &[Given::random(shape, 1.0).transposed()], 2e-6);
            }
        }
        let all = CrossEntropy { targets: [-1, -100].into(), smoothing: 0.0 };
        check(&all, &[Given::random([2, 3], 1.0)], 1e-6);
    }

    #[test]
    fn where_every_target_counts_it_is_burns_loss() {
        let logits = Tensor::<Flex, 2>::from_data(TensorData::new(numbers(33 * 20, 1, 8.0), [33, 20]), &FlexDevice);
        let targets: Vec<i64> = (0..33).map(|row| row * 3 % 20).collect();
        let targets = Tensor::<Flex, 1, Int>::from_data(TensorData::new(targets, [33]), &FlexDevice);
        for smoothing in [0.0, 0.2] {
            let config = CrossEntropyLossConfig::new().with_smoothing(Some(smoothing as f32).filter(|it| *it > 0.0));
            let theirs = config.init(&FlexDevice).forward(logits.clone(), targets.clone()).into_scalar();
            let ours = cross_entropy(logits.clone(), targets.clone(), smoothing).into_scalar();
            near("loss", &[ours], &[theirs], 1e-6);
        }
    }

    #[test]
    fn what_is_not_finite_is_passed_on() {
        for (special, at) in [(f32::NAN, 3), (f32::INFINITY, 3), (f32::INFINITY, 0), (f32::NEG_INFINITY, 0)] {
            let loss = CrossEntropy { targets: [0, 2].into(), smoothing: 0.0 };
            check(&loss, &[Given::random([2, 5], 1.0).with(at, special)], 1e-6);
        }
    }

    #[test]
    #[should_panic(expected = "a target is none of the 3 classes")]
    fn a_target_is_a_class() {
        let targets = Tensor::<Flex, 1, Int>::from_data([3], &FlexDevice);
        cross_entropy(Tensor::<Flex, 2>::zeros([1, 3], &FlexDevice), targets, 0.0);
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let (logits, loss) = (numbers(30 * 77, 1, 9.0), loss([30, 77], 0.1));
        let results = at_each_level(|| {
            let mut slopes = vec![0.0; logits.len()];
            let sum = forward(&logits, &loss.targets, loss.smoothing, Some(&mut slopes));
            scale(&mut slopes, 0.3);
            (sum.to_bits(), bits(&slopes))
        });
        for (level, result) in &results {
            assert!(*result == results[0].1, "{level:?}");
        }
    }
}
