//! Two branches of a model whose gradients should weigh the same, or one a given multiple of the other.
//! Does not decide by how much rates move; [`balance`] does, and this file turns that into rates.

mod balance;
mod settings;
#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

use balance::{Factors, Norms};
use settings::Settings;

struct BranchBalance {
    settings: Settings,
    /// The measurements that tell the norms of a's and b's gradients.
    norms: [String; 2],
    /// The groups of both branches, a's first.
    rates: Vec<Rate>,
}

/// The learning rate of one group.
struct Rate {
    /// Its name, as a measurement and as a knob.
    name: String,
    branch: Branch,
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Branch {
    A,
    B,
}

/// What has been seen and done so far.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    norms: Norms,
    /// What the rates have been multiplied by, all in all.
    factors: Factors,
    /// The rates before this step's first hook, or as they were written since, in the order of the groups.
    standing: Vec<f64>,
    /// `standing` is of a step whose gradients are still to come.
    step_begun: bool,
    /// Somebody has been told that there are no norms to compare.
    told_missing: bool,
}

impl Callback for BranchBalance {
    type Settings = Settings;
    type State = State;
    // Behind the plugins that set a rate: what is multiplied is the rate that stands.
    const MANIFEST: Manifest = manifest!().knobs(&["learning-rate/*"]).order(20);

    fn start(settings: Settings, run: &Run) -> Result<(Self, Subscriptions), String> {
        settings.check()?;
        let rates = settings.rates(&run.description()?)?;
        let norms = [&settings.a, &settings.b].map(|branch| format!("gradient-norm/{}", branch.parameters));
        let rate_names: Vec<&str> = rates.iter().map(|rate| rate.name.as_str()).collect();
        let subscriptions = Subscriptions::new()
            .on(Hook::StepBegin, &rate_names)
            .on(Hook::Gradients, &rate_names)
            .every(settings.measure_every, Hook::Gradients, &[&norms[0], &norms[1]]);
        Ok((Self { settings, norms, rates }, subscriptions))
    }

    fn step_begin(&self, state: &mut State, event: &Event, _answer: &mut Answer) {
        // A batch that was dropped has no gradients: what a schedule wrote for it is still to be found out.
        if std::mem::replace(&mut state.step_begun, true) {
            return;
        }
        state.standing = self.rates.iter().map(|rate| event.get(&rate.name).unwrap_or(f64::NAN)).collect();
    }

    fn gradients(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        state.step_begun = false;
        if let (Some(a), Some(b)) = (event.get(&self.norms[0]), event.get(&self.norms[1])) {
            state.norms.take(a, b, self.settings.decay);
        }
        let before = state.factors;
        if (event.step() + 1).is_multiple_of(self.settings.every) && event.step() >= self.settings.warm_up {
            self.adjust(state, answer);
        }
        for (index, rate) in self.rates.iter().enumerate() {
            let Some(value) = event.get(&rate.name) else { continue };
            let was_set = state.standing.get(index).is_some_and(|standing| !standing.is_nan() && *standing != value);
            let whole = state.factors.of(rate.branch);
            // A rate that somebody has set for this step has none of the factor in it, any other has all but the news.
            let factor = if was_set { whole } else { whole / before.of(rate.branch) };
            if factor != 1.0 {
                answer.scale(&rate.name, factor);
            }
            if let Some(standing) = state.standing.get_mut(index) {
                *standing = value * factor;
            }
        }
    }
}

impl BranchBalance {
    fn adjust(&self, state: &mut State, answer: &mut Answer) {
        let Some(ratio) = state.norms.ratio() else {
            if !std::mem::replace(&mut state.told_missing, true) {
                let [a, b] = &self.norms;
                let line = format!("{a} and {b} were never both known and finite, so nothing was adjusted");
                log::warn(&line);
                answer.note(line);
            }
            return;
        };
        let weighed = ratio * state.factors.ratio();
        let moved = state.factors.moved(&self.settings.terms(), weighed);
        answer.report("ratio", weighed).report("factor-a", moved.a).report("factor-b", moved.b);
        state.factors = moved;
    }
}

host_sdk::export!(BranchBalance);
