//! What callbacks decided is carried out here and nowhere else.
//!
//! Requests wait in the loop's state for their safe point; knobs and restores happen at once. What cannot be
//! carried out is refused in the timeline.

use burn::tensor::backend::AutodiffBackend;
use host_callback::{Consequence, FailureRecord, Hook, Moment, Outcome, Saved};

use crate::{
    Ending, RunEvent,
    checkpoint::{RunState, Snapshot},
    session::Session,
    state::ResumePoint,
    task::Task,
};

impl<B: AutodiffBackend, T: Task<B>> Session<'_, B, T> {
    /// Carries an outcome out and tells the observer every line of it.
    pub(crate) fn carry_out(&mut self, moment: &Moment, mut outcome: Outcome) -> Outcome {
        self.refuse_in_vain(moment, &mut outcome);
        self.restore(moment, &mut outcome);
        let controls = &outcome.controls;
        for &(knob, value) in &controls.writes {
            self.run.knobs.set(knob, value);
        }
        let pending = &mut self.run.state.pending;
        pending.stop.extend(controls.stop.iter().map(|asked| (asked.by.to_string(), asked.what.clone())));
        pending.evaluate |= controls.evaluate;
        pending.log |= controls.log;
        for asked in &controls.save {
            if !pending.save.contains(&asked.what) {
                pending.save.push(asked.what.clone());
            }
        }
        if let Some(asked) = controls.end_epoch.as_ref().filter(|_| self.run.state.epoch_begun) {
            self.run.state.epoch_over = true;
            self.skipped_by = asked.by.to_string();
        }
        self.lose_guards(&outcome.failures);
        self.tell(moment, &outcome);
        outcome
    }

    /// At a failure after which nothing is tried again, knobs have no effect any more.
    fn refuse_in_vain(&self, moment: &Moment, outcome: &mut Outcome) {
        if moment.hook != Hook::Failure || self.can_try_again {
            return;
        }
        outcome.controls.writes.clear();
        let written = (0..outcome.records.len()).filter(|&at| !outcome.records[at].changes.is_empty());
        for at in written.collect::<Vec<_>>() {
            outcome.records[at].changes.clear();
            outcome.refuse(at, "nothing is tried again after this failure");
        }
    }

    /// Puts weights and optimizer state back, or refuses to.
    fn restore(&mut self, moment: &Moment, outcome: &mut Outcome) {
        let Some(asked) = outcome.controls.restore.clone() else { return };
        // What is being written is what was saved last.
        self.finish_writing();
        let restored = self.store.find(&asked.what).and_then(|checkpoint| {
            self.run.load_weights(&checkpoint)?;
            // Where a rank is lost, the next step says so.
            drop(self.run.share_weights());
            Ok(checkpoint)
        });
        match restored {
            Ok(checkpoint) => {
                // The weights are those of a checkpoint, but not of one for this step.
                self.saved = None;
                self.unchecked = None;
                self.current.weights = Default::default();
                let (progress, step) = (moment.progress, checkpoint.step());
                self.observer.observe(&RunEvent::Restored { progress, tag: &asked.what, step });
            }
            Err(error) => {
                outcome.controls.restore = None;
                outcome.refuse(asked.record, error.to_string());
            }
        }
    }

    fn lose_guards(&mut self, failures: &[FailureRecord]) {
        let lost = failures.iter().find(|record| record.failure.consequence == Consequence::StopRun);
        if let Some(record) = lost {
            let (instance, error) = (record.by.instance.to_string(), record.failure.to_string());
            self.guard_lost.get_or_insert(Ending::GuardLost { instance, error });
        }
    }

    pub(crate) fn tell(&mut self, moment: &Moment, outcome: &Outcome) {
        let (progress, hook) = (moment.progress, moment.hook);
        for failure in &outcome.failures {
            self.observer.observe(&RunEvent::CallbackFailed { progress, hook, failure });
        }
        for record in &outcome.records {
            self.observer.observe(&RunEvent::Decided { progress, hook, record });
        }
        if !outcome.controls.reports.is_empty() {
            self.observer.observe(&RunEvent::Reported { progress, values: &outcome.controls.reports });
        }
    }

    /// The state of loop and callbacks as it is now, for a checkpoint.
    pub(crate) fn snapshot(&mut self, resume: ResumePoint) -> Snapshot {
        self.tick();
        let Saved { states, reports, disabled, failures } = self.callbacks.save();
        let progress = self.run.current_progress();
        for failure in &failures {
            self.observer.observe(&RunEvent::CallbackFailed { progress, hook: Hook::SaveBegin, failure });
        }
        self.lose_guards(&failures);
        let run = &*self.run;
        let knobs = run.knobs.iter().map(|(_, knob)| (knob.spec.name.clone(), knob.value)).collect();
        let state = RunState {
            run: run.state.clone(),
            resume,
            knobs,
            reports,
            disabled,
            tags: Default::default(),
            mark: self.observer.mark(),
            data: run.data_identity(),
        };
        Snapshot { state, callbacks: states }
    }
}
