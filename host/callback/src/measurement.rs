//! Named numbers: the catalog that numbers them once, and the source that computes them on demand.
//!
//! It does not compute anything itself: the loop, the task and the sandbox do.

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

    /// The names nearest to one that the catalog does not have.
    pub fn nearest(&self, written: &str) -> Vec<String> {
        self.read(|inner| {
            nearest(written, inner.specs.iter().map(|spec| spec.name.as_str())).into_iter().map(str::to_owned).collect()
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
}
