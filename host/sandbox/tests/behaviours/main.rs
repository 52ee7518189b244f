//! How the sandbox treats callbacks, healthy and hostile: rows of `A` are named after the list of behaviours.
//!
//! Built guests are needed: `./test.sh` builds them. Nothing here waits for a clock, except for deadlines of a second
//! or less.
//!
//! - `load`: files that are no plugins, and what a plugin says of itself.
//! - `start`: configurations, and guests that fail to start.
//! - `failures`: attacks on a running callback, and what follows.
//! - `background`: guests on a thread of their own.
//! - `outside`: time, randomness and output; and the files and networks that are not there.
//! - `state`: what is kept over a failure and a checkpoint.
//! - `swap`: what changes while a run goes on.
//! - `exchange`: events, decisions and log lines on their way through.

#![expect(clippy::unwrap_used, reason = "tests")]

mod background;
mod exchange;
mod failures;
mod load;
mod outside;
mod stage;
mod start;
mod state;
mod support;
mod swap;
