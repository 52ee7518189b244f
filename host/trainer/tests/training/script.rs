//! A callback that is a closure: it is shown every event, and what it saw is its state.
//!
//! It runs in no sandbox. Main types: [`Script`], [`Seen`].

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use host_callback::{
    Callback, CallbackFailure, Catalog, Consequence, Decision, Event, FailureKind, Grant, Hook, Identity, Lane,
    Manifest, Permit, Progress, Request, Subscription, Usage,
};
use serde::{Deserialize, Serialize};

/// An event in plain words, which compare to the bit and survive JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) hook: Hook,
    pub(crate) occurrence: u64,
    pub(crate) progress: Progress,
    pub(crate) detail: String,
    /// Scalars by name, as Rust writes them for reading back.
    values: BTreeMap<String, String>,
    /// Lists of numbers by name.
    vectors: BTreeMap<String, Vec<f32>>,
}

impl Seen {
    fn new(event: &Event, catalog: &Catalog) -> Self {
        let value = |&(key, value): &(u32, f64)| (catalog.name(key).unwrap(), format!("{value:?}"));
        Self {
            hook: event.moment.hook,
            occurrence: event.moment.occurrence,
            progress: event.moment.progress,
            detail: event.moment.detail.clone(),
            values: event.scalars.iter().map(value).collect(),
            vectors: event.vectors.iter().map(|(key, values)| (catalog.name(*key).unwrap(), values.clone())).collect(),
        }
    }

    pub(crate) fn step(&self) -> u64 {
        self.progress.step
    }

    /// A measurement that the callback reads, where it is known.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).map(|value| value.parse().unwrap())
    }

    /// A list of numbers that the callback reads, where it is known.
    pub(crate) fn vector(&self, name: &str) -> Option<&[f32]> {
        self.vectors.get(name).map(Vec::as_slice)
    }

    /// Whether it is this hook after so many finished steps.
    pub(crate) fn is(&self, hook: Hook, step: u64) -> bool {
        self.hook == hook && self.step() == step
    }
}

/// What a script saw, earlier processes included.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Seen>>>);

impl Log {
    /// A test that failed while it looked has been told already.
    pub(crate) fn borrow(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What a script does: it is given the event and all earlier ones.
type Act = Box<dyn FnMut(&Seen, &[Seen]) -> Vec<Decision> + Send>;

/// A callback that may do everything.
pub(crate) struct Script {
    identity: Arc<Identity>,
    order: i32,
    subscriptions: Vec<Subscription>,
    catalog: Catalog,
    log: Log,
    act: Act,
    /// Fails with this consequence: at the first event of a hook, or in `save`.
    fails: Option<(Option<Hook>, Consequence)>,
}

impl Script {
    /// Listens to all hooks and reads nothing; the closure gets the event and all earlier ones.
    pub(crate) fn new(name: &str, act: impl FnMut(&Seen, &[Seen]) -> Vec<Decision> + Send + 'static) -> Self {
        let instance = name.parse().unwrap();
        let identity = Identity { instance, plugin: "script".into(), version: "1.0.0".into(), sha256: None };
        Self {
            identity: Arc::new(identity),
            order: 0,
            subscriptions: Vec::new(),
            catalog: Catalog::new(),
            log: Log::default(),
            act: Box::new(act),
            fails: None,
        }
        .listens(&Hook::ALL, 1, &[])
    }

    /// Decides nothing.
    pub(crate) fn silent(name: &str) -> Self {
        Self::new(name, |_, _| Vec::new())
    }

    /// Decides the same whenever a hook fires after so many finished steps.
    pub(crate) fn once(hook: Hook, step: u64, decisions: impl Into<Vec<Decision>>) -> Self {
        let decisions = decisions.into();
        Self::new("once", move |seen, _| if seen.is(hook, step) { decisions.clone() } else { Vec::new() })
    }

    /// Gives it another name.
    pub(crate) fn named(mut self, name: &str) -> Self {
        let instance = name.parse().unwrap();
        self.identity = Arc::new(Identity { instance, ..(*self.identity).clone() });
        self
    }

    /// Replaces what it listens to: every n-th occurrence of these hooks, with these measurements.
    pub(crate) fn listens(mut self, hooks: &[Hook], every: u32, reads: &[&str]) -> Self {
        let reads: Vec<_> = reads.iter().map(|&name| name.into()).collect();
        let subscription = |&hook| Subscription { hook, every, reads: reads.clone() };
        self.subscriptions = hooks.iter().map(subscription).collect();
        self
    }

    /// Listens to all hooks and reads these measurements.
    pub(crate) fn reads(self, names: &[&str]) -> Self {
        self.listens(&Hook::ALL, 1, names)
    }

    pub(crate) fn with_order(mut self, order: i32) -> Self {
        self.order = order;
        self
    }

    /// Fails at the first event of a hook, or with `None` whenever it is asked for its state.
    pub(crate) fn fails(mut self, at: Option<Hook>, consequence: Consequence) -> Self {
        self.fails = Some((at, consequence));
        self
    }

    pub(crate) fn log(&self) -> Log {
        self.log.clone()
    }

    /// The script in a run with this catalog, and what it may do there: everything.
    pub(crate) fn join(mut self, catalog: &Catalog) -> (Box<dyn Callback>, Permit) {
        self.catalog = catalog.clone();
        let manifest = Manifest {
            name: "script".into(),
            version: "1.0.0".into(),
            summary: "does what a test says".into(),
            requests: Request::ALL.to_vec(),
            knobs: vec!["*".into()],
            lane: Lane::Inline,
            order: self.order,
            config_schema: String::new(),
            state_version: 1,
        };
        (Box::new(self), Permit::new(&manifest, &Grant::Declared))
    }

    fn failure(&self, at: Option<Hook>) -> Option<CallbackFailure> {
        let (_, consequence) = self.fails.filter(|(hook, _)| *hook == at)?;
        let message = "as the test wants".into();
        Some(CallbackFailure { kind: FailureKind::Error, message, fuel: 0, time: Duration::ZERO, consequence })
    }
}

impl Callback for Script {
    fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    fn order(&self) -> i32 {
        self.order
    }

    fn subscriptions(&self) -> &[Subscription] {
        &self.subscriptions
    }

    fn handle(&mut self, event: &Event) -> Result<Vec<Decision>, CallbackFailure> {
        if let Some(failure) = self.failure(Some(event.moment.hook)) {
            return Err(failure);
        }
        let seen = Seen::new(event, &self.catalog);
        let decisions = (self.act)(&seen, &self.log.borrow());
        self.log.borrow().push(seen);
        Ok(decisions)
    }

    fn save(&mut self) -> Result<Option<(u32, Vec<u8>)>, CallbackFailure> {
        match self.failure(None) {
            Some(failure) => Err(failure),
            None => Ok(Some((1, serde_json::to_vec(&*self.log.borrow()).unwrap()))),
        }
    }

    fn load(&mut self, version: u32, state: &[u8]) -> Result<(), CallbackFailure> {
        assert_eq!(version, 1);
        *self.log.borrow() = serde_json::from_slice(state).unwrap();
        Ok(())
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}
