//! One step: batch, forward, backward, gradients, update, and what is due after it.
//!
//! It does not know what callbacks want: `fire` asks them and `apply` carries it out.

use std::time::{Duration, Instant};

use burn::{module::AutodiffModule, optim::GradientsParams, tensor::backend::AutodiffBackend};
use host_callback::{Hook, Value};

use crate::{
    RunEvent, TrainError, Travelled,
    gradients::{Clip, Statistics, Sum},
    measure::{Current, resident_memory},
    random,
    session::Session,
    state::ResumePoint,
    task::{Size, Task},
};

/// What callbacks can measure at a hook besides the step's own values.
#[derive(Clone, Copy)]
pub(crate) enum Shown<'a> {
    /// Nothing more.
    Nothing,
    /// The gradients of the update.
    Gradients(&'a GradientsParams),
}

/// Whether the step ended with an update that stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Update {
    Applied,
    Dropped,
}

impl<B: AutodiffBackend, T: Task<B>> Session<'_, B, T> {
    pub(crate) fn step(&mut self) -> Result<(), TrainError> {
        let started = Instant::now();
        let before = self.run.state.travelled();
        self.current = Current::new(self.run.description.measured.len());
        let outcome = self.fire(Hook::StepBegin, "", Shown::Nothing);
        let batches = self.next_samples();
        if let Some(skip) = outcome.controls.skip {
            self.skipped_by = skip.by.to_string();
            self.run.state.in_flight = 0;
            return Ok(());
        }
        B::seed(&self.run.device, random::step_seed(self.run.settings.seed, self.run.state.step));
        let (gradients, size, data_seconds) = self.forward_and_backward(batches);
        self.update(gradients, &before)?;
        self.count(size);
        self.fire(Hook::StepEnd, "", Shown::Nothing);
        self.clock.step = started.elapsed().as_secs_f64();
        (self.clock.data, self.clock.samples, self.clock.tokens) = (data_seconds, size.samples, size.tokens);
        self.observer.observe(&RunEvent::Stepped {
            progress: self.run.current_progress(),
            loss: self.current.known_loss(),
            seconds: self.clock.step,
        });
        self.after_step(&before)
    }

    /// The samples of the next step's micro-batches; moves the position in the data past them.
    fn next_samples(&mut self) -> Vec<Vec<usize>> {
        let run = &mut *self.run;
        let (batch, accumulation) = (run.loop_knobs.batch_size(&run.knobs), run.loop_knobs.accumulation(&run.knobs));
        let (samples, epoch) = (run.task.samples(), run.state.epoch);
        if self.order.as_ref().is_none_or(|(ordered, _)| *ordered != epoch) {
            self.order = Some((epoch, random::order(run.settings.seed, epoch, samples)));
        }
        let order = &self.order.as_ref().expect("it was just made").1;
        let end = (run.state.position + batch * accumulation).min(samples);
        let batches = order[run.state.position..end].chunks(batch).map(<[usize]>::to_vec).collect();
        run.state.position = end;
        run.state.in_flight = 1;
        let left = samples - end;
        run.state.epoch_over |= left == 0 || run.settings.drop_last && left < batch * accumulation;
        batches
    }

    fn forward_and_backward(&mut self, batches: Vec<Vec<usize>>) -> (GradientsParams, Size, f64) {
        let started = Instant::now();
        let run = &*self.run;
        let fetch = |samples: &Vec<usize>| run.task.batch(run.state.epoch, samples, &run.device);
        let batches: Vec<(T::Batch, Size)> = batches.iter().map(fetch).collect();
        let data_seconds = started.elapsed().as_secs_f64();
        let total = batches.iter().fold(Size::default(), |sum, (_, size)| Size {
            samples: sum.samples + size.samples,
            tokens: sum.tokens + size.tokens,
            targets: sum.targets + size.targets,
        });
        let (model, single) = (run.model(), batches.len() == 1);
        let mut sum = Sum::new();
        for (batch, size) in batches {
            let share = size.targets as f64 / total.targets as f64;
            let loss = self.current.add(run.task.step(model, batch), share);
            // The mean over all targets of the step, however they fall into micro-batches.
            let loss = if single { loss } else { loss.mul_scalar(share) };
            sum.add::<B>(model, GradientsParams::from_grads(loss.backward(), model));
        }
        (sum.finish(), total, data_seconds)
    }

    fn update(&mut self, mut gradients: GradientsParams, before: &Travelled) -> Result<(), TrainError> {
        if self.run.reads_are_free {
            self.current.loss();
        }
        let run = &*self.run;
        let limit = run.loop_knobs.clip_norm(&run.knobs);
        let after = Travelled { steps: before.steps + 1, ..*before };
        if limit > 0.0 || run.settings.log_every.crossed(before, &after) {
            self.current.statistics::<T>(run.model(), &gradients, &run.parameters);
        }
        let outcome = self.fire(Hook::Gradients, "", Shown::Gradients(&gradients));
        let controls = &outcome.controls;
        let dropped = controls.skip.is_some() || controls.restore.is_some();
        let update = self.check_loss(if dropped { Update::Dropped } else { Update::Applied }, self.run.state.step)?;
        self.current.dropped = update == Update::Dropped;
        if update == Update::Applied {
            self.clip(&mut gradients);
            self.apply_gradients(gradients);
        }
        Ok(())
    }

    /// An update of a loss that is not finite never happens: a callback dropped it, or asked to stop, or the run
    /// fails here, before its weights are lost.
    fn check_loss(&self, update: Update, step: u64) -> Result<Update, TrainError> {
        let Some(loss) = self.current.known_loss().filter(|loss| !loss.is_finite()) else { return Ok(update) };
        let handled = update == Update::Dropped || !self.run.state.pending.stop.is_empty();
        if handled { Ok(Update::Dropped) } else { Err(TrainError::NonFiniteLoss { step, loss }) }
    }

    /// Looks at the last step's loss before its weights are saved, where nothing did before: broken ones must not take
    /// the place of good ones.
    fn check_unchecked(&mut self) -> Result<(), TrainError> {
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
                Statistics::of::<B, _>(run.model(), gradients, &run.parameters).norm()
            } else {
                self.current.statistics::<T>(run.model(), gradients, &run.parameters).norm()
            };
            Clip { value: 0.0, factor: Clip::factor(norm, limit) }.apply::<B, _>(run.model(), gradients);
        }
    }

    fn apply_gradients(&mut self, gradients: GradientsParams) {
        let run = &mut *self.run;
        let rates = run.loop_knobs.rates(&run.knobs);
        let model = run.model.take().expect("the optimizer gives the model back");
        run.model = Some(run.optimizer.step(model, gradients, &run.parameters, &rates));
    }

    fn count(&mut self, size: Size) {
        // Also where the update was dropped: a checkpoint holds the counters and the callbacks' states too.
        self.saved = None;
        let state = &mut self.run.state;
        state.step += 1;
        state.in_flight = 0;
        state.trained_in_epoch += 1;
        state.samples += size.samples;
        state.tokens += size.tokens;
        if let Some(loss) = self.current.known_loss() {
            state.logged.add(loss);
            state.remember_loss(Some(loss));
        } else {
            state.remember_loss(None);
        }
    }

    /// Log record, evaluation and checkpoint, in this order, each when it is due or asked for.
    fn after_step(&mut self, before: &Travelled) -> Result<(), TrainError> {
        self.tick();
        let state = &mut self.run.state;
        let checked = std::mem::replace(&mut state.checked, state.elapsed);
        let before = &Travelled { time: Duration::from_secs_f64(checked), ..*before };
        let settings = self.run.settings.clone();
        let due = |session: &Self, span: crate::Span| span.crossed(before, &session.run.state.travelled());
        if due(self, settings.log_every) || std::mem::take(&mut self.run.state.pending.log) {
            self.log()?;
        }
        // Known until here: after a resume from a checkpoint of what follows, nothing but the loss would be.
        let last = std::mem::replace(&mut self.current, Current::new(self.run.description.measured.len()));
        self.unchecked = (!self.run.reads_are_free && !last.dropped).then(|| last.only_loss());
        let evaluate = settings.evaluate_every.is_some_and(|span| due(self, span));
        if evaluate || self.run.state.pending.evaluate {
            self.evaluate();
        }
        let save = settings.save_every.is_some_and(|span| due(self, span));
        if save || !self.run.state.pending.save.is_empty() {
            self.save(None)?;
        }
        Ok(())
    }

    fn log(&mut self) -> Result<(), TrainError> {
        if self.run.state.logged.count == 0 {
            let loss = self.current.loss();
            loss.into_iter().for_each(|loss| self.run.state.logged.add(loss));
        }
        if !self.run.reads_are_free {
            // Where reading waits for the device, this is the first look at the loss.
            let update = if self.current.dropped { Update::Dropped } else { Update::Applied };
            self.check_loss(update, self.run.state.step.saturating_sub(1))?;
        }
        let outcome = self.fire(Hook::Log, "", Shown::Nothing);
        let mean = std::mem::take(&mut self.run.state.logged).mean();
        let mut values: Vec<(String, Value)> = Vec::new();
        let mut put =
            |name: &str, value: Option<f64>| values.extend(value.map(|value| (name.to_owned(), value.into())));
        put("loss", mean);
        for derived in &self.run.description.derived {
            put(&derived.spec.name, mean.map(derived.of_loss));
        }
        for at in 0..self.run.description.measured.len() {
            put(&self.run.description.measured[at].name, self.current.measured(at));
        }
        put("gradient-norm", self.current.known_statistics().map(|statistics| statistics.norm()));
        for (_, knob) in self.run.knobs.iter() {
            put(&knob.spec.name, Some(knob.value));
        }
        values.retain(|(name, _)| !outcome.controls.mute.iter().any(|pattern| pattern.covers(name)));
        let performance = self.performance();
        let progress = self.run.current_progress();
        self.observer.observe(&RunEvent::Logged { progress, values: &values, performance: &performance });
        Ok(())
    }

    fn performance(&self) -> Vec<(String, Value)> {
        let clock = self.clock;
        let rate = |count: u64| count as f64 / clock.step;
        let mut values = vec![
            ("time/step".to_owned(), clock.step.into()),
            ("time/data".to_owned(), clock.data.into()),
            ("time/elapsed".to_owned(), self.run.state.elapsed.into()),
            ("throughput/samples".to_owned(), rate(clock.samples).into()),
        ];
        if self.run.description.has_tokens {
            values.push(("throughput/tokens".to_owned(), rate(clock.tokens).into()));
        }
        values.extend(resident_memory().map(|bytes| ("memory/host/resident".to_owned(), bytes.into())));
        values
    }

    /// Evaluates unless a callback drops it.
    pub(crate) fn evaluate(&mut self) {
        self.run.state.pending.evaluate = false;
        let outcome = self.fire(Hook::EvaluateBegin, "", Shown::Nothing);
        if outcome.controls.skip.is_some() {
            return;
        }
        // Whoever asks for it at this hook gets it now.
        self.run.state.pending.evaluate = false;
        self.observer.observe(&RunEvent::EvaluationStarted { progress: self.run.current_progress() });
        let started = Instant::now();
        let values = self.measure();
        let seconds = started.elapsed().as_secs_f64();
        self.run.state.evaluation = values.iter().cloned().collect();
        self.run.state.evaluated_at = Some(self.run.state.step);
        let progress = self.run.current_progress();
        self.observer.observe(&RunEvent::Evaluated { progress, values: &values, seconds });
        self.fire(Hook::EvaluateEnd, "", Shown::Nothing);
    }

    /// Results of the weights that stand on the validation data.
    pub(crate) fn measure(&self) -> Vec<(String, Value)> {
        self.run.task.evaluate(&self.run.model().valid(), &self.run.device)
    }

    /// Saves unless a callback drops it. `state` is what the checkpoint holds; without one, the state of now.
    ///
    /// Weights that a checkpoint holds already are not written again: it gets the tags. An error is about the weights; a
    /// folder that cannot be written does not end a run.
    pub(crate) fn save(&mut self, state: Option<crate::checkpoint::Snapshot>) -> Result<(), TrainError> {
        self.check_unchecked()?;
        let wanted = self.run.state.pending.save.join(", ");
        let outcome = self.fire(Hook::SaveBegin, &wanted, Shown::Nothing);
        let mut tags = std::mem::take(&mut self.run.state.pending.save);
        if outcome.controls.skip.is_some() {
            return Ok(());
        }
        tags.retain(|tag| !tag.is_empty());
        let started = Instant::now();
        let state = match state {
            Some(state) => state,
            None => self.snapshot(ResumePoint::AfterSave(tags.clone())),
        };
        match self.write(state, &tags) {
            Ok(checkpoint) => {
                let (progress, seconds) = (self.run.current_progress(), started.elapsed().as_secs_f64());
                self.observer.observe(&RunEvent::Saved { progress, checkpoint: &checkpoint, tags: &tags, seconds });
                self.saved = Some(checkpoint);
                self.fire(Hook::SaveEnd, &tags.join(", "), Shown::Nothing);
            }
            Err(error) => {
                let progress = self.run.current_progress();
                self.observer.observe(&RunEvent::SaveFailed { progress, error: &error.to_string() });
            }
        }
        Ok(())
    }
}
