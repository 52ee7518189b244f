//! What each knob does, and from when on.
//!
//! Which writes are allowed is tested where they are resolved.

use host_callback::{Decision, Hook};
use host_trainer::Span;

use crate::{
    rig::{Rig, numbers},
    script::{Script, Seen},
};

fn set(knob: &str, value: f64) -> Decision {
    Decision::Set { knob: knob.into(), value }
}

/// Weights after so many steps: the biases, then the weights.
fn after(rig: &Rig, steps: u64, script: Script) -> Vec<f32> {
    let mut short = Rig::new(1);
    (short.task, short.settings) = (rig.task.clone(), rig.settings.clone());
    short.settings.length = Span::Steps(steps);
    numbers(&short.run([script]).completed().weights)
}

/// Weights before the first step: the biases, then the weights.
fn numbers_of(rig: &Rig) -> Vec<f32> {
    [rig.task.bias.clone(), rig.task.weight.concat()].concat()
}

#[test]
fn a_frozen_parameter_gets_no_gradient_and_no_update() {
    let rig = Rig::new(4);
    let start = numbers_of(&rig);
    let seen = Script::silent("seer").reads(&["gradient-norm/bias", "gradient-norm/weight", "trainable/bias"]);
    let part = rig.run([seen, Script::once(Hook::StepEnd, 1, [set("trainable/bias", 0.0)])]).completed();
    let at_gradients: Vec<Seen> = part.seen().into_iter().filter(|seen| seen.hook == Hook::Gradients).collect();
    for seen in &at_gradients {
        let (bias, weight) = (seen.value("gradient-norm/bias").unwrap(), seen.value("gradient-norm/weight").unwrap());
        assert!((bias > 0.0) == (seen.step() < 1) && weight > 0.0, "{}: {bias}, {weight}", seen.step());
        assert_eq!(seen.value("trainable/bias"), Some(if seen.step() < 1 { 1.0 } else { 0.0 }));
    }
    let first = after(&rig, 1, Script::silent("none"));
    let end = numbers(&part.weights);
    assert_eq!(end[..2], first[..2], "frozen after the first step");
    assert_ne!(end[..2], start[..2]);
    assert_ne!(end[2..], first[2..], "the others go on");
}

#[test]
fn a_parameter_that_thaws_learns_again_and_a_pattern_addresses_many() {
    let script = || {
        Script::new("freezer", |seen, _| match (seen.hook, seen.step()) {
            (Hook::TrainBegin, _) => vec![set("trainable/*", 0.0)],
            (Hook::StepEnd, 2) => vec![set("trainable", 1.0)],
            _ => Vec::new(),
        })
    };
    let rig = Rig::new(4);
    let start = numbers_of(&rig);
    assert_eq!(after(&rig, 2, script()), start, "nothing learns");
    let end = after(&rig, 3, script());
    assert!(end.iter().zip(&start).all(|(end, start)| end != start), "{end:?}");
}

#[test]
fn what_is_frozen_stays_frozen_after_a_resume_and_a_restore() {
    let mut rig = Rig::new(4);
    rig.settings.save_every = Some(Span::Steps(1));
    let script = || {
        Script::new("freezer", |seen, _| match (seen.hook, seen.step()) {
            (Hook::StepEnd, 2) => vec![set("trainable/bias", 0.0)],
            (Hook::StepEnd, 5) => vec![Decision::Restore("step-4".into())],
            _ => Vec::new(),
        })
    };
    rig.settings.keep = 10;
    let whole = rig.run([script()]).completed();
    let part = rig.resume(&whole, "step-3", [script()]).completed();
    assert_eq!(part.weights, whole.weights);
    assert_eq!(numbers(&whole.weights)[..2], after(&rig, 2, Script::silent("none"))[..2]);
}

#[test]
fn a_loss_scale_changes_nothing_but_what_underflows() {
    let rig = Rig::new(4);
    let plain = after(&rig, 6, Script::silent("none"));
    let scaled = Script::silent("seer").reads(&["gradient-norm", "loss"]);
    let scale = |value| Script::once(Hook::StepEnd, 1, [set("loss-scale", value)]);
    assert_eq!(after(&rig, 6, scale(1024.0)), plain, "a power of two changes no bit");
    let part = rig.run([scaled, scale(1024.0)]).completed();
    let unscaled = rig.run([Script::silent("seer").reads(&["gradient-norm", "loss"])]).completed();
    assert_eq!(part.seen(), unscaled.seen(), "what is told is not scaled");
}

#[test]
fn a_knob_of_the_task_counts_from_the_next_forward_pass() {
    let mut rig = Rig::new(2);
    rig.settings.accumulation = 1;
    let script = Script::new("weigher", |seen, _| match (seen.hook, seen.step()) {
        (Hook::StepBegin, 1) => vec![set("error-weight", 0.5)],
        (Hook::Gradients, 2) => vec![Decision::Scale { knob: "error-weight".into(), factor: 4.0 }],
        _ => Vec::new(),
    });
    let part = rig.run([script]).completed();
    assert_eq!(part.probe.weights.borrow()[..5], [1.0, 0.5, 0.5, 2.0, 2.0]);
    let rest = rig.resume(&part, part.checkpoints()[0], [Script::silent("weigher")]);
    assert!(rest.probe.weights.borrow().is_empty(), "it was at its end");
}

#[test]
fn batch_and_accumulation_change_in_mid_epoch_without_losing_or_repeating_a_sample() {
    let mut rig = Rig::new(3);
    rig.task = crate::task::Regression::of(23);
    (rig.settings.batch_size, rig.settings.accumulation) = (3, 2);
    let script = Script::new("changer", |seen, _| match seen.step() {
        step if seen.hook == Hook::StepBegin => vec![
            set("batch-size", [5.0, 1.0, 2.0, 4.0][step as usize % 4]),
            set("accumulation", [1.0, 3.0, 2.0][step as usize % 3]),
        ],
        _ => Vec::new(),
    });
    let part = rig.run([script]).completed();
    for epoch in 0..3 {
        let mut samples = part.probe.samples(epoch);
        samples.sort_unstable();
        assert_eq!(samples, (0..23).collect::<Vec<_>>(), "epoch {epoch}");
    }
    assert_eq!(part.report.progress.samples, 69);
}
