//! A plugin in a made-up training: the real loop, the real sandbox, and losses that go as a scenario says.
//!
//! It prints nothing and compares nothing. [`Stage`] is a plugin with its settings; [`Stage::play`] gives a [`Tape`] of
//! what was decided.

mod picture;
mod spy;
mod stage;
mod tape;

pub(crate) use self::{
    picture::picture,
    stage::{EPOCHS, Stage},
    tape::{Calls, Cue, Play, Tape},
};
