//! The shipped plugins in the real sandbox, check by check against what other libraries did with the same values.
//! Trains nothing: events are made by hand. The plugins' own tests run the same rows natively, with their counters.
//!
//! `stage` starts an instance and shows it events. A row that differs on purpose is listed, with the reason, in the
//! tests of the plugin, and from there.

#[path = "../../plugins/early-stopping/src/tests/differences.rs"]
mod differences;
#[path = "traces/stage.rs"]
pub(crate) mod stage;

use std::{fs, path::PathBuf, sync::Arc};

use host_callback::{Decision, Hook};
use host_sandbox::{Plugin, StartError};
use host_tests::guests;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use differences::DIFFERENCES;
use stage::{Moment, Stage, plugin};

/// A number, or `"NaN"`, `"Infinity"`, `"-Infinity"`.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Number(#[serde(with = "host_callback::number")] f64);

#[derive(Deserialize)]
struct File<C> {
    cases: Vec<C>,
}

fn cases<C: DeserializeOwned>(file: &str) -> Vec<C> {
    let path: PathBuf = guests::root().join("tests/fixtures").join(file);
    let text = fs::read_to_string(&path).expect("a fixture");
    let file: Result<File<C>, _> = serde_json::from_str(&text);
    file.unwrap_or_else(|error| panic!("{}: {error}", path.display())).cases
}

fn shipped(name: &str) -> Arc<Plugin> {
    plugin(&guests::shipped(name))
}

/// The same to 1e-9; near zero, to 1e-12 of the base rate.
fn is_close(ours: f64, theirs: f64, base: f64) -> bool {
    (ours - theirs).abs() <= 1e-9 * theirs.abs() + 1e-12 * base
}

/// A run with one parameter group a rate, named `0`, `1` and so on.
fn with_groups(rates: &[f64]) -> Value {
    let groups = rates.iter().enumerate();
    let groups: Vec<Value> =
        groups.map(|(name, rate)| json!({"name": name.to_string(), "learning-rate": rate})).collect();
    json!({ "groups": groups })
}

/// Carries out the writes of learning rates.
fn apply(decisions: &[Decision], rates: &mut [f64]) {
    for decision in decisions {
        if let Decision::Set { knob, value } = decision {
            let group = knob.strip_prefix("learning-rate/").and_then(|group| group.parse::<usize>().ok());
            rates[group.unwrap_or_else(|| panic!("{knob} is no rate of a group"))] = *value;
        }
    }
}

// Early stopping, which is there in every language that has an SDK.

const RUST: &str = "rust";

/// The plugin, with the language that it is written in. In Rust it is shipped; the others are guests of the tests.
fn early_stoppings() -> Vec<(String, Arc<Plugin>)> {
    let others = guests::translations("early-stopping").expect("the folder of built guests");
    let others = others.into_iter().map(|(language, file)| (language, plugin(&file)));
    std::iter::once((RUST.to_owned(), shipped("early-stopping"))).chain(others).collect()
}

#[derive(Deserialize)]
struct StopCase {
    id: String,
    values: Vec<Number>,
    params: Map<String, Value>,
    stop_index: Option<usize>,
    resume_at: Vec<usize>,
    resumed_stop_index: Option<usize>,
    #[serde(alias = "counter_after", alias = "wait_count_after")]
    wait_after: Vec<f64>,
}

impl StopCase {
    /// The plugin's configuration that means the same under a rule.
    fn config(&self, rule: &str) -> Value {
        let mut config = json!({ "rule": rule });
        for (name, value) in self.params.iter().filter(|(_, value)| !value.is_null()) {
            let (setting, value) = match name.as_str() {
                "threshold" => ("min-delta".into(), value.clone()),
                "greater_is_better" => ("mode".into(), if value == true { "max" } else { "min" }.into()),
                other => (other.replace('_', "-"), value.clone()),
            };
            config[setting] = value;
        }
        config
    }

    /// Evaluation number `index`: a step an epoch, and an evaluation at the end of each.
    fn check(&self, stage: &mut Stage, index: usize) -> Vec<Decision> {
        let epochs = index as u64 + 1;
        let moment = Moment::at(Hook::EvaluateEnd, epochs).epoch(epochs as f64);
        stage.send(moment.scalar("eval/loss", self.values[index].0))
    }

    /// The check at which an instance stops, from this one on.
    fn stop_index(&self, stage: &mut Stage, from: usize) -> Option<usize> {
        (from..self.values.len()).find(|index| stops(&self.check(stage, *index)))
    }

    /// Where a run is resumed: everywhere in Rust; first and last in other languages, whose instances start slowly.
    fn resumes(&self, language: &str) -> Vec<usize> {
        let all = self.resume_at.clone();
        let ends = all.first().into_iter().chain(all.last().filter(|_| all.len() > 1)).copied().collect();
        if language == RUST { all } else { ends }
    }

    /// The check at which a run stops, and each at which a run stops that was resumed before a check of `resumes`.
    fn play(
        &self,
        plugin: &Arc<Plugin>,
        rule: &str,
        resumes: &[usize],
    ) -> (Option<usize>, Vec<(usize, Option<usize>)>) {
        let config = self.config(rule);
        let stage = Stage::start(plugin, &config, &json!({}));
        let mut stage = stage.unwrap_or_else(|error| panic!("{}: {error}", self.id));
        let (mut stopped, mut resumed) = (None, Vec::new());
        for index in 0..self.values.len() {
            if resumes.contains(&index) {
                resumed.push((index, self.stop_index(&mut stage.resumed(index as u64), index)));
            }
            let decisions = self.check(&mut stage, index);
            if rule != "sound" {
                let waited = reported(&decisions, "wait").unwrap_or(self.wait_after[index]);
                assert_eq!(waited, self.wait_after[index], "{}, check {index}: wait", self.id);
            }
            if stops(&decisions) {
                stopped = Some(index);
                break;
            }
        }
        (stopped, resumed)
    }
}

fn stops(decisions: &[Decision]) -> bool {
    decisions.iter().any(|decision| matches!(decision, Decision::Stop(_)))
}

fn reported(decisions: &[Decision], wanted: &str) -> Option<f64> {
    decisions.iter().find_map(|decision| match decision {
        Decision::Report { name, value } if name == wanted => Some(*value),
        _ => None,
    })
}

fn check_library(file: &str, rule: &str) {
    let cases: Vec<StopCase> = cases(&format!("early_stopping/{file}.json"));
    assert!(cases.len() > 100, "{file} has only {} cases", cases.len());
    for (language, plugin) in early_stoppings() {
        for case in &cases {
            let (id, resumes) = (format!("{} in {language}", case.id), case.resumes(&language));
            let (stopped, resumed) = case.play(&plugin, rule, &resumes);
            assert_eq!(stopped, case.stop_index, "{id}: the check at which it stops");
            assert_eq!(resumed.len(), resumes.len(), "{id}: checks before which it resumes");
            for (before, stopped) in resumed {
                assert_eq!(stopped, case.resumed_stop_index, "{id} resumed before check {before}");
            }
        }
    }
}

#[test]
fn b1_early_stopping_is_that_of_transformers_also_when_resumed() {
    check_library("hf", "huggingface");
}

#[test]
fn b1_early_stopping_is_that_of_lightning_also_when_resumed() {
    check_library("lightning", "lightning");
}

#[test]
fn b1_early_stopping_is_that_of_keras_also_when_resumed() {
    check_library("keras", "keras");
}

/// Our own rule stops where each library does, but for the listed cases; and the same when resumed.
#[test]
fn b9_the_sound_rule_differs_from_the_libraries_only_where_it_means_to() {
    for (language, plugin) in early_stoppings() {
        check_differences(&language, &plugin);
    }
}

fn check_differences(language: &str, plugin: &Arc<Plugin>) {
    let (mut found, mut ends) = (Vec::new(), Vec::new());
    for library in ["hf", "lightning", "keras"] {
        for case in cases::<StopCase>(&format!("early_stopping/{library}.json")) {
            let (stopped, resumed) = case.play(plugin, "sound", &case.resumes(language));
            for (before, again) in resumed {
                assert_eq!(again, stopped, "{} in {language} resumed before check {before}", case.id);
            }
            if stopped != case.stop_index {
                found.push((case.id.clone(), case.stop_index, stopped));
            }
            ends.push(stopped.is_some());
        }
    }
    let rows = DIFFERENCES.iter().flat_map(|difference| difference.cases);
    let mut listed: Vec<_> = rows.map(|(id, theirs, ours)| ((*id).to_owned(), *theirs, *ours)).collect();
    found.sort();
    listed.sort();
    assert_eq!(found, listed, "{language}: (case, the library's stop, ours)");
    assert!(ends.contains(&true) && ends.contains(&false));
}

// Schedules.

#[derive(Deserialize)]
struct ScheduleCase {
    id: String,
    scheduler: String,
    base_lrs: Vec<f64>,
    num_warmup_steps: u64,
    num_training_steps: Option<u64>,
    scheduler_specific_kwargs: Map<String, Value>,
    steps: u64,
    /// By group and step.
    lr: Vec<Vec<f64>>,
    error_at_step: Option<u64>,
}

const SCHEDULES: [&str; 10] = [
    "constant",
    "constant_with_warmup",
    "cosine",
    "cosine_warmup_with_min_lr",
    "cosine_with_min_lr",
    "cosine_with_restarts",
    "inverse_sqrt",
    "linear",
    "polynomial",
    "warmup_stable_decay",
];

impl ScheduleCase {
    /// The plugin's configuration that means the same, without the run's end. A lowest rate is given as the part of
    /// the first group's rate that transformers makes of it.
    fn config(&self) -> Value {
        let kind = match self.scheduler.as_str() {
            "constant_with_warmup" => "constant".into(),
            "cosine_with_min_lr" | "cosine_warmup_with_min_lr" => "cosine".into(),
            other => other.replace('_', "-"),
        };
        // `constant` takes no notice of the warm-up that it is given.
        let warm_up = if self.scheduler == "constant" { 0 } else { self.num_warmup_steps };
        let mut config = json!({"kind": kind, "warm-up": warm_up});
        if self.scheduler == "cosine_warmup_with_min_lr" {
            config["first-update"] = "one-step-in".into();
        }
        for (name, value) in &self.scheduler_specific_kwargs {
            let of_first = || json!(value.as_f64().expect("a rate") / self.base_lrs[0]);
            let (setting, value) = match name.as_str() {
                "num_cycles" => ("cycles", value.clone()),
                "lr_end" | "min_lr" => ("min-lr-ratio", of_first()),
                "min_lr_rate" | "min_lr_ratio" => ("min-lr-ratio", value.clone()),
                "warmup_lr_rate" => ("warm-up-from", value.clone()),
                "num_decay_steps" => ("decay-steps", value.clone()),
                "num_stable_steps" => ("stable-steps", value.clone()),
                "warmup_type" => ("warm-up-shape", value.clone()),
                "decay_type" => ("decay-shape", value.clone()),
                "power" | "timescale" => (name.as_str(), value.clone()),
                other => panic!("{}: {other} is new", self.id),
            };
            config[setting] = value;
        }
        config
    }

    /// How many updates have a recorded rate that means something: up to the end, from which on the plugin's rate
    /// stays and cosines of transformers rise again, and up to an error of theirs.
    fn rows(&self) -> u64 {
        let end = self.num_training_steps.unwrap_or(self.steps).min(self.error_at_step.unwrap_or(self.steps));
        end.min(self.steps)
    }

    fn start(&self, config: &Value) -> Result<Stage, StartError> {
        Stage::start(&shipped("lr-schedule"), config, &with_groups(&self.base_lrs))
    }

    /// The rates of each update, by step and group, of a run that is resumed in its middle if asked for.
    fn rates(&self, config: &Value, end_from_run: bool, is_resumed: bool) -> Vec<Vec<f64>> {
        let mut stage = self.start(config).unwrap_or_else(|error| panic!("{}: {error}", self.id));
        let mut rates = self.base_lrs.clone();
        let mut by_step = Vec::new();
        for step in 0..self.rows() {
            if is_resumed && step == self.rows() / 2 {
                stage = stage.resumed(step);
            }
            let end = self.num_training_steps.filter(|_| end_from_run);
            apply(&stage.send(Moment::at(Hook::StepBegin, step).total_steps(end)), &mut rates);
            by_step.push(rates.clone());
        }
        by_step
    }

    fn check(&self, rates: &[Vec<f64>]) {
        for (step, rates) in rates.iter().enumerate() {
            for (group, rate) in rates.iter().enumerate() {
                let theirs = self.lr[group][step];
                let is_close = is_close(*rate, theirs, self.base_lrs[group]);
                assert!(is_close, "{}, step {step}, group {group}: {rate}, recorded {theirs}", self.id);
            }
        }
    }
}

#[test]
fn every_schedule_is_that_of_transformers_also_when_resumed() {
    for schedule in SCHEDULES {
        let mut rows = 0;
        for case in cases::<ScheduleCase>(&format!("schedules/{schedule}.json")) {
            let mut config = case.config();
            if let Some(total) = case.num_training_steps {
                config["total-steps"] = total.into();
            }
            // Where transformers can't make the schedule at all, the plugin refuses it with a reason, or does better:
            // a polynomial without a step after the warm-up is at its end, and not a division by zero.
            if case.rows() == 0 {
                let refused = case.start(&config).err().map(|error| error.to_string());
                assert!(refused.is_none_or(|reason| reason.contains("min-lr")), "{}", case.id);
                continue;
            }
            let whole = case.rates(&config, false, false);
            case.check(&whole);
            assert_eq!(case.rates(&config, false, true), whole, "{} resumed in the middle", case.id);
            rows += whole.len();
        }
        assert!(rows > 1000, "{schedule} has only {rows} rows");
    }
}

/// The end of a schedule that does not say one is the run's.
#[test]
fn the_end_of_a_schedule_is_that_of_the_run() {
    for schedule in ["linear", "cosine", "warmup_stable_decay"] {
        let cases = cases::<ScheduleCase>(&format!("schedules/{schedule}.json"));
        for case in cases.iter().filter(|case| case.num_training_steps.is_some() && case.rows() > 0).take(3) {
            case.check(&case.rates(&case.config(), true, false));
        }
    }
}

// Plateau.

#[derive(Deserialize)]
struct PlateauCase {
    id: String,
    base_lrs: Vec<f64>,
    params: Map<String, Value>,
    metrics: Vec<Number>,
    /// By group and check.
    lr_after: Vec<Vec<f64>>,
}

impl PlateauCase {
    /// The plugin's configuration that means the same.
    fn config(&self) -> Value {
        let mut config = json!({});
        for (name, value) in &self.params {
            let by_group = |rates: &Vec<Value>| {
                rates.iter().enumerate().map(|(group, rate)| (group.to_string(), rate.clone())).collect()
            };
            config[name.replace('_', "-")] = value.as_array().map_or(value.clone(), by_group);
        }
        config
    }

    /// Evaluates from a check on, and compares each group's rate.
    fn check(&self, stage: &mut Stage, rates: &mut [f64], from: usize, to: usize, resumed_before: Option<usize>) {
        for index in from..to {
            let names: Vec<String> = (0..rates.len()).map(|group| format!("learning-rate/{group}")).collect();
            let mut moment = Moment::at(Hook::EvaluateEnd, index as u64 + 1).scalar("eval/loss", self.metrics[index].0);
            for (name, rate) in names.iter().zip(&*rates) {
                moment = moment.scalar(name, *rate);
            }
            apply(&stage.send(moment), rates);
            for (group, (rate, recorded)) in rates.iter().zip(&self.lr_after).enumerate() {
                let is_close = is_close(*rate, recorded[index], self.base_lrs[group]);
                let place = format!("{}, check {index}, resumed before {resumed_before:?}", self.id);
                assert!(is_close, "{place}, group {group}: {rate}, recorded {}", recorded[index]);
            }
        }
    }
}

#[test]
fn b13_reduce_on_plateau_is_that_of_torch_also_when_resumed() {
    let cases: Vec<PlateauCase> = cases("schedules/reduce_lr_on_plateau.json");
    assert!(cases.len() > 20, "only {} cases", cases.len());
    for case in cases {
        let start = Stage::start(&shipped("lr-plateau"), &case.config(), &with_groups(&case.base_lrs));
        let mut stage = start.unwrap_or_else(|error| panic!("{}: {error}", case.id));
        let mut rates = case.base_lrs.clone();
        for index in 0..case.metrics.len() {
            let (mut resumed, end) = (stage.resumed(index as u64), case.metrics.len());
            case.check(&mut resumed, &mut rates.clone(), index, end, Some(index));
            case.check(&mut stage, &mut rates, index, index + 1, None);
        }
    }
}
