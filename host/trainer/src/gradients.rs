//! Gradients of one update: summing micro-batches, norms, and clipping.
//!
//! It does not apply them: `optimizer` does. Main type: [`Gradients`].

use burn::{
    module::{AutodiffModule, ModuleVisitor, Param},
    optim::{GradientsAccumulator, GradientsParams},
    tensor::{
        Tensor,
        backend::{AutodiffBackend, Backend},
    },
};

use crate::parameters::Parameters;

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

/// Squared L2 norms and counts of elements that are not finite, by parameter; each read back in one piece.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statistics {
    squares: Vec<f64>,
    nonfinite: Vec<f64>,
    groups: Vec<usize>,
}

impl Statistics {
    /// Measures all gradients: in one pass while they are finite.
    pub(crate) fn of<B: AutodiffBackend, M: AutodiffModule<B>>(
        model: &M,
        gradients: &GradientsParams,
        parameters: &Parameters,
    ) -> Self {
        let measure = |what| {
            let mut pass =
                Pass::<B::InnerBackend> { what, gradients, parameters, sums: Vec::new(), groups: Vec::new() };
            model.visit(&mut Outer::<B> { pass: &mut pass });
            let sums = (!pass.sums.is_empty()).then(|| Tensor::cat(pass.sums, 0).into_data());
            (sums.map(|sums| sums.iter::<f64>().collect::<Vec<f64>>()).unwrap_or_default(), pass.groups)
        };
        let (squares, groups) = measure(What::Squares);
        // A sum of squares is finite only if each element is. Counting takes many times as long as the sum.
        let nonfinite = if squares.iter().all(|square| square.is_finite()) {
            vec![0.0; squares.len()]
        } else {
            measure(What::Nonfinite).0
        };
        Self { squares, nonfinite, groups }
    }

    /// The L2 norm over all parameters.
    pub(crate) fn norm(&self) -> f64 {
        self.squares.iter().sum::<f64>().sqrt()
    }

    /// The L2 norm over the parameters of a group.
    pub(crate) fn group_norm(&self, group: usize) -> f64 {
        let mine = self.squares.iter().zip(&self.groups).filter(|(_, at)| **at == group);
        mine.map(|(square, _)| square).sum::<f64>().sqrt()
    }

    /// How many elements are NaN or infinite.
    pub(crate) fn nonfinite(&self) -> f64 {
        self.nonfinite.iter().sum()
    }
}

/// What is summed over the elements of a gradient.
#[derive(Clone, Copy)]
enum What {
    /// Their squares.
    Squares,
    /// 1 for each that is NaN or infinite.
    Nonfinite,
}

struct Pass<'a, I: Backend> {
    what: What,
    gradients: &'a GradientsParams,
    parameters: &'a Parameters,
    /// One number for each parameter.
    sums: Vec<Tensor<I, 1>>,
    groups: Vec<usize>,
}

struct Outer<'a, 'b, B: AutodiffBackend> {
    pass: &'a mut Pass<'b, B::InnerBackend>,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Outer<'_, '_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        let (Some(parameter), Some(gradient)) =
            (self.pass.parameters.get(param.id), self.pass.gradients.get::<B::InnerBackend, D>(param.id))
        else {
            return;
        };
        let sum = match self.pass.what {
            What::Squares => gradient.square().sum(),
            What::Nonfinite => gradient.is_finite().bool_not().int().sum().float(),
        };
        self.pass.sums.push(sum);
        self.pass.groups.push(parameter.group);
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
        if self.factor == 1.0 { gradient } else { gradient.mul_scalar(self.factor) }
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
    use burn::{
        backend::{Autodiff, Flex, flex::FlexDevice},
        module::Module,
    };

    use super::*;
    use crate::GroupSettings;

    type B = Autodiff<Flex>;

    /// Two parameters, as the cases of the fixture have them, each in a group of its own.
    #[derive(Module, Debug)]
    struct Pair<B: Backend> {
        first: Param<Tensor<B, 1>>,
        second: Param<Tensor<B, 1>>,
    }

    impl Pair<B> {
        fn new() -> (Self, Parameters) {
            let zeros = |size| Param::from_tensor(Tensor::zeros([size], &FlexDevice));
            let pair = Self { first: zeros(2), second: zeros(1) };
            let group = |name: &str| GroupSettings {
                name: name.into(),
                parameters: vec![name.into()],
                learning_rate: 0.0,
                weight_decay: 0.0,
            };
            let parameters = Parameters::of(&pair, &[group("first"), group("second")]).unwrap();
            (pair, parameters)
        }

        fn gradients(&self, [first, second]: [&[f32]; 2]) -> GradientsParams {
            let mut gradients = GradientsParams::new();
            for (id, values) in [(self.first.id, first), (self.second.id, second)] {
                if !values.is_empty() {
                    gradients.register::<Flex, 1>(id, Tensor::from_data(values, &FlexDevice));
                }
            }
            gradients
        }

        fn values(&self, gradients: &GradientsParams) -> [Vec<f32>; 2] {
            [self.first.id, self.second.id].map(|id| {
                let gradient = gradients.get::<Flex, 1>(id).map(Tensor::into_data);
                gradient.map(|data| data.iter::<f32>().collect()).unwrap_or_default()
            })
        }
    }

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
        let (pair, parameters) = Pair::new();
        let mut checked = 0;
        for case in file["cases"].as_array().unwrap() {
            let (id, limit) = (&case["id"], case["limit"].as_f64().unwrap());
            let [first, second] = numbers(&case["grads"]);
            let mut gradients = pair.gradients([&first, &second]);
            let clip = match case["mode"].as_str().unwrap() {
                "value" => Clip { value: limit, factor: 1.0 },
                "norm2" => {
                    let norm = Statistics::of::<B, _>(&pair, &gradients, &parameters).norm();
                    // Squares of the tiny ones are not normal numbers: they may be taken for 0.
                    let theirs = number(&case["total_norm"]);
                    assert!(near(norm as f32, theirs) || norm < 1e-18 && theirs < 1e-18, "{id}: {norm}, {theirs}");
                    Clip { value: 0.0, factor: Clip::factor(norm, limit) }
                }
                // The L1 and maximum norms are not offered.
                _ => continue,
            };
            clip.apply::<B, _>(&pair, &mut gradients);
            let (ours, theirs) = (pair.values(&gradients), numbers(&case["clipped"]));
            let all_near = ours.concat().iter().zip(theirs.concat()).all(|(ours, theirs)| near(*ours, theirs));
            assert!(all_near, "{id}: {ours:?} and not {theirs:?}");
            checked += 1;
        }
        assert_eq!(checked, 24, "8 kinds of gradients, two limits of the norm and one of the value");
    }

    #[test]
    fn statistics_tell_groups_apart_and_leave_out_what_has_no_gradient() {
        let (pair, parameters) = Pair::new();
        let statistics =
            |gradients: [&[f32]; 2]| Statistics::of::<B, _>(&pair, &pair.gradients(gradients), &parameters);
        let both = statistics([&[3.0, 4.0], &[-12.0]]);
        assert_eq!((both.norm(), both.group_norm(0), both.group_norm(1), both.nonfinite()), (13.0, 5.0, 12.0, 0.0));
        let one = statistics([&[], &[f32::INFINITY]]);
        assert_eq!((one.norm(), one.group_norm(0), one.nonfinite()), (f64::INFINITY, 0.0, 1.0));
        let broken = statistics([&[f32::NAN, f32::NEG_INFINITY], &[1.0]]);
        assert!(broken.norm().is_nan() && broken.nonfinite() == 2.0);
        let huge = statistics([&[1e30, 1.0], &[1.0]]);
        assert_eq!((huge.norm(), huge.nonfinite()), (f64::INFINITY, 0.0), "the sum is not finite, its elements are");
        let none = statistics([&[], &[]]);
        assert_eq!((none.norm(), none.nonfinite()), (0.0, 0.0));
    }

    #[test]
    fn a_sum_has_every_micro_batch_once() {
        let (pair, _) = Pair::new();
        for (batches, expected) in [
            (vec![[&[1.0, 2.0][..], &[4.0]]], [vec![1.0, 2.0], vec![4.0]]),
            (vec![[&[1.0, 2.0], &[4.0]], [&[10.0, 20.0], &[]]], [vec![11.0, 22.0], vec![4.0]]),
            (vec![[&[], &[1.0]], [&[1.0, 1.0], &[1.0]], [&[2.0, 3.0], &[1.0]]], [vec![3.0, 4.0], vec![3.0]]),
        ] {
            let mut sum = Sum::new();
            batches.iter().for_each(|batch| sum.add::<B>(&pair, pair.gradients(*batch)));
            assert_eq!(pair.values(&sum.finish()), expected);
        }
    }
}
