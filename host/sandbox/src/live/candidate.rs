//! Tries a new version out, on the side: nothing that it does wrong here reaches the run.
//!
//! It does not decide what an instance may do, and puts nothing into a chain. Main functions: [`load`], [`try_out`].

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use host_callback::{Callback as _, CallbackFailure, Catalog, InstanceName, Rehearsal, RunInfo};

use super::{look::print_of, roster::Wanted};
use crate::{
    InstanceSettings, LoadErrorKind, LogLevel, LogSink, Plugin, Sandbox, SandboxedCallback, StartError,
    component::read_capped, world::panic_message,
};

/// Why a new version does not take the place that it is meant for.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The file is another one already; it will be looked at again.
    #[error("the file changed while it was read")]
    Moved,
    #[error("it has the SHA-256 {found}, and its entry takes {pin} only")]
    Pin { found: String, pin: String },
    #[error("it {0}")]
    Load(#[from] LoadErrorKind),
    #[error("it is the plugin `{found}`, and this is the place of `{place}`: give it an entry of its own")]
    OtherPlugin { found: String, place: String },
    #[error("{0}")]
    Start(#[from] StartError),
    #[error("the running one does not give its state: {0}")]
    NoState(CallbackFailure),
    #[error("it does not take the state of the running one: {0}")]
    StateRefused(CallbackFailure),
    #[error("it fails at the last event of the running one, `{hook}`: {failure}")]
    Event { hook: &'static str, failure: CallbackFailure },
    #[error("it does not give its state: {0}")]
    Save(CallbackFailure),
    #[error("{0}")]
    NotTaken(String),
    #[error("the host failed: {0}")]
    Host(String),
}

/// What all instances of a run are started with.
pub(super) struct Surroundings {
    pub(super) run: RunInfo,
    pub(super) catalog: Catalog,
    pub(super) log: Arc<dyn LogSink>,
}

impl Surroundings {
    fn settings(&self, wanted: &Wanted, step: u64, log: Arc<dyn LogSink>) -> InstanceSettings {
        InstanceSettings {
            name: wanted.name.clone(),
            config: wanted.config.clone(),
            order: wanted.order,
            limits: wanted.limits,
            on_failure: wanted.on_failure,
            run: RunInfo { step, ..self.run.clone() },
            catalog: self.catalog.clone(),
            log,
        }
    }
}

/// Loads a file that was found to have a certain content. A pin is compared before anything of it is compiled.
pub(super) fn load(sandbox: &Sandbox, wanted: &Wanted, sha256: &str) -> Result<Arc<Plugin>, Refusal> {
    if let Some(pin) = wanted.sha256.as_ref().filter(|pin| *pin != sha256) {
        return Err(Refusal::Pin { found: sha256.to_owned(), pin: pin.clone() });
    }
    let bytes = read_capped(&wanted.file, sandbox.inner.file_bytes)?;
    if print_of(&bytes).sha256 != sha256 {
        return Err(Refusal::Moved);
    }
    guarded(|| Ok(sandbox.load_bytes(&wanted.file, &bytes).map_err(|error| error.kind)?))
}

/// Starts an instance that is ready to take over. Before that, a throw-away one is given the state of the running one,
/// answers its last event again and is asked for its state: what it decides is dropped.
pub(super) fn try_out(
    plugin: &Arc<Plugin>,
    wanted: &Wanted,
    around: &Surroundings,
    step: u64,
    rehearsal: Option<&Rehearsal>,
) -> Result<SandboxedCallback, Refusal> {
    guarded(|| {
        if let Some(rehearsal) = rehearsal {
            // Nobody is to read the same lines twice.
            let silent = Arc::new(|_: &InstanceName, _: LogLevel, _: &str| {});
            rehearse(plugin.start(around.settings(wanted, step, silent))?, rehearsal)?;
        }
        Ok(plugin.start(around.settings(wanted, step, Arc::clone(&around.log)))?)
    })
}

fn rehearse(mut canary: SandboxedCallback, rehearsal: &Rehearsal) -> Result<(), Refusal> {
    if let Some((version, state)) = &rehearsal.state {
        canary.load(*version, state).map_err(Refusal::StateRefused)?;
    }
    if let Some(event) = &rehearsal.event
        // A guest need not know what to do at a hook that it does not listen to.
        && canary.subscriptions().iter().any(|subscription| subscription.hook == event.moment.hook)
    {
        let hook = event.moment.hook.name();
        canary.handle(event).map_err(|failure| Refusal::Event { hook, failure })?;
    }
    let saved = canary.save().map_err(Refusal::Save)?;
    drop(saved);
    canary.take_failure().map_or(Ok(()), |failure| Err(Refusal::Save(failure)))
}

/// A panic of ours costs the candidate and not the thread.
fn guarded<T>(work: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Refusal::Host(panic_message(&*panic))))
}
