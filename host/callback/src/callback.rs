//! What a callback is to a loop and to a chain: identity, calls, state, and what it used.
//!
//! It holds no rule and calls nothing: [`Chain`](crate::Chain) does. Main types: [`Callback`], [`Callbacks`].

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize, Serializer};

use crate::{
    CallbackFailure, Decision, Event, FailureRecord, Hook, InstanceName, Key, Knobs, Measurements, Moment, Outcome,
    Subscription, Value,
};

/// Who a callback is, as every line about it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The configured name.
    pub instance: InstanceName,
    /// The plugin's name from its manifest.
    pub plugin: String,
    /// The plugin's version from its manifest.
    pub version: String,
    /// SHA-256 of its file in hexadecimal; `None` for a callback that is part of the program.
    pub sha256: Option<String>,
}

/// Serialises what an [`Arc`] holds; serde itself does so only with a feature that every crate would get.
pub(crate) fn shared<S: Serializer>(identity: &Arc<Identity>, to: S) -> Result<S::Ok, S::Error> {
    identity.as_ref().serialize(to)
}

/// What a callback has used since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Fuel of all calls.
    pub fuel: u64,
    /// Wall-clock time of all calls.
    pub time: Duration,
}

/// How far a callback is behind that runs on a thread of its own. One that the loop waits for never is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lag {
    /// Events that it never sees, since others came faster than it handled them; of the whole process.
    pub dropped: u64,
    /// Events that the state has not seen which [`Callback::save`] gives now: those that wait, and those that were
    /// dropped since the state was taken.
    pub unseen: u64,
}

/// One callback, wherever it runs.
pub trait Callback: Send {
    /// Who it is.
    fn identity(&self) -> &Arc<Identity>;

    /// Its place: lower runs earlier.
    fn order(&self) -> i32;

    /// What it listens to. Read once, when it joins a chain.
    fn subscriptions(&self) -> &[Subscription];

    /// Answers an event.
    ///
    /// # Errors
    ///
    /// When the call failed; the callback itself sees to it that a later call can succeed, or says with
    /// the failure's consequence that none will.
    fn handle(&mut self, event: &Event) -> Result<Vec<Decision>, CallbackFailure>;

    /// Its state and the version of that state; `None` for a callback without one.
    ///
    /// # Errors
    ///
    /// When the call failed and there is no earlier good state.
    fn save(&mut self) -> Result<Option<(u32, Vec<u8>)>, CallbackFailure>;

    /// A failure that nobody was told of yet: one that the last [`Callback::save`] got over, since an earlier good
    /// state was there to be given; after [`Callback::finish`], each that came up since the last event.
    fn take_failure(&mut self) -> Option<CallbackFailure> {
        None
    }

    /// Takes a state back.
    ///
    /// # Errors
    ///
    /// When it refuses the state, with its words.
    fn load(&mut self, version: u32, state: &[u8]) -> Result<(), CallbackFailure>;

    /// What it has used so far.
    fn usage(&self) -> Usage;

    /// How it stands with it.
    fn standing(&self) -> Standing {
        Standing::Running
    }

    /// How far it is behind.
    fn lag(&self) -> Lag {
        Lag::default()
    }

    /// There are no more events. Gives the answers that nobody has got yet, one for each event, in the order of
    /// events; failures are left for [`Callback::take_failure`].
    ///
    /// A callback on a thread of its own first handles what waits, within a bound of its own. For any other there is
    /// nothing to do.
    fn finish(&mut self) -> Vec<Vec<Decision>> {
        Vec::new()
    }
}

/// A callback's state as a checkpoint keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SavedState {
    /// Whose state it is; by this name it is found again.
    pub instance: InstanceName,
    /// The plugin that wrote it.
    pub plugin: String,
    /// That plugin's version.
    pub version: String,
    /// The version of the state itself.
    pub state_version: u32,
    /// The state.
    pub bytes: Vec<u8>,
}

/// A callback that failed too often. It stays out of a resumed run too, unless its file is another one by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disabled {
    /// Which one.
    pub instance: InstanceName,
    /// SHA-256 of the file that failed.
    pub sha256: Option<String>,
}

/// What a checkpoint keeps of all callbacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// The state of every callback that has one and could save it.
    pub states: Vec<SavedState>,
    /// The last value of every report, by `<instance>/<name>`: others may read it at the next hook.
    pub reports: BTreeMap<String, Value>,
    /// Callbacks that are not called again in this run.
    pub disabled: Vec<Disabled>,
    /// Callbacks whose saving failed; what is kept of them is their last good state, if they have one.
    pub failures: Vec<FailureRecord>,
}

/// What a callback did in a run, for the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Who.
    #[serde(flatten, serialize_with = "shared")]
    pub by: Arc<Identity>,
    /// How it stands with it now.
    pub state: Standing,
    /// Calls, failed ones included.
    pub calls: u64,
    /// Decisions, refused ones included.
    pub decisions: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Events that it never saw, since others came faster than it handled them; 0 for one that the loop waits for.
    pub dropped: u64,
    /// Fuel of all calls.
    pub fuel: u64,
    /// Wall-clock seconds of all calls.
    pub seconds: f64,
}

/// How it stands with a callback of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It answers its next event.
    Running,
    /// It passes some events over, after failures.
    Paused,
    /// It is not called again in this run.
    Disabled,
    /// It is not called again in this run, since it failed however often it was restarted.
    Quarantined,
    /// It has left the run.
    Retired,
}

impl Standing {
    /// In a word, as it is written in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
            Self::Quarantined => "quarantined",
            Self::Retired => "retired",
        }
    }
}

/// What the loop asks at a hook: event in, resolved controls out.
pub trait Callbacks {
    /// Tells that a hook fires and returns what is to be done.
    fn handle(&mut self, moment: &Moment, measurements: &mut dyn Measurements, knobs: &Knobs) -> Outcome;

    /// The numbers of everything that will be read at an occurrence (1 for the first) of a hook that is still ahead:
    /// what has to be kept for it, such as the weights from before an update, is kept only then.
    fn reads(&mut self, _hook: Hook, _occurrence: u64) -> &[Key] {
        &[]
    }

    /// There are no more events: callbacks on threads of their own finish what waits for them, and what they answer is
    /// resolved as at `train-end`, where the knobs have had their last effect.
    fn finish(&mut self, _knobs: &Knobs) -> Outcome {
        Outcome::default()
    }

    /// Everything of the callbacks that a checkpoint has to keep.
    fn save(&mut self) -> Saved;

    /// What each callback did so far.
    fn summaries(&self) -> Vec<Summary>;
}
