//! A callback that runs in the sandbox: rebuilt after a failure, with its last good state, within a budget.
//!
//! It does not judge what the guest decides, and does not make calls itself ([`Instance`] does). Main type:
//! [`SandboxedCallback`].
//!
//! # What a failure may lose
//!
//! The event at which it happens, and nothing else. The last good state is what the last successful `save` gave; a new
//! instance is given that, and then shown again what was answered since ([`Journal`]). What it answers to that is not
//! heard: it was decided before. Guests are deterministic, so it ends up where the last one was. One that fails at an
//! event which was answered before is not, and the next one begins with the last good state alone.
//!
//! So the state is asked for when a checkpoint is made, and else only when the journal is full. That is rare on purpose:
//! asking runs code that an event does not, and after a training step none of it is in a cache. It is counted in events
//! and fuel and not in seconds, so that equal runs stay equal even when something crashes in them. Asking *before* an
//! event and not after it means that a failing `save` costs that event, and never an answer that was already given.

use std::{fmt, sync::Arc};

use host_callback::{
    Callback, CallbackFailure, Decision, Event, FailureKind, Identity, Lane, Standing, Subscription, Usage,
};

use crate::{
    Background, BackgroundSettings, InstanceSettings, Plugin,
    convert::{EventBuffer, subscriptions_in},
    error::StartErrorKind,
    failure::Fault,
    instance::Instance,
    journal::Journal,
    log::{InstanceLog, LogLevel, Logger},
    restart::Policy,
    world::Random,
};

/// A state that the guest gave, and its version.
#[derive(Clone, Debug, PartialEq)]
struct State {
    version: u32,
    bytes: Vec<u8>,
}

/// One configured plugin, running.
pub struct SandboxedCallback {
    plugin: Arc<Plugin>,
    settings: InstanceSettings,
    identity: Arc<Identity>,
    subscriptions: Vec<Subscription>,
    /// The configuration as the guest gets it.
    config: String,
    logger: Logger,
    /// `None` after a failure, until the next call.
    instance: Option<Instance>,
    policy: Policy,
    buffer: EventBuffer,
    usage: Usage,
    /// The last good state.
    state: Option<State>,
    /// What was answered since.
    journal: Journal,
    /// A failure that `save` got over with the last good state.
    unreported: Option<CallbackFailure>,
}

impl fmt::Debug for SandboxedCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxedCallback")
            .field("identity", &self.identity)
            .field("policy", &self.policy)
            .field("is_live", &self.instance.is_some())
            .finish_non_exhaustive()
    }
}

impl SandboxedCallback {
    pub(crate) fn start(plugin: Arc<Plugin>, settings: InstanceSettings) -> Result<Self, StartErrorKind> {
        let manifest = plugin.manifest();
        let identity = Arc::new(Identity {
            instance: settings.name.clone(),
            plugin: manifest.name.clone(),
            version: manifest.version.clone(),
            sha256: Some(plugin.sha256().to_owned()),
        });
        // A guest whose schema takes an object need not know about `null`.
        let config = if settings.config.is_null() { "{}".to_owned() } else { settings.config.to_string() };
        let logger = Logger::new(settings.name.clone(), Arc::clone(&settings.log), &settings.limits);
        let mut callback = Self {
            identity,
            subscriptions: Vec::new(),
            config,
            logger,
            instance: None,
            policy: Policy::new(settings.on_failure),
            buffer: EventBuffer::default(),
            usage: Usage::default(),
            state: None,
            journal: Journal::default(),
            unreported: None,
            plugin,
            settings,
        };
        let (instance, subscriptions) = callback.make(false)?;
        callback.subscriptions = subscriptions_in(subscriptions).map_err(StartErrorKind::Subscriptions)?;
        callback.instance = Some(instance);
        Ok(callback)
    }

    /// The callback as a chain holds it: one of the background lane goes to a thread of its own.
    pub fn in_its_lane(self) -> Box<dyn Callback> {
        match self.plugin.manifest().lane {
            Lane::Inline => Box::new(self),
            Lane::Background => Box::new(Background::new(self, BackgroundSettings::default())),
        }
    }

    /// The plugin that it is an instance of.
    pub fn plugin(&self) -> &Arc<Plugin> {
        &self.plugin
    }

    /// Log lines of it that were dropped so far.
    pub fn dropped_log_lines(&self) -> u64 {
        self.logger.dropped()
    }

    /// A new instance, started; what it listens to comes along, unchecked. It can be muted.
    fn make(&mut self, is_muted: bool) -> Result<(Instance, Vec<crate::bindings::types::Subscription>), Fault> {
        let Self { plugin, settings, logger, usage, config, .. } = self;
        let mut log = InstanceLog::new(Some(logger.clone()), &settings.limits);
        log.is_muted = is_muted;
        let random = Random::new(settings.run.seed, &settings.name);
        let store = plugin.sandbox.store(&settings.limits, log, settings.catalog.clone(), random);
        let mut instance = Instance::new(&plugin.pre, store, usage)?;
        let subscriptions = instance.start(config, &settings.run, usage)?;
        Ok((instance, subscriptions))
    }

    /// Sees to it that there is a live instance. One that is made anew, since the last one failed, is started as the
    /// first one was and caught up. What it subscribes to was settled when it joined.
    fn revive(&mut self) -> Result<(), Fault> {
        if self.instance.is_some() {
            return Ok(());
        }
        let restart = |doing| move |fault: Fault| fault.within(FailureKind::Restart, doing);
        let (mut instance, _) = self.make(true).map_err(restart("`start`"))?;
        let Self { state, journal, buffer, usage, .. } = self;
        if let Some(state) = state {
            let loaded = instance.load(state.version, &state.bytes, usage);
            loaded.map_err(restart("`load` of the last good state"))?;
        }
        let repeated = journal.events().iter().try_for_each(|event| instance.repeat(event, buffer, usage));
        if let Err(fault) = repeated {
            journal.clear();
            return Err(restart("an event that the last instance had answered")(fault));
        }
        // Until here it has only said what the one before it has said already.
        instance.unmute();
        self.instance = Some(instance);
        Ok(())
    }

    fn run(&mut self, event: &Event) -> Result<Vec<Decision>, Fault> {
        self.revive()?;
        if self.journal.is_full() {
            self.take_state()?;
        }
        let Self { instance, buffer, usage, journal, .. } = self;
        let instance = instance.as_mut().expect("`revive` has made one");
        let before = usage.fuel;
        let decisions = instance.handle(event, buffer, usage)?;
        journal.note(event, usage.fuel - before);
        Ok(decisions)
    }

    /// Asks the live instance for its state; the old one stays if it fails.
    fn take_state(&mut self) -> Result<(), Fault> {
        let Some(instance) = &mut self.instance else { return Ok(()) };
        let bytes = instance
            .save(&mut self.usage)
            .map_err(|fault| Fault { message: format!("`save`: {}", fault.message), ..fault })?;
        self.state = (!bytes.is_empty()).then(|| State { version: self.plugin.manifest().state_version, bytes });
        self.journal.clear();
        Ok(())
    }

    /// Drops the instance, whose store is poisoned, and asks the policy what follows.
    fn failed(&mut self, fault: Fault) -> CallbackFailure {
        self.instance = None;
        let consequence = self.policy.failed();
        fault.with(consequence)
    }
}

impl Callback for SandboxedCallback {
    fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    fn order(&self) -> i32 {
        self.settings.order.unwrap_or(self.plugin.manifest().order)
    }

    fn subscriptions(&self) -> &[Subscription] {
        &self.subscriptions
    }

    fn handle(&mut self, event: &Event) -> Result<Vec<Decision>, CallbackFailure> {
        if !self.policy.admits() {
            return Ok(Vec::new());
        }
        match self.run(event) {
            Ok(decisions) => {
                self.policy.succeeded();
                Ok(decisions)
            }
            Err(fault) => Err(self.failed(fault)),
        }
    }

    /// After the last failure it is the last good state: the guest is not called any more.
    fn save(&mut self) -> Result<Option<(u32, Vec<u8>)>, CallbackFailure> {
        let is_behind = !self.journal.events().is_empty() && !self.policy.has_ended();
        let revived = if is_behind { self.revive() } else { Ok(()) };
        if let Err(fault) = revived.and_then(|()| self.take_state()) {
            let failure = self.failed(fault);
            if self.state.is_none() {
                return Err(failure);
            }
            self.unreported = Some(failure);
        }
        Ok(self.state.clone().map(|State { version, bytes }| (version, bytes)))
    }

    fn take_failure(&mut self) -> Option<CallbackFailure> {
        self.unreported.take()
    }

    fn load(&mut self, version: u32, state: &[u8]) -> Result<(), CallbackFailure> {
        self.journal.clear();
        let revived = self.revive();
        let Self { instance, usage, .. } = self;
        let loaded = revived.and_then(|()| match instance {
            Some(instance) => instance.load(version, state, usage),
            None => Ok(()),
        });
        match loaded {
            Ok(()) => {
                self.state = Some(State { version, bytes: state.to_vec() });
                Ok(())
            }
            Err(fault) => Err(self.failed(Fault { message: format!("`load`: {}", fault.message), ..fault })),
        }
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn standing(&self) -> Standing {
        self.policy.standing()
    }
}

impl Drop for SandboxedCallback {
    fn drop(&mut self) {
        let dropped = self.logger.dropped();
        if dropped > 0 {
            self.logger.say(LogLevel::Warn, &format!("{dropped} log lines were dropped"));
        }
    }
}
