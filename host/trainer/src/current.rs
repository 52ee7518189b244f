//! The values of the step that is running, each computed at most once and only when somebody reads it.
//!
//! It does not know their names: `measure` does. Main type: [`Current`].

use burn::{
    optim::GradientsParams,
    tensor::{Tensor, backend::AutodiffBackend},
};

use crate::{
    parameters::Parameters,
    statistics::{Statistic, Statistics, Subject},
    task::{Description, MAX_VECTOR, Step, Task},
};

/// The running step's own values.
pub(crate) struct Current<B: AutodiffBackend> {
    /// Losses of the micro-batches on the device, with their shares of the step.
    losses: Vec<(Tensor<B::InnerBackend, 1>, f64)>,
    /// Losses of other ranks, with theirs.
    elsewhere: Vec<(f64, f64)>,
    loss: Option<f64>,
    /// For each of the task's measurements: the micro-batches' parts with their shares, or the value.
    measured: Vec<Lazy<f64, f64>>,
    /// For each of the task's lists of numbers: the micro-batches' parts, or the list.
    vectors: Vec<Lazy<Vec<f32>, ()>>,
    gradients: Statistics,
    updates: Statistics,
    /// Of the weights as they stand; forgotten when they change.
    pub(crate) weights: Statistics,
    /// Whether the step's update was dropped.
    pub(crate) dropped: bool,
}

enum Lazy<V, S> {
    Parts(Vec<(Box<dyn FnOnce() -> V>, S)>),
    Known(V),
}

impl<V: Clone, S> Lazy<V, S> {
    /// The value, made of its parts at the first call; `None` before there are parts.
    fn value(&mut self, make: impl FnOnce(Vec<(Box<dyn FnOnce() -> V>, S)>) -> V) -> Option<V> {
        if let Self::Parts(parts) = self {
            if parts.is_empty() {
                return None;
            }
            *self = Self::Known(make(std::mem::take(parts)));
        }
        match self {
            Self::Known(value) => Some(value.clone()),
            Self::Parts(_) => None,
        }
    }

    fn push(&mut self, part: Box<dyn FnOnce() -> V>, share: S) {
        if let Self::Parts(parts) = self {
            parts.push((part, share));
        }
    }
}

impl<B: AutodiffBackend> Current<B> {
    /// A step of which nothing is known yet.
    pub(crate) fn new(task: &Description) -> Self {
        Self {
            losses: Vec::new(),
            elsewhere: Vec::new(),
            loss: None,
            measured: task.measured.iter().map(|_| Lazy::Parts(Vec::new())).collect(),
            vectors: task.vectors.iter().map(|_| Lazy::Parts(Vec::new())).collect(),
            gradients: Statistics::default(),
            updates: Statistics::default(),
            weights: Statistics::default(),
            dropped: false,
        }
    }

    /// The loss alone, read or not: the rest may hold much of the device's memory.
    pub(crate) fn only_loss(self) -> Self {
        Self { measured: Vec::new(), vectors: Vec::new(), ..self }
    }

    /// Takes what the forward pass of a micro-batch gave; `share` is its part of the step's targets.
    pub(crate) fn add(&mut self, step: Step<B>, share: f64) -> Tensor<B, 1> {
        let fits = |what, given: usize, described: usize| {
            assert!(given == described, "the task's `step` gives {given} `{what}`, its description has {described}");
        };
        fits("measured", step.measured.len(), self.measured.len());
        if !step.vectors.is_empty() {
            fits("vectors", step.vectors.len(), self.vectors.len());
        }
        self.losses.push((step.loss.clone().inner(), share));
        for (lazy, part) in self.measured.iter_mut().zip(step.measured) {
            lazy.push(part, share);
        }
        for (lazy, part) in self.vectors.iter_mut().zip(step.vectors) {
            lazy.push(part, ());
        }
        step.loss
    }

    /// Makes what was added so far a part of a larger step.
    pub(crate) fn scale(&mut self, share: f64) {
        self.losses.iter_mut().for_each(|(_, of)| *of *= share);
        for lazy in &mut self.measured {
            if let Lazy::Parts(parts) = lazy {
                parts.iter_mut().for_each(|(_, of)| *of *= share);
            }
        }
    }

    /// Takes what another rank's passes gave, whose part of the step's targets is `share`.
    pub(crate) fn add_others(&mut self, loss: f64, measured: Vec<f64>, vectors: Vec<Vec<f32>>, share: f64) {
        self.elsewhere.push((loss, share));
        for (lazy, part) in self.measured.iter_mut().zip(measured) {
            lazy.push(Box::new(move || part), share);
        }
        for (lazy, part) in self.vectors.iter_mut().zip(vectors) {
            lazy.push(Box::new(move || part), ());
        }
    }

    /// The step's mean loss; waits for the device at the first call. `None` before the forward pass.
    pub(crate) fn loss(&mut self) -> Option<f64> {
        if self.loss.is_none() && !self.losses.is_empty() {
            let losses = self.losses.drain(..).map(|(loss, share)| crate::scalar(loss) * share);
            let elsewhere = self.elsewhere.drain(..).map(|(loss, share)| loss * share);
            self.loss = Some(losses.chain(elsewhere).sum());
        }
        self.loss
    }

    /// The step's mean loss if nothing has to be waited for.
    pub(crate) fn known_loss(&self) -> Option<f64> {
        self.loss
    }

    pub(crate) fn measured(&mut self, at: usize) -> Option<f64> {
        let mean =
            |parts: Vec<(Box<dyn FnOnce() -> f64>, f64)>| parts.into_iter().map(|(part, share)| part() * share).sum();
        self.measured.get_mut(at)?.value(mean)
    }

    /// A list of numbers, the micro-batches' one behind the other.
    pub(crate) fn vector(&mut self, at: usize) -> Option<Vec<f32>> {
        self.vectors.get_mut(at)?.value(|parts| {
            let mut all: Vec<f32> = parts.into_iter().flat_map(|(part, ())| part()).collect();
            all.truncate(MAX_VECTOR);
            all
        })
    }

    /// Every list of numbers.
    pub(crate) fn all_vectors(&mut self) -> Vec<Vec<f32>> {
        (0..self.vectors.len()).filter_map(|at| self.vector(at)).collect()
    }

    pub(crate) fn statistics_mut(&mut self, subject: Subject) -> &mut Statistics {
        match subject {
            Subject::Gradients => &mut self.gradients,
            Subject::Updates => &mut self.updates,
            Subject::Parameters => &mut self.weights,
        }
    }

    /// A number over parameters, gradients or updates, if it was measured in this step.
    pub(crate) fn statistic(&self, statistic: &Statistic) -> Option<f64> {
        let own = match statistic.subject {
            Subject::Gradients => &self.gradients,
            Subject::Updates => &self.updates,
            Subject::Parameters => &self.weights,
        };
        statistic.of(own, &self.weights)
    }

    /// The norm of all gradients, measured now if it was not before.
    pub(crate) fn gradient_norm<T: Task<B>>(
        &mut self,
        model: &T::Model,
        gradients: &GradientsParams,
        parameters: &Parameters,
    ) -> f64 {
        self.gradients.gradient_norm::<B, _>(model, gradients, parameters)
    }

    /// The norm of all gradients, if all of them were measured in this step.
    pub(crate) fn known_gradient_norm(&self, parameters: &Parameters) -> Option<f64> {
        let all: Vec<usize> = (0..parameters.len()).collect();
        self.gradients.norm(&all)
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::{Autodiff, Flex, flex::FlexDevice};
    use host_callback::MeasurementSpec;

    use super::*;

    #[test]
    #[should_panic(expected = "the task's `step` gives 0 `measured`, its description has 1")]
    fn a_task_that_gives_less_than_it_describes_is_told() {
        let mut description = Description::new("made up", "a number");
        description.measured.push(MeasurementSpec::new("error", "1", "an error"));
        let mut current = Current::<Autodiff<Flex>>::new(&description);
        current.add(Step::of_loss(Tensor::from_floats([1.0], &FlexDevice)), 1.0);
    }
}
