//! Every rate of every recorded case, uninterrupted and resumed.
//! Reads cases of `get_scheduler`; says where we differ, and checks that we differ nowhere else.

use std::collections::BTreeSet;
use std::path::Path;

use host_sdk::testing::from_json;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{start, step, writes};

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
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

/// After its last step a cosine rises again in transformers, and swings between top and bottom where the warm-up is
/// as long as the whole; with restarts, that one step after such a warm-up is at the top. A rate that rises when the
/// plan is over helps nobody: ours stays where the curve ended.
const RISE_AFTER_THE_END: &[&str] = &[
    "cosine-04",
    "cosine-05",
    "cosine-06",
    "cosine-07",
    "cosine-08",
    "cosine-09",
    "cosine_warmup_with_min_lr-08",
    "cosine_warmup_with_min_lr-09",
    "cosine_warmup_with_min_lr-10",
    "cosine_warmup_with_min_lr-11",
    "cosine_warmup_with_min_lr-12",
    "cosine_warmup_with_min_lr-13",
    "cosine_with_min_lr-12",
    "cosine_with_min_lr-13",
    "cosine_with_min_lr-14",
    "cosine_with_min_lr-15",
    "cosine_with_min_lr-16",
    "cosine_with_min_lr-17",
    "cosine_with_min_lr-18",
    "cosine_with_min_lr-19",
    "cosine_with_min_lr-20",
    "cosine_with_min_lr-21",
    "cosine_with_min_lr-22",
    "cosine_with_min_lr-23",
    "cosine_with_restarts-12",
    "cosine_with_restarts-13",
];

/// The division by zero of a polynomial without any step after the warm-up: ours is at its end.
const NO_STEP_AFTER_THE_WARM_UP: &[&str] = &[
    "polynomial-06",
    "polynomial-07",
    "polynomial-12",
    "polynomial-13",
    "polynomial-14",
    "polynomial-15",
    "polynomial-18",
    "polynomial-19",
];

/// With several groups, transformers makes a factor of the lowest rate and the first group's rate, so that the other
/// groups end at another rate than was asked for. `min-lr` is the rate itself; `min-lr-ratio` is the factor.
const LOWEST_RATE_BY_FIRST_GROUP: &[&str] = &["cosine_with_min_lr-24", "polynomial-22"];

impl Case {
    /// The plugin's configuration that means the same.
    fn config(&self) -> Value {
        let mut config = json!({"kind": self.kind(), "warm-up": self.num_warmup_steps});
        let mut set = |key: &str, value: Value| config[key] = value;
        if let Some(total) = self.num_training_steps {
            set("total-steps", total.into());
        }
        match self.scheduler.as_str() {
            // This one takes no notice of the warm-up that it is given.
            "constant" => set("warm-up", 0.into()),
            "cosine_warmup_with_min_lr" => set("first-update", "one-step-in".into()),
            _ => {}
        }
        for (name, value) in &self.scheduler_specific_kwargs {
            set(setting(name), value.clone());
        }
        config
    }

    fn kind(&self) -> String {
        match self.scheduler.as_str() {
            "constant_with_warmup" => "constant".into(),
            "cosine_with_min_lr" | "cosine_warmup_with_min_lr" => "cosine".into(),
            other => other.replace('_', "-"),
        }
    }

    /// The same with the lowest rate as a part of the first group's.
    fn config_by_ratio(&self) -> Value {
        let mut config = self.config();
        if let Some(lowest) = config.as_object_mut().and_then(|config| config.remove("min-lr")) {
            config["min-lr-ratio"] = json!(lowest.as_f64().unwrap() / self.base_lrs[0]);
        }
        config
    }
}

fn setting(name: &str) -> &str {
    match name {
        "num_cycles" => "cycles",
        "lr_end" | "min_lr" => "min-lr",
        "min_lr_rate" | "min_lr_ratio" => "min-lr-ratio",
        "warmup_lr_rate" => "warm-up-from",
        "num_decay_steps" => "decay-steps",
        "num_stable_steps" => "stable-steps",
        "warmup_type" => "warm-up-shape",
        "decay_type" => "decay-shape",
        "power" | "timescale" => name,
        other => panic!("{other} is new"),
    }
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/schedules");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let schedules = files.filter(|path| !path.ends_with("reduce_lr_on_plateau.json"));
    let read = |path| from_json::<File>(&std::fs::read_to_string(path).unwrap()).unwrap().cases;
    schedules.flat_map(read).collect()
}

/// The rates as the run has them, by group and step.
fn rates(case: &Case, config: &Value, resume_before: Option<u64>) -> Vec<Vec<f64>> {
    let mut harness = start(config, &case.base_lrs).unwrap();
    let mut now = case.base_lrs.clone();
    let mut rates = vec![Vec::new(); now.len()];
    for number in 0..case.steps {
        if resume_before == Some(number) {
            harness.resume(number).unwrap();
        }
        for (group, rate) in writes(&mut harness, step(number)) {
            now[group] = rate;
        }
        for (rates, rate) in rates.iter_mut().zip(&now) {
            rates.push(*rate);
        }
    }
    rates
}

/// Relative 1e-9, and near zero absolute 1e-12 of the base rate.
fn close(ours: f64, theirs: f64, base: f64) -> bool {
    (ours - theirs).abs() <= 1e-9 * theirs.abs() + 1e-12 * base
}

/// The first (group, step) at which a rate differs from the recorded one, where there is one.
fn first_difference(case: &Case, rates: &[Vec<f64>]) -> Option<(usize, u64)> {
    for (group, (ours, theirs)) in rates.iter().zip(&case.lr).enumerate() {
        for (number, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            if !close(*ours, *theirs, case.base_lrs[group]) {
                return Some((group, number as u64));
            }
        }
    }
    None
}

#[test]
fn rates_are_those_of_transformers_but_where_listed() {
    let mut rising = BTreeSet::new();
    for case in cases() {
        let id = case.id.as_str();
        if case.error_at_step == Some(0) && !NO_STEP_AFTER_THE_WARM_UP.contains(&id) {
            let error = start(&case.config(), &case.base_lrs).err();
            assert!(error.is_some_and(|error| error.contains("min-lr")), "{id}");
            continue;
        }
        assert_eq!(case.error_at_step.is_some(), NO_STEP_AFTER_THE_WARM_UP.contains(&id), "{id}");
        let config = case.config_by_ratio();
        let whole = rates(&case, &config, None);
        if let Some((group, number)) = first_difference(&case, &whole) {
            let end = case.num_training_steps.unwrap();
            assert!(number >= end, "{id}: group {group}, step {number}: {}", whole[group][number as usize]);
            rising.insert(case.id.clone());
        }
        assert_eq!(rates(&case, &config, Some(37)), whole, "{id} resumed before step 37");
    }
    assert_eq!(rising.iter().map(String::as_str).collect::<Vec<_>>(), RISE_AFTER_THE_END);
}

#[test]
fn a_lowest_rate_is_the_rate_itself_in_every_group() {
    let with_lowest_rate = |case: &Case| case.config().get("min-lr").is_some() && case.error_at_step.is_none();
    for case in cases().into_iter().filter(with_lowest_rate) {
        let whole = rates(&case, &case.config(), None);
        let end = case.num_training_steps.unwrap();
        let before_the_end = first_difference(&case, &whole).filter(|(_, number)| *number < end);
        let group = before_the_end.map(|(group, _)| group);
        let listed = LOWEST_RATE_BY_FIRST_GROUP.contains(&case.id.as_str());
        assert_eq!(group, listed.then_some(1), "{}", case.id);
    }
}
