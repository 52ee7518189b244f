//! The loop: from the first step or a resume to the end of a run.
//!
//! One step is in `step`, what callbacks decided is carried out in `apply`. Main type: [`Session`].

use std::time::{Duration, Instant};

use burn::tensor::backend::AutodiffBackend;
use host_callback::{Callbacks, Hook, Moment, Outcome, Summary, Value};

use crate::{
    Artifact, Ending, Observer, Processed, Run, RunEvent, RunReport, Settings, StopFlag, Store, TrainError,
    current::Current,
    guarded::{Panicked, guarded},
    measure::{Meter, Part, Shown, StepClock},
    ranks::Order,
    saving::Writing,
    state::{LoopState, ResumePoint, Saving},
    task::Task,
};

/// One process's part of a run.
pub(crate) struct Session<'a, B: AutodiffBackend, T: Task<B>> {
    pub(crate) run: &'a mut Run<B, T>,
    pub(crate) store: &'a mut Store,
    pub(crate) callbacks: &'a mut dyn Callbacks,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) stop: &'a StopFlag,
    pub(crate) current: Current<B>,
    /// The last step's loss, where reading waits for the device and nothing has looked at it before the update.
    pub(crate) unchecked: Option<Current<B>>,
    /// Of the last finished step, and of the one that is running.
    pub(crate) clock: StepClock,
    pub(crate) running: StepClock,
    /// The loop has just failed, and tries again when callbacks change knobs.
    pub(crate) can_try_again: bool,
    /// Callbacks were told of the failure that ends the run.
    failure_is_told: bool,
    /// The order of an epoch's samples, and which epoch it is.
    pub(crate) order: Option<(u64, Vec<usize>)>,
    /// The checkpoint that was saved since the last step and holds exactly the weights that stand, if there is one.
    pub(crate) saved: Option<String>,
    /// What becomes of the checkpoint that is being written.
    pub(crate) writing: Writing,
    /// A callback that must not be missing and has failed for good.
    pub(crate) guard_lost: Option<Ending>,
    /// Who skipped the last batch that was skipped.
    pub(crate) skipped_by: String,
    started: Instant,
    /// Seconds trained before this process.
    elapsed_before: f64,
    /// Samples and tokens seen before this process.
    seen_before: (u64, u64),
}

impl<'a, B: AutodiffBackend, T: Task<B>> Session<'a, B, T> {
    pub(crate) fn new(
        run: &'a mut Run<B, T>,
        store: &'a mut Store,
        callbacks: &'a mut dyn Callbacks,
        observer: &'a mut dyn Observer,
        stop: &'a StopFlag,
    ) -> Self {
        // Whoever resumes may keep new checkpoints apart from the one that it goes on from.
        let saved = run.resumed_from.take().filter(|name| store.has(name));
        Self {
            current: Current::new(&run.description),
            unchecked: None,
            clock: StepClock::default(),
            running: StepClock::default(),
            can_try_again: false,
            failure_is_told: false,
            order: None,
            saved,
            writing: Writing::default(),
            guard_lost: None,
            skipped_by: String::new(),
            started: Instant::now(),
            elapsed_before: run.state.elapsed,
            seen_before: (run.state.samples, run.state.tokens),
            run,
            store,
            callbacks,
            observer,
            stop,
        }
    }

    /// Trains to the end and closes the run, whatever the end is.
    pub(crate) fn run(mut self) -> RunReport {
        let progress = self.run.current_progress();
        self.observer.observe(&RunEvent::Started {
            device: &self.run.device_kind.to_string(),
            parameters: self.run.parameters.elements(),
            progress,
        });
        let trained = guarded(|| self.train());
        let trained = trained.unwrap_or_else(|panicked| {
            let step = self.run.state.step;
            Err(panicked.in_place(step, || format!("after {step} steps")))
        });
        self.end_save();
        let (ending, error) = match trained {
            Ok(ending) => (ending, None),
            Err(error) => self.fail(error),
        };
        let outcome = self.fire(Hook::TrainEnd, &ending.words(), Shown::Nothing);
        if outcome.controls.restore.is_some() {
            // The run leaves other weights than those that were evaluated last.
            match guarded(|| self.measure()) {
                Ok(values) => self.run.state.evaluation = values.into_iter().collect(),
                Err(Panicked { message, .. }) => {
                    let progress = self.run.current_progress();
                    self.run.state.evaluation.clear();
                    self.observer.observe(&RunEvent::EvaluationFailed { progress, error: &message });
                }
            }
        }
        self.hear_the_last();
        // Who does not hear it sees the link close.
        drop(self.run.others.tell(&Order::End));
        self.close(ending, error)
    }

    /// What callbacks on threads of their own still have to say: reports and notes.
    fn hear_the_last(&mut self) {
        let progress = self.run.current_progress();
        let moment = Moment { hook: Hook::TrainEnd, occurrence: 0, progress, detail: String::new() };
        let outcome = self.callbacks.finish(&self.run.knobs);
        self.tell(&moment, &outcome);
    }

    fn train(&mut self) -> Result<Ending, TrainError> {
        self.run.share_weights()?;
        self.begin();
        let ending = loop {
            if self.run.state.epoch_over {
                self.end_epoch()?;
            }
            self.between_steps()?;
            if let Some(ending) = self.due_ending() {
                break ending;
            }
            if !self.run.state.epoch_begun {
                self.run.state.epoch_begun = true;
                self.fire(Hook::EpochBegin, "", Shown::Nothing);
                continue;
            }
            self.step()?;
        };
        self.last_evaluation_and_save(&ending)?;
        Ok(ending)
    }

    /// The first event of the run, or what was still to be told when a resumed checkpoint was written.
    fn begin(&mut self) {
        match std::mem::take(&mut self.run.resume) {
            ResumePoint::AfterSave(tags) => {
                let checkpoint = self.saved.clone().unwrap_or_default();
                self.run.state.saving = Some(Saving { checkpoint, tags, due: 0 });
                self.end_save();
            }
            ResumePoint::Boundary if self.run.state.occurrences[Hook::TrainBegin.index()] == 0 => {
                self.fire(Hook::TrainBegin, "", Shown::Nothing);
            }
            ResumePoint::Boundary | ResumePoint::Saving => {}
        }
    }

    fn end_epoch(&mut self) -> Result<(), TrainError> {
        self.fire(Hook::EpochEnd, "", Shown::Nothing);
        let state = &mut self.run.state;
        if state.trained_in_epoch == 0 {
            return Err(TrainError::AllSkipped { epoch: state.epoch, by: self.skipped_by.clone() });
        }
        state.epoch += 1;
        state.position = 0;
        state.trained_in_epoch = 0;
        (state.epoch_begun, state.epoch_over) = (false, false);
        Ok(())
    }

    /// What callbacks asked for at a hook that no step follows at once, such as `epoch-end`.
    fn between_steps(&mut self) -> Result<(), TrainError> {
        if self.run.state.pending.log {
            self.log()?;
        }
        if self.run.state.pending.evaluate {
            self.evaluate()?;
        }
        if !self.run.state.pending.save.is_empty() {
            self.save(None)?;
        }
        Ok(())
    }

    fn due_ending(&mut self) -> Option<Ending> {
        if let Some(lost) = self.guard_lost.take() {
            return Some(lost);
        }
        self.tick();
        if let Some(by) = self.stop.requested() {
            return Some(Ending::Interrupted { by: by.to_owned() });
        }
        self.run.state.ending(&self.run.settings)
    }

    /// Brings the time spent training up to date.
    pub(crate) fn tick(&mut self) {
        self.run.state.elapsed = self.elapsed_before + self.started.elapsed().as_secs_f64();
    }

    /// What is done once more at the end.
    ///
    /// The state that the checkpoint holds is the one before these events: in a run that goes on later, with a
    /// greater length or after an interruption, they would not have happened here.
    fn last_evaluation_and_save(&mut self, ending: &Ending) -> Result<(), TrainError> {
        let state = &self.run.state;
        let evaluate = ending.is_final() && state.step > 0 && state.evaluated_at != Some(state.step);
        let before = self.snapshot(ResumePoint::Boundary);
        self.end_save();
        if evaluate {
            self.evaluate()?;
        }
        if self.saved.is_none() || !self.run.state.pending.save.is_empty() {
            self.save(Some(before))?;
        }
        Ok(())
    }

    /// Says that the loop failed, to callbacks and in the ending.
    fn fail(&mut self, error: TrainError) -> (Ending, Option<TrainError>) {
        let words = chain_of(&error);
        if !self.failure_is_told {
            self.fire(Hook::Failure, &format!("{}: {words}", error.kind()), Shown::Nothing);
        }
        (Ending::Failed { error: words }, Some(error))
    }

    /// Tells callbacks of a failure after which the step can be tried again; says whether one of them turned a knob.
    pub(crate) fn made_smaller(&mut self, error: &TrainError) -> bool {
        let before: Vec<f64> = self.run.knobs.iter().map(|(_, knob)| knob.value).collect();
        self.can_try_again = true;
        self.fire(Hook::Failure, &format!("{}: {}", error.kind(), chain_of(error)), Shown::Nothing);
        self.can_try_again = false;
        let is_changed = self.run.knobs.iter().zip(before).any(|((_, knob), before)| knob.value != before);
        self.failure_is_told = !is_changed;
        is_changed
    }

    fn close(mut self, ending: Ending, error: Option<TrainError>) -> RunReport {
        self.tick();
        let callbacks: Vec<Summary> = self.callbacks.summaries();
        let progress = self.run.current_progress();
        let evaluation = &self.run.state.evaluation;
        self.observer.observe(&RunEvent::Ended { progress, ending: &ending, evaluation, callbacks: &callbacks });
        let run = self.run;
        let artifacts = || run.task.artifacts(&burn::module::AutodiffModule::valid(run.model()), &run.device);
        let artifacts = match &error {
            None => guarded(artifacts).unwrap_or_else(|Panicked { message, .. }| {
                let text = format!("The task failed to show its model: {message}");
                vec![Artifact::Text { name: "model".into(), text }]
            }),
            Some(_) => Vec::new(),
        };
        let (samples, tokens) = self.seen_before;
        RunReport {
            ending,
            error,
            progress,
            elapsed: Duration::from_secs_f64(run.state.elapsed),
            processed: Processed {
                samples: run.state.samples - samples,
                tokens: run.state.tokens - tokens,
                seconds: self.started.elapsed().as_secs_f64(),
            },
            evaluation: run.state.evaluation.clone(),
            callbacks,
            // A folder that cannot be read any more has been reported where it failed to be written.
            checkpoints: self.store.list().unwrap_or_default(),
            artifacts,
        }
    }

    /// Sends a hook to the callbacks and carries out what they decide. Returns what was decided.
    pub(crate) fn fire(&mut self, hook: Hook, detail: &str, shown: Shown<'_>) -> Outcome {
        self.run.state.occurrences[hook.index()] += 1;
        let moment = Moment {
            hook,
            occurrence: self.run.state.occurrences[hook.index()],
            progress: self.run.current_progress(),
            detail: detail.to_owned(),
        };
        let run = &mut *self.run;
        let mut meter = Meter::<'_, B, T> {
            sources: &mut run.sources,
            current: &mut self.current,
            model: run.model.as_ref(),
            shown,
            parameters: &run.parameters,
            state: &run.state,
            knobs: &run.knobs,
            clock: self.clock,
            device: &run.device_kind,
        };
        let started = Instant::now();
        let outcome = self.callbacks.handle(&moment, &mut meter, &run.knobs);
        self.running.add(Part::Callbacks, started.elapsed().as_secs_f64());
        if outcome.is_quiet() {
            return outcome;
        }
        self.carry_out(&moment, outcome)
    }
}

impl LoopState {
    /// How the run ends now, by its own counters, if it does.
    pub(crate) fn ending(&self, settings: &Settings) -> Option<Ending> {
        if let Some((by, _)) = self.pending.stop.first() {
            let reasons = self.pending.stop.iter().map(|(_, why)| why.clone()).collect();
            return Some(Ending::Stopped { by: by.clone(), reasons });
        }
        let travelled = self.travelled();
        if settings.length.passed(&travelled) > 0 {
            return Some(Ending::Completed);
        }
        let until = settings.until.filter(|until| until.passed(&travelled) > 0)?;
        Some(Ending::Interrupted { by: format!("the limit of this part, {until}") })
    }

    /// Remembers the step's loss for hooks after the step.
    pub(crate) fn remember_loss(&mut self, loss: Option<f64>) {
        self.last_loss = loss.map(Value::Scalar);
    }
}

/// An error and its causes in one line.
fn chain_of(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
