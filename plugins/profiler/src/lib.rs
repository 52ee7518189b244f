//! Where a run's time goes: the share of each phase, and which callback is the slowest.
//! Measures nothing by itself; it adds up the times that the run tells. [`times`] has the sums.

#[cfg(test)]
mod tests;
mod times;

use std::collections::BTreeMap;

use host_sdk::prelude::*;

use times::Times;

/// Tells where a run's time goes: the share of each phase, and the slowest callback.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Profiler {
    /// Steps from one report to the next.
    #[schemars(range(min = 1))]
    every: u32,
}

impl Default for Profiler {
    fn default() -> Self {
        Self { every: 100 }
    }
}

/// What has been added up.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// Since the last report.
    recent: Times,
    /// Since the beginning.
    all: Times,
    /// An evaluation has ended whose time was not read yet.
    evaluated: bool,
    /// A checkpoint was saved whose time was not read yet.
    saved: bool,
    /// A step has ended whose times were not read yet.
    stepped: bool,
    /// By callback.
    callbacks: BTreeMap<String, Spent>,
}

/// The time that one callback took, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Spent {
    /// What the run told last. It counts from the beginning of a process.
    told: f64,
    /// In all processes of the run.
    all: f64,
}

impl Callback for Profiler {
    type Settings = Self;
    type State = State;
    // Last, for the sake of order: nothing that it does concerns anybody.
    const MANIFEST: Manifest = manifest!().order(1000);

    fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
        if settings.every == 0 {
            return Err("every is 0: it has to be 1 or more".into());
        }
        // By pattern: a run that does not tell some of the times tells the others.
        let subscriptions = Subscriptions::new()
            .on(Hook::StepEnd, &["time/*"])
            .every(settings.every, Hook::StepEnd, &["callback/*/time"])
            .on(Hook::EvaluateEnd, &[])
            .on(Hook::SaveEnd, &[])
            .on(Hook::TrainEnd, &["time/*", "callback/*/time"]);
        Ok((settings, subscriptions))
    }

    fn step_end(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        state.read(event);
        // The times of this one are known when it is over.
        state.stepped = true;
        if event.step().is_multiple_of(self.every.into()) {
            for (phase, share) in std::mem::take(&mut state.recent).shares() {
                answer.report(phase, share);
            }
        }
    }

    fn evaluate_end(&self, state: &mut State, _event: &Event, _answer: &mut Answer) {
        state.evaluated = true;
    }

    fn save_end(&self, state: &mut State, _event: &Event, _answer: &mut Answer) {
        state.saved = true;
    }

    fn train_end(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        state.read(event);
        let total = state.all.total();
        match state.all.slowest() {
            Some((phase, seconds)) => answer.note(format!("slowest phase: {phase}, {}", of(seconds, total))),
            None => answer.note("no times were told, so there is no slowest phase"),
        };
        if let Some((name, seconds)) = state.slowest_callback() {
            answer.note(format!("slowest callback: {name}, {}", of(seconds, total)));
        }
    }
}

/// Seconds, and their part of a total where there is one.
fn of(seconds: f64, total: f64) -> String {
    if total > 0.0 {
        format!("{seconds:.3} s, {:.1} % of {total:.3} s", 100.0 * seconds / total)
    } else {
        format!("{seconds:.3} s")
    }
}

impl State {
    /// Adds what happened since the last look.
    fn read(&mut self, event: &Event) {
        let mut add = |phases: &[&'static str]| {
            for phase in phases {
                if let Some(seconds) = event.get(&format!("time/{phase}")) {
                    self.recent.add(phase, seconds);
                    self.all.add(phase, seconds);
                }
            }
        };
        // Each time stays readable until there is a next one, and counts once.
        if std::mem::take(&mut self.stepped) {
            add(&[times::STEP]);
            add(&times::IN_A_STEP);
        }
        if std::mem::take(&mut self.evaluated) {
            add(&[times::EVALUATION]);
        }
        if std::mem::take(&mut self.saved) {
            add(&[times::CHECKPOINT]);
        }
        self.read_callbacks(event);
    }

    fn read_callbacks(&mut self, event: &Event) {
        for (name, seconds) in event.matching("callback/*/time") {
            let instance = name.strip_prefix("callback/").and_then(|rest| rest.strip_suffix("/time"));
            let Some(instance) = instance.filter(|_| seconds.is_finite()) else { continue };
            let spent = self.callbacks.entry(instance.to_owned()).or_default();
            // Less than before: another process counts from 0.
            spent.all += if seconds < spent.told { seconds } else { seconds - spent.told };
            spent.told = seconds;
        }
    }

    fn slowest_callback(&self) -> Option<(&str, f64)> {
        let times = self.callbacks.iter().map(|(name, spent)| (name.as_str(), spent.all));
        times.filter(|(_, seconds)| *seconds > 0.0).max_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

host_sdk::export!(Profiler);
