//! The second half of a step: gradients are shown, clipped and applied, or dropped.
//!
//! It does not compute them: `step` does.

use std::time::Instant;

use burn::{optim::GradientsParams, tensor::backend::AutodiffBackend};
use host_callback::Hook;

use crate::{
    TrainError, Travelled,
    gradients::Clip,
    measure::{Part, Shown, Source},
    session::Session,
    statistics::{Statistics, Subject, Tensors, Wanted, weights},
    task::Task,
};

/// Whether the step ended with an update that stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Update {
    Applied,
    Dropped,
}

impl<B: AutodiffBackend, T: Task<B>> Session<'_, B, T> {
    /// Makes the update or drops it. Returns the weights from before it, where somebody will compare with them.
    pub(crate) fn update(
        &mut self,
        mut gradients: GradientsParams,
        before: &Travelled,
    ) -> Result<Option<GradientsParams>, TrainError> {
        if self.run.reads_are_free {
            self.current.loss();
        }
        let run = &*self.run;
        let limit = run.loop_knobs.clip_norm(&run.knobs);
        let after = Travelled { steps: before.steps + 1, ..*before };
        let is_logged = run.settings.log_every.crossed(before, &after) || run.state.pending.log;
        // First, since it may ask for the largest elements too: what it measures is not measured again.
        self.measure_for_later(&gradients, if is_logged { &[Hook::StepEnd, Hook::Log] } else { &[Hook::StepEnd] });
        if limit > 0.0 || is_logged {
            let run = &*self.run;
            self.current.gradient_norm::<T>(run.model(), &gradients, &run.parameters);
        }
        let outcome = self.fire(Hook::Gradients, "", Shown::Gradients(&gradients));
        let controls = &outcome.controls;
        let dropped = controls.skip.is_some() || controls.restore.is_some();
        let update = self.check_loss(if dropped { Update::Dropped } else { Update::Applied }, self.run.state.step)?;
        self.current.dropped = update == Update::Dropped;
        if update == Update::Dropped {
            return Ok(None);
        }
        let is_compared = self.is_read_ahead(
            &[Hook::StepEnd],
            |source| matches!(source, Source::Statistic(statistic) if statistic.subject == Subject::Updates),
        );
        let started = Instant::now();
        let old = is_compared.then(|| weights::<B, _>(self.run.model()));
        self.clip(&mut gradients);
        self.run.share_update(&gradients)?;
        self.run.apply(gradients);
        self.current.weights = Statistics::default();
        self.running.set(Part::Optimizer, started.elapsed().as_secs_f64());
        Ok(old)
    }

    /// Measures what callbacks will read of the gradients when they are not there any more.
    fn measure_for_later(&mut self, gradients: &GradientsParams, hooks: &[Hook]) {
        let statistics = self.read_ahead(hooks, |source| match source {
            Source::Statistic(statistic) if statistic.subject == Subject::Gradients => Some(statistic.clone()),
            _ => None,
        });
        if statistics.is_empty() {
            return;
        }
        let run = &*self.run;
        let wanted = Wanted::by(&statistics, Subject::Gradients, run.parameters.len());
        let (tensors, own) = (Tensors::Gradients(gradients), self.current.statistics_mut(Subject::Gradients));
        own.measure::<B, _>(run.model(), tensors, &run.parameters, &wanted);
    }

    /// An update of a loss that is not finite never happens: a callback dropped it, or asked to stop, or the run
    /// fails here, before its weights are lost.
    pub(crate) fn check_loss(&self, update: Update, step: u64) -> Result<Update, TrainError> {
        let Some(loss) = self.current.known_loss().filter(|loss| !loss.is_finite()) else { return Ok(update) };
        let handled = update == Update::Dropped || !self.run.state.pending.stop.is_empty();
        if handled { Ok(Update::Dropped) } else { Err(TrainError::NonFiniteLoss { step, loss }) }
    }

    /// Looks at the last step's loss before its weights are saved, where nothing did before: broken ones must not take
    /// the place of good ones.
    pub(crate) fn check_unchecked(&mut self) -> Result<(), TrainError> {
        let step = self.run.state.step.saturating_sub(1);
        let loss = self.unchecked.take().and_then(|mut last| last.loss()).filter(|loss| !loss.is_finite());
        loss.map_or(Ok(()), |loss| Err(TrainError::NonFiniteLoss { step, loss }))
    }

    fn clip(&mut self, gradients: &mut GradientsParams) {
        let run = &*self.run;
        // Read after the hook: a write at `gradients` counts for this update.
        let (limit, value) = (run.loop_knobs.clip_norm(&run.knobs), run.loop_knobs.clip_value(&run.knobs));
        Clip { value, factor: 1.0 }.apply::<B, _>(run.model(), gradients);
        if limit > 0.0 {
            let norm = if value > 0.0 {
                Statistics::default().gradient_norm::<B, _>(run.model(), gradients, &run.parameters)
            } else {
                self.current.gradient_norm::<T>(run.model(), gradients, &run.parameters)
            };
            Clip { value: 0.0, factor: Clip::factor(norm, limit) }.apply::<B, _>(run.model(), gradients);
        }
    }
}
