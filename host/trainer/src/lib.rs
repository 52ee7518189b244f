//! The training loop: tasks, optimizer groups, checkpoints, devices.
//!
//! It knows callbacks only as [`host_callback::Callbacks`] and never what runs behind it. It reads no
//! configuration: [`Settings`] comes checked and complete.
//!
//! # The life of a run
//!
//! [`prepare`] finds the backend for a [`Device`](device::Device), opens the task's data, makes the model, and
//! lists what the run offers: measurements ([`AnyRun::catalog`]) and knobs ([`AnyRun::knobs`]). With these the
//! callbacks are built. [`AnyRun::train`] then loops: it tells the callbacks each [`Hook`](host_callback::Hook),
//! carries out what they decide, writes [`Checkpoint`]s, and tells an [`Observer`] everything that happens. It
//! always ends with an [`Ending`], never with a half-closed run.
//!
//! A program with a model of its own implements [`Task`](task::Task) and calls [`Run::new`] in place of
//! [`prepare`].

mod after;
mod ahead;
mod apply;
mod awake;
mod bare;
mod checkpoint;
mod current;
pub mod device;
mod error;
mod event;
pub mod fused;
mod gradients;
mod guarded;
mod host_sums;
mod knobs;
mod measure;
mod memory;
mod optimizer;
#[cfg(test)]
mod pair;
mod parameters;
mod passes;
mod prepare;
mod random;
mod ranks;
mod run;
mod saving;
mod session;
mod settings;
mod span;
mod state;
mod statistics;
mod step;
mod stop;
pub mod task;
mod update;

use burn::tensor::{Tensor, backend::Backend};

pub use bare::{AnyBare, Bare};
pub use checkpoint::{Checkpoint, Store};
pub use error::{CheckpointError, TrainError};
pub use event::{Artifact, Ending, NoObserver, Observer, RunEvent};
pub use prepare::{prepare, prepare_bare};
pub use ranks::{Link, StreamLink};
pub use run::{AnyRun, Processed, Run, RunReport};
pub use settings::{GroupSettings, OptimizerRule, Settings};
pub use span::{BadSpan, Span, Travelled};
pub use stop::StopFlag;

/// The only element of a tensor as a number; waits for the device.
pub(crate) fn scalar<B: Backend>(tensor: Tensor<B, 1>) -> f64 {
    tensor.into_data().iter::<f64>().next().unwrap_or(f64::NAN)
}
