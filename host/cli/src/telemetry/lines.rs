//! The lines of the run's files: which event becomes which line, field by field.
//!
//! It does not write them ([`files`](super::files) does) and does not read them ([`replay`](super::replay) does).
//! The format is a promise to programs of other people: fields may be added, and none renamed or removed.

use std::collections::BTreeMap;

use host_callback::{
    Change, Consequence, Decision, FailureKind, FailureRecord, Hook, Identity, Progress, Record, Value, Verdict,
};
use host_trainer::{Ending, RunEvent};
use serde::Serialize;

use super::{
    history::Failed,
    news::{News, Story, What},
    number::{Named, NamedNumbers, Number, Scalars},
    words,
};

/// A line of `metrics.jsonl` or `reports.jsonl`: where the run is, and values by name. No clock had a part in
/// it, so two runs with one seed write the same bytes.
#[derive(Serialize)]
pub(super) struct Measured<V> {
    step: u64,
    epoch: f64,
    samples: u64,
    #[serde(skip_serializing_if = "is_zero")]
    tokens: u64,
    #[serde(flatten)]
    values: V,
}

impl<V> Measured<V> {
    fn new(progress: &Progress, values: V) -> Self {
        let Progress { step, epoch, samples, tokens, .. } = *progress;
        Self { step, epoch, samples, tokens, values }
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The line of `metrics.jsonl`, if the event has one.
pub(super) fn metrics<'a>(news: &News<'a>) -> Option<Measured<Named<'a>>> {
    match news.what {
        What::Run(RunEvent::Logged { progress, values, .. } | RunEvent::Evaluated { progress, values, .. }) => {
            Some(Measured::new(progress, Named(values)))
        }
        _ => None,
    }
}

/// The line of `reports.jsonl`, if the event has one.
pub(super) fn reports<'a>(news: &News<'a>) -> Option<Measured<NamedNumbers<'a>>> {
    match news.what {
        What::Run(RunEvent::Reported { progress, values }) => Some(Measured::new(progress, NamedNumbers(values))),
        _ => None,
    }
}

/// A line of `performance.jsonl`: what clocks and the system say, and so no two runs have in common.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Performance<'a> {
    /// With a log record.
    Logged {
        step: u64,
        #[serde(flatten)]
        values: Named<'a>,
    },
    /// How long an evaluation took.
    Evaluated { step: u64, seconds: f64 },
    /// How long a checkpoint took.
    Saved { step: u64, checkpoint: &'a str, seconds: f64 },
}

/// The line of `performance.jsonl`, if the event has one.
pub(super) fn performance<'a>(news: &News<'a>) -> Option<Performance<'a>> {
    let step = news.at.step;
    match news.what {
        What::Run(RunEvent::Logged { performance, .. }) => {
            Some(Performance::Logged { step, values: Named(performance) })
        }
        What::Run(RunEvent::Evaluated { seconds, .. }) => Some(Performance::Evaluated { step, seconds: *seconds }),
        What::Run(RunEvent::Saved { checkpoint, seconds, .. }) => {
            Some(Performance::Saved { step, checkpoint, seconds: *seconds })
        }
        _ => None,
    }
}

/// A line of `timeline.jsonl`. `time` is the wall clock; besides it only a failed call's `seconds` differ
/// between two runs with one seed.
#[derive(Serialize)]
pub(super) struct Timeline<'a> {
    #[serde(flatten)]
    happened: Happened<'a>,
    epoch: f64,
    time: String,
}

/// A `saved` line is written when the checkpoint is durable, not before.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Happened<'a> {
    Started { step: u64, total_steps: Option<u64>, device: &'a str, parameters: usize },
    Decided(Decided<'a>),
    CallbackFailed(FailedLine<'a>),
    Evaluated { step: u64, values: Scalars<'a> },
    EvaluationFailed { step: u64, error: &'a str },
    Saved { step: u64, checkpoint: &'a str, tags: &'a [String] },
    SaveFailed { step: u64, error: &'a str },
    Restored { step: u64, tag: &'a str, from_step: u64 },
    Ended(Ended<'a>),
    Story(Told<'a>),
}

#[derive(Serialize)]
struct Decided<'a> {
    step: u64,
    hook: Hook,
    #[serde(flatten)]
    by: &'a Identity,
    decision: &'a Decision,
    outcome: &'static str,
    why: Option<&'a str>,
    changes: &'a [Change],
}

/// A failed call, as the timeline and the report have it.
#[derive(Serialize)]
pub(crate) struct FailedLine<'a> {
    step: u64,
    hook: Hook,
    #[serde(flatten)]
    by: &'a Identity,
    cause: FailureKind,
    message: &'a str,
    fuel: u64,
    seconds: f64,
    consequence: Consequence,
}

#[derive(Serialize)]
struct Ended<'a> {
    step: u64,
    samples: u64,
    tokens: u64,
    status: &'static str,
    stop_reason: String,
    ending: &'a Ending,
    /// Of the weights that the run leaves.
    evaluation: BTreeMap<&'a str, Number>,
}

#[derive(Serialize)]
struct Told<'a> {
    step: u64,
    topic: &'a str,
    instance: Option<&'a str>,
    text: &'a str,
    warning: bool,
    details: &'a serde_json::Map<String, serde_json::Value>,
}

/// The line of `timeline.jsonl`, if the event has one.
pub(super) fn timeline<'a>(news: &News<'a>) -> Option<Timeline<'a>> {
    let happened = match news.what {
        What::Run(event) => happened(event)?,
        What::Story(story) => Happened::Story(told(news.at.step, story)),
    };
    Some(Timeline { happened, epoch: news.at.epoch, time: words::moment((news.clock.wall)()) })
}

fn happened<'a>(event: &'a RunEvent<'a>) -> Option<Happened<'a>> {
    Some(match event {
        RunEvent::Started { device, parameters, progress } => Happened::Started {
            step: progress.step,
            total_steps: progress.total_steps,
            device,
            parameters: *parameters,
        },
        RunEvent::Decided { progress, hook, record } => Happened::Decided(decided(progress.step, *hook, record)),
        RunEvent::CallbackFailed { progress, hook, failure } => {
            Happened::CallbackFailed(FailedLine::new(progress.step, *hook, failure))
        }
        RunEvent::Evaluated { progress, values, .. } => {
            Happened::Evaluated { step: progress.step, values: Scalars(values) }
        }
        RunEvent::Saved { progress, checkpoint, tags, .. } => Happened::Saved { step: progress.step, checkpoint, tags },
        RunEvent::EvaluationFailed { progress, error } => Happened::EvaluationFailed { step: progress.step, error },
        RunEvent::SaveFailed { progress, error } => Happened::SaveFailed { step: progress.step, error },
        RunEvent::Restored { progress, tag, step } => Happened::Restored { step: progress.step, tag, from_step: *step },
        RunEvent::Ended { progress, ending, evaluation, .. } => Happened::Ended(ended(progress, ending, evaluation)),
        RunEvent::Stepped { .. }
        | RunEvent::Logged { .. }
        | RunEvent::Reported { .. }
        | RunEvent::EvaluationStarted { .. } => return None,
    })
}

fn decided(step: u64, hook: Hook, record: &Record) -> Decided<'_> {
    let (outcome, why) = outcome(&record.verdict);
    Decided { step, hook, by: &record.by, decision: &record.decision, outcome, why, changes: &record.changes }
}

impl<'a> FailedLine<'a> {
    fn new(step: u64, hook: Hook, record: &'a FailureRecord) -> Self {
        let failure = &record.failure;
        Self {
            step,
            hook,
            by: &record.by,
            cause: failure.kind,
            message: &failure.message,
            fuel: failure.fuel,
            seconds: failure.time.as_secs_f64(),
            consequence: failure.consequence,
        }
    }

    /// The same of a failure that the history kept.
    pub(crate) fn of(failed: &'a Failed) -> Self {
        Self::new(failed.step, failed.hook, &failed.failure)
    }
}

fn ended<'a>(progress: &Progress, ending: &'a Ending, evaluation: &'a BTreeMap<String, Value>) -> Ended<'a> {
    let Progress { step, samples, tokens, .. } = *progress;
    let number = |(name, value): (&'a String, &Value)| Some((name.as_str(), Number(scalar(value)?)));
    let evaluation = evaluation.iter().filter_map(number).collect();
    Ended { step, samples, tokens, status: status(ending), stop_reason: ending.words(), ending, evaluation }
}

fn told(step: u64, story: &Story) -> Told<'_> {
    let Story { topic, instance, text, warning, details } = story;
    Told { step, topic, instance: instance.as_deref(), text, warning: *warning, details }
}

/// An outcome's name in the files, and the reason where it has one.
pub(super) fn outcome(verdict: &Verdict) -> (&'static str, Option<&str>) {
    match verdict {
        Verdict::Applied => ("applied", None),
        Verdict::Merged => ("merged", None),
        Verdict::Overruled(why) => ("overruled", Some(why)),
        Verdict::Refused(why) => ("refused", Some(why)),
    }
}

/// Under which of four words a run is closed. A run whose guard is lost is a failed one: what it should have
/// been kept from may have happened.
pub(crate) fn status(ending: &Ending) -> &'static str {
    match ending {
        Ending::Completed => "completed",
        Ending::Stopped { .. } => "stopped",
        Ending::Interrupted { .. } => "interrupted",
        Ending::GuardLost { .. } | Ending::Failed { .. } => "failed",
    }
}

/// The scalars among values, by name.
pub(super) fn scalars(values: &[(String, Value)]) -> impl Iterator<Item = (&str, f64)> {
    values.iter().filter_map(|(name, value)| Some((name.as_str(), scalar(value)?)))
}

/// A value, if it is one number.
pub(super) fn scalar(value: &Value) -> Option<f64> {
    match value {
        Value::Scalar(value) => Some(*value),
        Value::Vector(_) | Value::Text(_) => None,
    }
}
