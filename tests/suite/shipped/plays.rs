//! A short run for each plugin that comes with the program, made of events, in which it decides whatever it can.
//! Judges nothing: the tests in `shipped` compare what comes of it.

use std::sync::Arc;

use host_callback::{Callback as _, Decision, Hook};
use host_sandbox::Plugin;
use serde_json::{Value, json};

use crate::traces::stage::{Moment, Stage};

/// A run that makes a plugin decide as much as it can.
pub(crate) struct Play {
    plugin: &'static str,
    pub(crate) config: Value,
    /// Hook, finished steps, and the numbers of the measurements in `reads`; fewer where some are not known. A failure
    /// is always that memory has run out.
    pub(crate) moments: &'static [(Hook, u64, &'static [f64])],
    pub(crate) reads: &'static [&'static str],
}

/// The plays of a plugin: several where one configuration does not do all that it can.
pub(crate) fn plays_of(name: &str) -> Vec<Play> {
    let plays: Vec<Play> = plays().into_iter().filter(|play| play.plugin == name).collect();
    assert!(!plays.is_empty(), "{name} is new: give it a run in `plays`");
    plays
}

impl Play {
    pub(super) fn start(&self, plugin: &Arc<Plugin>) -> Stage {
        start(plugin, &self.config)
    }

    /// The answer to each moment and the state after it.
    pub(crate) fn answers(&self, plugin: &Arc<Plugin>) -> Vec<(Vec<Decision>, String)> {
        answers(plugin, &self.config, self.reads, self.moments.iter().copied())
    }
}

fn start(plugin: &Arc<Plugin>, config: &Value) -> Stage {
    let groups = json!([
        {"name": "body", "learning-rate": 0.01, "weight-decay": 0.01, "parameters": ["layers.weight"]},
        {"name": "head", "learning-rate": 0.1, "weight-decay": 0.0, "parameters": ["head.weight"]},
    ]);
    let stage = Stage::start(plugin, config, &json!({ "groups": groups }));
    stage.unwrap_or_else(|error| panic!("{error:?}"))
}

/// The answer to each moment and the state after it, as text: NaN equals itself there.
pub(crate) fn answers<'a>(
    plugin: &Arc<Plugin>,
    config: &Value,
    reads: &[&str],
    moments: impl Iterator<Item = (Hook, u64, &'a [f64])>,
) -> Vec<(Vec<Decision>, String)> {
    let mut stage = start(plugin, config);
    let answer = |(hook, step, values): (Hook, u64, &[f64])| {
        let detail = if hook == Hook::Failure { "out-of-memory: made up" } else { "" };
        let named = reads.iter().zip(values);
        let moment =
            named.fold(Moment::at(hook, step).detail(detail), |moment, (name, value)| moment.scalar(name, *value));
        let decisions = stage.send(moment);
        let state = stage.callback.save().expect("the state");
        let state = state.map(|(version, bytes)| format!("{version}: {}", String::from_utf8_lossy(&bytes)));
        (decisions, state.unwrap_or_default())
    };
    moments.map(answer).collect()
}

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;

fn plays() -> Vec<Play> {
    use Hook::{
        EpochBegin, EpochEnd, EvaluateBegin, EvaluateEnd, Failure, Gradients, SaveEnd, StepBegin, StepEnd, TrainBegin,
        TrainEnd,
    };
    vec![
        Play {
            plugin: "batch-ramp",
            config: json!({"from": 8, "to": 32, "over-steps": 4, "shape": "doubling", "by": "batch-size"}),
            reads: &["batch-size", "accumulation"],
            moments: &[
                (StepBegin, 0, &[8.0, 1.0]),
                (StepBegin, 1, &[8.0, 1.0]),
                (StepBegin, 2, &[8.0, 1.0]),
                (StepBegin, 3, &[4.0, 4.0]),
                (StepBegin, 4, &[4.0, 4.0]),
                (StepBegin, 5, &[8.0, 4.0]),
            ],
        },
        Play {
            plugin: "batch-ramp",
            config: json!({"from": 8, "to": 16, "over-steps": 4}),
            reads: &["batch-size", "accumulation"],
            moments: &[
                (StepBegin, 0, &[8.0, 1.0]),
                (StepBegin, 1, &[]),
                (StepBegin, 2, &[8.0, 1.0]),
                (StepBegin, 4, &[8.0, 2.0]),
            ],
        },
        Play {
            plugin: "branch-balance",
            config: json!({
                "a": {"parameters": "layers.*", "groups": ["body"]},
                "b": {"parameters": "head.*", "groups": ["head"]},
                "every": 2, "min-factor": 0.95,
            }),
            reads: &["gradient-norm/layers.*", "gradient-norm/head.*", "learning-rate/body", "learning-rate/head"],
            moments: &[
                (StepBegin, 1, &[NAN, NAN, 0.01, 0.1]),
                (Gradients, 1, &[NAN, 1.0, 0.01, 0.1]),
                (StepBegin, 2, &[NAN, NAN, 0.01, 0.1]),
                (Gradients, 2, &[4.0, 1.0, 0.01, 0.1]),
                (StepBegin, 3, &[NAN, NAN, 0.01, 0.1]),
                (Gradients, 3, &[3.0, 1.0, 0.01, 0.1]),
                (StepBegin, 4, &[NAN, NAN, 0.0095, 0.11]),
                (Gradients, 4, &[3.0, 0.0, 0.02, 0.11]),
            ],
        },
        Play {
            plugin: "checkpoint-policy",
            config: json!({"every-steps": 2, "every-epochs": 1, "keep-best": 2, "keep-last": 2}),
            reads: &["eval/loss"],
            moments: &[
                (StepEnd, 1, &[]),
                (StepEnd, 2, &[]),
                (EvaluateEnd, 2, &[1.0]),
                (EpochEnd, 2, &[]),
                (EvaluateEnd, 3, &[0.5]),
                (StepEnd, 4, &[]),
                (EvaluateEnd, 4, &[NAN]),
                (EvaluateEnd, 5, &[0.75]),
                (StepEnd, 6, &[]),
                (EpochEnd, 7, &[]),
            ],
        },
        Play {
            plugin: "early-stopping",
            config: json!({"patience": 2, "min-delta": 0.125}),
            reads: &["eval/loss"],
            moments: &[
                (EvaluateEnd, 1, &[]),
                (EvaluateEnd, 2, &[1.0]),
                (EvaluateEnd, 3, &[0.5]),
                (EvaluateEnd, 4, &[NAN]),
                (EvaluateEnd, 5, &[0.4375]),
                (TrainEnd, 5, &[]),
            ],
        },
        Play {
            plugin: "grad-clip-adaptive",
            config: json!({"percentile": 50.0, "window": 3, "warm-up": 2, "min": 0.5, "max": 4.0}),
            reads: &["gradient-norm", "clip-norm"],
            moments: &[
                (Gradients, 0, &[2.0, 0.0]),
                (Gradients, 1, &[3.0, 0.0]),
                (Gradients, 2, &[NAN, 2.5]),
                (Gradients, 3, &[9.0, 2.5]),
                (Gradients, 4, &[7.0, 3.0]),
                (Gradients, 5, &[0.25, 4.0]),
                (Gradients, 6, &[0.125, 4.0]),
                (Gradients, 7, &[]),
            ],
        },
        Play {
            plugin: "layer-freeze",
            config: json!({"stages": [
                {"parameters": ["head.*"], "until": {"step": 3}},
                {"parameters": ["layers.*"], "from": {"step": 1}, "until": {"step": 2}},
            ]}),
            reads: &[],
            moments: &[
                (TrainBegin, 0, &[]),
                (StepBegin, 0, &[]),
                (StepBegin, 1, &[]),
                (StepBegin, 2, &[]),
                (StepBegin, 3, &[]),
            ],
        },
        Play {
            plugin: "lr-plateau",
            config: json!({"patience": 1, "factor": 0.3, "min-lr": {"body": 2e-3, "head": 0.0}}),
            reads: &["eval/loss", "learning-rate/body", "learning-rate/head"],
            moments: &[
                (EvaluateEnd, 1, &[]),
                (EvaluateEnd, 2, &[1.0, 0.01, 0.1]),
                (EvaluateEnd, 3, &[1.0, 0.01, 0.1]),
                (EvaluateEnd, 4, &[1.0, 0.01, 0.1]),
                (EvaluateEnd, 5, &[NAN]),
                (EvaluateEnd, 6, &[1.0]),
                (EvaluateEnd, 7, &[0.25, 0.005, 0.02]),
            ],
        },
        Play {
            plugin: "lr-schedule",
            config: json!({"kind": "cosine", "warm-up": 2, "total-steps": 7, "min-lr-ratio": 0.1}),
            reads: &[],
            moments: &[
                (StepBegin, 0, &[]),
                (StepBegin, 1, &[]),
                (StepBegin, 2, &[]),
                (StepBegin, 3, &[]),
                (StepBegin, 6, &[]),
                (StepBegin, 7, &[]),
                (StepBegin, 8, &[]),
            ],
        },
        Play {
            plugin: "memory-guard",
            config: json!({"min-batch": 8, "max-fraction": 0.9, "cooldown": 2}),
            reads: &["batch-size", "accumulation", "memory/device/allocated", "memory/device/total"],
            moments: &[
                (StepBegin, 0, &[]),
                (Failure, 0, &[32.0, 1.0]),
                (StepEnd, 1, &[16.0, 2.0, 950.0, 1000.0]),
                (StepEnd, 2, &[16.0, 2.0, 950.0, 1000.0]),
                (EvaluateBegin, 2, &[]),
                (Failure, 2, &[8.0, 4.0]),
                (EvaluateEnd, 2, &[]),
                (StepEnd, 4, &[8.0, 4.0, 950.0, 1000.0]),
                (StepEnd, 5, &[8.0, 4.0, 950.0, 1000.0]),
                (StepEnd, 6, &[8.0, 4.0]),
            ],
        },
        Play {
            plugin: "nan-guard",
            config: json!({"skips": 1, "restores": 1, "lr-factor": 0.5, "forgive-after": 2}),
            reads: &["loss", "gradient-norm"],
            moments: &[
                (Gradients, 0, &[1.0, 2.0]),
                (Gradients, 1, &[NAN, 2.0]),
                (Gradients, 2, &[1.0, INFINITY]),
                (Gradients, 3, &[1.0]),
                (Gradients, 4, &[f64::NEG_INFINITY]),
                (Gradients, 5, &[NAN]),
            ],
        },
        Play {
            plugin: "overfit-watch",
            config: json!({"action": "scale-weight-decay", "patience": 1, "factor": 2.0, "max-factor": 3.0}),
            reads: &["loss", "eval/loss"],
            moments: &[
                (StepEnd, 1, &[1.0]),
                (StepEnd, 2, &[NAN]),
                (EvaluateEnd, 2, &[1.0, 1.25]),
                (StepEnd, 3, &[1.0]),
                (EvaluateEnd, 3, &[1.0, 1.5]),
                (StepEnd, 4, &[0.5]),
                (EvaluateEnd, 4, &[1.0, 1.5]),
                (StepEnd, 5, &[0.25]),
                (EvaluateEnd, 5, &[1.0, 1.5]),
                (StepEnd, 6, &[]),
            ],
        },
        Play {
            plugin: "overfit-watch",
            config: json!({"action": "stop", "patience": 2, "max-ratio": 1.5}),
            reads: &["loss", "eval/loss"],
            moments: &[
                (StepEnd, 1, &[1.0]),
                (EvaluateEnd, 1, &[1.0, 1.5]),
                (StepEnd, 2, &[1.0]),
                (EvaluateEnd, 2, &[1.0, 2.0]),
                (StepEnd, 3, &[1.0]),
                (EvaluateEnd, 3, &[1.0, 2.5]),
            ],
        },
        Play {
            plugin: "profiler",
            config: json!({"every": 2}),
            reads: &["time/step", "time/data", "time/forward", "time/evaluation", "callback/slow/time"],
            moments: &[
                (StepEnd, 1, &[]),
                (StepEnd, 2, &[1.0, 0.25, 0.5]),
                (EvaluateEnd, 2, &[]),
                (StepEnd, 3, &[1.0, 0.25, 0.5, 2.0, 0.125]),
                (SaveEnd, 3, &[]),
                (StepEnd, 4, &[2.0, 0.5, NAN, 2.0, 0.25]),
                (TrainEnd, 4, &[3.0, 0.5, 0.5, 2.0, 0.125]),
            ],
        },
        Play {
            plugin: "spike-guard",
            config: json!({
                "sigmas": 2.0, "factor": 3.0, "window": 2, "warm-up": 1, "skip-batches": 2, "max-restores": 1,
                "after-restores": "stop",
            }),
            reads: &["loss"],
            moments: &[
                (EpochBegin, 0, &[]),
                (StepBegin, 0, &[]),
                (Gradients, 0, &[1.0]),
                (Gradients, 1, &[1.5]),
                (SaveEnd, 2, &[]),
                (Gradients, 2, &[50.0]),
                (StepBegin, 3, &[]),
                (EpochBegin, 3, &[]),
                (StepBegin, 3, &[]),
                (Gradients, 3, &[]),
                (Gradients, 4, &[NAN]),
            ],
        },
    ]
}
