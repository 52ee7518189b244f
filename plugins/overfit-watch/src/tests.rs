//! What is reported and done as a gap grows, played to the watch as a host would.
//! Leaves growth itself to `gap`.

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Assignment, Decision, Hook, Report};
use serde_json::{Value, json};

use crate::OverfitWatch;

fn start_with(config: &Value) -> Result<Harness<OverfitWatch>, String> {
    let groups = [("body", 0.01), ("head", 0.1), ("no-decay", 0.0)];
    let groups = groups.map(|(name, decay)| json!({"name": name, "learning-rate": 1, "weight-decay": decay}));
    Harness::start_in(config, json!({"groups": groups}))
}

fn start(config: Value) -> Harness<OverfitWatch> {
    start_with(&config).unwrap()
}

fn train(harness: &mut Harness<OverfitWatch>, losses: &[f64]) {
    for loss in losses {
        assert_eq!(harness.send(Moment::at(Hook::StepEnd, 1).scalar("loss", *loss)).unwrap(), []);
    }
}

fn evaluate(harness: &mut Harness<OverfitWatch>, loss: f64) -> Vec<Decision> {
    harness.send(Moment::at(Hook::EvaluateEnd, 1).scalar("eval/loss", loss)).unwrap()
}

/// What is decided besides reports when training stands at 1 and evaluations give these.
fn decided(harness: &mut Harness<OverfitWatch>, losses: &[f64]) -> Vec<Vec<Decision>> {
    let decided = losses.iter().map(|loss| {
        train(harness, &[1.0]);
        let mut decisions = evaluate(harness, *loss);
        decisions.retain(|decision| !matches!(decision, Decision::Report(_)));
        decisions
    });
    decided.collect()
}

/// At which of these evaluations anything is.
fn acted(harness: &mut Harness<OverfitWatch>, losses: &[f64]) -> Vec<usize> {
    let decided = decided(harness, losses);
    (0..losses.len()).filter(|index| !decided[*index].is_empty()).collect()
}

fn report(name: &str, value: f64) -> Decision {
    Decision::Report(Report { name: name.into(), value })
}

const GROWING: [f64; 7] = [1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75];

#[test]
fn the_gap_is_to_the_mean_of_training_since_the_last_evaluation() {
    let mut harness = start(json!({}));
    train(&mut harness, &[4.0, 3.0, 2.0]);
    assert_eq!(evaluate(&mut harness, 4.5), [report("gap", 1.5), report("ratio", 1.5)]);
    train(&mut harness, &[1.0, 2.0]);
    assert_eq!(evaluate(&mut harness, 0.75), [report("gap", -0.75), report("ratio", 0.5)]);
    // Nothing was trained in between.
    assert_eq!(evaluate(&mut harness, 0.75), []);
}

#[test]
fn a_gap_that_grows_is_noted() {
    let mut harness = start(json!({}));
    let decided = decided(&mut harness, &GROWING[..4]);
    let line = "the gap between eval/loss and loss has grown 3 times in a row, to 1: 2 against 1";
    assert_eq!(decided[..3], [vec![], vec![], vec![]]);
    assert_eq!(decided[3], [Decision::Note(line.into())]);
}

#[test]
fn a_gap_that_stays_or_wavers_is_left_alone() {
    assert_eq!(acted(&mut start(json!({"patience": 2})), &[1.5, 1.5, 1.75, 1.5, 1.75, 1.625, 1.5, 1.25]), [0; 0]);
    assert_eq!(acted(&mut start(json!({"max-gap": 2.0})), &GROWING), [0; 0]);
    assert_eq!(acted(&mut start(json!({"max-ratio": 3.0})), &GROWING), [0; 0]);
}

#[test]
fn the_count_begins_anew_after_an_action() {
    assert_eq!(acted(&mut start(json!({})), &GROWING), [3, 6]);
}

#[test]
fn a_gap_that_grows_can_stop_the_run() {
    let decided = decided(&mut start(json!({"action": "stop", "patience": 1})), &GROWING[..2]);
    assert!(matches!(&decided[1][..], [Decision::Stop(why)] if why.contains("grown 1 times in a row, to 0.5")));
}

#[test]
fn a_gap_that_grows_can_raise_the_weight_decay_up_to_a_bound() {
    let config = json!({"action": "scale-weight-decay", "patience": 1, "factor": 2.0, "max-factor": 6.0});
    let decided = decided(&mut start(config), &GROWING[..5]);
    let factors = |decisions: &[Decision]| {
        let scale = |decision: &Decision| match decision {
            Decision::Scale(Assignment { knob, value }) => Some((knob.clone(), *value)),
            _ => None,
        };
        decisions.iter().filter_map(scale).collect::<Vec<_>>()
    };
    let both = |factor| vec![("weight-decay/body".to_owned(), factor), ("weight-decay/head".to_owned(), factor)];
    let all: Vec<_> = decided.iter().map(|decisions| factors(decisions)).collect();
    assert_eq!(all, [vec![], both(2.0), both(2.0), both(1.5), vec![]]);
    assert!(matches!(&decided[4][..], [Decision::Note(line)] if line.ends_with("has its bound of 6 times already")));
}

#[test]
fn only_the_chosen_groups_get_more_decay() {
    let config = json!({"action": "scale-weight-decay", "patience": 1, "groups": ["head"]});
    let decided = decided(&mut start(config), &GROWING[..2]);
    assert_eq!(decided[1].len(), 2);
    assert_eq!(decided[1][0], Decision::Scale(Assignment { knob: "weight-decay/head".into(), value: 2.0 }));
}

#[test]
fn b9_nan_never_counts_as_growth_and_does_not_poison() {
    for bad in [f64::NAN, f64::INFINITY] {
        let losses = [bad, 1.25, bad, 1.5, bad, bad, 1.75, 2.0, bad];
        assert_eq!(acted(&mut start(json!({})), &losses), [7], "{bad}");
        let mut harness = start(json!({}));
        train(&mut harness, &[bad, 2.0, bad]);
        assert_eq!(evaluate(&mut harness, 3.0), [report("gap", 1.0), report("ratio", 1.5)]);
        train(&mut harness, &[bad]);
        assert_eq!(evaluate(&mut harness, 3.0), []);
    }
}

#[test]
fn higher_can_be_better() {
    let config = json!({"evaluated": "eval/accuracy", "trained": "accuracy", "mode": "max", "patience": 1});
    let mut harness = start(config);
    let mut round = |trained, evaluated| {
        harness.send(Moment::at(Hook::StepEnd, 1).scalar("accuracy", trained)).unwrap();
        harness.send(Moment::at(Hook::EvaluateEnd, 1).scalar("eval/accuracy", evaluated)).unwrap()
    };
    assert_eq!(round(0.75, 0.75), [report("gap", 0.0), report("ratio", 1.0)]);
    assert_eq!(round(0.75, 0.5).len(), 3);
}

#[test]
fn training_can_be_looked_at_less_often() {
    let mut harness = start(json!({"measure-every": 2}));
    train(&mut harness, &[100.0, 1.0, 100.0, 1.0]);
    assert_eq!(evaluate(&mut harness, 1.5)[0], report("gap", 0.5));
}

#[test]
fn a_value_that_is_missing_is_told_once() {
    let mut harness = start(json!({"evaluated": "eval/perplexity"}));
    let line = Decision::Note("eval/perplexity is not known here, so nothing was checked".into());
    assert_eq!(evaluate(&mut harness, 1.0), [line]);
    assert_eq!(evaluate(&mut harness, 1.0), []);
}

#[test]
fn b1_a_resume_changes_nothing() {
    let run = |resume_before: Option<usize>| {
        let config = json!({"action": "scale-weight-decay", "patience": 2, "max-factor": 3.0});
        let mut harness = start(config);
        let mut all = Vec::new();
        // Two steps, then an evaluation.
        for moment in 0..30 {
            if resume_before == Some(moment) {
                harness.resume(moment as u64).unwrap();
            }
            let value = (moment * 7 % 4) as f64 / 8.0;
            match moment % 3 {
                2 => all.extend(evaluate(&mut harness, 2.0 + value + moment as f64)),
                _ => train(&mut harness, &[if moment == 9 { f64::NAN } else { 1.0 + value }]),
            }
        }
        all
    };
    let uninterrupted = run(None);
    assert!(uninterrupted.iter().filter(|decision| matches!(decision, Decision::Scale(_))).count() > 2);
    for before in 1..30 {
        assert_eq!(run(Some(before)), uninterrupted, "resumed before moment {before}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [
        (json!({"patience": 0}), "patience is 0"),
        (json!({"measure-every": 0}), "measure-every is 0"),
        (json!({"max-gap": "NaN"}), "max-gap is NaN"),
        (json!({"max-ratio": 0.0}), "max-ratio is 0"),
        (json!({"factor": 1.0}), "factor is 1"),
        (json!({"factor": 4.0, "max-factor": 2.0}), "max-factor is 2: it has to be at least the factor of 4"),
        (json!({"action": "warn"}), "unknown variant `warn`"),
        (
            json!({"action": "scale-weight-decay", "groups": ["tail"]}),
            "no parameter group fits tail; this run has body",
        ),
        (json!({"action": "scale-weight-decay", "groups": ["no-*"]}), "the weight decay of no-decay is 0"),
        (json!({"monitor": "eval/loss"}), "unknown field `monitor`"),
    ] {
        let error = start_with(&config).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}
