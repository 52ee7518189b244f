//! What the guard does as trouble goes on, played to it as a host would.
//! Each test is a sequence of updates and the decisions that follow.

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Assignment, Decision, Hook};
use serde_json::{Value, json};

use crate::NanGuard;

const NAN: f64 = f64::NAN;

fn start(config: Value) -> Harness<NanGuard> {
    Harness::start(&config).unwrap()
}

/// The decisions of one update but for reports and notes.
fn update(harness: &mut Harness<NanGuard>, loss: f64, norm: f64) -> Vec<Decision> {
    let moment = Moment::at(Hook::Gradients, 1).scalar("loss", loss).scalar("gradient-norm", norm);
    let mut decisions = harness.send(moment).unwrap();
    decisions.retain(|decision| !matches!(decision, Decision::Report(_) | Decision::Note(_)));
    decisions
}

/// One letter an update: `.` nothing, `s` skip, `r` skip and restore, `x` skip and stop.
fn trace(harness: &mut Harness<NanGuard>, losses: &[f64]) -> String {
    let letter = |decisions: &[Decision]| match decisions {
        [] => '.',
        [Decision::Skip(_)] => 's',
        [Decision::Skip(_), Decision::Restore(_), ..] => 'r',
        [Decision::Skip(_), Decision::Stop(_)] => 'x',
        other => panic!("{other:?}"),
    };
    losses.iter().map(|loss| letter(&update(harness, *loss, 1.0))).collect()
}

#[test]
fn trouble_that_goes_on_is_met_more_and_more_strongly() {
    let mut harness = start(json!({"skips": 2, "restores": 2}));
    assert_eq!(trace(&mut harness, &[NAN; 9]), "ssrssrssx");
}

#[test]
fn a_healthy_update_resets_the_count_of_skips() {
    let mut harness = start(json!({"skips": 2, "restores": 1}));
    assert_eq!(trace(&mut harness, &[NAN, NAN, 1.0, NAN, NAN, 1.0, NAN, NAN, NAN]), "ss.ss.ssr");
}

#[test]
fn any_value_that_is_not_finite_counts() {
    for (loss, norm, words) in [
        (NAN, 1.0, "loss is NaN"),
        (f64::INFINITY, 1.0, "loss is inf"),
        (1.0, NAN, "gradient-norm is NaN"),
        (1.0, f64::NEG_INFINITY, "gradient-norm is -inf"),
    ] {
        assert_eq!(update(&mut start(json!({})), loss, norm), [Decision::Skip(words.into())]);
    }
    assert_eq!(update(&mut start(json!({})), 1e300, 0.0), []);
}

#[test]
fn going_back_can_lower_the_rate() {
    let mut harness = start(json!({"skips": 0, "lr-factor": 0.5, "tag": "best"}));
    let scale = Decision::Scale(Assignment { knob: "learning-rate".into(), value: 0.5 });
    let expected = [Decision::Skip("loss is NaN".into()), Decision::Restore("best".into()), scale];
    assert_eq!(update(&mut harness, NAN, 1.0), expected);
}

#[test]
fn a_long_healthy_stretch_gives_the_budget_back() {
    let mut harness = start(json!({"skips": 0, "restores": 1, "forgive-after": 3}));
    assert_eq!(trace(&mut harness, &[NAN, 1.0, 1.0, 1.0, NAN, 1.0, 1.0, NAN]), "r...r..x");
    let mut harness = start(json!({"skips": 0, "restores": 1, "forgive-after": 0}));
    assert_eq!(trace(&mut harness, &[NAN, 1.0, 1.0, 1.0, NAN]), "r...x");
}

#[test]
fn b1_a_resume_changes_nothing() {
    let losses = [NAN, 1.0, NAN, NAN, NAN, NAN, 1.0, NAN, NAN, NAN];
    let config = json!({"skips": 1, "restores": 2});
    let uninterrupted = trace(&mut start(config.clone()), &losses);
    assert_eq!(uninterrupted, "s.srsr.sxx");
    for before in 1..losses.len() {
        let mut harness = start(config.clone());
        let mut resumed = trace(&mut harness, &losses[..before]);
        harness.resume(before as u64).unwrap();
        resumed += &trace(&mut harness, &losses[before..]);
        assert_eq!(resumed, uninterrupted, "resumed before update {before}");
    }
}

#[test]
fn other_measurements_can_be_watched() {
    let mut harness = start(json!({"watch": ["gradient-nonfinite/*"]}));
    let moment = Moment::at(Hook::Gradients, 1).scalar("loss", NAN).scalar("gradient-nonfinite/head", 0.0);
    assert_eq!(harness.send(moment).unwrap(), []);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [
        (json!({"lr-factor": 0.0}), "lr-factor is 0"),
        (json!({"lr-factor": 2.0}), "lr-factor is 2"),
        (json!({"watch": []}), "watch is empty"),
        (json!({"skip": 1}), "unknown field `skip`"),
    ] {
        let error = Harness::<NanGuard>::start(&config).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}
