//! Which limits are written when, played to the plugin as a host would.
//! Leaves the arithmetic of percentiles to `history`.

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Assignment, Decision, Hook};
use serde_json::{Value, json};

use crate::AutoClip;

/// A run whose limit the plugin's writes reach.
struct Loop {
    harness: Harness<AutoClip>,
    limit: f64,
    step: u64,
}

impl Loop {
    fn new(config: Value) -> Self {
        Self { harness: Harness::start(&config).unwrap(), limit: 0.0, step: 0 }
    }

    /// One update; the limit that was written, if one was.
    fn update(&mut self, norm: f64) -> Option<f64> {
        let moment = Moment::at(Hook::Gradients, self.step).scalar("gradient-norm", norm);
        self.step += 1;
        match self.harness.send(moment.scalar("clip-norm", self.limit)).unwrap()[..] {
            [] => None,
            [Decision::Set(Assignment { ref knob, value })] if knob == "clip-norm" => {
                self.limit = value;
                Some(value)
            }
            ref other => panic!("{other:?}"),
        }
    }

    fn updates(&mut self, norms: &[f64]) -> Vec<Option<f64>> {
        norms.iter().map(|norm| self.update(*norm)).collect()
    }
}

#[test]
fn the_limit_is_a_percentile_of_all_norms_up_to_this_one() {
    let mut run = Loop::new(json!({"percentile": 50.0, "warm-up": 1}));
    assert_eq!(run.updates(&[4.0, 2.0, 9.0, 1.0]), [Some(4.0), Some(3.0), Some(4.0), Some(3.0)]);
}

#[test]
fn the_default_is_the_tenth_percentile() {
    let mut run = Loop::new(json!({}));
    let norms: Vec<f64> = (1..=21).map(f64::from).collect();
    let written = run.updates(&norms);
    assert_eq!(written[..19], [None; 19], "20 norms are collected first");
    assert!((written[20].unwrap() - 3.0).abs() < 1e-12);
}

#[test]
fn one_explosion_does_not_move_the_limit() {
    let mut run = Loop::new(json!({"warm-up": 10}));
    run.updates(&[1.0; 20]);
    assert_eq!(run.update(1e6), None);
    assert_eq!(run.limit, 1.0);
}

#[test]
fn the_window_forgets_how_the_run_began() {
    let mut run = Loop::new(json!({"percentile": 50.0, "window": 4, "warm-up": 1}));
    run.updates(&[100.0, 100.0, 100.0, 100.0]);
    run.updates(&[1.0; 4]);
    assert_eq!(run.limit, 1.0);
}

#[test]
fn a_window_that_is_full_ends_the_warm_up() {
    let mut run = Loop::new(json!({"window": 3, "warm-up": 20}));
    assert_eq!(run.updates(&[1.0, 1.0, 1.0]), [None, None, Some(1.0)]);
}

#[test]
fn the_limit_stays_within_its_bounds() {
    let mut run = Loop::new(json!({"warm-up": 1, "min": 0.5, "max": 2.0}));
    assert_eq!(run.updates(&[100.0]), [Some(2.0)]);
    assert_eq!(run.updates(&[1e-3; 20]).last(), Some(&None));
    assert_eq!(run.limit, 0.5);
}

#[test]
fn b9_norms_that_are_not_finite_are_not_remembered() {
    let mut run = Loop::new(json!({"percentile": 50.0, "warm-up": 2}));
    let nan = f64::NAN;
    assert_eq!(run.updates(&[nan, f64::INFINITY, 1.0, nan, 3.0, nan]), [None, None, None, None, Some(2.0), None]);
    assert_eq!(run.harness.state().norms.len(), 2);
}

#[test]
fn gradients_that_are_all_zero_do_not_turn_clipping_off() {
    let mut run = Loop::new(json!({"warm-up": 1}));
    assert_eq!(run.updates(&[0.0, 0.0]), [None, None]);
    run.limit = 5.0;
    assert_eq!(run.updates(&[0.0]), [None]);
}

#[test]
fn only_a_change_is_written() {
    let mut run = Loop::new(json!({"warm-up": 1}));
    assert_eq!(run.updates(&[2.0, 2.0, 2.0]), [Some(2.0), None, None]);
    let mut run = Loop::new(json!({"percentile": 0.0, "window": 1, "warm-up": 1, "tolerance": 0.25}));
    assert_eq!(run.updates(&[4.0, 5.0, 3.0, 5.5, 5.0]), [Some(4.0), None, None, Some(5.5), None]);
    // Somebody else has written another limit since.
    run.limit = 9.0;
    assert_eq!(run.update(5.0), Some(5.0));
}

#[test]
fn b1_a_resume_changes_nothing() {
    let norms: Vec<f64> = (0..40).map(|step| f64::from(step * 37 % 41) / 7.0).collect();
    let run = |resume_before: Option<usize>| {
        let mut run = Loop::new(json!({"window": 16, "warm-up": 5, "percentile": 30.0}));
        let mut written = Vec::new();
        for (index, norm) in norms.iter().enumerate() {
            if resume_before == Some(index) {
                run.harness.resume(index as u64).unwrap();
            }
            written.push(run.update(*norm).map(f64::to_bits));
        }
        written
    };
    let uninterrupted = run(None);
    assert!(uninterrupted.iter().flatten().count() > 10);
    for before in 1..norms.len() {
        assert_eq!(run(Some(before)), uninterrupted, "resumed before update {before}");
    }
}

#[test]
fn a_norm_that_is_missing_is_told_once() {
    let mut harness = Harness::<AutoClip>::start(&json!({})).unwrap();
    let mut send = || harness.send(Moment::at(Hook::Gradients, 1)).unwrap();
    assert_eq!(send(), [Decision::Note("gradient-norm is not known here, so nothing was checked".into())]);
    assert_eq!(send(), []);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [
        (json!({"percentile": 101.0}), "percentile is 101"),
        (json!({"percentile": "NaN"}), "percentile is NaN"),
        (json!({"window": 0}), "window is 0"),
        (json!({"window": 30_001}), "window is 30001: it has to be 1 to 30000"),
        (json!({"warm-up": 0}), "warm-up is 0"),
        (json!({"min": -1.0}), "min is -1"),
        (json!({"min": 2.0, "max": 1.0}), "max is 1"),
        (json!({"max": 0.0}), "max is 0"),
        (json!({"tolerance": 2.0}), "tolerance is 2"),
        (json!({"quantile": 0.1}), "unknown field `quantile`"),
    ] {
        let error = Harness::<AutoClip>::start(&config).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}
