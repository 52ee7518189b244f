//! What is reported and noted, played to the profiler as a host would.
//! Leaves sums and shares to `times`.

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Decision, Hook, Report};
use serde_json::{Value, json};

use crate::Profiler;

fn start(config: Value) -> Harness<Profiler> {
    Harness::start(&config).unwrap()
}

fn reports(decisions: Vec<Decision>) -> Vec<(String, f64)> {
    let report = |decision| match decision {
        Decision::Report(Report { name, value }) => Some((name, value)),
        _ => None,
    };
    decisions.into_iter().filter_map(report).collect()
}

fn notes(decisions: Vec<Decision>) -> Vec<String> {
    let note = |decision| match decision {
        Decision::Note(line) => Some(line),
        _ => None,
    };
    decisions.into_iter().filter_map(note).collect()
}

/// A step's end, where the last finished step's times are known.
fn stepped(step: u64, times: &[(&str, f64)]) -> Moment {
    with_times(Moment::at(Hook::StepEnd, step), times)
}

fn with_times(moment: Moment, times: &[(&str, f64)]) -> Moment {
    times.iter().fold(moment, |moment, (name, seconds)| moment.scalar(name, *seconds))
}

const TIMES: [(&str, f64); 7] = [
    ("time/step", 8.0),
    ("time/data", 1.0),
    ("time/forward", 2.0),
    ("time/backward", 3.0),
    ("time/optimizer", 1.0),
    ("time/callbacks", 0.5),
    ("time/elapsed", 1e6),
];

fn shares(shares: &[(&str, f64)]) -> Vec<(String, f64)> {
    shares.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect()
}

#[test]
fn every_few_steps_the_shares_are_reported() {
    let mut harness = start(json!({"every": 2}));
    // Nothing is known before the first step is over.
    assert_eq!(harness.send(stepped(1, &[])).unwrap(), []);
    let expected = [
        ("data", 0.125),
        ("forward", 0.25),
        ("backward", 0.375),
        ("optimizer", 0.125),
        ("callbacks", 0.0625),
        ("other", 0.0625),
    ];
    assert_eq!(reports(harness.send(stepped(2, &TIMES)).unwrap()), shares(&expected));
    assert_eq!(harness.send(stepped(3, &TIMES)).unwrap(), []);
    assert_eq!(reports(harness.send(stepped(4, &TIMES)).unwrap()), shares(&expected));
}

#[test]
fn evaluations_and_checkpoints_count_once_each() {
    let mut harness = start(json!({"every": 1}));
    let times = [("time/step", 1.0), ("time/data", 1.0), ("time/evaluation", 2.0), ("time/checkpoint", 1.0)];
    harness.send(stepped(1, &[])).unwrap();
    assert_eq!(reports(harness.send(stepped(2, &times)).unwrap()), shares(&[("data", 1.0), ("other", 0.0)]));
    harness.send(Moment::at(Hook::EvaluateEnd, 2)).unwrap();
    harness.send(Moment::at(Hook::SaveEnd, 2)).unwrap();
    let expected = [("data", 0.25), ("evaluation", 0.5), ("checkpoint", 0.25), ("other", 0.0)];
    assert_eq!(reports(harness.send(stepped(3, &times)).unwrap()), shares(&expected));
    assert_eq!(reports(harness.send(stepped(4, &times)).unwrap()), shares(&[("data", 1.0), ("other", 0.0)]));
}

#[test]
fn the_end_names_the_slowest_phase() {
    let mut harness = start(json!({}));
    harness.send(stepped(1, &[])).unwrap();
    harness.send(stepped(2, &TIMES)).unwrap();
    harness.send(Moment::at(Hook::EvaluateEnd, 2)).unwrap();
    // The last step and the last evaluation are read here.
    let moment = with_times(Moment::at(Hook::TrainEnd, 2), &TIMES).scalar("time/evaluation", 4.0);
    assert_eq!(notes(harness.send(moment).unwrap()), ["slowest phase: backward, 6.000 s, 30.0 % of 20.000 s"]);
}

#[test]
fn b22_the_slow_callback_is_named_with_its_time() {
    let mut harness = start(json!({}));
    harness.send(stepped(1, &[])).unwrap();
    let moment = with_times(Moment::at(Hook::TrainEnd, 1), &TIMES)
        .scalar("callback/lr-schedule/time", 0.25)
        .scalar("callback/tracker/time", 2.0)
        .scalar("callback/tracker/fuel", 1e9)
        .scalar("callback/broken/time", f64::NAN);
    let line = "slowest callback: tracker, 2.000 s, 25.0 % of 8.000 s";
    assert_eq!(notes(harness.send(moment).unwrap())[1], line);
}

#[test]
fn a_callbacks_time_is_that_of_all_processes() {
    let mut harness = start(json!({"every": 1}));
    let mut at = |hook, seconds| harness.send(Moment::at(hook, 1).scalar("callback/slow/time", seconds)).unwrap();
    at(Hook::StepEnd, 1.0);
    at(Hook::StepEnd, 3.0);
    // A resumed run begins to count anew.
    at(Hook::StepEnd, 0.5);
    assert_eq!(notes(at(Hook::TrainEnd, 0.75))[1], "slowest callback: slow, 3.750 s");
}

#[test]
fn times_that_are_missing_are_left_out() {
    let mut harness = start(json!({"every": 1}));
    harness.send(stepped(1, &[])).unwrap();
    let times = [("time/forward", 1.0), ("time/backward", 3.0)];
    let expected = shares(&[("forward", 0.25), ("backward", 0.75)]);
    assert_eq!(reports(harness.send(stepped(2, &times)).unwrap()), expected);
    harness.send(Moment::at(Hook::EvaluateEnd, 2)).unwrap();
    assert_eq!(reports(harness.send(stepped(3, &times)).unwrap()), expected);
    let end = harness.send(with_times(Moment::at(Hook::TrainEnd, 3), &times)).unwrap();
    assert_eq!(notes(end), ["slowest phase: backward, 9.000 s, 75.0 % of 12.000 s"]);
}

#[test]
fn a_run_that_tells_no_times_is_told_so() {
    let mut harness = start(json!({"every": 1}));
    for step in 1..5 {
        assert_eq!(harness.send(stepped(step, &[])).unwrap(), []);
    }
    let end = harness.send(Moment::at(Hook::TrainEnd, 4)).unwrap();
    assert_eq!(notes(end), ["no times were told, so there is no slowest phase"]);
}

#[test]
fn b9_times_that_are_no_numbers_do_not_poison() {
    let mut harness = start(json!({"every": 4}));
    harness.send(stepped(1, &[])).unwrap();
    harness.send(stepped(2, &[("time/forward", f64::NAN), ("time/data", f64::INFINITY)])).unwrap();
    harness.send(stepped(3, &[("time/forward", 1.0), ("time/data", 1.0)])).unwrap();
    let last = harness.send(stepped(4, &[("time/forward", -1.0)])).unwrap();
    assert_eq!(reports(last), shares(&[("data", 0.5), ("forward", 0.5)]));
}

#[test]
fn b1_a_resume_changes_nothing() {
    let run = |resume_before: Option<u64>| {
        let mut harness = start(json!({"every": 3}));
        let mut all = Vec::new();
        for step in 1..12 {
            if resume_before == Some(step) {
                harness.resume(step).unwrap();
            }
            let times = TIMES.map(|(name, seconds)| (name, seconds * step as f64));
            let moment = stepped(step, &times).scalar("time/evaluation", step as f64);
            all.extend(harness.send(moment.scalar("callback/slow/time", step as f64)).unwrap());
            if step % 4 == 0 {
                harness.send(Moment::at(Hook::EvaluateEnd, step)).unwrap();
            }
        }
        let end = with_times(Moment::at(Hook::TrainEnd, 11), &TIMES).scalar("callback/slow/time", 12.0);
        all.extend(harness.send(end).unwrap());
        all
    };
    let uninterrupted = run(None);
    assert_eq!(uninterrupted.len(), 3 * 6 + 2 + 2);
    for before in 1..12 {
        assert_eq!(run(Some(before)), uninterrupted, "resumed before step {before}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [(json!({"every": 0}), "every is 0"), (json!({"steps": 1}), "unknown field `steps`")] {
        let error = Harness::<Profiler>::start(&config).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}
