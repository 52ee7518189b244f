//! A guard against running out of device memory: smaller batches, and more of them for an update.
//! Changes nothing about an update but how it is computed; what only an evaluation ran into changes nothing at all.

mod split;
#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

use split::Split;

const BATCH: &str = "batch-size";
const ACCUMULATION: &str = "accumulation";
const ALLOCATED: &str = "memory/device/allocated";
const TOTAL: &str = "memory/device/total";

/// Halves the batch and doubles the accumulation when memory runs out, so that an update keeps its samples.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct MemoryGuard {
    /// The batch size that is not gone below, in samples.
    #[schemars(range(min = 1))]
    min_batch: u64,
    /// The part of the device's memory above which the batch is made smaller before memory runs out; without it only
    /// running out counts.
    #[schemars(range(min = 0, max = 1))]
    max_fraction: Option<f64>,
    /// Steps after a smaller batch in which `max-fraction` is not looked at.
    cooldown: u64,
}

impl Default for MemoryGuard {
    fn default() -> Self {
        Self { min_batch: 1, max_fraction: None, cooldown: 50 }
    }
}

/// What has been done, and where in a step the run is.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// How often the batch was made smaller.
    halvings: u64,
    /// The step from which on `max-fraction` is looked at again.
    quiet_until: u64,
    /// An evaluation is running.
    evaluating: bool,
    /// An evaluation came after the last step: what is allocated may be left from it.
    after_evaluation: bool,
    /// Somebody has been told that the memory in use is too much and the batch can't be smaller.
    told_smallest: bool,
    /// Somebody has been told that a value is missing.
    told_missing: bool,
}

impl Callback for MemoryGuard {
    type Settings = Self;
    type State = State;
    // Late: the last write counts, and this one is about what the device can hold.
    const MANIFEST: Manifest = manifest!().knobs(&[BATCH, ACCUMULATION]).order(100);

    fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
        settings.check()?;
        let mut subscriptions = Subscriptions::new()
            .on(Hook::Failure, &[BATCH, ACCUMULATION])
            // An evaluation that was dropped or broke off has no end: then the next step ends it.
            .on(Hook::EvaluateBegin, &[])
            .on(Hook::EvaluateEnd, &[])
            .on(Hook::StepBegin, &[]);
        if settings.max_fraction.is_some() {
            subscriptions = subscriptions.on(Hook::StepEnd, &[ALLOCATED, TOTAL, BATCH, ACCUMULATION]);
        }
        Ok((settings, subscriptions))
    }

    fn step_begin(&self, state: &mut State, _event: &Event, _answer: &mut Answer) {
        state.evaluating = false;
    }

    fn evaluate_begin(&self, state: &mut State, _event: &Event, _answer: &mut Answer) {
        state.evaluating = true;
        state.after_evaluation = true;
    }

    fn evaluate_end(&self, state: &mut State, _event: &Event, _answer: &mut Answer) {
        state.evaluating = false;
    }

    fn step_end(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        let after_evaluation = std::mem::take(&mut state.after_evaluation);
        let Some(limit) = self.max_fraction else { return };
        if after_evaluation || event.step() < state.quiet_until {
            return;
        }
        let Some(allocated) = event.get_or_tell(ALLOCATED, &mut state.told_missing, answer) else { return };
        let Some(total) = event.get_or_tell(TOTAL, &mut state.told_missing, answer) else { return };
        let fraction = allocated / total;
        // A total that is not known can be 0; what then comes out says nothing.
        if !(fraction.is_finite() && fraction > limit) {
            return;
        }
        let why = format!("{:.1} % of the device's memory is in use", 100.0 * fraction);
        let told = state.told_smallest;
        state.told_smallest = !self.make_smaller(state, event, answer, &why, !told);
    }

    fn failure(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        if event.detail().split(':').next() != Some("out-of-memory") {
            return;
        }
        if state.evaluating {
            answer.note("out of memory in an evaluation: the training batch stays as it is");
            return;
        }
        self.make_smaller(state, event, answer, "out of memory", true);
    }
}

impl MemoryGuard {
    /// Refuses what the schema can't.
    fn check(&self) -> Result<(), String> {
        if self.min_batch == 0 {
            return Err("min-batch is 0: it has to be 1 or more".into());
        }
        if let Some(limit) = self.max_fraction
            && !(limit > 0.0 && limit < 1.0)
        {
            return Err(format!("max-fraction is {limit}: it has to be above 0 and below 1"));
        }
        Ok(())
    }

    /// Writes the next smaller split of an update, and says whether there is one. `tell`: say so where there is none.
    fn make_smaller(&self, state: &mut State, event: &Event, answer: &mut Answer, why: &str, tell: bool) -> bool {
        let Some(batch) = event.get_or_tell(BATCH, &mut state.told_missing, answer) else { return false };
        let Some(accumulation) = event.get_or_tell(ACCUMULATION, &mut state.told_missing, answer) else { return false };
        let split = Split { batch: batch as u64, accumulation: accumulation as u64 };
        let Some(smaller) = split.smaller(self.min_batch) else {
            if tell {
                let line = format!("{why}, and nothing is left to do: a batch of {batch} can't be made smaller");
                log::warn(&line);
                answer.note(line);
            }
            return false;
        };
        state.halvings += 1;
        state.quiet_until = event.step().saturating_add(self.cooldown);
        let Split { batch, accumulation } = smaller;
        answer
            .note(format!(
                "{why}: batch-size {} becomes {batch}, accumulation {} becomes {accumulation}; an update still has {} \
                 samples",
                split.batch,
                split.accumulation,
                smaller.samples()
            ))
            .set(BATCH, batch as f64)
            .set(ACCUMULATION, accumulation as f64)
            .report("halvings", state.halvings as f64);
        true
    }
}

host_sdk::export!(MemoryGuard);
