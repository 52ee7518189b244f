//! Write a callback that steers a training run: a type, the hooks that it wants, one macro.
//! Does not decide what a callback may do; the host checks every answer.
//!
//! A **callback** is made from its **settings** when it joins a run, and does not change afterwards. What it learns
//! on the way is its **state**, handed to every hook and saved in checkpoints. At a **hook** it is shown an [`Event`]
//! with the **measurements** that it subscribed to, and fills in an [`Answer`] with **decisions**.
//!
//! ```
//! use host_sdk::prelude::*;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct LossCeiling {
//!     /// The run stops after three steps in a row with a loss above this.
//!     ceiling: f64,
//! }
//!
//! impl Callback for LossCeiling {
//!     type Settings = Self;
//!     type State = u32;
//!     const MANIFEST: Manifest = manifest!().requests(&[Request::Stop]);
//!
//!     fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
//!         Ok((settings, Subscriptions::new().on(Hook::StepEnd, &["loss"])))
//!     }
//!
//!     fn step_end(&self, strikes: &mut u32, event: &Event, answer: &mut Answer) {
//!         let too_high = event.get("loss").is_some_and(|loss| loss > self.ceiling);
//!         *strikes = if too_high { *strikes + 1 } else { 0 };
//!         if *strikes == 3 {
//!             answer.stop(format!("the loss was above {} three times in a row", self.ceiling));
//!         }
//!     }
//! }
//!
//! host_sdk::export!(LossCeiling);
//! # fn main() {}
//! ```
//!
//! Built with `cargo build --release --target wasm32-unknown-unknown`, the `.wasm` goes into the plugins directory as
//! it is. The crate also compiles natively, where [`testing::Harness`] plays the host.

// Code that the bindings' macros generate names this crate, also when it is expanded inside of it.
extern crate self as host_sdk;

mod answer;
#[doc(hidden)]
pub mod bindings;
mod callback;
#[doc(hidden)]
pub mod component;
mod event;
mod hook;
mod instance;
pub mod log;
mod manifest;
mod mode;
mod names;
mod rest;
mod run;
mod shapes;
mod state;
mod subscriptions;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

pub use answer::Answer;
pub use bindings::train_host::callback::types::{Assignment, Decision, Hook, Lane, Progress, Report};
pub use callback::{Callback, NoSettings};
pub use event::Event;
pub use manifest::{Manifest, Request};
pub use mode::Mode;
pub use names::matches;
pub use run::{Description, Group, Knob, Run};
pub use state::Saved;
pub use subscriptions::Subscriptions;

#[doc(hidden)]
pub use {schemars, serde_json, wit_bindgen};

/// The example in the README is compiled with the documentation's own.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// What almost every callback needs; a crate that uses it also depends on `serde`, for the derives.
pub mod prelude {
    pub use crate::{
        Answer, Callback, Decision, Event, Hook, Manifest, Mode, NoSettings, Progress, Request, Run, Saved,
        Subscriptions, log, manifest,
    };
    pub use schemars::{self, JsonSchema};
    pub use serde::{Deserialize, Serialize};
}

/// Makes a type that implements [`Callback`] the component of this crate. Once in a crate, which is a `cdylib`.
#[macro_export]
macro_rules! export {
    ($callback:ty) => {
        #[doc(hidden)]
        const _: () = {
            type Exported = $crate::component::Component<$callback>;
    $crate::bindings::export_component!(Exported with_types_in $crate::bindings);
        };
    };
}

/// A [`Manifest`] with the name, the version and the description that stand in the crate's `Cargo.toml`.
#[macro_export]
macro_rules! manifest {
    () => {
        $crate::Manifest::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
    };
}
