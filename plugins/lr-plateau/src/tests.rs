//! The plugin against the rates that torch computed, and as a host would run it.
//! It follows torch in every recorded case, so there are no differences to list.

use std::path::Path;

use host_sdk::testing::{Harness, Moment, from_json};
use host_sdk::{Decision, Hook};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::LrPlateau;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    base_lrs: Vec<f64>,
    params: Value,
    metrics: Vec<f64>,
    /// By group and check.
    lr_after: Vec<Vec<f64>>,
    best_after: Vec<f64>,
    num_bad_after: Vec<u32>,
    cooldown_after: Vec<u32>,
}

impl Case {
    /// The plugin's configuration that means the same.
    fn config(&self) -> Value {
        let mut config = self.params.clone();
        let fields = config.as_object_mut().unwrap();
        let threshold_mode = fields.remove("threshold_mode").unwrap();
        let lowest = match fields.remove("min_lr").unwrap() {
            Value::Array(rates) => rates.into_iter().enumerate().map(|(name, rate)| (name.to_string(), rate)).collect(),
            rate => rate,
        };
        config["threshold-mode"] = threshold_mode;
        config["min-lr"] = lowest;
        config
    }
}

fn start(config: &Value, rates: &[f64]) -> Result<Harness<LrPlateau>, String> {
    let groups = rates.iter().enumerate();
    let groups: Vec<_> =
        groups.map(|(index, rate)| json!({"name": index.to_string(), "learning-rate": rate})).collect();
    Harness::start_in(config, json!({"groups": groups}))
}

/// Evaluates and applies what is written to `rates`. `shown`: the host knows the rates at this hook.
fn evaluate(harness: &mut Harness<LrPlateau>, value: f64, rates: &mut [f64], shown: bool) {
    let mut moment = Moment::at(Hook::EvaluateEnd, 1).scalar("eval/loss", value);
    for (index, rate) in rates.iter().enumerate().filter(|_| shown) {
        moment = moment.scalar(&format!("learning-rate/{index}"), *rate);
    }
    for decision in harness.send(moment).unwrap() {
        if let Decision::Set(set) = decision {
            let group: usize = set.knob.strip_prefix("learning-rate/").unwrap().parse().unwrap();
            rates[group] = set.value;
        }
    }
}

/// Every rate and counter, optionally resumed before a check.
fn check(case: &Case, shown: bool, resume_before: Option<usize>) {
    let mut harness = start(&case.config(), &case.base_lrs).unwrap();
    let mut rates = case.base_lrs.clone();
    let worst = if case.params["mode"] == "min" { f64::INFINITY } else { f64::NEG_INFINITY };
    for (index, value) in case.metrics.iter().enumerate() {
        if resume_before == Some(index) {
            harness.resume(index as u64).unwrap();
        }
        evaluate(&mut harness, *value, &mut rates, shown);
        let place = format!("{}, check {index}, resumed before {resume_before:?}", case.id);
        for (rate, recorded) in rates.iter().zip(&case.lr_after) {
            assert!((rate - recorded[index]).abs() <= 1e-9 * recorded[index].abs(), "{place}: {rate}");
        }
        let memory = harness.state().memory;
        assert_eq!(memory.best.unwrap_or(worst), case.best_after[index], "{place}");
        assert_eq!((memory.bad, memory.cooldown), (case.num_bad_after[index], case.cooldown_after[index]), "{place}");
    }
}

#[test]
fn rates_and_counters_are_those_of_torch() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/schedules/reduce_lr_on_plateau.json");
    let file: File = from_json(&std::fs::read_to_string(path).unwrap()).unwrap();
    for case in &file.cases {
        for shown in [true, false] {
            check(case, shown, None);
            for before in 1..case.metrics.len() {
                check(case, shown, Some(before));
            }
        }
    }
}

#[test]
fn b13_without_cooldown_the_rate_falls_once_per_patience() {
    let mut harness = start(&json!({"patience": 2, "cooldown": 0, "factor": 0.5}), &[1.0]).unwrap();
    let mut rates = [1.0];
    let mut trace = Vec::new();
    for _ in 0..10 {
        evaluate(&mut harness, 1.0, &mut rates, true);
        trace.push(rates[0]);
    }
    // The first check is the best; then two are put up with and the third lowers the rate.
    assert_eq!(trace, [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125]);
}

#[test]
fn a_reduction_is_of_the_rate_that_stands() {
    let mut harness = start(&json!({"patience": 0, "factor": 0.5}), &[1.0]).unwrap();
    evaluate(&mut harness, 1.0, &mut [1.0], true);
    // Somebody else has set another rate since.
    let mut rates = [0.25];
    evaluate(&mut harness, 1.0, &mut rates, true);
    assert_eq!(rates, [0.125]);
}

#[test]
fn only_the_chosen_groups_fall() {
    let mut harness = start(&json!({"patience": 0, "factor": 0.5, "groups": ["1"]}), &[1.0, 1.0]).unwrap();
    let mut rates = [1.0, 1.0];
    evaluate(&mut harness, 1.0, &mut rates, true);
    evaluate(&mut harness, 1.0, &mut rates, true);
    assert_eq!(rates, [1.0, 0.5]);
}

#[test]
fn a_value_that_is_missing_is_told_once() {
    let mut harness = start(&json!({"monitor": "loss"}), &[1.0]).unwrap();
    let mut send = || harness.send(Moment::at(Hook::EvaluateEnd, 1)).unwrap();
    assert_eq!(send(), [Decision::Note("loss is not known here, so nothing was checked".into())]);
    assert_eq!(send(), []);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [
        (json!({"factor": 1.0}), "factor is 1"),
        (json!({"factor": -0.5}), "factor is -0.5"),
        (json!({"groups": ["lora"]}), "no parameter group fits lora; this run has 0"),
        (json!({"min-lr": {"lora": 0.1}}), "min-lr: no parameter group fits lora; this run has 0"),
        (json!({"threshold-mode": "relative"}), "unknown variant `relative`"),
        (json!({"cool-down": 1}), "unknown field `cool-down`"),
    ] {
        let error = start(&config, &[1.0]).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}
