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
    fused::{self, AdamW, Moved, Sgd, primitive, tensor},
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
        .unwrap_or_else(|(gradient, moved)| burns_adamw::<I, D>(rule, gradient, moved));
    (tensor(value), Slots { time, tensors: vec![first, second] })
}

/// burn's own AdamW, whose weight decay is fixed when it is built: it is built anew for each update.
fn burns_adamw<I: Backend, const D: usize>(
    rule: AdamW,
    gradient: FloatTensor<I>,
    [value, first, second]: Moved<I, 3>,
) -> Moved<I, 3> {
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

/// SGD in one pass where the tensors allow it, or else in burn's operations.
fn sgd<I: Backend, const D: usize>(
    (momentum, dampening, nesterov): (f64, f64, bool),
    value: Tensor<I, D>,
    gradient: Tensor<I, D>,
    past: Option<Slots<I>>,
    rates: Rates,
) -> (Tensor<I, D>, Slots<I>) {
    let time = past.as_ref().map_or(0, |slots| slots.time) + 1;
    let velocity = past.and_then(|slots| slots.tensors.into_iter().next());
    let rule = Sgd {
        momentum: momentum as f32,
        share: (1.0 - dampening) as f32,
        nesterov,
        rate: rates.learning_rate as f32,
        decay: rates.weight_decay as f32,
        is_first: velocity.is_none(),
    };
    let gradient = primitive(gradient);
    if momentum == 0.0 {
        let [value] = fused::sgd::<I>(rule, gradient, [primitive(value)]).unwrap_or_else(|(gradient, [value])| {
            let (value, gradient) = (tensor::<I, D>(value), tensor(gradient));
            [primitive(moved(rule, value.clone(), decayed(rule, &value, gradient)))]
        });
        return (tensor(value), Slots { time, tensors: Vec::new() });
    }
    let velocity = velocity.unwrap_or_else(|| primitive(value.zeros_like()));
    let [value, velocity] = fused::sgd_with_momentum::<I>(rule, gradient, [primitive(value), velocity])
        .unwrap_or_else(|(gradient, moved)| burns_sgd::<I, D>(rule, gradient, moved));
    (tensor(value), Slots { time, tensors: vec![velocity] })
}

/// SGD with momentum in burn's operations.
fn burns_sgd<I: Backend, const D: usize>(
    rule: Sgd,
    gradient: FloatTensor<I>,
    [value, velocity]: Moved<I, 2>,
) -> Moved<I, 2> {
    let value = tensor::<I, D>(value);
    let gradient = decayed(rule, &value, tensor(gradient));
    let velocity = match rule.is_first {
        true => gradient.clone(),
        false => tensor::<I, D>(velocity).mul_scalar(rule.momentum) + gradient.clone().mul_scalar(rule.share),
    };
    let direction =
        if rule.nesterov { gradient + velocity.clone().mul_scalar(rule.momentum) } else { velocity.clone() };
    [primitive(moved(rule, value, direction)), primitive(velocity)]
}

fn decayed<I: Backend, const D: usize>(rule: Sgd, value: &Tensor<I, D>, gradient: Tensor<I, D>) -> Tensor<I, D> {
    if rule.decay == 0.0 { gradient } else { gradient + value.clone().mul_scalar(rule.decay) }
}

fn moved<I: Backend, const D: usize>(rule: Sgd, value: Tensor<I, D>, direction: Tensor<I, D>) -> Tensor<I, D> {
    value - direction.mul_scalar(rule.rate)
}

#[cfg(test)]
mod tests {
    use burn::{
        backend::{Autodiff, Flex, flex::FlexDevice},
        tensor::TensorData,
    };

    use super::*;
    use crate::{
        fused::testing::{bits, numbers},
        pair::Pair,
    };

    #[test]
    fn sgd_in_one_pass_is_that_of_burns_operations_to_the_bit() {
        let matrix = |seed, scale| {
            let mut numbers = numbers(60 * 301, seed, scale);
            let special = [f32::NAN, f32::INFINITY, 1e30, 1e-30, 0.0];
            numbers.iter_mut().step_by(997).zip(special).for_each(|(number, it)| *number = it);
            Tensor::<Flex, 2>::from_data(TensorData::new(numbers, [60, 301]), &FlexDevice)
        };
        let bits_of =
            |moved: FloatTensor<Flex>| bits(&tensor::<Flex, 2>(moved).into_data().iter::<f32>().collect::<Vec<_>>());
        for (momentum, share, nesterov, decay) in
            [(0.9, 1.0, false, 0.0), (0.9, 1.0, true, 0.01), (0.5, 0.7, false, 0.1), (0.0, 1.0, false, 0.0)]
        {
            let start = || [matrix(9, 1.0), matrix(9, 1.0).zeros_like()].map(primitive);
            let (mut ours, mut theirs) = (start(), start());
            for update in 0..4 {
                let rule = Sgd { momentum, share, nesterov, rate: 0.1, decay, is_first: update == 0 };
                let gradient = || primitive(matrix(update, 10.0_f32.powi(update as i32 - 2)));
                ours = fused::sgd_with_momentum::<Flex>(rule, gradient(), ours).ok().unwrap();
                theirs = burns_sgd::<Flex, 2>(rule, gradient(), theirs);
            }
            assert!(ours.map(bits_of) == theirs.map(bits_of), "{momentum} {share} {nesterov} {decay}");
        }
        let rule = Sgd { momentum: 0.0, share: 1.0, nesterov: false, rate: 0.1, decay: 0.01, is_first: true };
        let [ours] = fused::sgd::<Flex>(rule, primitive(matrix(1, 1.0)), [primitive(matrix(9, 1.0))]).ok().unwrap();
        let theirs = moved(rule, matrix(9, 1.0), decayed(rule, &matrix(9, 1.0), matrix(1, 1.0)));
        assert!(bits_of(ours) == bits_of(primitive(theirs)));
    }

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
