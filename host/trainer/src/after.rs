//! What is due after a step: log record, evaluation and checkpoint, in this order.
//!
//! It does not decide what a checkpoint holds (`apply` makes snapshots) and does not write it (`saving` does).

use std::time::{Duration, Instant};

use burn::{module::AutodiffModule, tensor::backend::AutodiffBackend};
use host_callback::{Hook, Value};

use crate::{
    RunEvent, TrainError, Travelled,
    current::Current,
    guarded::guarded,
    knobs::is_logged,
    measure::{Part, Shown},
    memory,
    session::Session,
    task::Task,
    update::Update,
};

impl<B: AutodiffBackend, T: Task<B>> Session<'_, B, T> {
    /// Does each when it is due or asked for.
    pub(crate) fn after_step(&mut self, before: &Travelled) -> Result<(), TrainError> {
        self.tick();
        self.end_save_if_due();
        let state = &mut self.run.state;
        let checked = std::mem::replace(&mut state.checked, state.elapsed);
        let before = &Travelled { time: Duration::from_secs_f64(checked), ..*before };
        let settings = &self.run.settings;
        let (log_every, evaluate_every, save_every) =
            (settings.log_every, settings.evaluate_every, settings.save_every);
        let due = |session: &Self, span: crate::Span| span.crossed(before, &session.run.state.travelled());
        if due(self, log_every) || self.run.state.pending.log {
            self.log()?;
        }
        // Known until here: after a resume from a checkpoint of what follows, nothing but the loss would be.
        let last = std::mem::replace(&mut self.current, Current::new(&self.run.description));
        self.unchecked = (!self.run.reads_are_free && !last.dropped).then(|| last.only_loss());
        let evaluate = evaluate_every.is_some_and(|span| due(self, span));
        if evaluate || self.run.state.pending.evaluate {
            self.evaluate()?;
        }
        let save = save_every.is_some_and(|span| due(self, span));
        if save || !self.run.state.pending.save.is_empty() {
            self.save(None)?;
        }
        Ok(())
    }

    /// Writes a log record.
    pub(crate) fn log(&mut self) -> Result<(), TrainError> {
        self.run.state.pending.log = false;
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
        // Whoever asks for it at this hook gets it now.
        self.run.state.pending.log = false;
        let mut values = self.log_values();
        values.retain(|(name, _)| !outcome.controls.mute.iter().any(|pattern| pattern.covers(name)));
        let performance = self.performance();
        let progress = self.run.current_progress();
        self.observer.observe(&RunEvent::Logged { progress, values: &values, performance: &performance });
        Ok(())
    }

    fn log_values(&mut self) -> Vec<(String, Value)> {
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
        put("gradient-norm", self.current.known_gradient_norm(&self.run.parameters));
        for (_, knob) in self.run.knobs.iter().filter(|(_, knob)| is_logged(&knob.spec)) {
            put(&knob.spec.name, Some(knob.value));
        }
        values
    }

    fn performance(&self) -> Vec<(String, Value)> {
        let clock = self.clock;
        let mut values: Vec<(String, Value)> = Vec::new();
        let mut put =
            |name: &str, value: Option<f64>| values.extend(value.map(|value| (name.to_owned(), value.into())));
        clock.named().for_each(|(name, seconds)| put(name, Some(seconds)));
        put("time/elapsed", Some(self.run.state.elapsed));
        put("throughput/samples", clock.rate(clock.samples));
        if self.run.description.has_tokens {
            put("throughput/tokens", clock.rate(clock.tokens));
        }
        put("memory/host/resident", memory::resident());
        values
    }

    /// Evaluates unless a callback drops it. Running out of memory here is told and costs the evaluation; the run and
    /// its batches stay as they are.
    pub(crate) fn evaluate(&mut self) -> Result<(), TrainError> {
        self.run.state.pending.evaluate = false;
        let outcome = self.fire(Hook::EvaluateBegin, "", Shown::Nothing);
        if outcome.controls.skip.is_some() {
            return Ok(());
        }
        // Whoever asks for it at this hook gets it now.
        self.run.state.pending.evaluate = false;
        self.observer.observe(&RunEvent::EvaluationStarted { progress: self.run.current_progress() });
        let started = Instant::now();
        let values = match guarded(|| self.measure()) {
            Ok(values) => values,
            Err(panicked) => {
                let error = panicked.in_place(self.run.state.step, || "in the evaluation".into());
                return self.lose_evaluation(error);
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        self.clock.set(Part::Evaluation, seconds);
        self.run.state.evaluation = values.iter().cloned().collect();
        self.run.state.evaluated_at = Some(self.run.state.step);
        let progress = self.run.current_progress();
        self.observer.observe(&RunEvent::Evaluated { progress, values: &values, seconds });
        self.fire(Hook::EvaluateEnd, "", Shown::Nothing);
        Ok(())
    }

    fn lose_evaluation(&mut self, error: TrainError) -> Result<(), TrainError> {
        let TrainError::OutOfMemory { message, .. } = &error else { return Err(error) };
        let words = format!("the evaluation ran out of memory and is left out: {message}");
        let progress = self.run.current_progress();
        self.observer.observe(&RunEvent::EvaluationFailed { progress, error: &words });
        self.fire(Hook::Failure, &format!("{}: {words}", error.kind()), Shown::Nothing);
        B::memory_cleanup(&self.run.device);
        Ok(())
    }

    /// Results of the weights that stand on the validation data.
    pub(crate) fn measure(&self) -> Vec<(String, Value)> {
        let values = self.run.task.evaluate(&self.run.model().valid(), &self.run.device);
        let evaluated = &self.run.description.evaluated;
        for (name, _) in &values {
            let is_known = evaluated.iter().any(|spec| spec.name == *name);
            assert!(is_known, "the task's `evaluate` gives `{name}`, which is not in `evaluated` of its description");
        }
        values
    }
}
