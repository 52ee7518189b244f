//! `report.json`: the outcome of a run for programs.
//!
//! The format is a promise to programs of other people: fields may be added, and none renamed or removed.
//! Numbers that JSON does not have are spelled `"NaN"`, `"Infinity"` and `"-Infinity"`. Main type: [`Report`].

use std::collections::BTreeMap;

use host_callback::Summary;
use host_trainer::{Artifact, Ending};
use serde::Serialize;

use super::ReportInputs;
use crate::telemetry::{Best, Checkpoint, DecisionCount, FailedLine, Number, status};

/// The content of the file.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    run: &'a str,
    /// `completed`, `stopped`, `interrupted` or `failed`.
    status: &'static str,
    stop_reason: String,
    ending: &'a Ending,
    /// Of the whole run, like `epochs`, `samples` and `tokens`.
    steps: u64,
    /// Where this process began.
    first_step: u64,
    epochs: f64,
    samples: u64,
    tokens: u64,
    device: Option<&'a str>,
    parameters: usize,
    best: &'a BTreeMap<String, Best>,
    r#final: BTreeMap<&'a str, Number>,
    /// Of this process, like `throughput` and `callbacks`.
    elapsed_seconds: f64,
    step_seconds: f64,
    throughput: Throughput,
    callbacks: Vec<Callback<'a>>,
    slowest_callback: Option<Slowest<'a>>,
    decisions: &'a [DecisionCount],
    failures_total: u64,
    /// The last 100 at most.
    failures: Vec<FailedLine<'a>>,
    checkpoints: &'a [Checkpoint],
    artifacts: Vec<Left<'a>>,
}

#[derive(Serialize)]
struct Throughput {
    samples_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_per_second: Option<f64>,
}

#[derive(Serialize)]
struct Callback<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    /// The part of the elapsed time, from 0 to 1.
    share: f64,
}

#[derive(Serialize)]
struct Slowest<'a> {
    instance: &'a str,
    seconds: f64,
    share: f64,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Left<'a> {
    Text { name: &'a str, text: &'a str },
    Table { name: &'a str, columns: &'a [String], rows: Vec<(&'a str, Vec<Number>)> },
}

/// What the file says of a run.
pub(super) fn report<'a>(inputs: &'a ReportInputs<'a>) -> Report<'a> {
    let history = inputs.history;
    let callback = |summary| Callback { summary, share: inputs.share(summary) };
    let last = history.series.keys().filter_map(|name| Some((name.as_str(), Number(history.last(name)?))));
    Report {
        run: &inputs.run,
        status: status(&inputs.ending),
        stop_reason: inputs.ending.words(),
        ending: &inputs.ending,
        steps: history.progress.step,
        first_step: history.began.step,
        epochs: history.progress.epoch,
        samples: history.progress.samples,
        tokens: history.progress.tokens,
        device: history.device.as_deref(),
        parameters: history.parameters,
        best: &history.best,
        r#final: last.collect(),
        elapsed_seconds: inputs.elapsed.as_secs_f64(),
        step_seconds: history.step_seconds,
        throughput: Throughput {
            samples_per_second: inputs.samples_per_second(),
            tokens_per_second: inputs.tokens_per_second(),
        },
        callbacks: history.callbacks.iter().map(callback).collect(),
        slowest_callback: inputs.slowest().map(|slowest| Slowest {
            instance: slowest.by.instance.as_str(),
            seconds: slowest.seconds,
            share: inputs.share(slowest),
        }),
        decisions: &history.decisions,
        failures_total: history.failures.total(),
        failures: history.failures.iter().map(FailedLine::of).collect(),
        checkpoints: &inputs.checkpoints,
        artifacts: inputs.artifacts.iter().map(left).collect(),
    }
}

fn left(artifact: &Artifact) -> Left<'_> {
    match artifact {
        Artifact::Text { name, text } => Left::Text { name, text },
        Artifact::Table { name, columns, rows } => {
            let numbers = |values: &[f64]| values.iter().copied().map(Number).collect();
            let rows = rows.iter().map(|(name, values)| (name.as_str(), numbers(values))).collect();
            Left::Table { name, columns, rows }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{super::sample, *};

    fn written() -> Value {
        let (history, environment) = (sample::history(), crate::environment::tests::sample());
        let artifacts = sample::artifacts();
        serde_json::to_value(report(&sample::inputs(&history, &environment, &artifacts))).unwrap()
    }

    #[test]
    fn every_promised_field_is_there() {
        let json = written();
        for (field, value) in [
            ("/run", json!("quickstart-3")),
            ("/status", json!("stopped")),
            ("/stop_reason", json!("early: no improvement | for 3 evaluations\u{1b}[31m")),
            ("/ending/kind", json!("stopped")),
            ("/ending/by", json!("early")),
            ("/steps", json!(1000)),
            ("/first_step", json!(0)),
            ("/epochs", json!(100.0)),
            ("/samples", json!(4000)),
            ("/tokens", json!(0)),
            ("/best/eval~1loss/step", json!(600)),
            ("/best/eval~1accuracy/step", json!(1000)),
            ("/final/loss", json!("NaN")),
            ("/elapsed_seconds", json!(100.0)),
            ("/throughput/samples_per_second", json!(80.0)),
            ("/callbacks/0/instance", json!("quick")),
            ("/callbacks/0/plugin", json!("plug")),
            ("/callbacks/0/version", json!("1.2.3")),
            ("/callbacks/0/sha256", json!("ab".repeat(32))),
            ("/callbacks/0/calls", json!(100)),
            ("/callbacks/0/decisions", json!(12)),
            ("/callbacks/0/failures", json!(1)),
            ("/callbacks/0/fuel", json!(60_000)),
            ("/callbacks/1/seconds", json!(20.0)),
            ("/callbacks/1/share", json!(0.2)),
            ("/slowest_callback/instance", json!("slow")),
            ("/decisions/0/decision", json!("stop")),
            ("/failures/0/hook", json!("evaluate-end")),
            ("/failures/0/cause", json!("trap")),
            ("/failures/0/step", json!(1000)),
            ("/failures/0/instance", json!("a")),
            ("/checkpoints/0/name", json!("step-600")),
            ("/checkpoints/0/tags", json!(["best"])),
            ("/artifacts/0/kind", json!("text")),
            ("/artifacts/1/rows/0", json!(["cat", [9.0, "NaN"]])),
        ] {
            assert_eq!(json.pointer(field), Some(&value), "{field} in {json:#}");
        }
        assert!(json["throughput"].get("tokens_per_second").is_none());
        assert!(json["final"]["eval/loss"].is_number());
    }
}
