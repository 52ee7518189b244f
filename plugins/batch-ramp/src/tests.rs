//! What is written when, played to the plugin as a host would.
//! Leaves the numbers on the way to `ramp`.

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Assignment, Decision, Hook, Report};
use serde_json::{Value, json};

use crate::BatchRamp;

/// A run that the plugin's writes reach.
struct Loop {
    harness: Harness<BatchRamp>,
    batch: f64,
    accumulation: f64,
}

impl Loop {
    fn new(config: &Value, batch: f64, accumulation: f64) -> Self {
        Self { harness: Harness::start(config).unwrap(), batch, accumulation }
    }

    /// The samples of the update at this step, and whether anything was written.
    fn step(&mut self, step: u64) -> (f64, bool) {
        let moment = Moment::at(Hook::StepBegin, step).scalar("batch-size", self.batch);
        let decisions = self.harness.send(moment.scalar("accumulation", self.accumulation)).unwrap();
        for decision in &decisions {
            match decision {
                Decision::Set(Assignment { knob, value }) if knob == "batch-size" => self.batch = *value,
                Decision::Set(Assignment { knob, value }) if knob == "accumulation" => self.accumulation = *value,
                Decision::Report(Report { name, value }) if name == "samples" => {
                    assert_eq!(*value, self.batch * self.accumulation);
                }
                other => panic!("{other:?}"),
            }
        }
        (self.batch * self.accumulation, !decisions.is_empty())
    }

    fn steps(&mut self, steps: std::ops::Range<u64>) -> Vec<(f64, bool)> {
        steps.map(|step| self.step(step)).collect()
    }
}

fn doubling() -> Value {
    json!({"from": 8, "to": 32, "over-steps": 4, "shape": "doubling"})
}

#[test]
fn a_ramp_by_accumulation_leaves_the_batch_alone() {
    let mut run = Loop::new(&doubling(), 8.0, 1.0);
    let expected = [(8.0, false), (8.0, false), (16.0, true), (16.0, false), (32.0, true), (32.0, false)];
    assert_eq!(run.steps(0..6), expected);
    assert_eq!((run.batch, run.accumulation), (8.0, 4.0));
}

#[test]
fn a_ramp_by_batch_size_leaves_the_accumulation_alone() {
    let mut run = Loop::new(&json!({"from": 8, "to": 16, "over-steps": 4, "by": "batch-size"}), 64.0, 2.0);
    let expected = [(8.0, true), (10.0, true), (12.0, true), (14.0, true), (16.0, true), (16.0, false)];
    assert_eq!(run.steps(0..6), expected);
    assert_eq!((run.batch, run.accumulation), (8.0, 2.0));
}

#[test]
fn the_nearest_whole_number_is_written_and_only_when_it_is_another() {
    let mut run = Loop::new(&json!({"from": 8, "to": 32, "over-steps": 24}), 8.0, 1.0);
    let written: Vec<u64> = (0..30).filter(|step| run.step(*step).1).collect();
    assert_eq!(written, [4, 12, 20]);
    assert_eq!(run.accumulation, 4.0);
}

#[test]
fn less_than_one_pass_is_one_pass() {
    let mut run = Loop::new(&doubling(), 64.0, 1.0);
    assert_eq!(run.steps(0..6), [(64.0, false); 6]);
}

#[test]
fn a_guard_may_split_the_same_samples_otherwise() {
    for by in ["batch-size", "accumulation"] {
        let mut config = doubling();
        config["by"] = by.into();
        let mut run = Loop::new(&config, 8.0, 1.0);
        run.steps(0..3);
        assert_eq!(run.batch * run.accumulation, 16.0);
        (run.batch, run.accumulation) = (2.0, 8.0);
        assert_eq!(run.step(3), (16.0, false), "{by}");
        assert_eq!(run.step(4), (32.0, true), "{by}");
    }
}

#[test]
fn after_the_end_what_others_write_stands() {
    let mut run = Loop::new(&doubling(), 8.0, 1.0);
    run.steps(0..5);
    run.accumulation = 1.0;
    assert_eq!(run.steps(5..8), [(8.0, false); 3]);
}

#[test]
fn a_batch_that_was_dropped_does_not_move_the_ramp() {
    let mut run = Loop::new(&doubling(), 8.0, 1.0);
    run.steps(0..3);
    assert_eq!(run.steps(2..3), [(16.0, false)]);
}

#[test]
fn b1_a_resume_changes_nothing() {
    let config = json!({"from": 8, "to": 100, "over-steps": 9});
    let run = |resume_before: Option<u64>| {
        let mut run = Loop::new(&config, 8.0, 1.0);
        let steps = (0..12).map(|step| {
            if resume_before == Some(step) {
                run.harness.resume(step).unwrap();
            }
            run.step(step)
        });
        steps.collect::<Vec<_>>()
    };
    let uninterrupted = run(None);
    assert_eq!(uninterrupted[11], (104.0, false));
    for before in 1..12 {
        assert_eq!(run(Some(before)), uninterrupted, "resumed before step {before}");
    }
}

#[test]
fn a_value_that_is_missing_is_told_once() {
    let mut harness = Harness::<BatchRamp>::start(&doubling()).unwrap();
    let mut send = || harness.send(Moment::at(Hook::StepBegin, 1)).unwrap();
    assert_eq!(send(), [Decision::Note("batch-size is not known here, so nothing was checked".into())]);
    assert_eq!(send(), []);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [
        (json!({"from": 8, "to": 32}), "exactly one of over-steps and over-samples"),
        (
            json!({"from": 8, "to": 32, "over-steps": 4, "over-samples": 4}),
            "exactly one of over-steps and over-samples",
        ),
        (json!({"from": 8, "to": 32, "over-steps": 0}), "a ramp over 0 steps"),
        (json!({"from": 0, "to": 32, "over-steps": 4}), "from is 0"),
        (json!({"from": 32, "to": 32, "over-steps": 4}), "from is 32 and to is 32"),
        (json!({"from": 8.5, "to": 32, "over-steps": 4}), "8.5"),
        (json!({"to": 32, "over-steps": 4}), "missing field `from`"),
        (json!({"from": 8, "to": 32, "over-steps": 4, "by": "samples"}), "unknown variant `samples`"),
        (json!({"from": 8, "to": 32, "steps": 4}), "unknown field `steps`"),
    ] {
        let error = Harness::<BatchRamp>::start(&config).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}
