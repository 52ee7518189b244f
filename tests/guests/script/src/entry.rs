//! One line of a script: when, and what.
//! Keeps no count of its own.

use host_sdk::prelude::*;
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Entry {
    /// The hook's name in the contract.
    pub(crate) hook: String,
    /// The value of `progress.step`.
    #[serde(default)]
    step: Option<u64>,
    /// Which occurrence of the hook, from 1.
    #[serde(default)]
    occurrence: Option<u64>,
    /// A measurement, `above` or `below`, and a bound.
    #[serde(default)]
    when: Option<(String, Side, Number)>,
    /// What to decide, in this order.
    decide: Vec<Act>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Side {
    Above,
    Below,
}

/// A number, or the word for one that JSON does not have.
#[derive(Deserialize, JsonSchema)]
struct Number(#[schemars(with = "Value")] f64);

/// A decision of the contract, or one of three ways to fail.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Act {
    Stop(String),
    EndEpoch(String),
    Evaluate,
    Save(String),
    Log,
    Skip(String),
    Restore(String),
    Set(String, Number),
    Scale(String, Number),
    Report(String, Number),
    Mute(String),
    Note(String),
    /// Answer with this error.
    Fail(String),
    /// Panic with this message, as a bug in a callback does.
    Panic(String),
    /// A line in the log.
    Say(String),
}

impl Entry {
    /// The measurement that the entry depends on.
    pub(crate) fn reads(&self) -> Option<&str> {
        self.when.as_ref().map(|(name, ..)| name.as_str())
    }

    pub(crate) fn is_due(&self, event: &Event, occurrence: u64) -> bool {
        let holds = |(name, side, bound): &(String, Side, Number)| {
            event.get(name).is_some_and(|value| if *side == Side::Above { value > bound.0 } else { value < bound.0 })
        };
        event.hook().as_str() == self.hook
            && self.step.is_none_or(|step| step == event.step())
            && self.occurrence.is_none_or(|wanted| wanted == occurrence)
            && self.when.as_ref().is_none_or(holds)
    }

    pub(crate) fn play(&self, answer: &mut Answer) {
        for act in &self.decide {
            act.play(answer);
        }
    }
}

impl Act {
    fn play(&self, answer: &mut Answer) {
        match self {
            Self::Stop(reason) => answer.stop(reason),
            Self::EndEpoch(reason) => answer.end_epoch(reason),
            Self::Evaluate => answer.evaluate(),
            Self::Save(tag) => answer.save(tag),
            Self::Log => answer.log(),
            Self::Skip(reason) => answer.skip(reason),
            Self::Restore(tag) => answer.restore(tag),
            Self::Set(knob, value) => answer.set(knob, value.0),
            Self::Scale(knob, factor) => answer.scale(knob, factor.0),
            Self::Report(name, value) => answer.report(name, value.0),
            Self::Mute(name) => answer.mute(name),
            Self::Note(line) => answer.note(line),
            Self::Fail(error) => {
                answer.fail(error);
                answer
            }
            Self::Panic(message) => panic!("{message}"),
            Self::Say(line) => {
                log::info(line);
                answer
            }
        };
    }
}
