//! Where the rooms meet: from a checked configuration to a run and its callbacks.
//!
//! It does not train and prints nothing. [`run`] prepares the trainer's side, [`callbacks`] the sandbox's.

mod callbacks;
mod files;
mod log;
mod run;

pub(crate) use self::{
    callbacks::{Callbacks, callbacks, may},
    log::GuestLog,
    run::{Prepared, Resume, prepare},
};
