//! What a run was: task, model, device, how far it came, how it ended, and its results.
//!
//! It needs no report: of a run that goes on, or was killed, it says what the other files tell. Main type:
//! [`Facts`].

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use host_trainer::Ending;
use serde_json::{Value, json};

use super::{
    entry::{Entry, Results, Told, What},
    line::Place,
};
use crate::telemetry::{Best, Number, status, words};

/// How many measurements are told at the top.
const MOST_RESULTS: usize = 12;

/// A run as its files tell it.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    run: String,
    task: Option<String>,
    device: Option<String>,
    parameters: Option<u64>,
    resumed_from: Option<String>,
    reached: Place,
    samples: u64,
    tokens: u64,
    seconds: Option<f64>,
    ending: Option<Ending>,
    /// The time of the newest line.
    last_sign: String,
    best: BTreeMap<String, Best>,
    last: BTreeMap<String, f64>,
    /// Every name in the metrics: what a family such as `learning-rate/*` consists of.
    pub(super) names: BTreeSet<String>,
}

impl Facts {
    /// What the files beside the timeline tell; `Null` for one that is not there.
    pub(super) fn new(folder: &Path, report: &Value, environment: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            run: folder.display().to_string(),
            device: text(&environment["device"]),
            resumed_from: text(&environment["resumed_from"]),
            seconds: report["elapsed_seconds"].as_f64(),
            ..Self::default()
        }
    }

    /// Takes a line of the metrics.
    pub(super) fn measured(&mut self, line: &Value) {
        let Some(values) = line.as_object() else { return };
        let count = |name| line[name].as_u64().unwrap_or(0);
        self.reach(Place { step: count("step"), epoch: line["epoch"].as_f64().unwrap_or(0.0) });
        (self.samples, self.tokens) = (self.samples.max(count("samples")), self.tokens.max(count("tokens")));
        if let Ok(loss) = serde_json::from_value::<Number>(line["loss"].clone()) {
            self.last.insert("loss".into(), loss.0);
        }
        for name in values.keys() {
            if !self.names.contains(name) {
                self.names.insert(name.clone());
            }
        }
    }

    /// Takes a line of the timeline.
    pub(super) fn take(&mut self, entry: &Entry) {
        self.reach(Place { step: entry.step, epoch: entry.epoch });
        self.last_sign.clone_from(&entry.time);
        match &entry.what {
            What::Started { device, parameters } => {
                self.device = Some(device.clone());
                self.parameters = Some(*parameters);
            }
            What::Evaluated { values } => self.evaluated(entry.step, values),
            What::Story(Told { topic, text, .. }) if topic == "task" => self.task = Some(text.clone()),
            What::Ended(ended) => {
                self.ending = Some(ended.ending.clone());
                (self.samples, self.tokens) = (ended.samples, ended.tokens);
                self.last.extend(ended.evaluation.iter().map(|(name, value)| (name.clone(), value.0)));
            }
            _ => {}
        }
    }

    fn reach(&mut self, place: Place) {
        if place.step >= self.reached.step {
            self.reached = place;
        }
    }

    fn evaluated(&mut self, step: u64, values: &Results) {
        for (name, value) in values {
            self.last.insert(name.clone(), value.0);
            if let Some(best) = Best::better(self.best.get(name).copied(), name, value.0, step) {
                self.best.insert(name.clone(), best);
            }
        }
    }

    /// Name and value of everything that is known, for people.
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let mut rows = vec![("run".to_owned(), words::printable(&self.run).into_owned())];
        let mut row = |name: &str, value: Option<String>| rows.extend(value.map(|value| (name.to_owned(), value)));
        let parameters = self.parameters.map(|count| format!("{} parameters", words::count(count)));
        let task = self.task.as_deref().map(words::short).into_iter().chain(parameters).collect::<Vec<_>>();
        row("task", Some(task.join(", ")).filter(|text| !text.is_empty()));
        row("device", self.device.as_deref().map(words::short));
        row("resumed", self.resumed_from.as_ref().map(|from| format!("from {}", words::short(from))));
        row("length", Some(self.length()));
        match &self.ending {
            Some(ending) => row(status(ending), Some(words::short(&ending.words()))),
            None => row("not ended", Some(format!("it still runs, or was killed; last sign {}", self.last_sign))),
        }
        let results = self.last.iter().take(MOST_RESULTS).map(|(name, last)| {
            let best = self
                .best
                .get(name)
                .map(|best| format!(" (best {} at step {})", words::figure(best.value), words::count(best.step)));
            (words::short(name), format!("{}{}", words::figure(*last), best.unwrap_or_default()))
        });
        rows.extend(results);
        rows
    }

    fn length(&self) -> String {
        let steps = words::count(self.reached.step);
        let mut text =
            format!("{steps} steps, {:.2} epochs, {} samples", self.reached.epoch, words::count(self.samples));
        if self.tokens > 0 {
            text.push_str(&format!(", {} tokens", words::count(self.tokens)));
        }
        if let Some(seconds) = self.seconds {
            text.push_str(&format!(", {}", words::seconds(seconds)));
        }
        text
    }

    /// The same for programs.
    pub(crate) fn json(&self) -> Value {
        let last: BTreeMap<&String, Number> = self.last.iter().map(|(name, value)| (name, Number(*value))).collect();
        json!({
            "kind": "run",
            "run": self.run,
            "task": self.task,
            "device": self.device,
            "parameters": self.parameters,
            "resumed_from": self.resumed_from,
            "steps": self.reached.step,
            "epochs": self.reached.epoch,
            "samples": self.samples,
            "tokens": self.tokens,
            "elapsed_seconds": self.seconds,
            "status": self.ending.as_ref().map(status),
            "stop_reason": self.ending.as_ref().map(Ending::words),
            "last_sign": self.last_sign,
            "best": self.best,
            "final": last,
        })
    }
}
