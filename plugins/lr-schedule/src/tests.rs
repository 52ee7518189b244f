//! The curves against the rates that transformers computed, and the plugin as a host would run it.
//! Where a rate differs on purpose, the case is listed with the reason.

mod fixtures;
mod plugin;

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Decision, Hook};
use serde_json::{Value, json};

use crate::Schedule;

/// A run with one group a rate, named `0`, `1` and so on.
fn start(config: &Value, rates: &[f64]) -> Result<Harness<Schedule>, String> {
    let groups = rates.iter().enumerate();
    let groups: Vec<_> =
        groups.map(|(index, rate)| json!({"name": index.to_string(), "learning-rate": rate})).collect();
    Harness::start_in(config, json!({"groups": groups}))
}

/// The writes at the beginning of a step, as (group, rate).
fn writes(harness: &mut Harness<Schedule>, moment: Moment) -> Vec<(usize, f64)> {
    let written = |decision: Decision| match decision {
        Decision::Set(set) => (set.knob.strip_prefix("learning-rate/").unwrap().parse().unwrap(), set.value),
        other => panic!("{other:?}"),
    };
    harness.send(moment).unwrap().into_iter().map(written).collect()
}

fn step(step: u64) -> Moment {
    Moment::at(Hook::StepBegin, step)
}
