//! All plugins that come with the program in one run: nobody fails, nobody is refused, each value of a knob is
//! somebody's doing, and a run that was interrupted is the same run.

use std::collections::{BTreeMap, BTreeSet};

use host_tests::{Project, Run, guests};
use serde_json::Value;

use crate::project;

use super::{changes, decided, number, records, reported, weights};

const RUN: &str = r#"
[run]
name = "all"
seed = 3
device = "cpu"

[task]
kind = "classification"
data = "digits.csv"
model = "cnn"
image = [1, 8, 8]
hidden = [64]
dropout = 0.2

[train]
epochs = 4
batch-size = 32
evaluate-every = "20st"
log-every = "5st"

[optimizer]
learning-rate = 2e-3
weight-decay = 0.01

[[optimizer.group]]
name = "no-decay"
parameters = ["*.bias"]
weight-decay = 0.0

[plugins]
"#;

const PLUGINS: [(&str, &str); 13] = [
    ("batch-ramp", "from = 16\nto = 64\nover-steps = 60"),
    (
        "branch-balance",
        "a = { parameters = \"convolutions.*\", groups = [\"rest\"] }\n\
         b = { parameters = \"layers.*\", groups = [\"no-decay\"] }",
    ),
    ("checkpoint-policy", "every-steps = 30"),
    ("early-stopping", "patience = 8"),
    ("grad-clip-adaptive", ""),
    ("layer-freeze", "stages = [{ parameters = [\"convolutions.0.*\"], from = { step = 30 } }]"),
    ("lr-plateau", ""),
    ("lr-schedule", "kind = \"cosine\"\nwarm-up = 20"),
    ("memory-guard", ""),
    ("nan-guard", ""),
    ("overfit-watch", ""),
    ("profiler", ""),
    ("spike-guard", ""),
];

/// Who has nothing to do in a run in which nothing goes wrong.
const IDLE: [&str; 3] = ["memory-guard", "nan-guard", "spike-guard"];

fn with_everything() -> Project {
    let project = project();
    let small = std::fs::read_to_string(project.path("train.toml")).expect("the configuration");
    let (_, cache) = small.split_once("[plugins]").expect("where compiled plugins are kept");
    project.write("train.toml", &format!("{RUN}{cache}"));
    std::fs::copy(guests::root().join("data/digits.csv"), project.path("digits.csv")).expect("the data");
    for (plugin, config) in PLUGINS {
        project.plugin(plugin, plugin, "", config);
    }
    project
}

fn run(project: &Project, n: usize) -> Run {
    Run::at(project.path(&format!("runs/all-{n}")))
}

/// The decisions in the timeline.
fn decisions(run: &Run) -> Vec<Value> {
    run.lines("timeline.jsonl").into_iter().filter(|line| line["event"] == "decided").collect()
}

#[test]
fn every_plugin_is_in_the_run_with_all_of_them() {
    assert_eq!(guests::plugins().unwrap(), PLUGINS.map(|(plugin, _)| plugin));
}

#[test]
fn all_plugins_at_once_get_along() {
    let project = with_everything();
    project.train("");
    let run = run(&project, 1);
    let report = run.json("report.json");
    assert_eq!((&report["status"], &report["samples"]), (&"completed".into(), &(4 * 1438).into()));
    assert!(number(&report["final"], "eval/accuracy") > 0.8, "{}", report["final"]);
    for (plugin, _) in PLUGINS {
        let told = run.callback(plugin);
        assert!(told["calls"].as_u64() > Some(0) && told["failures"] == 0, "{told}");
    }
    assert!(run.lines("timeline.jsonl").iter().all(|line| line["event"] != "callback-failed"));

    let decisions = decisions(&run);
    let names = |of: &dyn Fn(&Value) -> bool| -> BTreeSet<String> {
        decisions.iter().filter(|line| of(line)).map(|line| line["instance"].as_str().unwrap().to_owned()).collect()
    };
    let busy = PLUGINS.iter().map(|(plugin, _)| *plugin).filter(|plugin| !IDLE.contains(plugin));
    assert_eq!(names(&|_| true), busy.map(str::to_owned).collect());
    let writers = ["batch-ramp", "branch-balance", "grad-clip-adaptive", "layer-freeze", "lr-schedule"];
    assert!(names(&|line| line["changes"] != Value::Array(vec![])).is_superset(&writers.map(str::to_owned).into()));
    for line in &decisions {
        match line["outcome"].as_str() {
            Some("applied") => {}
            // Both save the best, under one tag: it is saved once.
            Some("merged") => {
                let is_same = |other: &&Value| {
                    ["step", "hook", "decision"].iter().all(|key| other[key] == line[key])
                        && other["instance"] == "checkpoint-policy"
                        && other["outcome"] == "applied"
                };
                assert_eq!(line["instance"], "early-stopping", "{line}");
                assert!(decisions.iter().any(|other| is_same(&other)), "{line}");
            }
            _ => panic!("{line}"),
        }
    }

    // The ramp's 48 samples are one and a half batches of 32: two passes from then on.
    assert_eq!(changes(&run, "batch-ramp"), [(40, "accumulation".to_owned(), 1.0, 2.0)]);
    assert_eq!(reported(&run, "layer-freeze", "stages"), [(0, 0.0), (30, 1.0)]);
    let saves = decided(&run, "checkpoint-policy", "save").into_iter().filter(|(_, hook, _)| hook == "step-end");
    assert_eq!(saves.map(|(step, ..)| step).collect::<Vec<_>>(), [30, 60, 90]);
}

#[test]
fn all_plugins_at_once_leave_no_value_of_a_knob_unexplained() {
    let project = with_everything();
    project.train("");
    let changed = expect_explained(
        &run(&project, 1),
        &[
            ("learning-rate/no-decay", 2e-3),
            ("learning-rate/rest", 2e-3),
            ("weight-decay/no-decay", 0.0),
            ("weight-decay/rest", 0.01),
            ("clip-norm", 0.0),
            ("batch-size", 32.0),
            ("dropout", 0.2),
        ],
    );
    assert_eq!(changed.iter().filter(|name| name.starts_with("trainable/")).count(), 2, "{changed:?}");
    assert_eq!(changed.iter().filter(|name| !name.starts_with("trainable/")).count(), 4, "{changed:?}");
}

/// Walks along the timeline and expects the values of the knobs at each log record to be where its changes have brought
/// them, from what the configuration says. Gives the knobs that were changed.
pub(super) fn expect_explained(run: &Run, configured: &[(&str, f64)]) -> BTreeSet<String> {
    let defaults = [("clip-value", 0.0), ("accumulation", 1.0), ("loss-scale", 1.0), ("label-smoothing", 0.0)];
    let values = configured.iter().chain(&defaults).map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let mut knobs = Knobs { values, changed: BTreeSet::new() };
    let (decisions, records) = (decisions(run), records(run));
    let mut lines = decisions.iter().peekable();
    for record in &records {
        while let Some(line) = lines.next_if(|line| is_before(line, record)) {
            knobs.follow(line);
        }
        knobs.explain(record);
    }
    lines.for_each(|line| knobs.follow(line));
    assert!(records.len() > 20, "{} records", records.len());
    knobs.changed
}

/// Whether a decision was made before a log record was written: at an earlier step, or at one of the hooks that the
/// record's step has by then.
fn is_before(line: &Value, record: &Value) -> bool {
    let (step, at) = (line["step"].as_u64(), record["step"].as_u64());
    step < at || step == at && ["step-end", "log"].contains(&line["hook"].as_str().unwrap_or_default())
}

/// What each knob stands at, and which of them were ever changed.
struct Knobs {
    values: BTreeMap<String, f64>,
    changed: BTreeSet<String>,
}

impl Knobs {
    /// Takes over what a decision changed: from what stands, to what it says.
    fn follow(&mut self, line: &Value) {
        let (set, scale) = (line["decision"]["set"]["value"].as_f64(), line["decision"]["scale"]["factor"].as_f64());
        for change in line["changes"].as_array().expect("changes") {
            let name = change["knob"].as_str().expect("a knob");
            // Every parameter learns at first.
            let stands = self.values.entry(name.to_owned()).or_insert_with(|| {
                assert!(name.starts_with("trainable/"), "{name} is no knob: {line}");
                1.0
            });
            assert_eq!(number(change, "before"), *stands, "somebody else turned {name}: {line}");
            let after = set.unwrap_or_else(|| *stands * scale.expect("a factor"));
            assert_eq!(number(change, "after"), after, "{line}");
            if *stands != after {
                self.changed.insert(name.to_owned());
            }
            *stands = after;
        }
    }

    /// Expects the values of a log record. What is no measurement there is a knob.
    fn explain(&self, record: &Value) {
        const MEASURED: [&str; 6] = ["step", "epoch", "samples", "loss", "accuracy", "gradient-norm"];
        let logged =
            record.as_object().expect("a record").iter().filter(|(name, _)| !MEASURED.contains(&name.as_str()));
        let logged: BTreeMap<&String, f64> = logged.map(|(name, value)| (name, value.as_f64().expect(name))).collect();
        let known = self.values.iter().filter(|(name, _)| !name.starts_with("trainable/"));
        assert_eq!(logged, known.map(|(name, value)| (name, *value)).collect(), "step {}", record["step"]);
    }
}

#[test]
fn b1_all_plugins_at_once_make_the_same_run_when_it_is_resumed() {
    let project = with_everything();
    project.train("");
    let whole = run(&project, 1);
    for (n, until) in [(2, "55st"), (4, "40st")] {
        project.train(&format!("--until {until}"));
        project.train(&format!("--resume runs/all-{n}"));
        let resumed = run(&project, n + 1);
        assert_eq!(resumed.text("metrics.jsonl"), whole.text("metrics.jsonl"), "{until}");
        assert_eq!(weights(&resumed, "model"), weights(&whole, "model"), "{until}");
        assert_eq!(reproducible(&resumed), reproducible(&whole), "{until}");
    }
}

/// What callbacks decided and where, without what a clock told the profiler and how much memory was in use.
pub(super) fn reproducible(run: &Run) -> Vec<String> {
    let is_measured = |line: &Value| {
        line["instance"] == "profiler" || line["instance"] == "memory-guard" && !line["decision"]["note"].is_null()
    };
    let decisions = decisions(run).into_iter().filter(|line| !is_measured(line));
    let words = |line: Value| {
        ["step", "hook", "instance", "decision", "outcome", "why", "changes"].map(|key| line[key].to_string()).join(" ")
    };
    decisions.map(words).collect()
}
