//! A schedule for the samples of an update: they rise from one number to another.
//! Does not compute how many; [`ramp`] does, and this file turns that into a batch size or an accumulation.

mod ramp;
mod settings;
#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

use ramp::{Length, Ramp};
use settings::{By, Settings};

const BATCH: &str = "batch-size";
const ACCUMULATION: &str = "accumulation";

struct BatchRamp {
    ramp: Ramp,
    by: By,
}

/// What has been done so far.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// The samples of an update that were asked for last.
    samples: Option<u64>,
    /// Somebody has been told that a value is missing.
    told_missing: bool,
}

impl Callback for BatchRamp {
    type Settings = Settings;
    type State = State;
    const MANIFEST: Manifest = manifest!().knobs(&[BATCH, ACCUMULATION]);

    fn start(settings: Settings, _run: &Run) -> Result<(Self, Subscriptions), String> {
        let ramp = settings.ramp()?;
        Ok((Self { ramp, by: settings.by }, Subscriptions::new().on(Hook::StepBegin, &[BATCH, ACCUMULATION])))
    }

    fn step_begin(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        let done = match self.ramp.length {
            Length::Steps(_) => event.step(),
            Length::Samples(_) => event.progress().samples,
        };
        let samples = self.ramp.samples(done);
        // In between, what others write stands: a guard may have split the same samples otherwise.
        if state.samples == Some(samples) {
            return;
        }
        let Some(batch) = event.get_or_tell(BATCH, &mut state.told_missing, answer) else { return };
        let Some(accumulation) = event.get_or_tell(ACCUMULATION, &mut state.told_missing, answer) else { return };
        state.samples = Some(samples);
        let (knob, stands, other) = match self.by {
            By::BatchSize => (BATCH, batch, accumulation),
            By::Accumulation => (ACCUMULATION, accumulation, batch),
        };
        let value = (samples as f64 / other).round().max(1.0);
        if value != stands {
            answer.set(knob, value).report("samples", value * other);
        }
    }
}

host_sdk::export!(BatchRamp);
