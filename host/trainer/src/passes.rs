//! What a rank computes in a step: forward and backward passes, and the update.
//!
//! It does not decide when, with which samples or whether: `step` and `update` do, or on another rank than the first, its
//! orders. Main functions: [`Run::passes`], [`Run::apply`].

use std::time::Instant;

use burn::{optim::GradientsParams, tensor::backend::AutodiffBackend};

use crate::{
    Run,
    ahead::{Fetched, Wanted},
    current::Current,
    gradients::{Clip, Sum},
    measure::{Part, StepClock},
    random,
    task::{Asked, Size, Task},
};

impl<B: AutodiffBackend, T: Task<B>> Run<B, T> {
    /// The gradients of the mean loss over some micro-batches of the running step, and their size. What the passes give
    /// besides goes into `current`, and what they take into `clock`. `next` may be fetched meanwhile.
    pub(crate) fn passes(
        &mut self,
        batches: &[Vec<usize>],
        next: Option<Vec<Vec<usize>>>,
        vectors: bool,
        current: &mut Current<B>,
        clock: &mut StepClock,
    ) -> (GradientsParams, Size) {
        self.awake.keep();
        B::seed(&self.device, random::step_seed(self.settings.seed, self.state.step, self.rank));
        let started = Instant::now();
        let batches = self.fetch(batches, next);
        clock.add(Part::Data, started.elapsed().as_secs_f64());
        let total = batches.iter().fold(Size::default(), |sum, (_, size)| sum + *size);
        let (model, single) = (self.model(), batches.len() == 1);
        let (knobs, scale) = (self.loop_knobs.task(&self.knobs), self.loop_knobs.loss_scale(&self.knobs));
        let learns = self.loop_knobs.trainable(&self.knobs).any(|learns| learns);
        let mut sum = Sum::new();
        for (batch, size) in batches {
            let forward = Instant::now();
            let share = size.targets as f64 / total.targets as f64;
            let loss = current.add(self.task.step(model, batch, Asked { knobs: &knobs, vectors }), share);
            let backward = Instant::now();
            clock.add(Part::Forward, (backward - forward).as_secs_f64());
            // Nothing leads from the loss to a parameter where all of them are frozen.
            if learns {
                // The mean over all targets of the step, however they fall into micro-batches.
                let loss = if single { loss } else { loss.mul_scalar(share) };
                let loss = if scale == 1.0 { loss } else { loss.mul_scalar(scale) };
                sum.add::<B>(model, GradientsParams::from_grads(loss.backward(), model));
            }
            clock.add(Part::Backward, backward.elapsed().as_secs_f64());
        }
        let mut gradients = sum.finish();
        Clip { value: 0.0, factor: 1.0 / scale }.apply::<B, _>(model, &mut gradients);
        (gradients, total)
    }

    /// Some micro-batches, which may have been fetched already; the next ones are asked for.
    fn fetch(&mut self, batches: &[Vec<usize>], next: Option<Vec<Vec<usize>>>) -> Fetched<T::Batch> {
        let epoch = self.state.epoch;
        let own = || batches.iter().map(|samples| self.task.batch(epoch, samples, &self.device)).collect();
        let Some(ahead) = &mut self.ahead else { return own() };
        let fetched = ahead.take(&Wanted { epoch, batches: batches.to_vec() }).unwrap_or_else(own);
        next.into_iter().for_each(|batches| ahead.expect(Wanted { epoch, batches }));
        fetched
    }

    /// Updates the weights, with the rates that the knobs say.
    pub(crate) fn apply(&mut self, gradients: GradientsParams) {
        let rates = self.loop_knobs.rates(&self.knobs);
        let model = self.model.take().expect("the optimizer gives the model back");
        self.model = Some(self.optimizer.step(model, gradients, &self.parameters, &rates));
    }
}
