//! Whole trainings with the fused operations and with burn's own: they come to the same losses.
//!
//! A backend that recomputes activations has the same numbers and no fused operation.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;
use std::sync::Mutex;

use burn::{
    backend::{Autodiff, Flex, autodiff::checkpoint::strategy::BalancedCheckpointing, flex::FlexDevice},
    tensor::backend::AutodiffBackend,
};
use host_trainer::{
    AnyBare as _, Bare, Settings, Span,
    task::{Classification, LanguageModel, Task},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

type Fused = Autodiff<Flex>;
type Plain = Autodiff<Flex, BalancedCheckpointing>;

const STEPS: usize = 300;

/// burn's generator, which draws the weights, is one for all threads.
static WEIGHTS: Mutex<()> = Mutex::new(());

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn settings<S: DeserializeOwned>(value: Value) -> S {
    serde_json::from_value(value).unwrap()
}

fn bare<B: AutodiffBackend<Device = FlexDevice>, T: Task<B>>(task: T) -> Bare<B, T> {
    let settings = Settings { batch_size: 8, clip_norm: 1.0, ..Settings::new("same", Span::Steps(STEPS as u64)) };
    Bare::new(task, settings, FlexDevice).unwrap()
}

/// Trains both, from equal weights with equal batches.
fn check<T: Task<Fused> + Task<Plain>>(open: impl Fn() -> T) {
    let (mut fused, mut plain) = {
        let _alone = WEIGHTS.lock().unwrap();
        (bare::<Fused, T>(open()), bare::<Plain, T>(open()))
    };
    assert_eq!(fused.weights(), plain.weights());
    let mut losses = Vec::new();
    for step in 0..STEPS {
        fused.step();
        plain.step();
        let (ours, burns) = (fused.loss(), plain.loss());
        assert!((ours - burns).abs() <= 1e-4, "step {step}: {ours} fused, {burns} in burn's operations");
        losses.push(ours);
    }
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    assert!(mean(&losses[STEPS - 30..]) < 0.8 * mean(&losses[..30]), "it learns: {losses:?}");
    assert_ne!(fused.weights(), plain.weights(), "they are not computed by the same operations");
}

#[test]
fn a_transformer_has_the_losses_of_burns_operations_in_300_steps() {
    for bias in [false, true] {
        check(|| {
            let settings = settings(json!({
                "data": "data/shakespeare.txt", "context": 32, "layers": 2, "heads": 2, "width": 32, "bias": bias,
            }));
            LanguageModel::open(&settings, &root(), 0).unwrap()
        });
    }
}

#[test]
fn a_classifier_has_the_losses_of_burns_operations_in_300_steps() {
    for model in ["mlp", "cnn"] {
        check(|| {
            let settings = settings(json!({
                "data": "data/digits.csv", "model": model, "image": (model == "cnn").then_some([1, 8, 8]),
                "channels": [4, 8], "hidden": [32], "label-smoothing": 0.1,
            }));
            Classification::open(&settings, &root(), 0).unwrap()
        });
    }
}
