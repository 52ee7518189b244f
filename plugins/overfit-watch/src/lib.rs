//! A watch on overfitting: the gap between what an evaluation and what training measured, and whether it grows.
//! Does not judge a gap by itself; [`gap`] does, and this file turns that into decisions.

mod gap;
mod settings;
#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

use gap::{Gap, Mean, Watch};
use settings::{Action, Settings};

struct OverfitWatch {
    settings: Settings,
    /// The weight decays that the watch may raise.
    decays: Vec<String>,
}

/// What has been seen and done so far.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// Of the training measurement since the last evaluation.
    trained: Mean,
    watch: Watch,
    /// What the weight decays have been multiplied by.
    factor: f64,
    /// Somebody has been told that a value is missing.
    told_missing: bool,
}

impl Default for State {
    fn default() -> Self {
        Self { trained: Mean::default(), watch: Watch::default(), factor: 1.0, told_missing: false }
    }
}

impl Callback for OverfitWatch {
    type Settings = Settings;
    type State = State;
    // Behind the plugins that set a weight decay at the same hook: what is multiplied is what stands.
    const MANIFEST: Manifest = manifest!().requests(&[Request::Stop]).knobs(&["weight-decay/*"]).order(10);

    fn start(settings: Settings, run: &Run) -> Result<(Self, Subscriptions), String> {
        settings.check()?;
        let decays = match settings.action {
            Action::ScaleWeightDecay => settings.decays(&run.description()?)?,
            Action::Note | Action::Stop => Vec::new(),
        };
        let subscriptions = Subscriptions::new()
            .every(settings.measure_every, Hook::StepEnd, &[&settings.trained])
            .on(Hook::EvaluateEnd, &[&settings.evaluated]);
        Ok((Self { settings, decays }, subscriptions))
    }

    fn step_end(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        if let Some(value) = event.get_or_tell(&self.settings.trained, &mut state.told_missing, answer) {
            state.trained.add(value);
        }
    }

    fn evaluate_end(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        // The next evaluation is compared with what is trained from here on, whatever this one gives.
        let trained = std::mem::take(&mut state.trained).value();
        let name = &self.settings.evaluated;
        let Some(evaluated) = event.get_or_tell(name, &mut state.told_missing, answer) else { return };
        let Some(gap) = trained.and_then(|trained| Gap::between(self.settings.mode, evaluated, trained)) else {
            return;
        };
        answer.report("gap", gap.gap);
        if let Some(ratio) = gap.ratio {
            answer.report("ratio", ratio);
        }
        if state.watch.take(&self.settings.terms(), &gap) {
            self.act(state, &gap, answer);
        }
    }
}

impl OverfitWatch {
    fn act(&self, state: &mut State, gap: &Gap, answer: &mut Answer) {
        let Settings { evaluated, trained, patience, action, .. } = &self.settings;
        let what = format!(
            "the gap between {evaluated} and {trained} has grown {patience} times in a row, to {}: {} against {}",
            gap.gap, gap.evaluated, gap.trained
        );
        match action {
            Action::Note => {
                answer.note(what);
            }
            Action::Stop => {
                answer.stop(what);
            }
            Action::ScaleWeightDecay => self.raise_decay(state, &what, answer),
        }
    }

    fn raise_decay(&self, state: &mut State, what: &str, answer: &mut Answer) {
        // What is left to the bound, where that is less than a whole factor.
        let factor = self.settings.factor.min(self.settings.max_factor / state.factor);
        if factor <= 1.0 {
            let max_factor = self.settings.max_factor;
            answer.note(format!("{what}; the weight decay has its bound of {max_factor} times already"));
            return;
        }
        for decay in &self.decays {
            answer.scale(decay, factor);
        }
        state.factor *= factor;
        answer.note(format!("{what}; the weight decay is multiplied by {factor}")).report("factor", state.factor);
    }
}

host_sdk::export!(OverfitWatch);
