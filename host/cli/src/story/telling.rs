//! Lines about what is no decision: how the run began and ended, evaluations, checkpoints, failed calls, and what
//! the wiring told.
//!
//! Main function: [`line()`].

use host_trainer::Ending;

use super::{
    entry::{Actor, Ended, Failed, Results, Told, What},
    line::{Line, Place, Tone, Track},
    path::Path,
};
use crate::telemetry::{follows, status, words};

/// How many results of an evaluation a line has at most.
const MOST_RESULTS: usize = 4;
/// What is told of a run before it begins: its page has it at the top, or it is said where it matters.
const PREPARATIONS: [&str; 5] = ["loaded", "order", "shared-knob", "device", "task"];

/// The line about an entry, if it has one; decisions have none here.
pub(super) fn line(place: Place, what: &What) -> Option<Line> {
    Some(match what {
        What::Started { device, parameters } => {
            let begins = if place.step == 0 { "training begins" } else { "training goes on" };
            let text = format!("{begins} with {} parameters on {}", words::count(*parameters), words::short(device));
            Line::deed(place, "started", text).tone(Tone::Landmark)
        }
        What::Evaluated { values } => Line { results: results(values), ..Line::at(place) },
        What::EvaluationFailed { error } => {
            Line::deed(place, "evaluation failed", words::short(error)).tone(Tone::Warning)
        }
        What::Saved { checkpoint, tags } => {
            let tags: Vec<String> = tags.iter().filter(|tag| !tag.is_empty()).map(|tag| words::short(tag)).collect();
            let tags = if tags.is_empty() { String::new() } else { format!(" as {}", tags.join(", ")) };
            Line::deed(place, "saved", format!("saved {}{tags}", words::short(checkpoint)))
        }
        What::SaveFailed { error } => {
            let text = format!("save failed, older checkpoints are as they were: {}", words::short(error));
            Line::deed(place, "save failed", text).tone(Tone::Warning)
        }
        What::CallbackFailed(failed) => failure(place, failed),
        What::Ended(ended) => end(place, ended),
        What::Story(told) => story(place, told),
        What::Decided(_) | What::Restored { .. } | What::Other => return None,
    })
}

fn results(values: &Results) -> Vec<Track> {
    let track = |(name, value): (&String, &crate::telemetry::Number)| Track {
        name: words::short(name),
        names: vec![name.clone()],
        path: Path::from(value.0),
        writers: Vec::new(),
    };
    values.iter().take(MOST_RESULTS).map(track).collect()
}

fn failure(place: Place, failed: &Failed) -> Line {
    let (fuel, time) = (words::count(failed.fuel), words::seconds(failed.seconds));
    let (cause, message) = (failed.cause.words(), words::short(&failed.message));
    let text = format!("failed ({cause}): {message}; {} (fuel {fuel}, {time})", follows(failed.consequence));
    let line = Line::deed(place, &format!("failed {cause} {:?}", failed.consequence), text);
    Line { hook: Some(failed.hook), ..line }.by(failed.by.clone()).tone(Tone::Warning)
}

fn end(place: Place, ended: &Ended) -> Line {
    let left: Vec<String> = results(&ended.evaluation)
        .iter()
        .map(|track| format!("{} {}", track.name, words::figure(track.path.ends().1)))
        .collect();
    let left = if left.is_empty() { String::new() } else { format!("; it leaves {}", left.join(", ")) };
    let text = format!("the run ends, {}: {}{left}", status(&ended.ending), words::short(&ended.ending.words()));
    let line = Line::deed(place, "ended", text);
    match &ended.ending {
        Ending::Stopped { by, .. } => line.by(Actor::named(by)).tone(Tone::Landmark),
        Ending::GuardLost { instance, .. } => line.by(Actor::named(instance)).tone(Tone::Warning),
        Ending::Failed { .. } => line.tone(Tone::Warning),
        Ending::Completed | Ending::Interrupted { .. } => line.tone(Tone::Landmark),
    }
}

fn story(place: Place, told: &Told) -> Line {
    let debug = told.details.get("level").and_then(serde_json::Value::as_str) == Some("debug");
    let line = Line::deed(place, &format!("{} {}", told.topic, told.warning), words::short(&told.text));
    let line = Line { quiet: debug || PREPARATIONS.contains(&&*told.topic), ..line };
    let line = if told.warning { line.tone(Tone::Warning) } else { line };
    match &told.instance {
        Some(instance) => line.by(Actor::named(instance)),
        None => line,
    }
}
