//! The update of parameters: AdamW and SGD, with a learning rate and a weight decay for each group.
//!
//! It does not clip (see `gradients`) and does not choose rates (knobs do). Main type: [`Optimizer`].

use std::collections::HashMap;

use burn::{
    module::{AutodiffModule, ModuleMapper, Param, ParamId},
    optim::{AdamWConfig, AdamWState, AdaptiveMomentumState, GradientsParams, SimpleOptimizer},
    tensor::{
        Tensor,
        backend::{AutodiffBackend, Backend},
        ops::FloatTensor,
    },
};

use crate::{
    GroupSettings, OptimizerRule,
    fused::{self, AdamW, Moved, primitive, tensor},
    parameters::Parameters,
};

/// The rates of one group at one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    /// Learning rate.
    pub(crate) learning_rate: f64,
    /// Weight decay.
    pub(crate) weight_decay: f64,
}

impl Rates {
    /// Those that a group begins with.
    pub(crate) fn of(group: &GroupSettings) -> Self {
        Self { learning_rate: group.learning_rate, weight_decay: group.weight_decay }
    }
}

/// The optimizer with its state: what each parameter's past gradients left.
pub(crate) struct Optimizer<B: AutodiffBackend> {
    rule: OptimizerRule,
    slots: HashMap<ParamId, Slots<B::InnerBackend>>,
}

/// What the rule keeps for one parameter: tensors of the parameter's shape, and how often it was updated.
pub(crate) struct Slots<I: Backend> {
    /// Updates so far.
    pub(crate) time: usize,
    /// AdamW: first and second moment. SGD: the velocity, or nothing without momentum.
    pub(crate) tensors: Vec<FloatTensor<I>>,
}

impl<I: Backend> Slots<I> {
    fn tensor<const D: usize>(&self, at: usize) -> Option<Tensor<I, D>> {
        self.tensors.get(at).cloned().map(tensor)
    }
}

impl<B: AutodiffBackend> Optimizer<B> {
    /// An optimizer that has seen no gradient.
    pub(crate) fn new(rule: OptimizerRule) -> Self {
        Self { rule, slots: HashMap::new() }
    }

    /// The names of the tensors that the rule keeps for a parameter, for checkpoints.
    pub(crate) fn slot_names(&self) -> &'static [&'static str] {
        match self.rule {
            OptimizerRule::Adamw { .. } => &["moment-1", "moment-2"],
            OptimizerRule::Sgd { momentum: 0.0, .. } => &[],
            OptimizerRule::Sgd { .. } => &["velocity"],
        }
    }

    /// What is kept for a parameter, if it was ever updated.
    pub(crate) fn slots(&self, id: ParamId) -> Option<&Slots<B::InnerBackend>> {
        self.slots.get(&id)
    }

    /// Replaces everything that is kept.
    pub(crate) fn load(&mut self, slots: HashMap<ParamId, Slots<B::InnerBackend>>) {
        self.slots = slots;
    }

    /// Updates every parameter that has a gradient, with the rates of its group.
    pub(crate) fn step<M: AutodiffModule<B>>(
        &mut self,
        model: M,
        gradients: GradientsParams,
        parameters: &Parameters,
        rates: &[Rates],
    ) -> M {
        model.map(&mut Update { optimizer: self, gradients, parameters, rates })
    }

    fn update<const D: usize>(
        &mut self,
        id: ParamId,
        value: Tensor<B::InnerBackend, D>,
        gradient: Tensor<B::InnerBackend, D>,
        rates: Rates,
    ) -> Tensor<B::InnerBackend, D> {
        let past = self.slots.remove(&id);
        let (value, slots) = match self.rule {
            OptimizerRule::Adamw { beta1, beta2, epsilon } => {
                adamw((beta1, beta2), epsilon, value, gradient, past, rates)
            }
            OptimizerRule::Sgd { momentum, dampening, nesterov } => {
                sgd((momentum, dampening, nesterov), value, gradient, past, rates)
            }
        };
        self.slots.insert(id, slots);
        value
    }
}

struct Update<'a, B: AutodiffBackend> {
    optimizer: &'a mut Optimizer<B>,
    gradients: GradientsParams,
    parameters: &'a Parameters,
    rates: &'a [Rates],
}

impl<B: AutodiffBackend> ModuleMapper<B> for Update<'_, B> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let (id, tensor, mapper) = param.consume();
        let known = self.parameters.get(id);
        let gradient = self.gradients.remove::<B::InnerBackend, D>(id);
        let tensor = match (known, gradient) {
            (Some(parameter), Some(gradient)) => {
                let wants_gradient = tensor.is_require_grad();
                let value = self.optimizer.update(id, tensor.inner(), gradient, self.rates[parameter.group]);
                Tensor::from_inner(value).set_require_grad(wants_gradient)
            }
            _ => tensor,
        };
        Param::from_mapped_value(id, tensor, mapper)
    }
}

/// AdamW in one pass where the tensors allow it, or else burn's own.
fn adamw<I: Backend, const D: usize>(
    betas: (f32, f32),
    epsilon: f32,
    value: Tensor<I, D>,
    gradient: Tensor<I, D>,
    past: Option<Slots<I>>,
    rates: Rates,
) -> (Tensor<I, D>, Slots<I>) {
    let time = past.as_ref().map_or(0, |slots| slots.time) + 1;
    // The moments are handed over: a tensor that is held here too could not be changed in place.
    let [first, second] = past
        .and_then(|slots| slots.tensors.try_into().ok())
        .unwrap_or_else(|| [(); 2].map(|()| primitive(value.zeros_like())));
    let rule = AdamW { betas, epsilon, rate: rates.learning_rate, decay: rates.weight_decay, time };
    let [value, first, second] = fused::adamw::<I>(rule, primitive(gradient), [primitive(value), first, second])
        .unwrap_or_else(|(gradient, moved)| composed::<I, D>(rule, gradient, moved));
    (tensor(value), Slots { time, tensors: vec![first, second] })
}

/// burn's own AdamW, whose weight decay is fixed when it is built: it is built anew for each update.
fn composed<I: Backend, const D: usize>(
    rule: AdamW,
    gradient: FloatTensor<I>,
    [value, first, second]: Moved<I>,
) -> Moved<I> {
    let state = AdaptiveMomentumState {
        time: rule.time - 1,
        moment_1: tensor::<I, D>(first),
        moment_2: tensor(second),
        max_moment_2: None,
    };
    let config = AdamWConfig::new().with_beta_1(rule.betas.0).with_beta_2(rule.betas.1).with_epsilon(rule.epsilon);
    let burns = config.with_weight_decay(rule.decay as f32).build();
    let state = Some(AdamWState { momentum: state });
    let (value, state) = burns.step(rule.rate, tensor::<I, D>(value), tensor(gradient), state);
    let momentum = state.expect("AdamW always returns its state").momentum;
    [value, momentum.moment_1, momentum.moment_2].map(primitive)
}

/// SGD as PyTorch defines it: `g += decay * w; v = momentum * v + (1 - dampening) * g` (`v = g` at first),
/// and `w -= rate * v`, or with Nesterov's form `w -= rate * (g + momentum * v)`.
fn sgd<I: Backend, const D: usize>(
    (momentum, dampening, nesterov): (f64, f64, bool),
    value: Tensor<I, D>,
    gradient: Tensor<I, D>,
    past: Option<Slots<I>>,
    rates: Rates,
) -> (Tensor<I, D>, Slots<I>) {
    let time = past.as_ref().map_or(0, |slots| slots.time) + 1;
    let gradient =
        if rates.weight_decay == 0.0 { gradient } else { gradient + value.clone().mul_scalar(rates.weight_decay) };
    if momentum == 0.0 {
        return (value - gradient.mul_scalar(rates.learning_rate), Slots { time, tensors: Vec::new() });
    }
    let velocity = match past.and_then(|slots| slots.tensor::<D>(0)) {
        Some(velocity) => velocity.mul_scalar(momentum) + gradient.clone().mul_scalar(1.0 - dampening),
        None => gradient.clone(),
    };
    let direction = if nesterov { gradient + velocity.clone().mul_scalar(momentum) } else { velocity.clone() };
    (value - direction.mul_scalar(rates.learning_rate), Slots { time, tensors: vec![primitive(velocity)] })
}

#[cfg(test)]
mod tests {
    use burn::backend::{Autodiff, Flex};

    use super::*;
    use crate::pair::Pair;

    /// The updates themselves are compared with PyTorch's in `tests/training/numerics.rs`.
    #[test]
    fn a_parameter_without_a_gradient_stays_as_it_is() {
        let adamw = OptimizerRule::Adamw { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
        let sgd = |momentum| OptimizerRule::Sgd { momentum, dampening: 0.0, nesterov: false };
        for (rule, kept) in [(adamw, 2), (sgd(0.0), 0), (sgd(0.9), 1)] {
            let (mut pair, parameters, groups) = Pair::new();
            pair.set([&[1.0, 1.0], &[1.0]]);
            let rates = groups.each_ref().map(Rates::of);
            let mut optimizer = Optimizer::<Autodiff<Flex>>::new(rule);
            for updates in 1..=3 {
                let gradients = pair.gradients([&[1.0, 1.0], &[]]);
                pair = optimizer.step(pair, gradients, &parameters, &rates);
                let slots = optimizer.slots(pair.first.id).unwrap();
                assert_eq!((slots.time, slots.tensors.len()), (updates, kept), "{rule:?}");
            }
            assert_eq!(optimizer.slot_names().len(), kept, "{rule:?}");
            let [used, unused] = pair.values();
            assert!(used.iter().all(|value| *value < 0.0), "{rule:?}: {used:?}");
            assert_eq!(unused, [1.0], "{rule:?}: not even decay");
            assert!(optimizer.slots(pair.second.id).is_none(), "{rule:?}");
            assert!(pair.first.val().is_require_grad(), "{rule:?}: it goes on learning");
        }
    }
}
