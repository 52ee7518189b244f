//! Each rule against its library's own trace, check by check, uninterrupted and resumed before every check.
//! Reads the recorded cases; `differences` says where the `sound` rule answers something else.

use std::path::Path;

use host_sdk::Hook;
use host_sdk::testing::{Harness, Moment, from_json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::differences::DIFFERENCES;
use crate::EarlyStopping;
use crate::rule::Memory;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    values: Vec<f64>,
    params: Params,
    stop_index: Option<usize>,
    resume_at: Vec<usize>,
    resumed_stop_index: Option<usize>,
    /// Lightning's name of the cause.
    reason: Option<String>,
    #[serde(alias = "counter_after", alias = "wait_count_after")]
    wait_after: Vec<u32>,
    #[serde(alias = "best_metric_after")]
    best_after: Vec<Option<f64>>,
}

#[derive(Deserialize)]
struct Params {
    patience: u32,
    #[serde(alias = "threshold")]
    min_delta: f64,
    mode: Option<String>,
    greater_is_better: Option<bool>,
    check_finite: Option<bool>,
    stopping_threshold: Option<f64>,
    divergence_threshold: Option<f64>,
    baseline: Option<f64>,
    start_from_epoch: Option<u64>,
}

impl Params {
    /// The plugin's configuration that means the same under this rule.
    fn config(&self, rule: &str) -> Value {
        let mode = match self.greater_is_better {
            Some(true) => "max",
            Some(false) => "min",
            None => self.mode.as_deref().unwrap(),
        };
        json!({
            "rule": rule,
            "mode": mode,
            "patience": self.patience,
            "min-delta": self.min_delta,
            "check-finite": self.check_finite,
            "stopping-threshold": self.stopping_threshold,
            "divergence-threshold": self.divergence_threshold,
            "baseline": self.baseline,
            "start-from-epoch": self.start_from_epoch.unwrap_or(0),
        })
    }
}

fn cases(library: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/early_stopping");
    let text = std::fs::read_to_string(folder.join(library).with_extension("json")).unwrap();
    from_json::<File>(&text).unwrap().cases
}

/// The check at which the plugin stops, its reason, and what it remembers after each check.
struct Run {
    stop_index: Option<usize>,
    reason: Option<String>,
    memories: Vec<Memory>,
}

fn run(config: &Value, values: &[f64], resume_before: Option<usize>) -> Run {
    let mut harness = Harness::<EarlyStopping>::start(config).unwrap();
    let mut run = Run { stop_index: None, reason: None, memories: Vec::new() };
    for (index, value) in values.iter().enumerate() {
        if resume_before == Some(index) {
            harness.resume(index as u64).unwrap();
        }
        // A step an epoch, and an evaluation at the end of each.
        let epochs = index as u64 + 1;
        let moment = Moment::at(Hook::EvaluateEnd, epochs).epoch(epochs as f64).scalar("eval/loss", *value);
        let decisions = harness.send(moment).unwrap();
        run.memories.push(harness.state().memory);
        run.reason = decisions.into_iter().find_map(|decision| match decision {
            host_sdk::Decision::Stop(reason) => Some(reason),
            _ => None,
        });
        if run.reason.is_some() {
            run.stop_index = Some(index);
            return run;
        }
    }
    run
}

/// The same number, or both NaN.
fn same(a: Option<f64>, b: Option<f64>) -> bool {
    a == b || (a.is_some_and(f64::is_nan) && b.is_some_and(f64::is_nan))
}

fn check_library(library: &str, rule: &str) {
    for case in cases(library) {
        let (id, config) = (&case.id, case.params.config(rule));
        let whole = run(&config, &case.values, None);
        assert_eq!(whole.stop_index, case.stop_index, "{id}");
        let waits: Vec<u32> = whole.memories.iter().map(|memory| memory.wait).collect();
        assert_eq!(waits, case.wait_after, "{id}");
        for (index, (memory, best)) in whole.memories.iter().zip(&case.best_after).enumerate() {
            assert!(same(memory.best, *best), "{id}: check {index}: {memory:?}, {best:?}");
        }
        check_reason(&case, whole.reason.as_deref());
        for before in &case.resume_at {
            let resumed = run(&config, &case.values, Some(*before));
            assert_eq!(resumed.stop_index, case.resumed_stop_index, "{id} resumed before check {before}");
        }
    }
}

fn check_reason(case: &Case, ours: Option<&str>) {
    let Some(theirs) = case.reason.as_deref() else { return };
    let words = match theirs {
        "not_stopped" => None,
        "patience_exhausted" => Some("has not improved"),
        "non_finite_metric" => Some("not finite"),
        "stopping_threshold" => Some("stopping threshold"),
        "divergence_threshold" => Some("divergence threshold"),
        other => panic!("{}: {other} is new", case.id),
    };
    match (words, ours) {
        (None, None) => {}
        (Some(words), Some(ours)) => assert!(ours.contains(words), "{}: {theirs}: {ours}", case.id),
        _ => panic!("{}: {theirs}: {ours:?}", case.id),
    }
}

#[test]
fn huggingface_is_huggingface() {
    check_library("hf", "huggingface");
}

#[test]
fn lightning_is_lightning() {
    check_library("lightning", "lightning");
}

#[test]
fn keras_is_keras() {
    check_library("keras", "keras");
}

/// Our own rule stops where each library does, but for the cases that are listed with the reason.
#[test]
fn sound_differs_only_where_it_means_to() {
    let mut found = Vec::new();
    for library in ["hf", "lightning", "keras"] {
        for case in cases(library) {
            let config = case.params.config("sound");
            let whole = run(&config, &case.values, None);
            if whole.stop_index != case.stop_index {
                found.push((case.id.clone(), case.stop_index, whole.stop_index));
            }
            for before in &case.resume_at {
                let resumed = run(&config, &case.values, Some(*before));
                assert_eq!(resumed.stop_index, whole.stop_index, "{} resumed before check {before}", case.id);
            }
        }
    }
    let rows = DIFFERENCES.iter().flat_map(|difference| difference.cases);
    let mut listed: Vec<_> = rows.map(|(id, theirs, ours)| ((*id).to_owned(), *theirs, *ours)).collect();
    found.sort();
    listed.sort();
    assert_eq!(found, listed);
}
