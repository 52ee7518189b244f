//! One callback in a chain: what it listens to, what it may do, and what it has done so far.
//!
//! It does not order callbacks nor resolve what they decide. Main type: [`Link`].

use std::sync::Arc;

use super::UnknownMeasurement;
use crate::{
    Callback, CallbackFailure, Catalog, Consequence, Decision, Disabled, Event, Hook, Identity, InstanceName, Key,
    MeasurementSpec, Permit, Standing, Subscription, Summary, Usage,
};

/// Names that nobody offers and that are told of one callback. Finding the nearest ones takes a millisecond for each, a
/// callback may read a thousand, and one that joins is looked at between two steps.
const MAX_UNKNOWN: usize = 20;

pub(super) struct Link {
    pub(super) callback: Box<dyn Callback>,
    pub(super) permit: Permit,
    /// Subscriptions by hook, each with the keys that its patterns match.
    plan: [Vec<Planned>; Hook::ALL.len()],
    /// Size of the catalog when the patterns were expanded.
    expanded_at: usize,
    pub(super) keys: StatKeys,
    calls: u64,
    decisions: u64,
    pub(super) failures: u64,
    pub(super) disabled: bool,
    /// What earlier callbacks in this place used, and were too slow to be shown.
    past: Usage,
    past_dropped: u64,
    /// What was shown last in this place: kept where it was written, so that it costs no copy.
    pub(super) event: Option<Event>,
}

struct Planned {
    subscription: Subscription,
    keys: Vec<Key>,
}

#[derive(Clone, Copy)]
pub(super) struct StatKeys {
    pub(super) time: Key,
    pub(super) fuel: Key,
    pub(super) failures: Key,
    pub(super) dropped: Key,
}

impl Link {
    pub(super) fn new(catalog: &Catalog, callback: Box<dyn Callback>, permit: Permit) -> Self {
        let instance = &callback.identity().instance;
        let offer = |what: &str, unit: &str, meaning: &str| {
            catalog.offer(MeasurementSpec::new(format!("callback/{instance}/{what}"), unit, meaning))
        };
        let keys = StatKeys {
            time: offer("time", "s", "wall-clock time of all calls of this callback in this process"),
            fuel: offer("fuel", "1", "fuel of all calls of this callback in this process"),
            failures: offer("failures", "1", "failed calls of this callback in this process"),
            dropped: offer("dropped", "1", "events that this callback was too slow to be shown, in this process"),
        };
        let mut plan: [Vec<Planned>; Hook::ALL.len()] = Default::default();
        for subscription in callback.subscriptions() {
            plan[subscription.hook.index()].push(Planned { subscription: subscription.clone(), keys: Vec::new() });
        }
        Self {
            callback,
            permit,
            plan,
            expanded_at: 0,
            keys,
            calls: 0,
            decisions: 0,
            failures: 0,
            disabled: false,
            past: Usage::default(),
            past_dropped: 0,
            event: None,
        }
    }

    /// Where it stands: lower runs earlier.
    pub(super) fn place(&self) -> (i32, InstanceName) {
        (self.callback.order(), self.identity().instance.clone())
    }

    pub(super) fn identity(&self) -> &Arc<Identity> {
        self.callback.identity()
    }

    pub(super) fn is_due(&self, hook: Hook, occurrence: u64) -> bool {
        !self.disabled && self.plan[hook.index()].iter().any(|planned| planned.subscription.is_due(occurrence))
    }

    /// Finds out what the patterns match now; `size` is that of the catalog. A report of a new name can only make it
    /// longer.
    pub(super) fn expand(&mut self, catalog: &Catalog, size: usize) {
        if self.expanded_at != size {
            for planned in self.plan.iter_mut().flatten() {
                planned.expand(catalog);
            }
            self.expanded_at = size;
        }
    }

    /// Adds the keys of all due subscriptions, each once, in the order of subscriptions.
    pub(super) fn collect_due(&self, hook: Hook, occurrence: u64, due: &mut Vec<Key>) {
        let start = due.len();
        for planned in &self.plan[hook.index()] {
            if planned.subscription.is_due(occurrence) {
                let fresh = |key: &&Key| !due[start..].contains(key);
                let keys: &[Key] = &planned.keys;
                if due.len() == start {
                    due.extend_from_slice(keys);
                } else {
                    let more: Vec<Key> = keys.iter().filter(fresh).copied().collect();
                    due.extend(more);
                }
            }
        }
    }

    /// Shows the callback the event that was filled in.
    pub(super) fn call(&mut self) -> Result<Vec<Decision>, CallbackFailure> {
        let Some(event) = &self.event else { return Ok(Vec::new()) };
        self.calls += 1;
        let answer = self.callback.handle(event);
        match &answer {
            Ok(decisions) => self.decisions += decisions.len() as u64,
            Err(failure) => self.count_failure(failure),
        }
        answer
    }

    pub(super) fn count_failure(&mut self, failure: &CallbackFailure) {
        self.failures += 1;
        self.disabled = failure.consequence != Consequence::Restart;
    }

    /// What it reads and neither the catalog nor another callback's reports (`<instance>/`) can offer; the first of it.
    pub(super) fn unknown(&self, catalog: &Catalog, reporters: &[String]) -> Vec<UnknownMeasurement> {
        let subscriptions = self.callback.subscriptions().iter();
        subscriptions
            .flat_map(|subscription| subscription.reads.iter().map(move |name| (subscription.hook, name)))
            .filter(|(_, name)| {
                catalog.read_by(name).is_empty() && !reporters.iter().any(|own| name.as_str().starts_with(own.as_str()))
            })
            .take(MAX_UNKNOWN)
            .map(|(hook, name)| UnknownMeasurement {
                instance: self.identity().instance.clone(),
                hook,
                name: name.as_str().to_owned(),
                nearest: catalog.nearest(name.as_str()),
            })
            .collect()
    }

    pub(super) fn as_disabled(&self) -> Disabled {
        let by = self.identity();
        Disabled { instance: by.instance.clone(), sha256: by.sha256.clone() }
    }

    /// What all callbacks in this place used.
    pub(super) fn usage(&self) -> Usage {
        let now = self.callback.usage();
        Usage { fuel: self.past.fuel + now.fuel, time: self.past.time + now.time }
    }

    /// Events that callbacks in this place were too slow to be shown.
    pub(super) fn dropped(&self) -> u64 {
        self.past_dropped + self.callback.lag().dropped
    }

    /// Decisions that came without a call.
    pub(super) fn count_decisions(&mut self, count: usize) {
        self.decisions += count as u64;
    }

    /// Goes on with the counts of the callback that was in this place before.
    pub(super) fn follow(&mut self, before: &mut Self) {
        (self.calls, self.decisions, self.failures) = (before.calls, before.decisions, before.failures);
        (self.past, self.past_dropped) = (before.usage(), before.dropped());
        self.event = before.event.take();
    }

    /// How it stands with it now.
    fn standing(&self) -> Standing {
        match self.callback.standing() {
            // It was disabled before this process began.
            Standing::Running | Standing::Paused if self.disabled => Standing::Disabled,
            standing => standing,
        }
    }

    pub(super) fn summary(&self) -> Summary {
        let usage = self.usage();
        Summary {
            by: Arc::clone(self.identity()),
            state: self.standing(),
            calls: self.calls,
            decisions: self.decisions,
            failures: self.failures,
            dropped: self.dropped(),
            fuel: usage.fuel,
            seconds: usage.time.as_secs_f64(),
        }
    }
}

impl Planned {
    fn expand(&mut self, catalog: &Catalog) {
        self.keys.clear();
        for pattern in &self.subscription.reads {
            for key in catalog.read_by(pattern) {
                if !self.keys.contains(&key) {
                    self.keys.push(key);
                }
            }
        }
    }
}
