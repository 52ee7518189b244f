//! What happened in a rehearsal, as it is shown and compared.
//!
//! Times and fuel are no part of what is compared. Main types: [`Tape`], [`Play`].

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use host_callback::{Decision, Hook, Value, Verdict};
use host_trainer::{Observer, RunEvent};
use serde::{Deserialize, Serialize};

/// How names of measurements begin that are other numbers each time.
const UNSTEADY: [&str; 4] = ["time/", "throughput/", "memory/", "callback/"];

/// A moment at which a plugin decided something, or failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cue {
    /// Finished steps.
    pub(crate) step: u64,
    pub(crate) hook: Hook,
    /// What it had been shown, by name; no part of what is compared.
    #[serde(skip)]
    pub(crate) values: BTreeMap<String, f64>,
    /// What it decided, and what became of that.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) decisions: Vec<(Decision, Verdict)>,
    /// How it failed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) failures: Vec<String>,
}

/// How often a plugin was called at a hook, and how long each call took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) seconds: Vec<f64>,
    pub(crate) fuel: u64,
}

/// What a rehearsal leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Play {
    /// Moments with decisions or failures, in their order.
    pub(crate) cues: Vec<Cue>,
    /// How the run ended, in words.
    pub(crate) ending: String,
    /// Loss and evaluation by step.
    pub(crate) series: BTreeMap<String, Vec<(u64, f64)>>,
    /// Finished steps.
    pub(crate) steps: u64,
    /// A measurement that it read which is of a clock or of the machine, and so another one each time.
    pub(crate) unsteady: Option<String>,
    /// The calls at each hook.
    pub(crate) calls: BTreeMap<Hook, Calls>,
}

impl Play {
    /// Everything that was decided.
    pub(crate) fn decisions(&self) -> impl Iterator<Item = &(Decision, Verdict)> {
        self.cues.iter().flat_map(|cue| &cue.decisions)
    }
}

/// What is being written down: the callbacks' side knows what was shown, the loop's what became of it.
#[derive(Clone, Default)]
pub(crate) struct Tape(Rc<RefCell<Play>>);

impl Tape {
    /// A hook fires, and these values are shown.
    pub(super) fn shown(&self, step: u64, hook: Hook, values: BTreeMap<String, f64>) {
        let mut play = self.0.borrow_mut();
        if play.unsteady.is_none() {
            play.unsteady = values.keys().find(|name| UNSTEADY.iter().any(|kind| name.starts_with(kind))).cloned();
        }
        let cue = Cue { step, hook, values, decisions: Vec::new(), failures: Vec::new() };
        // Only moments at which something came of it are kept.
        if play.cues.last().is_some_and(|last| last.decisions.is_empty() && last.failures.is_empty()) {
            play.cues.pop();
        }
        play.cues.push(cue);
    }

    pub(super) fn called(&self, hook: Hook, seconds: f64, fuel: u64) {
        let mut play = self.0.borrow_mut();
        let calls = play.calls.entry(hook).or_default();
        calls.seconds.push(seconds);
        calls.fuel += fuel;
    }

    pub(super) fn failed(&self, words: String) {
        if let Some(cue) = self.0.borrow_mut().cues.last_mut() {
            cue.failures.push(words);
        }
    }

    /// What was written down.
    pub(super) fn finish(self) -> Play {
        let mut play = self.0.take();
        play.cues.retain(|cue| !cue.decisions.is_empty() || !cue.failures.is_empty());
        play
    }
}

impl Observer for Tape {
    fn observe(&mut self, event: &RunEvent<'_>) {
        let mut play = self.0.borrow_mut();
        match event {
            RunEvent::Decided { record, .. } => {
                if let Some(cue) = play.cues.last_mut() {
                    cue.decisions.push((record.decision.clone(), record.verdict.clone()));
                }
            }
            RunEvent::CallbackFailed { failure, .. } => {
                if let Some(cue) = play.cues.last_mut() {
                    cue.failures.push(failure.failure.to_string());
                }
            }
            RunEvent::Stepped { progress, loss: Some(loss), .. } => {
                play.series.entry("loss".into()).or_default().push((progress.step, *loss));
            }
            RunEvent::Evaluated { progress, values, .. } => {
                for (name, value) in values.iter().filter(|(name, _)| name == "eval/loss") {
                    if let Value::Scalar(value) = value {
                        play.series.entry(name.clone()).or_default().push((progress.step, *value));
                    }
                }
            }
            RunEvent::Ended { progress, ending, .. } => {
                play.ending = ending.words();
                play.steps = progress.step;
            }
            _ => {}
        }
    }
}
