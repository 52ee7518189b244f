//! Telemetry hears how far the run is before callbacks are called, so that what they log has the step of their event.
//!
//! It decides nothing. Main type: [`Dated`].

use host_callback::{Callbacks, Hook, Key, Knobs, Measurements, Moment, Outcome, Saved, Summary};

use crate::telemetry::Telemetry;

/// Callbacks whose moments are known to telemetry.
pub(crate) struct Dated<'a> {
    pub(crate) callbacks: &'a mut dyn Callbacks,
    pub(crate) telemetry: Telemetry,
}

impl Callbacks for Dated<'_> {
    fn handle(&mut self, moment: &Moment, measurements: &mut dyn Measurements, knobs: &Knobs) -> Outcome {
        self.telemetry.is_at(moment.progress);
        self.callbacks.handle(moment, measurements, knobs)
    }

    fn reads(&mut self, hook: Hook, occurrence: u64) -> &[Key] {
        self.callbacks.reads(hook, occurrence)
    }

    fn finish(&mut self, knobs: &Knobs) -> Outcome {
        self.callbacks.finish(knobs)
    }

    fn save(&mut self) -> Saved {
        self.callbacks.save()
    }

    fn summaries(&self) -> Vec<Summary> {
        self.callbacks.summaries()
    }
}
