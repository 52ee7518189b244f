//! A guard against loss spikes: drops the update, goes back to a checkpoint, leaves out the batches that follow.
//! Does not judge a loss by itself; [`window`] does, and this file turns that into decisions.

mod settings;
#[cfg(test)]
mod tests;
mod window;

use host_sdk::prelude::*;

use settings::{AfterRestores, Settings};
use window::Window;

struct SpikeGuard {
    settings: Settings,
}

/// What has been seen and done so far.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// The losses that were no spikes.
    window: Window,
    /// The same when the checkpoint was saved that the run would go back to.
    saved: Option<Window>,
    /// Batches that are still to be left out.
    skips_left: u64,
    /// Spikes in the whole run.
    spikes: u64,
    /// How often the run went back.
    restored: u32,
    /// Updates in a row without a spike.
    calm: u64,
    /// Somebody has been told of the row of spikes that nothing is done about any more.
    told_row: bool,
    /// Somebody has been told that the monitored value is missing.
    told_missing: bool,
}

impl Callback for SpikeGuard {
    type Settings = Settings;
    type State = State;
    // Early, so that whoever comes after it can rely on it; after a guard against NaN, which may want less.
    const MANIFEST: Manifest = manifest!().requests(&[Request::Skip, Request::Restore, Request::Stop]).order(-90);

    fn start(settings: Settings, _run: &Run) -> Result<(Self, Subscriptions), String> {
        settings.check()?;
        let mut subscriptions = Subscriptions::new().on(Hook::Gradients, &[&settings.monitor]).on(Hook::SaveEnd, &[]);
        if settings.skip_batches > 0 {
            subscriptions = subscriptions.on(Hook::StepBegin, &[]).on(Hook::EpochBegin, &[]);
        }
        Ok((Self { settings }, subscriptions))
    }

    fn epoch_begin(&self, state: &mut State, _event: &Event, _answer: &mut Answer) {
        // Another order of the samples: what followed on the spike has gone by. It also keeps an epoch from being left
        // out as a whole, which a run can't get over.
        state.skips_left = 0;
    }

    fn step_begin(&self, state: &mut State, _event: &Event, answer: &mut Answer) {
        if state.skips_left > 0 {
            answer.skip(format!("a batch behind a loss spike, {} to go", state.skips_left - 1));
            state.skips_left -= 1;
        }
    }

    fn gradients(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        let monitor = &self.settings.monitor;
        let Some(loss) = event.get_or_tell(monitor, &mut state.told_missing, answer) else { return };
        let terms = self.settings.terms(event.step());
        match state.window.spike(&terms, loss) {
            Some(why) => self.meet_spike(state, loss, &format!("{monitor} is {loss}, {why}"), answer),
            None => {
                state.window.push(loss, terms.window);
                self.note_calm(state);
            }
        }
    }

    fn save_end(&self, state: &mut State, event: &Event, _answer: &mut Answer) {
        if self.settings.goes_back_to(event.detail()) {
            state.saved = Some(state.window.clone());
        }
    }
}

impl SpikeGuard {
    fn meet_spike(&self, state: &mut State, loss: f64, what: &str, answer: &mut Answer) {
        state.calm = 0;
        state.spikes += 1;
        answer.report("spikes", state.spikes as f64);
        if state.restored < self.settings.max_restores {
            self.go_back(state, what, answer);
            return;
        }
        let used = format!("{what}, after going back {} times", state.restored);
        match self.settings.after_restores {
            AfterRestores::Stop => {
                answer.skip(what).stop(used);
            }
            AfterRestores::Note => {
                // A finite one passes: if this is the level from now on, dropping it would end all training.
                let passes = loss.is_finite();
                if !passes {
                    answer.skip(what);
                }
                if !std::mem::replace(&mut state.told_row, true) {
                    let then = if passes { "the update is made" } else { "only the update is dropped" };
                    answer.note(format!("{used}: {then}"));
                }
            }
        }
    }

    fn go_back(&self, state: &mut State, what: &str, answer: &mut Answer) {
        let Settings { tag, skip_batches, .. } = &self.settings;
        state.restored += 1;
        state.skips_left = *skip_batches;
        // Losses of the weights that come back, not of those that go. Where no checkpoint is known the host refuses the
        // restore, and the weights are those that the window is about.
        if let Some(saved) = &state.saved {
            state.window = saved.clone();
        }
        // The skip is for itself: it stands where the restore is refused.
        answer
            .skip(what)
            .restore(tag)
            .report("restores", f64::from(state.restored))
            .note(format!("{what}: going back to {tag}, then leaving out {skip_batches} batches"));
    }

    fn note_calm(&self, state: &mut State) {
        state.told_row = false;
        state.calm = state.calm.saturating_add(1);
        if self.settings.forgive_after > 0 && state.calm >= self.settings.forgive_after {
            state.restored = 0;
        }
    }
}

host_sdk::export!(SpikeGuard);
