//! A learning rate that falls when a measurement stops getting better.
//! Does not decide when; [`plateau`] does, and this file turns that into rates.

mod plateau;
mod settings;
#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

use plateau::Memory;
use settings::Settings;

struct LrPlateau {
    settings: Settings,
    groups: Vec<WatchedGroup>,
}

/// A parameter group whose rate falls.
struct WatchedGroup {
    /// The name of the rate, as a measurement and as a knob.
    rate_name: String,
    base_rate: f64,
    lowest_rate: f64,
}

/// What has been seen and done so far.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    memory: Memory,
    /// The rates written last, in the order of the groups; empty before the first.
    rates: Vec<f64>,
    /// Somebody has been told that the monitored value is missing.
    told_missing: bool,
}

impl Callback for LrPlateau {
    type Settings = Settings;
    type State = State;
    // After the plugins that set a rate at the same hook: a reduction is of the rate that stands.
    const MANIFEST: Manifest = manifest!().knobs(&["learning-rate/*"]).order(10);

    fn start(settings: Settings, run: &Run) -> Result<(Self, Subscriptions), String> {
        settings.check()?;
        let groups = settings.groups(&run.description()?)?;
        let mut reads = vec![settings.monitor.as_str()];
        reads.extend(groups.iter().map(|group| group.rate_name.as_str()));
        let subscriptions = Subscriptions::new().on(Hook::EvaluateEnd, &reads);
        Ok((Self { settings, groups }, subscriptions))
    }

    fn evaluate_end(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        let monitor = &self.settings.monitor;
        let Some(value) = event.get_or_tell(monitor, &mut state.told_missing, answer) else { return };
        if state.memory.take(&self.settings.terms(), value) {
            self.reduce(state, event, answer);
            // Whoever asks later why the rate fell finds it here.
            if answer.decisions().iter().any(|decision| matches!(decision, Decision::Set(_))) {
                let best = state.memory.best.map(|best| format!(", best {best}")).unwrap_or_default();
                answer.note(format!("{monitor} has not improved: now {value}{best}"));
            }
        }
        if let Some(best) = state.memory.best {
            answer.report("best", best);
        }
        answer.report("wait", f64::from(state.memory.bad));
    }
}

impl LrPlateau {
    fn reduce(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        let rates = self.groups.iter().enumerate().map(|(index, group)| {
            let written = state.rates.get(index).copied().unwrap_or(group.base_rate);
            // The rate that stands, where it is known: somebody else may have written it since.
            let rate = event.get(&group.rate_name).unwrap_or(written);
            let lower = (rate * self.settings.factor).max(group.lowest_rate);
            if rate - lower > self.settings.eps {
                answer.set(&group.rate_name, lower);
                lower
            } else {
                rate
            }
        });
        state.rates = rates.collect();
    }
}

host_sdk::export!(LrPlateau);
