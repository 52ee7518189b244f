//! Where the rooms meet: from a checked configuration to a run and its callbacks.
//!
//! It does not train and prints nothing. [`run`] prepares the trainer's side, [`callbacks()`] the sandbox's, and [`live()`]
//! keeps it up to date while the run goes on; [`Ranks`] are the processes that share its batches, and [`computing`] is where
//! the loop runs.

mod callbacks;
mod dated;
mod files;
mod live;
mod log;
mod ranks;
mod run;
mod threads;

pub(crate) use self::{
    callbacks::{Callbacks, callbacks, may},
    dated::Dated,
    live::{Stories, TABLE, live},
    log::GuestLog,
    ranks::Ranks,
    run::{Prepared, Resume, bare, prepare},
    threads::computing,
};
