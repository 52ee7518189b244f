//! A learning-rate schedule: writes each group's rate for the update that comes next.
//! Does not compute rates; [`curve`] does, from what [`settings`] made of the configuration.

mod curve;
mod settings;
#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

use curve::Curve;
use settings::Settings;

struct Schedule {
    curve: Curve,
    total_steps: Option<u64>,
    groups: Vec<ScheduledGroup>,
}

/// A parameter group whose rate the schedule writes.
struct ScheduledGroup {
    knob: String,
    base_rate: f64,
    /// The rate that the curve does not go below.
    lowest_rate: f64,
}

/// What was written last, in the order of the groups.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Written {
    step: u64,
    rates: Vec<f64>,
}

impl Callback for Schedule {
    type Settings = Settings;
    type State = Written;
    const MANIFEST: Manifest = manifest!().knobs(&["learning-rate/*"]);

    fn start(settings: Settings, run: &Run) -> Result<(Self, Subscriptions), String> {
        let groups = settings.groups(&run.description()?)?;
        let (curve, total_steps) = settings.curve()?;
        Ok((Self { curve, total_steps, groups }, Subscriptions::new().on(Hook::StepBegin, &[])))
    }

    fn step_begin(&self, written: &mut Written, event: &Event, answer: &mut Answer) {
        let step = event.step();
        let total_steps = self.total_steps.or(event.progress().total_steps);
        if total_steps.is_none() && self.curve.needs_end() {
            return answer.fail("this run does not say how many steps it will do: set total-steps");
        }
        let rates: Vec<f64> = self.groups.iter().map(|group| group.rate(&self.curve, step, total_steps)).collect();
        // A gap means that steps went by without this callback, and then nobody knows what the knobs stand at.
        let followed = step == written.step || step == written.step + 1;
        for (index, (group, rate)) in self.groups.iter().zip(&rates).enumerate() {
            if !followed || written.rates.get(index) != Some(rate) {
                answer.set(&group.knob, *rate);
            }
        }
        *written = Written { step, rates };
    }
}

impl ScheduledGroup {
    fn rate(&self, curve: &Curve, step: u64, total_steps: Option<u64>) -> f64 {
        let lowest = if self.base_rate > 0.0 { self.lowest_rate / self.base_rate } else { 0.0 };
        self.base_rate * curve.factor(step, total_steps, lowest)
    }
}

host_sdk::export!(Schedule);
