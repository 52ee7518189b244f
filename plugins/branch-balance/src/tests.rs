//! Which rates are written when, played to the plugin as a host would, alone and with other writers of the same rates.
//! Leaves the size of an adjustment to `balance`.

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Assignment, Decision, Hook, Report};
use serde_json::{Value, json};

use crate::BranchBalance;
use crate::balance::Factors;

const NAMES: [&str; 3] = ["learning-rate/vision", "learning-rate/text", "learning-rate/head"];

fn config(changes: Value) -> Value {
    let mut config = json!({
        "a": {"parameters": "vision.*", "groups": ["vision"]},
        "b": {"parameters": "text.*", "groups": ["text"]},
        "every": 2,
        "rate": 0.25,
        "decay": 0.0,
    });
    config.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    config
}

fn start(config: &Value) -> Result<Harness<BranchBalance>, String> {
    let groups = ["vision", "text", "head"].map(|name| json!({"name": name, "learning-rate": 1}));
    Harness::start_in(config, json!({"groups": groups}))
}

/// A run whose rates the plugin's writes reach.
struct Loop {
    harness: Harness<BranchBalance>,
    rates: [f64; 3],
    step: u64,
}

impl Loop {
    fn new(changes: Value) -> Self {
        Self { harness: start(&config(changes)).unwrap(), rates: [1.0; 3], step: 0 }
    }

    /// What is reported, in order. Scales reach the rates.
    fn send(&mut self, hook: Hook, norms: (f64, f64)) -> Vec<f64> {
        let mut moment = Moment::at(hook, self.step);
        for (name, rate) in NAMES.iter().zip(self.rates) {
            moment = moment.scalar(name, rate);
        }
        if hook == Hook::Gradients {
            moment = moment.scalar("gradient-norm/vision.*", norms.0).scalar("gradient-norm/text.*", norms.1);
        }
        let mut reports = Vec::new();
        for decision in self.harness.send(moment).unwrap() {
            match decision {
                Decision::Scale(Assignment { knob, value }) => {
                    self.rates[NAMES.iter().position(|name| *name == knob).unwrap()] *= value;
                }
                Decision::Report(Report { value, .. }) => reports.push(value),
                Decision::Note(_) => {}
                other => panic!("{other:?}"),
            }
        }
        reports
    }

    /// A step in which a schedule sets the rates of all groups at `step-begin`, where one does.
    fn step_with(&mut self, norms: (f64, f64), scheduled: Option<f64>) -> Vec<f64> {
        self.send(Hook::StepBegin, norms);
        // Writes at a hook come after all callbacks have been shown its values.
        self.rates = scheduled.map_or(self.rates, |rate| [rate; 3]);
        let reports = self.send(Hook::Gradients, norms);
        self.step += 1;
        reports
    }

    fn step(&mut self, norms: (f64, f64)) -> Vec<f64> {
        self.step_with(norms, None)
    }

    fn factors(&self) -> Factors {
        self.harness.state().factors
    }
}

fn near(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9)
}

#[test]
fn the_branch_that_weighs_too_much_is_slowed_down() {
    let mut run = Loop::new(json!({}));
    assert!(run.step((100.0, 1.0)).is_empty());
    assert_eq!(run.rates, [1.0; 3]);
    assert_eq!(run.step((100.0, 1.0)), [100.0, 0.8, 1.25]);
    assert_eq!(run.rates, [0.8, 1.25, 1.0]);
    run.step((100.0, 1.0));
    assert!(near(&run.step((100.0, 1.0)), &[64.0, 0.64, 1.5625]));
    assert!(near(&run.rates, &[0.64, 1.5625, 1.0]));
}

#[test]
fn branches_in_balance_are_left_alone() {
    let mut run = Loop::new(json!({"target": 2.0}));
    for _ in 0..50 {
        run.step((2.04, 1.0));
    }
    assert_eq!((run.rates, run.factors()), ([1.0; 3], Factors::default()));
}

#[test]
fn the_weights_come_to_the_target_and_stay() {
    let mut run = Loop::new(json!({"tolerance": 0.01}));
    for _ in 0..100 {
        run.step((9.0, 1.0));
    }
    assert!(near(&run.rates, &[1.0 / 3.0, 3.0, 1.0]), "{:?}", run.rates);
}

#[test]
fn one_branch_alone_can_be_adjusted_and_only_so_far() {
    let mut run = Loop::new(json!({"adjust": "a", "min-factor": 0.5}));
    for _ in 0..40 {
        run.step((1e6, 1.0));
    }
    assert_eq!(run.rates, [0.5, 1.0, 1.0]);
    let mut run = Loop::new(json!({"adjust": "b", "max-factor": 2.0}));
    for _ in 0..40 {
        run.step((1e6, 1.0));
    }
    assert_eq!(run.rates, [1.0, 2.0, 1.0]);
}

#[test]
fn norms_are_averaged() {
    let mut run = Loop::new(json!({"decay": 0.5}));
    run.step((4.0, 1.0));
    // The average of 4 and 2, and of 1 and 3.
    assert!(near(&run.step((2.0, 3.0))[..1], &[1.5]));
}

#[test]
fn b9_norms_that_are_not_finite_change_nothing() {
    let mut run = Loop::new(json!({}));
    for norms in [(f64::NAN, 1.0), (1.0, f64::INFINITY), (0.0, 1.0), (f64::NAN, f64::NAN)] {
        assert!(run.step(norms).is_empty());
    }
    assert_eq!(run.rates, [1.0; 3]);
    run.step((100.0, 1.0));
    assert_eq!(run.step((f64::NAN, f64::NAN)), [100.0, 0.8, 1.25], "the good ones before it count");
}

#[test]
fn a_schedule_that_sets_the_rate_at_each_step_is_followed() {
    let mut run = Loop::new(json!({}));
    for step in 0..20_i32 {
        let scheduled = 1.0 / f64::from(step + 1);
        run.step_with((100.0, 1.0), Some(scheduled));
        let Factors { a, b } = run.factors();
        assert!(near(&run.rates, &[scheduled * a, scheduled * b, scheduled]), "step {step}: {:?}", run.rates);
    }
    assert!(run.factors().a < 0.5);
}

#[test]
fn a_schedule_on_a_constant_stretch_is_followed_too() {
    let mut run = Loop::new(json!({}));
    for step in 0..20 {
        // It writes only when the rate changes.
        run.step_with((100.0, 1.0), (step == 7).then_some(0.5));
        let (scheduled, Factors { a, b }) = (if step < 7 { 1.0 } else { 0.5 }, run.factors());
        assert!(near(&run.rates, &[scheduled * a, scheduled * b, scheduled]), "step {step}: {:?}", run.rates);
    }
}

#[test]
fn a_schedule_that_wrote_for_a_dropped_batch_is_followed() {
    let mut run = Loop::new(json!({}));
    run.step((100.0, 1.0));
    run.step((100.0, 1.0));
    run.send(Hook::StepBegin, (1.0, 1.0));
    run.rates = [0.5; 3];
    // The batch was dropped; the next one has the same step, for which the schedule has nothing new to write.
    run.step((100.0, 1.0));
    assert!(near(&run.rates, &[0.5 * 0.8, 0.5 * 1.25, 0.5]));
}

#[test]
fn whoever_multiplies_what_stands_keeps_the_factor() {
    let mut run = Loop::new(json!({}));
    run.step((100.0, 1.0));
    run.step((100.0, 1.0));
    // At an evaluation, between two steps.
    run.rates = run.rates.map(|rate| rate / 10.0);
    run.step((100.0, 1.0));
    assert!(near(&run.rates, &[0.08, 0.125, 0.1]));
    assert_eq!(run.factors(), Factors { a: 0.8, b: 1.25 });
}

#[test]
fn adjustments_wait_for_the_warm_up() {
    let mut run = Loop::new(json!({"warm-up": 5}));
    let reported: Vec<u64> = (0..10).filter(|_| !run.step((100.0, 1.0)).is_empty()).collect();
    assert_eq!(reported, [5, 7, 9]);
}

#[test]
fn norms_can_be_looked_at_less_often() {
    let mut run = Loop::new(json!({"measure-every": 4}));
    let reported: Vec<u64> = (0..10).filter(|_| !run.step((100.0, 1.0)).is_empty()).collect();
    assert_eq!(reported, [3, 5, 7, 9]);
}

#[test]
fn norms_that_are_missing_are_told_once() {
    let mut harness = start(&config(json!({}))).unwrap();
    let mut send =
        |step| harness.send(Moment::at(Hook::Gradients, step).scalar("gradient-norm/vision.*", 1.0)).unwrap();
    assert_eq!(send(0), []);
    let line =
        "gradient-norm/vision.* and gradient-norm/text.* were never both known and finite, so nothing was adjusted";
    assert_eq!(send(1), [Decision::Note(line.into())]);
    assert_eq!(send(3), []);
}

#[test]
fn b1_a_resume_changes_nothing() {
    let run = |resume_before: Option<u64>, schedule: bool| {
        let mut run = Loop::new(json!({"decay": 0.7, "measure-every": 2, "every": 3}));
        let steps = (0..20_u64).map(|step| {
            if resume_before == Some(step) {
                run.harness.resume(step).unwrap();
            }
            let norms = ((step * 7 % 5) as f64 * 20.0 + 1.0, if step == 9 { f64::NAN } else { 1.0 });
            run.step_with(norms, schedule.then(|| 1.0 / (step / 4 + 1) as f64).filter(|_| step % 4 == 0));
            run.rates.map(f64::to_bits)
        });
        steps.collect::<Vec<_>>()
    };
    for schedule in [false, true] {
        let uninterrupted = run(None, schedule);
        assert_ne!(uninterrupted[19], [1.0_f64; 3].map(f64::to_bits));
        for before in 1..20 {
            assert_eq!(run(Some(before), schedule), uninterrupted, "resumed before step {before}");
        }
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (changes, words) in [
        (json!({"target": 0.0}), "target is 0"),
        (json!({"tolerance": -1.0}), "tolerance is -1"),
        (json!({"rate": 0.0}), "rate is 0"),
        (json!({"rate": "NaN"}), "rate is NaN"),
        (json!({"every": 0}), "every is 0"),
        (json!({"measure-every": 0}), "measure-every is 0"),
        (json!({"decay": 1.0}), "decay is 1"),
        (json!({"min-factor": 0.0}), "min-factor is 0"),
        (json!({"max-factor": 0.5}), "max-factor is 0.5"),
        (json!({"adjust": "none"}), "unknown variant `none`"),
        (json!({"b": {"parameters": "vision.*", "groups": ["text"]}}), "a and b have the same parameters"),
        (
            json!({"a": {"parameters": "v.*", "groups": ["sound"]}}),
            "a: no parameter group fits sound; this run has vision",
        ),
        (json!({"b": {"parameters": "t.*", "groups": ["*"]}}), "parameter group vision is in both branches"),
        (json!({"b": {"parameters": "t.*"}}), "missing field `groups`"),
        (json!({"c": 1}), "unknown field `c`"),
    ] {
        let error = start(&config(changes.clone())).err().unwrap();
        assert!(error.contains(words), "{changes}: {error}");
    }
}
