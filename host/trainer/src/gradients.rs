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

/// Squared L2 norms and counts of elements that are not finite, by parameter; read back in one piece.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statistics {
    squares: Vec<f64>,
    nonfinite: Vec<f64>,
    groups: Vec<usize>,
}

impl Statistics {
    /// Measures all gradients in one pass.
    pub(crate) fn of<B: AutodiffBackend, M: AutodiffModule<B>>(
        model: &M,
        gradients: &GradientsParams,
        parameters: &Parameters,
    ) -> Self {
        let mut pass = Pass::<B::InnerBackend> { gradients, parameters, squares: Vec::new(), groups: Vec::new() };
        model.visit(&mut Outer::<B> { pass: &mut pass });
        let (squares, groups) = (pass.squares, pass.groups);
        if squares.is_empty() {
            return Self { squares: Vec::new(), nonfinite: Vec::new(), groups };
        }
        let values: Vec<f64> = Tensor::cat(squares, 0).into_data().iter::<f64>().collect();
        let (squares, nonfinite) = values.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
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

struct Pass<'a, I: Backend> {
    gradients: &'a GradientsParams,
    parameters: &'a Parameters,
    /// For each parameter: the sum of squares and the count of non-finite elements, as `[2]`.
    squares: Vec<Tensor<I, 1>>,
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
        let sum = gradient.clone().square().sum();
        let nonfinite = gradient.is_finite().bool_not().int().sum().float();
        self.pass.squares.push(Tensor::cat(vec![sum, nonfinite], 0));
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
