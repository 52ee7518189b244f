//! What a run is asked to do, checked and complete: lengths, batches, clipping, the optimizer and its groups.
//!
//! It does not read files; whoever embeds the trainer fills it in.

use host_callback::Pattern;
use serde::Serialize;

use crate::Span;

/// Everything that the loop needs to know about a run, besides its task, its callbacks and its device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Settings {
    /// The run's name, as callbacks are told.
    pub name: String,
    /// Seed of initial weights, shuffling and everything else that is random.
    pub seed: u64,
    /// How long to train.
    pub length: Span,
    /// Ends this process's part of the run here, resumable, as if it had been interrupted; the planned
    /// length, and so every schedule, stays what it is.
    pub until: Option<Span>,
    /// Samples of one forward pass; at least 1.
    pub batch_size: usize,
    /// Forward passes whose gradients are averaged for one update; at least 1.
    pub accumulation: usize,
    /// Whether the last, smaller batch of an epoch is left out.
    pub drop_last: bool,
    /// How often to evaluate; `None` for only at the end.
    pub evaluate_every: Option<Span>,
    /// How often to write a log record.
    pub log_every: Span,
    /// How often to save a checkpoint; `None` for only at the end and when a callback asks.
    pub save_every: Option<Span>,
    /// Steps that the loop may go on while a checkpoint is written: its `save-end` comes after them, or before the next
    /// checkpoint or the end of the run where that is earlier. 0 for none: the loop waits, and `save-end` comes at once.
    pub save_async: u64,
    /// How many of the newest checkpoints to keep besides those with a tag; at least 1.
    pub keep: usize,
    /// Largest global L2 norm of the gradients; 0 for no limit.
    pub clip_norm: f64,
    /// Largest absolute value of a gradient's element; 0 for no limit.
    pub clip_value: f64,
    /// The rule of the update.
    pub optimizer: OptimizerRule,
    /// Parameter groups; a parameter belongs to the first one that has a pattern for its name. The last
    /// one should take `*`, or parameters are left without a group, which is an error.
    pub groups: Vec<GroupSettings>,
}

impl Settings {
    /// Settings with the defaults that the program has too, for a run of some length: batches of 32, an evaluation
    /// every epoch, a log record every 10 steps, checkpoints that the loop waits for, AdamW at a learning rate of 1e-3, with all parameters in the group
    /// `all`.
    pub fn new(name: impl Into<String>, length: Span) -> Self {
        Self {
            name: name.into(),
            seed: 0,
            length,
            until: None,
            batch_size: 32,
            accumulation: 1,
            drop_last: false,
            evaluate_every: Some(Span::Epochs(1)),
            log_every: Span::Steps(10),
            save_every: None,
            save_async: 0,
            keep: 2,
            clip_norm: 0.0,
            clip_value: 0.0,
            optimizer: OptimizerRule::Adamw { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
            groups: vec![GroupSettings {
                name: "all".into(),
                parameters: vec!["*".into()],
                learning_rate: 1e-3,
                weight_decay: 0.01,
            }],
        }
    }
}

/// The rule by which gradients become updates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum OptimizerRule {
    /// Adam with decoupled weight decay (Loshchilov and Hutter, 2019, arXiv:1711.05101).
    Adamw {
        /// Decay rate of the first moment, in [0, 1).
        beta1: f32,
        /// Decay rate of the second moment, in [0, 1).
        beta2: f32,
        /// Added to the root of the second moment.
        epsilon: f32,
    },
    /// Stochastic gradient descent with momentum (Sutskever et al., 2013) and weight decay added to the gradient.
    Sgd {
        /// Momentum factor, in [0, 1); 0 for none.
        momentum: f64,
        /// How much of a gradient the momentum leaves out, in [0, 1].
        dampening: f64,
        /// Nesterov's form.
        nesterov: bool,
    },
}

/// Parameters that share a learning rate and a weight decay.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GroupSettings {
    /// The group's name, in `learning-rate/<name>`.
    pub name: String,
    /// Names of parameters, `*` allowed, such as `layers.*.bias`.
    pub parameters: Vec<Pattern>,
    /// Initial learning rate; at least 0.
    pub learning_rate: f64,
    /// Weight decay; at least 0.
    pub weight_decay: f64,
}
