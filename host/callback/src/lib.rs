//! The words and rules that a training loop and its callbacks share.
//!
//! Pure: no WebAssembly engine, no training framework, no files, clocks or threads. A training loop calls
//! [`Callbacks::handle`] at each [`Hook`] and does what the returned [`Controls`] say; what runs behind that
//! trait (a [`Chain`] of sandboxed components, of Rust structs, or nothing) is not its concern.
//!
//! # Glossary
//!
//! - **step**: one optimizer update, of one or several micro-batches. **epoch**: one pass over the training data.
//! - **group**: parameters that share a learning rate and a weight decay.
//! - **hook**: a moment of the loop at which callbacks run ([`Hook`]).
//! - **measurement**: a named value that can be read at a hook ([`Catalog`], [`Measurements`]).
//! - **knob**: a named value that can be written, with a range ([`Knobs`]).
//! - **callback**, **instance**: one configured plugin with its own state ([`Callback`], [`InstanceName`]).
//! - **decision**: what a callback asks for ([`Decision`]); **request**: its kind, as far as it must be granted
//!   ([`Request`]).
//! - **permit**: what an instance may do, its manifest cut by the configuration's grant ([`Permit`]).
//! - **outcome**: what became of the decisions at a hook ([`Outcome`]): controls for the loop, a record each.
//!
//! # One hook
//!
//! ```
//! use std::sync::Arc;
//! use host_callback::{Answer, Decision, Grant, Hook, Identity, KnobSpec, Knobs, Lane, Manifest, Permit, Request, Verdict, resolve};
//!
//! let mut knobs = Knobs::new();
//! let rate = knobs.offer(
//!     KnobSpec {
//!         name: "learning-rate/all".into(), unit: "1".into(), min: 0.0, max: 1.0, whole: false,
//!         effective: Hook::Gradients, meaning: "step size of the optimizer".into(),
//!     },
//!     0.1,
//! );
//! let manifest = Manifest {
//!     name: "halver".into(), version: "1.0.0".into(), summary: "halves the rate and stops".into(),
//!     requests: vec![Request::Stop], knobs: vec!["learning-rate".into()], lane: Lane::Inline, order: 0,
//!     config_schema: String::new(), state_version: 0,
//! };
//! let permit = Permit::new(&manifest, &Grant::Declared);
//! let by = Arc::new(Identity { instance: "h".parse()?, plugin: "halver".into(), version: "1.0.0".into(), sha256: None });
//! let decisions = vec![
//!     Decision::Scale { knob: "learning-rate".into(), factor: 0.5 },
//!     Decision::Save("best".into()),
//! ];
//!
//! let outcome = resolve(Hook::StepEnd, vec![Answer { by, permit: &permit, decisions }], &knobs);
//! assert_eq!(outcome.controls.writes, [(rate, 0.05)]);
//! assert_eq!(outcome.records[1].verdict, Verdict::Refused("`save` is not granted".into()));
//! # Ok::<(), host_callback::BadName>(())
//! ```

mod callback;
mod chain;
mod decision;
mod event;
mod failure;
mod grant;
mod hook;
mod knob;
mod manifest;
mod measurement;
mod name;
pub mod number;
mod outcome;
mod resolve;

pub use callback::{Callback, Callbacks, Disabled, Identity, Lag, Saved, SavedState, Standing, Summary, Usage};
pub use chain::{Chain, NotTaken, Rehearsal, UnknownMeasurement};
pub use decision::{Decision, Request};
pub use event::{Event, Moment, Progress};
pub use failure::{CallbackFailure, Consequence, FailureKind};
pub use grant::{Grant, KnobGrant, Permit};
pub use hook::{Hook, UnknownHook};
pub use knob::{Knob, KnobId, KnobSpec, Knobs};
pub use manifest::{Lane, Manifest, RunInfo, Subscription};
pub use measurement::{Catalog, Key, MeasurementSpec, Measurements, NoMeasurements, Value};
pub use name::{BadName, InstanceName, MAX_NAME_BYTES, Pattern, check_report, check_tag, did_you_mean, nearest};
pub use outcome::{Asked, Change, Controls, FailureRecord, Outcome, Record, Verdict};
pub use resolve::{Answer, MAX_DECISIONS, resolve};
