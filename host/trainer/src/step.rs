//! One step: its samples, the passes and the update, and what is told of it.
//!
//! It does not know what callbacks want: `fire` asks them and `apply` carries it out. What is computed is in `passes`, the
//! update in `update`, what is due after a step in `after`.

use std::time::Instant;

use burn::{optim::GradientsParams, tensor::backend::AutodiffBackend};
use host_callback::Hook;

use crate::{
    RunEvent, TrainError,
    current::Current,
    measure::{Part, Shown, Source},
    random,
    session::Session,
    task::{Size, Task},
};

/// How often a step is tried with what callbacks make of running out of memory: enough to come from any batch to one
/// sample, few enough to end where they turn in a circle.
const MAX_TRIES: usize = 32;

impl<B: AutodiffBackend, T: Task<B>> Session<'_, B, T> {
    pub(crate) fn step(&mut self) -> Result<(), TrainError> {
        let started = Instant::now();
        let before = self.run.state.travelled();
        self.current = Current::new(&self.run.description);
        let outcome = self.fire(Hook::StepBegin, "", Shown::Nothing);
        if let Some(skip) = outcome.controls.skip {
            self.next_samples();
            self.skipped_by = skip.by.to_string();
            self.run.state.in_flight = 0;
            return Ok(());
        }
        let (gradients, size) = self.passes()?;
        let updated = self.update(gradients, &before)?;
        self.count(size);
        self.fire(Hook::StepEnd, "", updated.as_ref().map_or(Shown::Nothing, Shown::Updated));
        drop(updated);
        let seconds = started.elapsed().as_secs_f64();
        self.finish_clock(seconds, size);
        self.observer.observe(&RunEvent::Stepped {
            progress: self.run.current_progress(),
            loss: self.current.known_loss(),
            seconds,
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
        let batches = self.samples_ahead();
        let run = &mut *self.run;
        let end = run.state.position + batches.iter().map(Vec::len).sum::<usize>();
        run.state.position = end;
        run.state.in_flight = 1;
        let left = samples - end;
        run.state.epoch_over |= left == 0 || run.settings.drop_last && left < batch * accumulation;
        batches
    }

    /// The samples that a step of the epoch would take from the position in the data.
    pub(crate) fn samples_ahead(&self) -> Vec<Vec<usize>> {
        let run = &*self.run;
        let (batch, accumulation) = (run.loop_knobs.batch_size(&run.knobs), run.loop_knobs.accumulation(&run.knobs));
        let order = self.order.as_ref().map_or(&[][..], |(_, order)| order);
        let end = (run.state.position + batch * accumulation).min(order.len());
        order[run.state.position..end].chunks(batch).map(<[usize]>::to_vec).collect()
    }

    /// The step's gradients. When memory runs out and callbacks make the step smaller, it is tried again with the same
    /// samples.
    fn passes(&mut self) -> Result<(GradientsParams, Size), TrainError> {
        let mut tries = 1;
        loop {
            let (position, epoch_over) = (self.run.state.position, self.run.state.epoch_over);
            let batches = self.next_samples();
            let step = self.run.state.step;
            self.run.freeze();
            let vectors = self.is_read_ahead(&[Hook::Gradients, Hook::StepEnd, Hook::Log], |source| {
                matches!(source, Source::Vector(_))
            });
            let panicked = match self.all_passes(&batches, vectors)? {
                Ok(done) => return Ok(done),
                Err(panicked) => panicked,
            };
            // Nothing of the attempt stays.
            self.current = Current::new(&self.run.description);
            let state = &mut self.run.state;
            (state.position, state.epoch_over, state.in_flight) = (position, epoch_over, 0);
            let error = panicked.in_place(step, || format!("in step {step}"));
            if !matches!(error, TrainError::OutOfMemory { .. }) || tries == MAX_TRIES || !self.made_smaller(&error) {
                return Err(error);
            }
            B::memory_cleanup(&self.run.device);
            tries += 1;
        }
    }

    /// Whether callbacks will read something of a kind at the next occurrence of one of these hooks.
    pub(crate) fn is_read_ahead(&mut self, hooks: &[Hook], is_kind: impl Fn(&Source) -> bool) -> bool {
        !self.read_ahead(hooks, |source| is_kind(source).then_some(())).is_empty()
    }

    /// What callbacks will read at the next occurrence of these hooks, as far as it is wanted.
    pub(crate) fn read_ahead<R>(&mut self, hooks: &[Hook], want: impl Fn(&Source) -> Option<R>) -> Vec<R> {
        let run = &mut *self.run;
        let mut wanted = Vec::new();
        for &hook in hooks {
            let keys = self.callbacks.reads(hook, run.state.occurrences[hook.index()] + 1);
            wanted.extend(keys.iter().filter_map(|&key| want(run.sources.get(key, &run.parameters))));
        }
        wanted
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

    /// The running step becomes the last finished one; the last evaluation and checkpoint stay the last.
    fn finish_clock(&mut self, seconds: f64, size: Size) {
        let mut clock = std::mem::take(&mut self.running);
        clock.set(Part::Step, seconds);
        (clock.samples, clock.tokens) = (size.samples, size.tokens);
        for part in [Part::Evaluation, Part::Checkpoint] {
            self.clock.seconds(part).into_iter().for_each(|seconds| clock.set(part, seconds));
        }
        self.clock = clock;
    }
}
