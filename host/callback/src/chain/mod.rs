//! Several callbacks in a fixed order: who is called at a hook, what each is shown, and one outcome of all.
//!
//! It does not run guests (an implementation of [`Callback`] does), and holds no rule about decisions
//! ([`resolve`] has them). Main type: [`Chain`].

mod link;
mod members;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use self::link::Link;
pub use self::members::{NotTaken, Rehearsal};
use crate::{
    Callback, CallbackFailure, Callbacks, Catalog, Decision, Disabled, Event, FailureRecord, Hook, Identity,
    InstanceName, Key, Knobs, MeasurementSpec, Measurements, Moment, Outcome, Permit, Saved, SavedState, Subscription,
    Summary, Value, Verdict,
    resolve::{Answer, resolve},
};

/// Names that one instance may report. Each stays in the catalog and in checkpoints for the rest of the run, and
/// patterns are compared with all of them, so that new ones at every step would fill memory and slow every hook.
const MAX_REPORTED_NAMES: usize = 4_096;

/// A name that a callback reads and nobody offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMeasurement {
    /// Who reads it.
    pub instance: InstanceName,
    /// At which hook.
    pub hook: Hook,
    /// What it wrote.
    pub name: String,
    /// The nearest names that exist.
    pub nearest: Vec<String>,
}

impl fmt::Display for UnknownMeasurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` reads `{}` at `{}`, and nothing offers it", self.instance, self.name, self.hook)?;
        if !self.nearest.is_empty() {
            write!(f, "; the nearest names are `{}`", self.nearest.join("`, `"))?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownMeasurement {}

/// Callbacks in the order of (order, instance name).
pub struct Chain {
    catalog: Catalog,
    links: Vec<Link>,
    /// Values that callbacks reported and that the chain knows of them, by key.
    own: Vec<Option<f64>>,
    /// Keys below this one are the loop's own measurements: no report may take their place.
    offered: usize,
    /// The last value of every report, by name, for checkpoints.
    reported: BTreeMap<String, Value>,
    /// How many names each instance has reported.
    reported_names: BTreeMap<InstanceName, usize>,
    /// What callbacks did that have left.
    retired: Vec<Summary>,
    due: Vec<Key>,
}

impl Chain {
    /// Puts callbacks in order and adds what they report about themselves to the catalog.
    ///
    /// # Errors
    ///
    /// The names that some callback reads and nobody offers, up to twenty of each. A name or pattern that begins with the name of a
    /// callback of the chain and `/` may match nothing yet: it may be reported later.
    pub fn new(catalog: Catalog, callbacks: Vec<(Box<dyn Callback>, Permit)>) -> Result<Self, Vec<UnknownMeasurement>> {
        let offered = catalog.len();
        let mut links: Vec<Link> =
            callbacks.into_iter().map(|(callback, permit)| Link::new(&catalog, callback, permit)).collect();
        links.sort_by_key(Link::place);
        let names: Vec<String> = links.iter().map(|link| format!("{}/", link.identity().instance)).collect();
        let unknown: Vec<UnknownMeasurement> = links.iter().flat_map(|link| link.unknown(&catalog, &names)).collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        Ok(Self {
            catalog,
            links,
            own: Vec::new(),
            offered,
            reported: BTreeMap::new(),
            reported_names: BTreeMap::new(),
            retired: Vec::new(),
            due: Vec::new(),
        })
    }

    /// Who is in the chain, in the order of calls, with what each may do.
    pub fn members(&self) -> impl Iterator<Item = (&Arc<Identity>, &Permit)> {
        self.links.iter().map(|link| (link.identity(), &link.permit))
    }

    /// What each of them listens to, in the order of calls.
    pub fn subscriptions(&self) -> impl Iterator<Item = (&InstanceName, &[Subscription])> {
        self.links.iter().map(|link| (&link.identity().instance, link.callback.subscriptions()))
    }

    /// Hands a saved state to the callback that it belongs to.
    ///
    /// # Errors
    ///
    /// When the callback refuses it. A state whose instance is not in the chain is `Ok(false)`.
    pub fn load(&mut self, state: &SavedState) -> Result<bool, CallbackFailure> {
        match self.links.iter_mut().find(|link| link.identity().instance == state.instance) {
            Some(link) => link.callback.load(state.state_version, &state.bytes).map(|()| true),
            None => Ok(false),
        }
    }

    /// Takes back the values that callbacks had reported before a checkpoint.
    pub fn load_reports(&mut self, reports: &BTreeMap<String, Value>) {
        for (name, value) in reports {
            let by = name.split_once('/').and_then(|(by, _)| by.parse().ok());
            if let (Some(by), Value::Scalar(value)) = (by, value) {
                self.publish(&by, name, *value);
            }
        }
    }

    /// Keeps callbacks out that had failed too often before a checkpoint, where their file is still the same.
    pub fn load_disabled(&mut self, disabled: &[Disabled]) {
        for link in &mut self.links {
            let by = link.identity();
            let same = |one: &Disabled| one.instance == by.instance && one.sha256 == by.sha256;
            link.disabled |= disabled.iter().any(same);
        }
    }

    /// Makes reports readable for others, from the next hook on. One whose full name is a measurement of the loop or of
    /// the chain is refused, since it would be read in its place; and so is a new name of an instance that has too many.
    fn publish_reports(&mut self, outcome: &mut Outcome) {
        let mut refused = BTreeSet::new();
        for record in &mut outcome.records {
            let Decision::Report { name, value } = &record.decision else { continue };
            if record.verdict != Verdict::Applied {
                continue;
            }
            let (by, name) = (&record.by.instance, format!("{}/{name}", record.by.instance));
            let why = if self.is_taken(&name) {
                format!("`{name}` is a measurement of the run")
            } else if self.is_one_too_many(by, &name) {
                format!("`{by}` has reported {MAX_REPORTED_NAMES} other names, which is the most")
            } else {
                self.publish(by, &name, *value);
                continue;
            };
            record.verdict = Verdict::Refused(why);
            refused.insert(name);
        }
        outcome.controls.reports.retain(|(name, _)| !refused.contains(name));
    }

    fn is_one_too_many(&self, by: &InstanceName, name: &str) -> bool {
        let is_full = self.reported_names.get(by).is_some_and(|count| *count >= MAX_REPORTED_NAMES);
        is_full && !self.reported.contains_key(name)
    }

    fn is_taken(&self, name: &str) -> bool {
        let statistics =
            |link: &Link, key| [link.keys.time, link.keys.fuel, link.keys.failures, link.keys.dropped].contains(&key);
        let taken = |key: Key| (key as usize) < self.offered || self.links.iter().any(|link| statistics(link, key));
        self.catalog.is_in_family(name) || self.catalog.key(name).is_some_and(taken)
    }

    fn publish(&mut self, by: &InstanceName, name: &str, value: f64) {
        let key = self.catalog.offer(MeasurementSpec::new(name, "", "reported by a callback"));
        self.remember(key, value);
        match self.reported.get_mut(name) {
            Some(last) => *last = Value::Scalar(value),
            None => {
                self.reported.insert(name.to_owned(), Value::Scalar(value));
                *self.reported_names.entry(by.clone()).or_default() += 1;
            }
        }
    }

    /// Whether somebody is called at an occurrence of a hook.
    fn anyone_due(&self, moment: &Moment) -> bool {
        self.links.iter().any(|link| link.is_due(moment.hook, moment.occurrence))
    }

    fn remember(&mut self, key: Key, value: f64) {
        let at = key as usize;
        if self.own.len() <= at {
            self.own.resize(at + 1, None);
        }
        self.own[at] = Some(value);
    }

    /// Fills a link's event with what it reads now.
    fn fill(&mut self, at: usize, moment: &Moment, measurements: &mut dyn Measurements) {
        self.due.clear();
        self.links[at].collect_due(moment.hook, moment.occurrence, &mut self.due);
        let nothing = || Event { moment: moment.clone(), scalars: Vec::new(), vectors: Vec::new(), texts: Vec::new() };
        let event = self.links[at].event.get_or_insert_with(nothing);
        event.moment.clone_from(moment);
        event.scalars.clear();
        event.vectors.clear();
        event.texts.clear();
        for &key in &self.due {
            let own = self.own.get(key as usize).copied().flatten().map(Value::Scalar);
            match own.or_else(|| measurements.read(key)) {
                Some(Value::Scalar(value)) => event.scalars.push((key, value)),
                Some(Value::Vector(values)) => event.vectors.push((key, values)),
                Some(Value::Text(text)) => event.texts.push((key, text)),
                None => {}
            }
        }
    }

    /// Lists everything that is read at an occurrence of a hook, each key once.
    fn collect_all(&mut self, hook: Hook, occurrence: u64) {
        self.due.clear();
        let size = self.catalog.len();
        for link in &mut self.links {
            if link.is_due(hook, occurrence) {
                // An expansion of a family's pattern makes the catalog longer, and changes no other.
                link.expand(&self.catalog, size);
                link.collect_due(hook, occurrence, &mut self.due);
            }
        }
        self.due.sort_unstable();
        self.due.dedup();
    }

    fn note_usage(&mut self, at: usize) {
        let link = &self.links[at];
        let (keys, usage, failures, dropped) = (link.keys, link.usage(), link.failures, link.dropped());
        self.remember(keys.time, usage.time.as_secs_f64());
        self.remember(keys.fuel, usage.fuel as f64);
        self.remember(keys.failures, failures as f64);
        self.remember(keys.dropped, dropped as f64);
    }
}

impl Callbacks for Chain {
    fn handle(&mut self, moment: &Moment, measurements: &mut dyn Measurements, knobs: &Knobs) -> Outcome {
        if !self.anyone_due(moment) {
            return Outcome::default();
        }
        self.collect_all(moment.hook, moment.occurrence);
        measurements.prefetch(&self.due);
        let mut failures = Vec::new();
        let mut decided = Vec::new();
        for at in 0..self.links.len() {
            if !self.links[at].is_due(moment.hook, moment.occurrence) {
                continue;
            }
            self.fill(at, moment, measurements);
            let link = &mut self.links[at];
            match link.call() {
                Ok(decisions) if decisions.is_empty() => {}
                Ok(decisions) => decided.push((at, decisions)),
                Err(failure) => failures.push(FailureRecord { by: Arc::clone(link.identity()), failure }),
            }
            self.note_usage(at);
        }
        let answers = decided
            .into_iter()
            .map(|(at, decisions)| {
                let link = &self.links[at];
                Answer { by: Arc::clone(link.identity()), permit: &link.permit, decisions }
            })
            .collect();
        let mut outcome = resolve(moment.hook, answers, knobs);
        self.publish_reports(&mut outcome);
        outcome.failures = failures;
        outcome
    }

    fn reads(&mut self, hook: Hook, occurrence: u64) -> &[Key] {
        self.collect_all(hook, occurrence);
        &self.due
    }

    fn finish(&mut self, knobs: &Knobs) -> Outcome {
        let (mut answers, mut failures) = (Vec::new(), Vec::new());
        for link in &mut self.links {
            let given = link.callback.finish();
            while let Some(failure) = link.callback.take_failure() {
                link.count_failure(&failure);
                failures.push(FailureRecord { by: Arc::clone(link.identity()), failure });
            }
            link.count_decisions(given.iter().map(Vec::len).sum());
            answers.extend(given.into_iter().map(|decisions| (Arc::clone(link.identity()), decisions)));
        }
        let answer = |(by, decisions): (Arc<Identity>, Vec<Decision>)| {
            let permit = self.permit(&by.instance).expect("its link was just asked");
            Answer { by, permit, decisions }
        };
        let mut outcome = resolve(Hook::TrainEnd, answers.into_iter().map(answer).collect(), knobs);
        self.publish_reports(&mut outcome);
        outcome.failures = failures;
        outcome
    }

    fn save(&mut self) -> Saved {
        let disabled = self.links.iter().filter(|link| link.disabled).map(Link::as_disabled).collect();
        let mut saved = Saved { reports: self.reported.clone(), disabled, ..Saved::default() };
        for link in &mut self.links {
            let by = Arc::clone(link.identity());
            let failure = match link.callback.save() {
                Ok(state) => {
                    saved.states.extend(state.map(|(state_version, bytes)| SavedState {
                        instance: by.instance.clone(),
                        plugin: by.plugin.clone(),
                        version: by.version.clone(),
                        state_version,
                        bytes,
                    }));
                    link.callback.take_failure()
                }
                Err(failure) => Some(failure),
            };
            if let Some(failure) = failure {
                link.count_failure(&failure);
                saved.failures.push(FailureRecord { by, failure });
            }
        }
        saved
    }

    fn summaries(&self) -> Vec<Summary> {
        self.links.iter().map(Link::summary).chain(self.retired.iter().cloned()).collect()
    }
}
