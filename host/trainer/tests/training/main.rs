//! How the loop trains, seen from outside: a tiny task, callbacks that are Rust closures, and what both saw.
//!
//! Rows of `B` are named after the list of behaviours. Nothing here waits for a clock, needs a GPU or is random.
//!
//! - `numerics`: updates against numbers of PyTorch.
//! - `order`: which hook comes when, and what is known at it.
//! - `requests`: what callbacks ask for, and what the loop makes of it.
//! - `failures`: losses that are not finite, disks that are full, guards that are lost.
//! - `memory`: what runs out of memory, and other panics of a task.
//! - `knobs`: what each knob does, and from when on.
//! - `checkpoints`: when they are whole, which are kept, which are refused.
//! - `resume`: a run in parts is the run in one piece.
//! - `ranks`: several processes that train one model, here as threads.
//! - `laziness`: nothing is computed that nobody reads.
//! - `task`, `script` and `rig` hold no tests.

#![expect(clippy::unwrap_used, reason = "tests")]

mod ahead;
mod bare;
mod checkpoints;
mod failures;
mod knobs;
mod laziness;
mod memory;
mod numerics;
mod order;
mod ranks;
mod requests;
mod resume;
mod rig;
mod script;
mod task;
