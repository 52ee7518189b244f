//! A line of the story: who did what at which moment, why, and what followed.
//!
//! It does not know how lines come about ([`moment`](super::moment) does) or which of them are told as one
//! ([`fold`](super::fold) does). Main types: [`Line`], [`Track`].

use host_callback::Hook;
use serde_json::{Value, json};

use super::{entry::Actor, path::Path};
use crate::telemetry::{Number, words};

/// When something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Place {
    /// Finished steps.
    pub(super) step: u64,
    pub(super) epoch: f64,
}

/// How a line is to be looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As one of many.
    #[default]
    Plain,
    /// As a landmark: the run begins or ends.
    Landmark,
    /// Something went wrong or was refused.
    Warning,
}

/// One line. What is told as one line may have happened several times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(super) first: Place,
    pub(super) last: Place,
    /// How often it happened.
    pub(super) times: u64,
    pub(super) hook: Option<Hook>,
    pub(super) by: Vec<Actor>,
    /// The knobs that were written, and how they went.
    pub(super) knobs: Vec<Track>,
    /// Knobs whose write was refused.
    pub(super) refused: Vec<String>,
    /// Results of an evaluation.
    pub(super) results: Vec<Track>,
    /// What was done besides, in words.
    pub(super) deeds: String,
    /// The same of the last time, where it differs.
    pub(super) last_deeds: Option<String>,
    /// What kinds of deeds these are: lines that differ in this are not the same.
    pub(super) shape: String,
    /// The reason in words, of the last time; empty where nobody gave one.
    pub(super) why: String,
    /// Whether other reasons were given before.
    pub(super) why_differs: bool,
    /// How many evaluations there were before the first and before the last time.
    pub(super) evaluations: (usize, usize),
    /// Whether the evaluation that follows says something about it.
    pub(super) matters: bool,
    pub(super) then: Option<Then>,
    pub(crate) tone: Tone,
    /// Told only where everything is.
    pub(super) quiet: bool,
}

/// Knobs or a measurement, and the values that they had.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track {
    /// What to call them: `learning-rate/*` for a whole family.
    pub(super) name: String,
    /// The names one by one.
    pub(super) names: Vec<String>,
    pub(super) path: Path,
    /// Who wrote which value, in order, where there were several.
    pub(super) writers: Vec<(String, f64)>,
}

/// The evaluation after what a line tells, and the one before.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Then {
    pub(super) name: String,
    pub(super) before: Option<f64>,
    pub(super) after: f64,
}

impl Line {
    pub(super) fn at(place: Place) -> Self {
        Self { first: place, last: place, times: 1, ..Self::default() }
    }

    /// A line about what was done, in words.
    pub(super) fn deed(place: Place, shape: &str, deeds: impl Into<String>) -> Self {
        Self { shape: shape.to_owned(), deeds: deeds.into(), ..Self::at(place) }
    }

    pub(super) fn by(self, by: Actor) -> Self {
        Self { by: vec![by], ..self }
    }

    pub(super) fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// `step 1,200`, or `steps 1–812`.
    pub(crate) fn steps(&self) -> String {
        let (first, last) = (words::count(self.first.step), words::count(self.last.step));
        if first == last { format!("step {first}") } else { format!("steps {first}–{last}") }
    }

    /// `epoch 4.00`, or `epochs 0.01–4.00`.
    pub(crate) fn epochs(&self) -> String {
        let [first, last] = [self.first.epoch, self.last.epoch].map(|epoch| format!("{epoch:.2}"));
        if first == last { format!("epoch {first}") } else { format!("epochs {first}–{last}") }
    }

    /// The hook; empty where the loop did it.
    pub(crate) fn moment(&self) -> &'static str {
        self.hook.map_or("", Hook::name)
    }

    /// Every callback that had a part in it, with its version.
    pub(crate) fn who(&self) -> String {
        let who = |actor: &Actor| match &actor.version {
            Some(version) => words::short(&format!("{} {version}", actor.instance)),
            None => words::short(&actor.instance),
        };
        self.by.iter().map(who).collect::<Vec<_>>().join(", ")
    }

    /// What happened, why, and what followed.
    pub(crate) fn what(&self) -> String {
        let mut parts = Vec::new();
        if !self.knobs.is_empty() {
            parts.push(self.knobs.iter().map(Track::knob).collect::<Vec<_>>().join(", "));
        }
        if !self.results.is_empty() {
            let results: Vec<String> = self.results.iter().map(Track::result).collect();
            parts.push(format!("evaluation: {}", results.join(", ")));
        }
        parts.extend(Some(self.deeds.clone()).filter(|deeds| !deeds.is_empty()));
        let mut text = parts.join("; ");
        if let Some(last) = &self.last_deeds {
            text.push_str(&format!(" … {last}"));
        }
        if self.times > 1 {
            text.push_str(&format!(", {} times", words::count(self.times)));
        }
        if !self.why.is_empty() {
            let last = if self.why_differs { "the last time: " } else { "" };
            text.push_str(&format!(" ({last}{})", self.why));
        }
        if let Some(Then { name, before, after }) = &self.then {
            let before = before.map(|before| format!("{} → ", words::figure(before))).unwrap_or_default();
            text.push_str(&format!(", then {} {before}{}", words::printable(name), words::figure(*after)));
        }
        text
    }

    /// All of it in one line.
    pub(crate) fn words(&self) -> String {
        let place = [self.steps(), self.epochs(), self.moment().to_owned(), self.who()];
        let place: Vec<String> = place.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}: {}", place.join(" · "), self.what())
    }

    /// All of it for programs.
    pub(crate) fn json(&self) -> Value {
        let knob = |track: &Track| {
            let (before, after) = track.path.ends();
            let writers = track.writers.iter().map(|(by, value)| json!({ "instance": by, "value": Number(*value) }));
            let (knobs, writers) = (&track.names, writers.collect::<Vec<_>>());
            json!({ "knobs": knobs, "before": Number(before), "after": Number(after), "writers": writers })
        };
        let result = |track: &Track| {
            let (first, last) = track.path.ends();
            json!({ "name": track.names[0], "first": Number(first), "last": Number(last) })
        };
        json!({
            "kind": "event",
            "step": self.first.step,
            "epoch": self.first.epoch,
            "last_step": self.last.step,
            "last_epoch": self.last.epoch,
            "times": self.times,
            "hook": self.hook,
            "by": self.by,
            "what": self.what(),
            "why": Some(&self.why).filter(|why| !why.is_empty()),
            "changes": self.knobs.iter().map(knob).collect::<Vec<_>>(),
            "results": self.results.iter().map(result).collect::<Vec<_>>(),
            "then": self.then.as_ref().map(|then| json!({
                "name": then.name, "before": then.before.map(Number), "after": Number(then.after),
            })),
            "warning": self.tone == Tone::Warning,
        })
    }
}

impl Track {
    /// `learning-rate/* 0.002 → 0.001`.
    fn knob(&self) -> String {
        format!("{} {}", self.name, self.path.words(words::setting, "stays "))
    }

    /// `eval/loss 0.9 → 0.023 → 0.031`.
    fn result(&self) -> String {
        format!("{} {}", self.name, self.path.words(words::figure, ""))
    }
}
