//! Where a value stands in a configuration: keys and positions in lists.
//!
//! It does not know what stands there: [`Written`](super::written::Written) does. Main type: [`Path`].

use jsonschema::paths::{Location, LocationSegment};

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Into a table, by key.
    Key(String),
    /// Into a list, by position from 0.
    Index(usize),
}

/// Steps from the root of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path(Vec<Step>);

impl Path {
    /// A path of keys only.
    pub(super) fn of<const N: usize>(keys: [&str; N]) -> Self {
        Self(keys.iter().map(|key| Step::Key((*key).to_owned())).collect())
    }

    /// One step further, by key.
    pub(super) fn key(&self, key: &str) -> Self {
        self.with(Step::Key(key.to_owned()))
    }

    /// One step further, by position.
    pub(super) fn index(&self, at: usize) -> Self {
        self.with(Step::Index(at))
    }

    /// One step further.
    pub(super) fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Further by a location inside the value.
    pub(super) fn join(&self, location: &Location) -> Self {
        let steps = location.segments().map(|segment| match segment {
            LocationSegment::Property(key) => Step::Key(key.into_owned()),
            LocationSegment::Index(at) => Step::Index(at),
        });
        Self(self.0.iter().cloned().chain(steps).collect())
    }

    /// The steps.
    pub(super) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The path up to the last key, that key, and `None` for the root and for what begins with a position.
    ///
    /// What is wrong at a path is left out of the configuration by dropping that member: positions of other
    /// elements stay what they are.
    pub(super) fn split_at_last_key(&self) -> Option<(&[Step], &str)> {
        let at = self.0.iter().rposition(|step| matches!(step, Step::Key(_)))?;
        let Step::Key(key) = &self.0[at] else { return None };
        Some((&self.0[..at], key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_key_skips_positions() {
        let path = Path::of(["plugin"]).index(0).key("grant").key("requests").index(1);
        let (above, key) = path.split_at_last_key().unwrap();
        assert_eq!((above.len(), key), (3, "requests"));
        assert!(Path::default().split_at_last_key().is_none());
    }
}
