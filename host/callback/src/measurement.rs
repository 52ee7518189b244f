//! Named numbers: the catalog that numbers them once, and the source that computes them on demand.
//!
//! It does not compute anything itself: the loop, the task and the sandbox do.
//!
//! Most measurements have a name of their own. A *family* has one for every pattern that somebody writes:
//! `gradient-norm/encoder.*` is one number over all parameters that the pattern matches. Such a name enters the
//! catalog when a subscription reads it, so that nothing is numbered that nobody asks for.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use serde::{Deserialize, Serialize};

use crate::{Pattern, name::nearest};

/// A measurement's number in the [`Catalog`] of one run.
pub type Key = u32;

/// What was measured. NaN and infinities are values like any other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// One number.
    Scalar(#[serde(with = "crate::number")] f64),
    /// Several numbers under one name.
    Vector(#[serde(with = "crate::number::list")] Vec<f32>),
    /// Words.
    Text(String),
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Scalar(value)
    }
}

/// What a measurement is, for `host check` and for the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MeasurementSpec {
    /// The name, such as `eval/loss`.
    pub name: String,
    /// The unit, such as `nats`, `1/s` or `1` for a plain ratio.
    pub unit: String,
    /// What it tells, in one sentence.
    pub meaning: String,
}

impl MeasurementSpec {
    /// A measurement with its unit and meaning.
    pub fn new(name: impl Into<String>, unit: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), meaning: meaning.into() }
    }
}

/// Every measurement that a run offers, numbered once.
///
/// A clone is another handle to the same catalog. It only grows: a callback's first report of a name
/// adds `<instance>/<name>`. Numbers never change within a run.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    inner: Arc<RwLock<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    specs: Vec<MeasurementSpec>,
    keys: HashMap<String, Key>,
    families: Vec<Family>,
}

/// Measurements `<name>/<pattern>`, each over the members that the pattern matches.
#[derive(Clone, Debug)]
struct Family {
    /// The family's own name, its unit, and what it tells of some members together.
    spec: MeasurementSpec,
    members: Arc<[String]>,
}

impl Family {
    /// What follows `<family>/` in a written name.
    fn rest<'a>(&self, written: &'a str) -> Option<&'a str> {
        written.strip_prefix(self.spec.name.as_str())?.strip_prefix('/')
    }

    /// The measurement of a written name, if a member fits it.
    fn measurement(&self, written: &str) -> Option<MeasurementSpec> {
        let pattern = Pattern::from(self.rest(written)?);
        let fits = self.members.iter().any(|member| pattern.matches(member));
        fits.then(|| MeasurementSpec { name: written.to_owned(), ..self.spec.clone() })
    }
}

impl Catalog {
    /// An empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    // A panic while the lock is held cannot leave the two collections apart in a way that matters:
    // `keys` is written last, so a poisoned lock is still good to read.
    fn read<T>(&self, look: impl FnOnce(&Inner) -> T) -> T {
        look(&self.inner.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a measurement and returns its number; one that exists keeps its number and its words.
    pub fn offer(&self, spec: MeasurementSpec) -> Key {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(&key) = inner.keys.get(&spec.name) {
            return key;
        }
        let key = Key::try_from(inner.specs.len()).expect("a run has fewer than 2^32 names");
        inner.specs.push(spec.clone());
        inner.keys.insert(spec.name, key);
        key
    }

    /// Adds a family: `<name>/<pattern>` for every pattern that matches one of `members`, in which `*` stands for
    /// any characters. `spec` has the family's name, and the meaning of one such number.
    pub fn offer_family(&self, spec: MeasurementSpec, members: &Arc<[String]>) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.families.push(Family { spec, members: Arc::clone(members) });
    }

    /// Every family, by its name.
    pub fn families(&self) -> Vec<MeasurementSpec> {
        self.read(|inner| inner.families.iter().map(|family| family.spec.clone()).collect())
    }

    /// Whether a name lies below that of a family, where no callback may put a report.
    pub fn is_in_family(&self, name: &str) -> bool {
        self.read(|inner| inner.families.iter().any(|family| family.rest(name).is_some()))
    }

    /// The numbers of what a subscription reads: all names that a pattern matches, or the one number of a family
    /// over the members that it matches, which gets its place in the catalog now.
    pub fn read_by(&self, pattern: &Pattern) -> Vec<Key> {
        let written = pattern.as_str();
        if let Some(key) = self.key(written) {
            return vec![key];
        }
        let of_family = |inner: &Inner| inner.families.iter().find_map(|family| family.measurement(written));
        match self.read(of_family) {
            Some(spec) => vec![self.offer(spec)],
            None => self.matching(pattern),
        }
    }

    /// The number of a name, if the run offers it.
    pub fn key(&self, name: &str) -> Option<Key> {
        self.read(|inner| inner.keys.get(name).copied())
    }

    /// The name of a number, if it was given.
    pub fn name(&self, key: Key) -> Option<String> {
        self.read(|inner| inner.specs.get(key as usize).map(|spec| spec.name.clone()))
    }

    /// How many measurements there are; keys are below it.
    pub fn len(&self) -> usize {
        self.read(|inner| inner.specs.len())
    }

    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every measurement, in the order of numbers.
    pub fn specs(&self) -> Vec<MeasurementSpec> {
        self.read(|inner| inner.specs.clone())
    }

    /// The numbers of all names that a pattern matches, in order.
    pub fn matching(&self, pattern: &Pattern) -> Vec<Key> {
        if pattern.is_literal() {
            return self.key(pattern.as_str()).into_iter().collect();
        }
        self.read(|inner| {
            (0..).zip(&inner.specs).filter(|(_, spec)| pattern.matches(&spec.name)).map(|(key, _)| key).collect()
        })
    }

    /// The names nearest to one that the catalog does not have; within a family those of its members.
    pub fn nearest(&self, written: &str) -> Vec<String> {
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        self.read(|inner| {
            let within = inner.families.iter().find_map(|family| Some((family, family.rest(written)?)));
            if let Some((family, rest)) = within {
                let near = nearest(rest, family.members.iter().map(String::as_str));
                return near.into_iter().map(|member| format!("{}/{member}", family.spec.name)).collect();
            }
            owned(nearest(written, inner.specs.iter().map(|spec| spec.name.as_str())))
        })
    }
}

/// Where values come from: the loop's side of a hook.
///
/// A value is computed when it is first read at a hook and not at all when nobody reads it.
pub trait Measurements {
    /// The value of a measurement now, or `None` where it is not known at this hook.
    fn read(&mut self, key: Key) -> Option<Value>;

    /// Tells what will be read at this hook, so that several values can be computed in one pass.
    fn prefetch(&mut self, _keys: &[Key]) {}
}

/// A source that knows nothing, for runs and tests without measurements.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMeasurements;

impl Measurements for NoMeasurements {
    fn read(&mut self, _key: Key) -> Option<Value> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_once() {
        let catalog = Catalog::new();
        let loss = catalog.offer(MeasurementSpec::new("loss", "nats", "training loss"));
        let eval = catalog.offer(MeasurementSpec::new("eval/loss", "nats", "validation loss"));
        assert_eq!(catalog.offer(MeasurementSpec::new("loss", "1", "again")), loss);
        assert_eq!(catalog.key("eval/loss"), Some(eval));
        assert_eq!(catalog.name(loss).as_deref(), Some("loss"));
        assert_eq!(catalog.matching(&"eval/*".into()), vec![eval]);
        assert_eq!(catalog.matching(&"*loss".into()), vec![loss, eval]);
        assert_eq!(catalog.matching(&"los".into()), Vec::<Key>::new());
        assert_eq!(catalog.nearest("eval/los")[0], "eval/loss");
    }

    #[test]
    fn a_family_has_one_number_for_a_pattern() {
        let catalog = Catalog::new();
        let spec = |name| MeasurementSpec::new(name, "1", "L2 norm of the gradients of the parameters that match");
        let group = catalog.offer(spec("gradient-norm/heads"));
        let members: Arc<[String]> = ["body.0.weight", "body.1.weight", "head.weight"].map(String::from).into();
        catalog.offer_family(spec("gradient-norm"), &members);
        assert_eq!(catalog.len(), 1, "nobody has asked");
        let body = catalog.read_by(&"gradient-norm/body.*".into());
        assert_eq!(catalog.read_by(&"gradient-norm/body.*".into()), body, "numbered once");
        assert_eq!(catalog.name(body[0]).as_deref(), Some("gradient-norm/body.*"));
        assert_eq!(catalog.read_by(&"gradient-norm/head.weight".into()).len(), 1);
        assert_eq!(catalog.read_by(&"gradient-norm/heads".into()), [group], "a name of its own comes first");
        assert_eq!(catalog.read_by(&"gradient-norm/*".into()).len(), 1, "all members in one number");
        assert_eq!(catalog.read_by(&"gradient-norm/tail.*".into()), Vec::<Key>::new());
        assert_eq!(catalog.nearest("gradient-norm/head.wieght")[0], "gradient-norm/head.weight");
    }
}
