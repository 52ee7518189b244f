//! Updates, clipping and accumulation against numbers that PyTorch computed (`tests/fixtures/optim`).
//!
//! Each case is a whole run of 20 steps, so that groups, rates, clipping and the loop are tested together.

use std::{fs, path::Path};

use host_callback::Hook;
use host_trainer::{GroupSettings, OptimizerRule, Settings, Span};
use serde_json::Value;

use crate::{
    rig::{Part, Rig, numbers},
    script::Script,
    task::{Regression, Rows},
};

/// What a correct implementation in 32-bit floats keeps to (`README.md` of the fixtures).
const PARAMETERS: f64 = 1e-5;

fn fixture(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/optim").join(file);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn row(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect()
}

fn rows(value: &Value) -> Rows {
    value.as_array().unwrap().iter().map(row).collect()
}

fn regression(problem: &Value) -> Regression {
    let targets = rows(&problem["Y"]);
    Regression {
        inputs: rows(&problem["X"]),
        counts: targets.iter().map(|row| vec![1.0; row.len()]).collect(),
        targets,
        weight: rows(&problem["W0"]),
        bias: row(&problem["b0"]),
        ..Regression::of(1)
    }
}

fn rule(hyper: &Value) -> OptimizerRule {
    let number = |name: &str| hyper[name].as_f64().unwrap_or(0.0);
    match hyper["betas"].as_array() {
        Some(betas) => OptimizerRule::Adamw {
            beta1: betas[0].as_f64().unwrap() as f32,
            beta2: betas[1].as_f64().unwrap() as f32,
            epsilon: number("eps") as f32,
        },
        None => OptimizerRule::Sgd {
            momentum: number("momentum"),
            dampening: number("dampening"),
            nesterov: hyper["nesterov"] == true,
        },
    }
}

fn groups(file: &Value) -> Vec<GroupSettings> {
    let hyper = &file["hyper"];
    let group = |name: &str, pattern: &str, weight_decay| GroupSettings {
        name: name.into(),
        parameters: vec![pattern.into()],
        learning_rate: hyper["lr"].as_f64().unwrap(),
        weight_decay,
    };
    let decay = hyper["weight_decay"].as_f64().unwrap_or(0.0);
    match file["optimizer"].as_str() {
        Some("adamw_no_decay_on_bias") => vec![group("no-decay", "bias", 0.0), group("rest", "*", decay)],
        _ => vec![group("rest", "*", decay)],
    }
}

/// 20 steps on all 12 samples at once, evaluated after each.
fn train(file: &Value, case: &Value) -> Part {
    let mut rig = Rig::new(20);
    rig.task = regression(&file["problem"]);
    rig.settings = Settings {
        batch_size: 12,
        accumulation: 1,
        evaluate_every: Some(Span::Steps(1)),
        optimizer: rule(&file["hyper"]),
        groups: groups(file),
        clip_norm: case["clip_params"]["max_norm"].as_f64().unwrap_or(0.0),
        clip_value: case["clip_params"]["clip_value"].as_f64().unwrap_or(0.0),
        ..rig.settings.clone()
    };
    let reader = Script::silent("reader").listens(&[Hook::Gradients], 1, &["loss", "gradient-norm"]);
    rig.run([reader]).completed()
}

fn close(what: &str, ours: impl IntoIterator<Item = f64>, theirs: impl IntoIterator<Item = f64>, tolerance: f64) {
    let (ours, theirs): (Vec<f64>, Vec<f64>) = (ours.into_iter().collect(), theirs.into_iter().collect());
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert!((ours - theirs).abs() <= tolerance, "{what}, number {at}: {ours} and not {theirs}");
    }
}

fn check(name: &str, file: &Value, case: &Value) {
    let what = |part: &str| format!("{name}, clip {}: {part}", case["clip"]);
    let part = train(file, case);
    let evaluated = part.probe.evaluated.borrow();
    assert_eq!(evaluated.len(), 20, "{}", what("steps"));
    for (step, ours) in evaluated.iter().enumerate() {
        let theirs = [rows(&case["W"][step]).concat(), row(&case["b"][step])].concat();
        let (ours, theirs) = (ours.iter().map(|&x| f64::from(x)), theirs.into_iter().map(f64::from));
        close(&what(&format!("parameters after step {step}")), ours, theirs, PARAMETERS);
    }
    let seen = part.seen();
    let read = |value: &str| seen.iter().map(|event| event.value(value).unwrap()).collect::<Vec<_>>();
    let theirs = |values: &str| row(&case[values]).into_iter().map(f64::from).collect::<Vec<_>>();
    close(&what("losses"), read("loss"), theirs("losses"), 1e-5);
    close(&what("norms"), read("gradient-norm"), theirs("grad_norms"), 1e-4);
}

#[test]
fn updates_follow_pytorch() {
    for (name, cases) in [
        ("adamw.json", 3),
        ("adamw_wd_0.1_betas.json", 1),
        ("adamw_no_decay_on_bias.json", 1),
        ("sgd.json", 3),
        ("sgd_momentum.json", 1),
        ("sgd_momentum_dampening.json", 1),
        ("sgd_nesterov.json", 3),
    ] {
        let file = fixture(name);
        let found = file["cases"].as_array().unwrap();
        assert_eq!(found.len(), cases, "{name}");
        found.iter().for_each(|case| check(name, &file, case));
    }
}

/// Plain SGD, where a gradient of the wrong size cannot hide; not all targets count, so that the samples of the
/// micro-batches have different weights.
fn sgd(samples: usize, batch_size: usize, accumulation: usize) -> Part {
    let mut rig = Rig::new(6);
    rig.task = Regression::of(samples);
    rig.settings.optimizer = OptimizerRule::Sgd { momentum: 0.0, dampening: 0.0, nesterov: false };
    (rig.settings.batch_size, rig.settings.accumulation) = (batch_size, accumulation);
    let reads = ["loss", "absolute-error", "gradient-norm"];
    rig.run([Script::silent("reader").listens(&[Hook::Gradients], 1, &reads)]).completed()
}

#[test]
fn accumulated_micro_batches_are_the_large_batch() {
    for (samples, batch_size, accumulation) in [(12, 8, 2), (12, 5, 3), (12, 1, 12), (20, 4, 3)] {
        let what = format!("{samples} samples in {accumulation} x {batch_size}");
        let large = sgd(samples, batch_size * accumulation, 1);
        let small = sgd(samples, batch_size, accumulation);
        let passes = small.probe.batches.borrow().len();
        assert!(passes > large.probe.batches.borrow().len(), "{what}");
        for name in ["loss", "absolute-error", "gradient-norm"] {
            let read = |part: &Part| part.seen().iter().map(|seen| seen.value(name).unwrap()).collect::<Vec<_>>();
            close(&format!("{what}: {name}"), read(&small), read(&large), 1e-6);
        }
        let weights = |part: &Part| numbers(&part.weights).into_iter().map(f64::from).collect::<Vec<_>>();
        close(&what, weights(&small), weights(&large), 1e-6);
    }
}

#[test]
fn groups_have_rates_of_their_own() {
    let mut rig = Rig::new(1);
    rig.settings.groups[0].learning_rate = 0.0;
    let part = rig.run([]).completed();
    let weights = numbers(&part.weights);
    assert_eq!(weights[..2], rig.task.bias, "the group `biases` stands still");
    assert_ne!(weights[2..], rig.task.weight.concat(), "the others move");
}

#[test]
fn an_element_is_clipped_before_the_norm_is_taken() {
    let mut rig = Rig::new(1);
    rig.settings.optimizer = OptimizerRule::Sgd { momentum: 0.0, dampening: 0.0, nesterov: false };
    (rig.settings.batch_size, rig.settings.accumulation) = (8, 1);
    rig.settings.groups.iter_mut().for_each(|group| group.learning_rate = 1.0);
    // One target is far away: without the first limit, its gradients would leave nothing of the others.
    rig.task.targets[1] = vec![1e6, 0.0];
    (rig.settings.clip_value, rig.settings.clip_norm) = (0.001, 1.0);
    let part = rig.run([]).completed();
    let before = [rig.task.bias.clone(), rig.task.weight.concat()].concat();
    for (after, before) in numbers(&part.weights).iter().zip(before) {
        assert!((after - before).abs() > 0.0009, "{after} and {before}: the norm of what is left is below 1");
    }
}
