//! Gradients of one update: summing micro-batches, and clipping.
//!
//! It does not measure them (`statistics` does) nor apply them (`optimizer` does). Main types: [`Sum`], [`Clip`].

use burn::{
    module::{AutodiffModule, ModuleVisitor, Param},
    optim::{GradientsAccumulator, GradientsParams},
    tensor::{
        Tensor,
        backend::{AutodiffBackend, Backend},
    },
};

use crate::fused;

/// Sums the gradients of micro-batches; with a single one, its gradients are taken as they are.
pub(crate) struct Sum<M> {
    accumulator: GradientsAccumulator<M>,
    single: Option<GradientsParams>,
    count: usize,
}

impl<M> Sum<M> {
    pub(crate) fn new() -> Self {
        Self { accumulator: GradientsAccumulator::new(), single: None, count: 0 }
    }

    pub(crate) fn add<B: AutodiffBackend>(&mut self, model: &M, gradients: GradientsParams)
    where
        M: AutodiffModule<B>,
    {
        self.count += 1;
        if self.count == 1 {
            self.single = Some(gradients);
            return;
        }
        if let Some(first) = self.single.take() {
            self.accumulator.accumulate::<B>(model, first);
        }
        self.accumulator.accumulate::<B>(model, gradients);
    }

    pub(crate) fn finish(mut self) -> GradientsParams {
        match self.single {
            Some(single) => single,
            None => self.accumulator.grads(),
        }
    }
}

/// Clips gradients in place of the model's parameters.
pub(crate) struct Clip {
    /// Every element is brought into `[-value, value]` first; 0 leaves it out.
    pub(crate) value: f64,
    /// All gradients are multiplied by this factor; 1 leaves it out.
    pub(crate) factor: f64,
}

impl Clip {
    /// The factor that brings a global norm to at most `limit`, with PyTorch's small term in the divisor.
    /// A norm that is NaN makes every gradient NaN, as there.
    pub(crate) fn factor(norm: f64, limit: f64) -> f64 {
        const SMALL: f64 = 1e-6;
        if limit == 0.0 {
            return 1.0;
        }
        let factor = limit / (norm + SMALL);
        // Not `min`, which would drop a NaN.
        if factor > 1.0 { 1.0 } else { factor }
    }

    /// Applies the clipping.
    pub(crate) fn apply<B: AutodiffBackend, M: AutodiffModule<B>>(&self, model: &M, gradients: &mut GradientsParams) {
        if self.value == 0.0 && self.factor == 1.0 {
            return;
        }
        model.visit(&mut Clipping::<'_> { clip: self, gradients });
    }

    fn one<I: Backend, const D: usize>(&self, gradient: Tensor<I, D>) -> Tensor<I, D> {
        let gradient = if self.value == 0.0 { gradient } else { gradient.clamp(-self.value, self.value) };
        if self.factor == 1.0 { gradient } else { fused::scale(gradient, self.factor) }
    }
}

struct Clipping<'a> {
    clip: &'a Clip,
    gradients: &'a mut GradientsParams,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Clipping<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(gradient) = self.gradients.remove::<B::InnerBackend, D>(param.id) {
            self.gradients.register::<B::InnerBackend, D>(param.id, self.clip.one(gradient));
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::{Autodiff, Flex};

    use super::*;
    use crate::{
        pair::Pair,
        statistics::{Statistics, Tensors, Wanted},
    };

    type B = Autodiff<Flex>;

    fn number(value: &serde_json::Value) -> f32 {
        // `NaN`, `Infinity` and `-Infinity` are read by Rust as they stand.
        value.as_str().map_or_else(|| value.as_f64().unwrap() as f32, |word| word.parse().unwrap())
    }

    fn numbers(value: &serde_json::Value) -> [Vec<f32>; 2] {
        [0, 1].map(|at| value[at].as_array().unwrap().iter().map(number).collect())
    }

    /// Equal, or as near as single precision and another order of operations bring them; NaN is NaN.
    fn near(ours: f32, theirs: f32) -> bool {
        ours == theirs || ours.is_nan() && theirs.is_nan() || (ours - theirs).abs() <= 1e-6 * theirs.abs()
    }

    #[test]
    fn clipping_follows_pytorch() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/optim/clip.json");
        let file: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let (pair, parameters, _) = Pair::new();
        let (mut checked, mut overflown) = (0, 0);
        for case in file["cases"].as_array().unwrap() {
            let (id, limit) = (&case["id"], case["limit"].as_f64().unwrap());
            let [first, second] = numbers(&case["grads"]);
            let mut gradients = pair.gradients([&first, &second]);
            let clip = match case["mode"].as_str().unwrap() {
                "value" => Clip { value: limit, factor: 1.0 },
                "norm2" => {
                    let mut statistics = Statistics::default();
                    let all = Wanted::all(parameters.len());
                    statistics.measure::<B, _>(&pair, Tensors::Gradients(&gradients), &parameters, &all);
                    let norm = statistics.whole_norm();
                    let clip = Clip { value: 0.0, factor: Clip::factor(norm, limit) };
                    let theirs = number(&case["total_norm"]);
                    let finite = [first, second].concat().iter().all(|element| element.is_finite());
                    if finite && theirs.is_infinite() {
                        // Different on purpose: their sum of squares overflows, and every gradient becomes 0.
                        clip.apply::<B, _>(&pair, &mut gradients);
                        let clipped = pair.values_of(&gradients).concat();
                        let norm = clipped.iter().map(|element| element * element).sum::<f32>().sqrt();
                        assert!((norm / limit as f32 - 1.0).abs() < 1e-6, "{id}: {norm}");
                        (checked, overflown) = (checked + 1, overflown + 1);
                        continue;
                    }
                    // Squares of the tiny ones are not normal numbers in 32 bits: they are taken for 0 there.
                    assert!(near(norm as f32, theirs) || norm < 1e-18 && theirs < 1e-18, "{id}: {norm}, {theirs}");
                    clip
                }
                // The L1 and maximum norms are not offered.
                _ => continue,
            };
            clip.apply::<B, _>(&pair, &mut gradients);
            let (ours, theirs) = (pair.values_of(&gradients), numbers(&case["clipped"]));
            let all_near = ours.concat().iter().zip(theirs.concat()).all(|(ours, theirs)| near(*ours, theirs));
            assert!(all_near, "{id}: {ours:?} and not {theirs:?}");
            checked += 1;
        }
        assert_eq!((checked, overflown), (24, 2), "8 kinds of gradients, two limits of the norm and one of the value");
    }

    #[test]
    fn a_sum_has_every_micro_batch_once() {
        let (pair, ..) = Pair::new();
        for (batches, expected) in [
            (vec![[&[1.0, 2.0][..], &[4.0]]], [vec![1.0, 2.0], vec![4.0]]),
            (vec![[&[1.0, 2.0], &[4.0]], [&[10.0, 20.0], &[]]], [vec![11.0, 22.0], vec![4.0]]),
            (vec![[&[], &[1.0]], [&[1.0, 1.0], &[1.0]], [&[2.0, 3.0], &[1.0]]], [vec![3.0, 4.0], vec![3.0]]),
        ] {
            let mut sum = Sum::new();
            batches.iter().for_each(|batch| sum.add::<B>(&pair, pair.gradients(*batch)));
            assert_eq!(pair.values_of(&sum.finish()), expected);
        }
    }
}
