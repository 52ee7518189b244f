//! Plugins that come with the program in real runs: for each a run in which it has to act and one in which it must
//! not; in `together` all of them at once, in `trouble` those that act when something goes wrong as well, and in `others`
//! those that are not written in Rust. `page` is the list of all of them.
//!
//! A plugin's word is not taken for it: what a number should be is computed here from what the run measured, and each
//! test looks at what followed in `metrics.jsonl`. The arithmetic by itself is tested where the plugin is.

mod guards;
mod others;
mod page;
mod schedules;
mod together;
mod trouble;
mod watchers;

use host_tests::{Project, Run};
use serde_json::Value;

/// Trains without a plugin and with it and expects the same run, byte for byte. Gives the second one.
fn changes_nothing(project: &Project, plugin: &str, config: &str, arguments: &str) -> Run {
    let without = project.train(arguments).run(1);
    project.plugin(plugin, plugin, "", config);
    let with = project.train(arguments).run(2);
    assert_eq!(with.text("metrics.jsonl"), without.text("metrics.jsonl"), "{plugin}");
    assert_eq!(weights(&with, "model"), weights(&without, "model"), "{plugin}");
    let told = with.callback(plugin);
    assert!(told["calls"].as_u64() > Some(0) && told["failures"] == 0, "{told}");
    with
}

/// The bytes of a run's weights: `model`, or `checkpoints/step-10/model`.
fn weights(run: &Run, of: &str) -> Vec<u8> {
    std::fs::read(run.path(&format!("{of}.safetensors"))).expect("weights")
}

/// The log records in `metrics.jsonl`.
fn records(run: &Run) -> Vec<Value> {
    lines_with(run, "loss")
}

/// The evaluations in `metrics.jsonl`.
fn evaluations(run: &Run) -> Vec<Value> {
    lines_with(run, "eval/loss")
}

fn lines_with(run: &Run, name: &str) -> Vec<Value> {
    run.lines("metrics.jsonl").into_iter().filter(|line| !line[name].is_null()).collect()
}

/// A number of a line.
fn number(line: &Value, name: &str) -> f64 {
    line[name].as_f64().unwrap_or_else(|| panic!("no number {name} in {line}"))
}

/// The number of a name in each line.
fn column(lines: &[Value], name: &str) -> Vec<f64> {
    lines.iter().map(|line| number(line, name)).collect()
}

/// What an instance decided of one kind: at which step, at which hook, and the decision's content. All of it was
/// applied.
fn decided(run: &Run, instance: &str, kind: &str) -> Vec<(u64, String, Value)> {
    let decisions = run.decisions(instance).into_iter().filter(|line| !line["decision"][kind].is_null());
    let content = |line: Value| {
        assert_eq!(line["outcome"], "applied", "{line}");
        let hook = line["hook"].as_str().expect("a hook").to_owned();
        (line["step"].as_u64().expect("a step"), hook, line["decision"][kind].clone())
    };
    decisions.map(content).collect()
}

/// The steps at which an instance decided something of one kind.
fn steps(run: &Run, instance: &str, kind: &str) -> Vec<u64> {
    decided(run, instance, kind).into_iter().map(|(step, ..)| step).collect()
}

/// The notes of an instance.
fn notes(run: &Run, instance: &str) -> Vec<(u64, String)> {
    let notes = decided(run, instance, "note").into_iter();
    notes.map(|(step, _, note)| (step, note.as_str().expect("a text").to_owned())).collect()
}

/// What an instance reported under a name, by step.
fn reported(run: &Run, instance: &str, name: &str) -> Vec<(u64, f64)> {
    let reports = decided(run, instance, "report").into_iter().filter(|(.., report)| report["name"] == name);
    reports.map(|(step, _, report)| (step, number(&report, "value"))).collect()
}

/// What an instance's writes changed: step, knob, before and after.
fn changes(run: &Run, instance: &str) -> Vec<(u64, String, f64, f64)> {
    let of_one = |line: Value| {
        let step = line["step"].as_u64().expect("a step");
        let changes = line["changes"].as_array().cloned().unwrap_or_default();
        let change = move |it: Value| {
            (step, it["knob"].as_str().expect("a knob").to_owned(), number(&it, "before"), number(&it, "after"))
        };
        changes.into_iter().map(change).filter(|(.., before, after)| before != after)
    };
    run.decisions(instance).into_iter().flat_map(of_one).collect()
}

/// Whether two numbers are equal but for a relative error.
fn is_close(one: f64, other: f64, error: f64) -> bool {
    (one - other).abs() <= error * other.abs()
}
