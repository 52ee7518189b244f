//! Runs callbacks as WebAssembly components: loaded from files, limited in everything, rebuilt when they fail.
//!
//! It knows neither the training loop nor configuration files: it turns files into implementations of the
//! domain's [`Callback`](host_callback::Callback), and the caller puts those into a chain.
//!
//! # Threat model
//!
//! A plugin file is somebody else's program. Whatever it contains and whatever it does,
//!
//! - this process goes on: the guest's traps, loops, recursion, allocations and nonsense end its own call and cost
//!   its own instance, within the [`Limits`] of that call;
//! - it reaches nothing: what it imports must be in a short list of functions of ours (the log, the names of
//!   measurements, the event that it answers), none of which touches files, network or clock, or waits;
//! - what it hands over is bounded before it is copied and cleaned before it is shown, and its decisions are
//!   judged elsewhere;
//! - equal runs stay equal: budgets count fuel, calls and steps. Only the deadline is a matter of time, and the
//!   default fuel ends a runaway well before it.
//!
//! What is trusted is the engine, and the folder of compiled code, which only this user can write to. Not covered:
//! memory and time that *compiling* a file takes (bounded by the file's size), and side channels.
//!
//! # A callback's way
//!
//! ```no_run
//! use std::{path::Path, sync::Arc};
//!
//! use host_callback::{Callback, Catalog, Event, InstanceName, RunInfo};
//! use host_sandbox::{InstanceSettings, Limits, LogLevel, OnFailure, Sandbox, SandboxConfig};
//!
//! # fn event() -> Event { unimplemented!() }
//! let sandbox = Sandbox::new(SandboxConfig { cache: Some("cache".into()), ..SandboxConfig::default() })?;
//! let plugin = sandbox.load(Path::new("plugins/early-stopping.wasm"))?;
//! let mut callback = plugin.start(InstanceSettings {
//!     name: "patience".parse()?,
//!     config: serde_json::json!({"monitor": "eval/loss", "patience": 3}),
//!     order: None,
//!     limits: Limits::default(),
//!     on_failure: OnFailure::Restart,
//!     run: RunInfo::default(),
//!     catalog: Catalog::new(),
//!     log: Arc::new(|instance: &InstanceName, level: LogLevel, text: &str| { /* ... */ }),
//! })?;
//! for decision in callback.handle(&event())? {
//!     // It is only a wish until the domain has resolved it.
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Words
//!
//! A **plugin** is a checked and compiled file. An **instance** is one store with the guest in it; any error in a
//! call ends it. A **callback** is what the run sees: it outlives its instances, and carries the last good
//! **state** from one to the next.

mod background;
mod bindings;
mod cache;
mod callback;
mod clock;
mod compile;
mod component;
mod convert;
mod engine;
mod error;
mod failure;
mod instance;
mod journal;
mod limiter;
mod limits;
mod live;
mod log;
mod manifest;
mod plugin;
mod restart;
mod schema;
mod shown;
mod store;
mod text;
mod world;

pub use background::{Background, BackgroundSettings};
pub use cache::{CacheEntry, Cleared, clear_cache};
pub use callback::SandboxedCallback;
pub use compile::{CompileLimits, Compiler, CompilerProcess, compile_for_parent, componentize};
pub use engine::{Sandbox, SandboxConfig};
pub use error::{LoadError, LoadErrorKind, SandboxError, StartError, StartErrorKind};
pub use limits::{BadLimit, Limits};
pub use live::{Live, LiveNews, LiveSetup, LiveSink, LiveTimes, Loaded, Roster, Wanted, plugin_files};
pub use log::{LogLevel, LogSink};
pub use plugin::{InstanceSettings, Plugin};
pub use restart::OnFailure;
pub use world::{Import, ImportKind};
