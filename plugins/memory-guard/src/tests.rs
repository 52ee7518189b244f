//! What the guard does when memory runs out or runs low, played to it as a host would.
//! The measurements of memory are made up; whether a smaller batch helps is not tested here.

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Assignment, Decision, Hook, Report};
use serde_json::{Value, json};

use crate::MemoryGuard;
use crate::split::Split;

const FULL: &str = "out-of-memory: 3 GiB asked for, 1 GiB free";

fn start(config: Value) -> Harness<MemoryGuard> {
    Harness::start(&config).unwrap()
}

/// A run that the guard's writes reach.
struct Device {
    harness: Harness<MemoryGuard>,
    batch: f64,
    accumulation: f64,
    step: u64,
}

impl Device {
    fn new(config: Value, batch: f64, accumulation: f64) -> Self {
        Self { harness: start(config), batch, accumulation, step: 0 }
    }

    fn send(&mut self, moment: Moment) -> Vec<Decision> {
        let moment = moment.scalar("batch-size", self.batch).scalar("accumulation", self.accumulation);
        let decisions = self.harness.send(moment).unwrap();
        for decision in &decisions {
            match decision {
                Decision::Set(Assignment { knob, value }) if knob == "batch-size" => self.batch = *value,
                Decision::Set(Assignment { knob, value }) if knob == "accumulation" => self.accumulation = *value,
                Decision::Note(_) | Decision::Report(_) => {}
                other => panic!("{other:?}"),
            }
        }
        decisions
    }

    fn fail(&mut self, detail: &str) -> Vec<Decision> {
        self.send(Moment::at(Hook::Failure, self.step).detail(detail))
    }

    /// A whole step, with this much of 1,000 bytes allocated at its end. Gives the decisions but for notes.
    fn step(&mut self, allocated: f64) -> Vec<Decision> {
        self.send(Moment::at(Hook::StepBegin, self.step));
        self.step += 1;
        let moment = Moment::at(Hook::StepEnd, self.step).scalar("memory/device/allocated", allocated);
        self.send(moment.scalar("memory/device/total", 1000.0))
    }

    fn evaluate(&mut self) {
        self.send(Moment::at(Hook::EvaluateBegin, self.step));
        self.send(Moment::at(Hook::EvaluateEnd, self.step));
    }

    fn split(&self) -> (f64, f64) {
        (self.batch, self.accumulation)
    }
}

fn set(knob: &str, value: f64) -> Decision {
    Decision::Set(Assignment { knob: knob.into(), value })
}

fn notes(decisions: &[Decision]) -> Vec<&str> {
    let lines = decisions.iter().filter_map(|decision| match decision {
        Decision::Note(line) => Some(line.as_str()),
        _ => None,
    });
    lines.collect()
}

#[test]
fn out_of_memory_halves_the_batch_and_keeps_the_samples() {
    let mut device = Device::new(json!({}), 32.0, 1.0);
    let line = "out of memory: batch-size 32 becomes 16, accumulation 1 becomes 2; an update still has 32 samples";
    let report = Decision::Report(Report { name: "halvings".into(), value: 1.0 });
    let expected = [Decision::Note(line.into()), set("batch-size", 16.0), set("accumulation", 2.0), report];
    assert_eq!(device.fail(FULL), expected);
    for expected in [(8.0, 4.0), (4.0, 8.0), (2.0, 16.0), (1.0, 32.0)] {
        device.fail(FULL);
        assert_eq!(device.split(), expected);
    }
    assert_eq!(
        notes(&device.fail(FULL)),
        ["out of memory, and nothing is left to do: a batch of 1 can't be made smaller"]
    );
    assert_eq!(device.split(), (1.0, 32.0));
    assert_eq!(device.harness.state().halvings, 5);
}

#[test]
fn every_split_keeps_the_samples_exactly() {
    for batch in 1..=200 {
        for accumulation in 1..=12 {
            let split = Split { batch, accumulation };
            let Some(smaller) = split.smaller(1) else {
                assert_eq!(batch, 1);
                continue;
            };
            assert!(smaller.batch <= batch / 2, "{split:?} gave {smaller:?}");
            assert_eq!(smaller.samples(), split.samples(), "{split:?}");
            let larger = smaller.batch + 1..=batch / 2;
            assert!(
                larger.into_iter().all(|other| !split.samples().is_multiple_of(other)),
                "{split:?} gave {smaller:?}"
            );
        }
    }
}

#[test]
fn samples_that_have_few_divisors_take_a_larger_step_down() {
    for (batch, accumulation, expected) in
        [(6, 1, Some((3, 2))), (7, 1, Some((1, 7))), (7, 6, Some((3, 14))), (9, 2, Some((3, 6))), (1, 8, None)]
    {
        let smaller = Split { batch, accumulation }.smaller(1);
        assert_eq!(smaller.map(|split| (split.batch, split.accumulation)), expected, "{batch} x {accumulation}");
    }
}

#[test]
fn the_batch_does_not_go_below_the_smallest_that_is_allowed() {
    let mut device = Device::new(json!({"min-batch": 8}), 32.0, 1.0);
    device.fail(FULL);
    device.fail(FULL);
    assert_eq!(device.split(), (8.0, 4.0));
    assert_eq!(
        notes(&device.fail(FULL)),
        ["out of memory, and nothing is left to do: a batch of 8 can't be made smaller"]
    );
    // The only divisor at or below a half is 1.
    assert_eq!(Split { batch: 7, accumulation: 1 }.smaller(2), None);
}

#[test]
fn other_failures_change_nothing() {
    for detail in
        ["non-finite-loss: loss is NaN", "panic: out-of-memory", "io: no space left", "", "out-of-memory-ish: x"]
    {
        let mut device = Device::new(json!({}), 32.0, 1.0);
        assert_eq!(device.fail(detail), [], "{detail}");
    }
}

#[test]
fn b21_out_of_memory_in_an_evaluation_leaves_the_training_batch_alone() {
    let mut device = Device::new(json!({}), 32.0, 1.0);
    device.step(0.0);
    device.send(Moment::at(Hook::EvaluateBegin, 1));
    assert_eq!(notes(&device.fail(FULL)), ["out of memory in an evaluation: the training batch stays as it is"]);
    assert_eq!(device.split(), (32.0, 1.0));
    // The evaluation was given up; the next step has no memory of it.
    device.send(Moment::at(Hook::StepBegin, 1));
    device.fail(FULL);
    assert_eq!(device.split(), (16.0, 2.0));
    device.evaluate();
    device.fail(FULL);
    assert_eq!(device.split(), (8.0, 4.0), "an evaluation that has ended");
}

#[test]
fn memory_that_runs_low_is_acted_on_only_where_that_is_wanted() {
    let mut device = Device::new(json!({}), 32.0, 1.0);
    assert_eq!(device.step(999.0), []);
    let mut device = Device::new(json!({"max-fraction": 0.9}), 32.0, 1.0);
    assert_eq!(device.step(900.0), []);
    let decisions = device.step(901.0);
    assert!(notes(&decisions)[0].starts_with("90.1 % of the device's memory is in use: batch-size 32 becomes 16"));
    assert_eq!(device.split(), (16.0, 2.0));
}

#[test]
fn after_a_smaller_batch_the_fraction_rests() {
    let mut device = Device::new(json!({"max-fraction": 0.9, "cooldown": 3}), 32.0, 1.0);
    let batches = [(); 7].map(|()| {
        device.step(950.0);
        device.batch
    });
    assert_eq!(batches, [16.0, 16.0, 16.0, 8.0, 8.0, 8.0, 4.0]);
    // Running out rests for nobody, and starts the rest anew.
    device.fail(FULL);
    assert_eq!(device.split(), (2.0, 16.0));
    assert_eq!([(); 3].map(|()| device.step(950.0).len()), [0, 0, 4]);
}

#[test]
fn b21_memory_that_an_evaluation_left_is_not_looked_at() {
    let mut device = Device::new(json!({"max-fraction": 0.9}), 32.0, 1.0);
    device.step(100.0);
    device.evaluate();
    assert_eq!(device.step(950.0), []);
    assert_ne!(device.step(950.0), []);
}

#[test]
fn a_smallest_batch_in_full_memory_is_told_once() {
    let mut device = Device::new(json!({"max-fraction": 0.9, "cooldown": 0}), 2.0, 1.0);
    let told = [(); 4].map(|()| device.step(950.0).len());
    assert_eq!(told, [4, 1, 0, 0]);
}

#[test]
fn memory_that_is_not_known_is_told_once_and_nonsense_is_ignored() {
    let mut device = Device::new(json!({"max-fraction": 0.9}), 32.0, 1.0);
    let line = "memory/device/allocated is not known here, so nothing was checked";
    assert_eq!(device.send(Moment::at(Hook::StepEnd, 1)), [Decision::Note(line.into())]);
    assert_eq!(device.send(Moment::at(Hook::StepEnd, 2)), []);
    for (allocated, total) in [(f64::NAN, 1.0), (1.0, f64::NAN), (1.0, 0.0), (0.0, 0.0), (f64::INFINITY, 1.0)] {
        let moment = Moment::at(Hook::StepEnd, 3).scalar("memory/device/allocated", allocated);
        assert_eq!(device.send(moment.scalar("memory/device/total", total)), [], "{allocated} of {total}");
    }
}

#[test]
fn b1_a_resume_changes_nothing() {
    let run = |resume_before: Option<u64>| {
        let mut device = Device::new(json!({"max-fraction": 0.9, "cooldown": 2}), 64.0, 1.0);
        let mut trace = Vec::new();
        for step in 0..12 {
            if resume_before == Some(step) {
                device.harness.resume(step).unwrap();
            }
            if step == 4 {
                trace.push(device.fail(FULL));
            }
            trace.push(device.step(if step < 8 { 950.0 } else { 500.0 }));
            if step % 3 == 2 {
                device.evaluate();
            }
        }
        (trace, device.split())
    };
    let uninterrupted = run(None);
    assert_eq!(uninterrupted.1, (2.0, 32.0));
    for before in 1..12 {
        assert_eq!(run(Some(before)), uninterrupted, "resumed before step {before}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [
        (json!({"min-batch": 0}), "min-batch is 0"),
        (json!({"max-fraction": 0.0}), "max-fraction is 0"),
        (json!({"max-fraction": 1.5}), "max-fraction is 1.5"),
        (json!({"max-fraction": "NaN"}), "max-fraction is NaN"),
        (json!({"minbatch": 1}), "unknown field `minbatch`"),
    ] {
        let error = Harness::<MemoryGuard>::start(&config).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}
