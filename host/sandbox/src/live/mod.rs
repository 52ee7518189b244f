//! Plugins that change while a run goes on: a folder and a configuration are watched, new versions are tried out on the
//! side, and the loop takes them over between two steps.
//!
//! It does not read configuration files and writes nothing: the caller's [`Roster`] says which instances there should
//! be, and its [`LiveSink`] is told what became of them. Main type: [`Live`].
//!
//! # Who does what
//!
//! One thread of its own looks at files (`watch`, `look`), waits until they are still (`settling`), compiles them and
//! tries them out (`candidate`), and posts what is to be done (`mail`). [`Live`] stands between the loop and its
//! callbacks and carries it out at `step-begin`. It costs a step one look at a flag; the loop waits for the hand-over of
//! a state and for nothing else.

mod candidate;
mod look;
mod mail;
mod member;
mod news;
mod roster;
mod settling;
mod swap;
mod watch;
mod worker;

pub use self::{
    look::plugin_files,
    news::{LiveNews, LiveSink},
    roster::{Loaded, Roster, Wanted},
    swap::{Live, LiveSetup, LiveTimes},
};
