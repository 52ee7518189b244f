//! What a plugin is and the most that it can ever ask for, as a constant.
//! Does not grant anything: the host gives what stands here and in the run's configuration.

use crate::bindings::train_host::callback::types as wit;
use crate::{Callback, Lane};

/// A kind of decision that a plugin has to announce before it may take it.
///
/// Reports and notes are free. Writes to knobs are announced by [`Manifest::knobs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// End the run.
    Stop,
    /// End the epoch.
    EndEpoch,
    /// Run an evaluation.
    Evaluate,
    /// Save a checkpoint.
    Save,
    /// Write a log record.
    Log,
    /// Drop what a hook announces: a batch, an update, an evaluation, a save.
    Skip,
    /// Go back to a checkpoint.
    Restore,
    /// Leave names out of the log record.
    Mute,
}

impl Request {
    const fn flag(self) -> wit::Requests {
        match self {
            Self::Stop => wit::Requests::STOP,
            Self::EndEpoch => wit::Requests::END_EPOCH,
            Self::Evaluate => wit::Requests::EVALUATE,
            Self::Save => wit::Requests::SAVE,
            Self::Log => wit::Requests::LOG,
            Self::Skip => wit::Requests::SKIP,
            Self::Restore => wit::Requests::RESTORE,
            Self::Mute => wit::Requests::MUTE,
        }
    }
}

/// What a plugin is, whatever its configuration. Made with [`manifest!`](crate::manifest) or [`Manifest::new`].
#[derive(Clone, Copy, Debug)]
pub struct Manifest {
    name: &'static str,
    version: &'static str,
    summary: &'static str,
    requests: &'static [Request],
    knobs: &'static [&'static str],
    lane: Lane,
    order: i32,
    state_version: u32,
}

impl Manifest {
    /// A plugin that asks for nothing, runs inline at order 0, and has state of version 1.
    ///
    /// `name` is lower-case letters, digits and `-`; `version` is a semantic version; `summary` is one sentence.
    #[must_use]
    pub const fn new(name: &'static str, version: &'static str, summary: &'static str) -> Self {
        Self { name, version, summary, requests: &[], knobs: &[], lane: Lane::Inline, order: 0, state_version: 1 }
    }

    /// The requests that the plugin may want to make.
    #[must_use]
    pub const fn requests(mut self, requests: &'static [Request]) -> Self {
        self.requests = requests;
        self
    }

    /// The knobs that the plugin may want to write, `*` allowed.
    #[must_use]
    pub const fn knobs(mut self, knobs: &'static [&'static str]) -> Self {
        self.knobs = knobs;
        self
    }

    /// Handle events on another thread: the loop does not wait, and only reports and notes are taken.
    #[must_use]
    pub const fn background(mut self) -> Self {
        self.lane = Lane::Background;
        self
    }

    /// The place among the callbacks of a hook: lower runs earlier. The configuration can override it.
    #[must_use]
    pub const fn order(mut self, order: i32) -> Self {
        self.order = order;
        self
    }

    /// The version of [`Callback::State`]; raise it when older state no longer reads, and add
    /// [`Callback::migrate`]. A new field with `#[serde(default)]` needs neither.
    #[must_use]
    pub const fn state_version(mut self, version: u32) -> Self {
        self.state_version = version;
        self
    }

    /// The version that state saved now carries.
    pub(crate) const fn version_of_state(&self) -> u32 {
        self.state_version
    }
}

/// The manifest of `C` as the host reads it, with the schema of its settings.
pub(crate) fn describe<C: Callback>() -> wit::Manifest {
    let manifest = C::MANIFEST;
    let requests = manifest.requests.iter().fold(wit::Requests::empty(), |all, request| all | request.flag());
    wit::Manifest {
        name: manifest.name.into(),
        version: manifest.version.into(),
        summary: manifest.summary.into(),
        requests,
        knobs: manifest.knobs.iter().map(|knob| (*knob).into()).collect(),
        lane: manifest.lane,
        order: manifest.order,
        config_schema: schemars::schema_for!(C::Settings).as_value().to_string(),
        state_version: manifest.state_version,
    }
}
