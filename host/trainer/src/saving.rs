//! A checkpoint from its `save-begin` to its `save-end`: taken between two steps, written at once or on a thread of its own,
//! told when it is durable.
//!
//! It does not decide when to save: `after` does. What a checkpoint's folder holds, and which ones are kept, is in
//! `checkpoint`. Main type: [`Writing`].

use std::{
    io,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use burn::tensor::backend::AutodiffBackend;
use host_callback::Hook;

use crate::{
    RunEvent, TrainError,
    checkpoint::{Content, Snapshot, model_bytes, optimizer_bytes},
    error::CheckpointError,
    measure::{Part, Shown},
    session::Session,
    state::{ResumePoint, Saving},
    task::Task,
};

/// What becomes of the checkpoint that the loop's state calls the one that is being saved.
#[derive(Default)]
pub(crate) struct Writing {
    /// Writes it while the loop goes on.
    thread: Option<JoinHandle<Result<(), CheckpointError>>>,
    /// Why it could not be written.
    error: Option<CheckpointError>,
    /// For how long the loop did nothing else, so far.
    held: Duration,
}

impl<B: AutodiffBackend, T: Task<B>> Session<'_, B, T> {
    /// Saves unless a callback drops it. `state` is what the checkpoint holds; without one, the state of now.
    ///
    /// With `save_async` steps the loop goes on meanwhile; a checkpoint of a given state is waited for all the same. Weights
    /// that a checkpoint holds already are not written again: it gets the tags. An error is about the weights; a folder
    /// that cannot be written does not end a run.
    pub(crate) fn save(&mut self, state: Option<Snapshot>) -> Result<(), TrainError> {
        self.end_save();
        self.check_unchecked()?;
        let wanted = self.run.state.pending.save.join(", ");
        let outcome = self.fire(Hook::SaveBegin, &wanted, Shown::Nothing);
        let mut tags = std::mem::take(&mut self.run.state.pending.save);
        if outcome.controls.skip.is_some() {
            return Ok(());
        }
        tags.retain(|tag| !tag.is_empty());
        let started = Instant::now();
        let steps = if state.is_some() { 0 } else { self.run.settings.save_async };
        self.writing.error = self.begin_save(state, tags, steps).err();
        self.writing.held = started.elapsed();
        if steps == 0 || self.writing.thread.is_none() {
            self.end_save();
        }
        Ok(())
    }

    /// Takes everything that the checkpoint holds, and has it written.
    fn begin_save(&mut self, state: Option<Snapshot>, tags: Vec<String>, steps: u64) -> Result<(), CheckpointError> {
        let step = self.run.state.step;
        let name = self.saved.clone().map_or_else(|| self.store.next_name(step), Ok);
        // There is something to tell also of one that gets no name.
        let checkpoint = name.as_ref().map(Clone::clone).unwrap_or_default();
        let saving = Saving { checkpoint, tags: tags.clone(), due: step.saturating_add(steps) };
        let snapshot = match (state, steps) {
            (Some(state), _) => state,
            (None, 0) => self.snapshot(ResumePoint::AfterSave(tags.clone())),
            (None, _) => {
                self.run.state.saving = Some(saving.clone());
                self.snapshot(ResumePoint::Saving)
            }
        };
        self.run.state.saving = Some(saving);
        let name = name?;
        if self.saved.is_some() {
            return self.store.tag(&name, &tags);
        }
        let run = &*self.run;
        let content = Content {
            state: snapshot.state,
            callbacks: snapshot.callbacks,
            model: model_bytes::<B, _>(run.model(), &run.parameters),
            optimizer: optimizer_bytes(run.model(), &run.optimizer, &run.parameters),
        };
        let write = self.store.writer(&name, content, &tags);
        if steps == 0 {
            write()?;
            self.store.tag(&name, &tags)?;
        } else {
            let thread = thread::Builder::new().name("checkpoint".into()).spawn(write);
            self.writing.thread = Some(thread.map_err(|error| self.store.failed(error))?);
        }
        self.saved = Some(name);
        Ok(())
    }

    /// Tells of the checkpoint that is being written, if it is time for that.
    pub(crate) fn end_save_if_due(&mut self) {
        if self.run.state.saving.as_ref().is_some_and(|saving| saving.due <= self.run.state.step) {
            self.end_save();
        }
    }

    /// Waits for the checkpoint that is being written, if there is one, and tells of it.
    pub(crate) fn end_save(&mut self) {
        self.finish_writing();
        let Some(Saving { checkpoint, tags, .. }) = self.run.state.saving.take() else { return };
        let Writing { error, held, .. } = std::mem::take(&mut self.writing);
        let progress = self.run.current_progress();
        if let Some(error) = error {
            self.observer.observe(&RunEvent::SaveFailed { progress, error: &error.to_string() });
            return;
        }
        let seconds = held.as_secs_f64();
        // After a resume it was another process that spent it.
        if seconds > 0.0 {
            self.clock.set(Part::Checkpoint, seconds);
        }
        // Whoever resumes may keep new checkpoints apart from the one that it goes on from.
        if self.store.has(&checkpoint) {
            self.observer.observe(&RunEvent::Saved { progress, checkpoint: &checkpoint, tags: &tags, seconds });
        }
        self.fire(Hook::SaveEnd, &tags.join(", "), Shown::Nothing);
    }

    /// Waits until the checkpoint is durable, and points its tags to it: from then on it can be found.
    pub(crate) fn finish_writing(&mut self) {
        let Some(thread) = self.writing.thread.take() else { return };
        let started = Instant::now();
        let written = thread.join().unwrap_or_else(|_| Err(self.store.failed(io::Error::other("its thread panicked"))));
        let tagged = written.and_then(|()| match &self.run.state.saving {
            Some(Saving { checkpoint, tags, .. }) => self.store.tag(checkpoint, tags),
            None => Ok(()),
        });
        if let Err(error) = tagged {
            self.saved = None;
            self.writing.error = Some(error);
        }
        self.writing.held += started.elapsed();
    }
}
