//! What the plugin decides: what is saved and put back, which checks count, which settings go together.
//! Leaves the numbers to `fixtures`.

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Decision, Hook};
use serde_json::{Value, json};

use crate::EarlyStopping;

fn start(config: Value) -> Harness<EarlyStopping> {
    Harness::start(&config).unwrap()
}

fn evaluate(harness: &mut Harness<EarlyStopping>, step: u64, loss: f64) -> Vec<Decision> {
    harness.send(Moment::at(Hook::EvaluateEnd, step).scalar("eval/loss", loss)).unwrap()
}

fn end(harness: &mut Harness<EarlyStopping>, step: u64, why: &str) -> Vec<Decision> {
    harness.send(Moment::at(Hook::TrainEnd, step).detail(why)).unwrap()
}

fn report(name: &str, value: f64) -> Decision {
    Decision::Report(host_sdk::Report { name: name.into(), value })
}

fn stops(decisions: &[Decision]) -> bool {
    decisions.iter().any(|decision| matches!(decision, Decision::Stop(_)))
}

#[test]
fn an_improvement_saves_and_a_stop_says_why() {
    let mut harness = start(json!({"patience": 2}));
    let decisions = evaluate(&mut harness, 10, 0.5);
    assert_eq!(decisions, [Decision::Save("best".into()), report("best", 0.5), report("wait", 0.0)]);
    assert_eq!(evaluate(&mut harness, 20, 0.75), [report("best", 0.5), report("wait", 1.0)]);
    let reason = "eval/loss has not improved for 2 checks: now 0.625, best 0.5 at step 10";
    let decisions = evaluate(&mut harness, 30, 0.625);
    assert_eq!(decisions, [report("best", 0.5), report("wait", 2.0), Decision::Stop(reason.into())]);
}

#[test]
fn b11_the_best_comes_back_whatever_the_cause_of_the_end() {
    for why in ["eval/loss has not improved for 3 checks", "all steps are done", "interrupted", "out of memory"] {
        let mut harness = start(json!({}));
        evaluate(&mut harness, 10, 0.5);
        evaluate(&mut harness, 20, 0.75);
        assert_eq!(end(&mut harness, 20, why), [Decision::Restore("best".into())], "{why}");
    }
}

#[test]
fn nothing_is_put_back_over_the_best_weights_themselves() {
    let mut harness = start(json!({}));
    evaluate(&mut harness, 10, 0.5);
    evaluate(&mut harness, 20, 0.25);
    assert_eq!(end(&mut harness, 20, "all steps are done"), []);
    // Three more steps that no evaluation has seen: the best weights that are known are those of step 20.
    assert_eq!(end(&mut harness, 23, "all steps are done"), [Decision::Restore("best".into())]);
}

#[test]
fn nothing_is_put_back_where_there_never_was_a_best() {
    let mut harness = start(json!({}));
    evaluate(&mut harness, 10, f64::NAN);
    assert_eq!(end(&mut harness, 20, "all steps are done"), []);
}

#[test]
fn nothing_is_saved_or_put_back_when_that_is_not_wanted() {
    let mut harness = start(json!({"restore-best": false}));
    assert_eq!(evaluate(&mut harness, 10, 0.5), [report("best", 0.5), report("wait", 0.0)]);
    evaluate(&mut harness, 20, 0.75);
    assert_eq!(end(&mut harness, 20, "all steps are done"), []);
}

#[test]
fn b9_nan_is_never_the_best_and_a_first_nan_does_not_poison() {
    let mut harness = start(json!({"patience": 3}));
    assert_eq!(evaluate(&mut harness, 10, f64::NAN), [report("wait", 1.0)]);
    assert!(evaluate(&mut harness, 20, 0.5).contains(&Decision::Save("best".into())));
    assert_eq!(evaluate(&mut harness, 30, f64::NAN), [report("best", 0.5), report("wait", 1.0)]);
    assert_eq!(harness.state().memory.best, Some(0.5));
}

#[test]
fn b12_patience_goes_back_to_zero_on_improvement() {
    let mut harness = start(json!({"patience": 2}));
    for (step, loss) in [(1, 1.0), (2, 2.0), (3, 0.5), (4, 0.75), (5, 0.25), (6, 0.5)] {
        assert!(!stops(&evaluate(&mut harness, step, loss)), "step {step}");
    }
    assert!(stops(&evaluate(&mut harness, 7, 0.5)));
}

#[test]
fn b1_a_resumed_run_stops_at_the_same_step() {
    let losses = [1.0, 0.5, 0.75, f64::NAN, 0.625, 0.5];
    let run = |resume_before: Option<usize>| {
        let mut harness = start(json!({"patience": 4}));
        let step = losses.iter().enumerate().position(|(index, loss)| {
            if resume_before == Some(index) {
                harness.resume(index as u64).unwrap();
            }
            stops(&evaluate(&mut harness, index as u64, *loss))
        });
        (step, end(&mut harness, 6, "stopped"))
    };
    let uninterrupted = run(None);
    assert_eq!(uninterrupted, (Some(5), vec![Decision::Restore("best".into())]));
    for before in 1..losses.len() {
        assert_eq!(run(Some(before)), uninterrupted, "resumed before check {before}");
    }
}

#[test]
fn checks_during_the_warm_up_are_left_out() {
    let mut harness = start(json!({"warm-up": 20, "patience": 1}));
    assert_eq!(evaluate(&mut harness, 10, 0.1), []);
    assert_eq!(evaluate(&mut harness, 19, 0.1), []);
    assert!(evaluate(&mut harness, 20, 0.5).contains(&Decision::Save("best".into())));
}

#[test]
fn checks_before_an_epoch_are_left_out() {
    let mut harness = start(json!({"start-from-epoch": 2}));
    let mut at = |epoch: f64| {
        harness.send(Moment::at(Hook::EvaluateEnd, 1).epoch(epoch).scalar("eval/loss", 1.0)).unwrap().len()
    };
    // Epochs 0 and 1 end at 1.0 and 2.0; the first moment of epoch 2 is just behind.
    assert_eq!([at(0.5), at(1.0), at(2.0)], [0, 0, 0]);
    assert_ne!(at(2.01), 0);
}

#[test]
fn another_measurement_can_be_watched_at_another_moment() {
    let config = json!({"monitor": "accuracy", "mode": "max", "check-at": "step-end", "check-every": 2, "patience": 1});
    let mut harness = start(config);
    let mut at =
        |step: u64, accuracy: f64| harness.send(Moment::at(Hook::StepEnd, step).scalar("accuracy", accuracy)).unwrap();
    assert_eq!(at(1, 0.25), []);
    assert!(at(2, 0.5).contains(&Decision::Save("best".into())));
    assert_eq!(at(3, 0.25), []);
    assert!(stops(&at(4, 0.5)));
}

#[test]
fn a_value_that_is_missing_is_told_once() {
    let mut harness = start(json!({"monitor": "loss"}));
    let line = Decision::Note("loss is not known here, so nothing was checked".into());
    assert_eq!(evaluate(&mut harness, 10, 0.5), [line]);
    assert_eq!(evaluate(&mut harness, 20, 0.5), []);
}

#[test]
fn thresholds_stop_at_once() {
    let config = json!({"stopping-threshold": 0.25, "divergence-threshold": 4.0, "check-finite": true});
    for (loss, words) in [(0.125, "stopping"), (5.0, "divergence"), (f64::NAN, "finite"), (f64::INFINITY, "finite")] {
        let decisions = evaluate(&mut start(config.clone()), 10, loss);
        let found = decisions.iter().any(|decision| matches!(decision, Decision::Stop(why) if why.contains(words)));
        assert!(found, "{loss}: {decisions:?}");
    }
    // What reaches the goal is also the best.
    let decisions = evaluate(&mut start(config), 10, 0.125);
    assert!(decisions.contains(&Decision::Save("best".into())));
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [
        (json!({"min-delta": -1.0}), "min-delta is -1"),
        (json!({"check-every": 0}), "check-every is 0"),
        (json!({"rule": "huggingface", "baseline": 1.0}), "baseline is not part of the huggingface rule"),
        (json!({"rule": "keras", "check-finite": true}), "check-finite is not part of the keras rule"),
        (json!({"rule": "lightning", "baseline": 1.0}), "baseline is not part of the lightning rule"),
        (json!({"patience": -1}), "-1"),
        (json!({"patiense": 1}), "unknown field `patiense`"),
        (json!({"mode": "least"}), "unknown variant `least`"),
    ] {
        let error = Harness::<EarlyStopping>::start(&config).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}
