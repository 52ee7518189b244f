//! What a callback is shown at a hook.
//! Holds only what was subscribed to; a value that is not known now is missing.

use std::rc::Rc;

use crate::bindings::train_host::callback::types as wit;
use crate::names::{Names, matches};
use crate::{Answer, Hook, Progress, log};

/// What a callback is shown at a hook.
///
/// Measurements are asked for by name. The number behind a name is looked up in the host once and then remembered, so
/// that reading one costs a few comparisons.
pub struct Event<'a> {
    raw: &'a wit::Event,
    names: &'a Names,
}

impl<'a> Event<'a> {
    pub(crate) fn new(raw: &'a wit::Event, names: &'a Names) -> Self {
        Self { raw, names }
    }

    /// The moment in the loop.
    #[must_use]
    pub fn hook(&self) -> Hook {
        self.raw.hook
    }

    /// Steps finished: 0 at `step-begin` of the first one, 1 at its `step-end`.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.raw.progress.step
    }

    /// How far the run is, in steps, epochs, samples and tokens.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.raw.progress
    }

    /// Why: the stop reason at `train-end`, the error at `failure`, the tag at `save-begin` and `save-end`.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.raw.detail
    }

    /// The measurement of this name, if it is one number, was subscribed to and is known now. It can be NaN.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        if self.raw.scalars.is_empty() {
            return None;
        }
        let key = self.names.key_of(name)?;
        self.raw.scalars.iter().find(|scalar| scalar.key == key).map(|scalar| scalar.value)
    }

    /// As [`get`](Self::get), and the first time that it is missing says so in the log and the timeline.
    ///
    /// For a name from the settings: the run may offer it and yet not know it at this hook, and a callback that
    /// silently does nothing looks like one that works. `told` is part of the callback's state.
    pub fn get_or_tell(&self, name: &str, told: &mut bool, answer: &mut Answer) -> Option<f64> {
        let value = self.get(name);
        if value.is_none() && !std::mem::replace(told, true) {
            let line = format!("{name} is not known here, so nothing was checked");
            log::warn(&line);
            answer.note(line);
        }
        value
    }

    /// The measurement of this name, if it is several numbers.
    #[must_use]
    pub fn vector(&self, name: &str) -> Option<&[f32]> {
        if self.raw.vectors.is_empty() {
            return None;
        }
        let key = self.names.key_of(name)?;
        self.raw.vectors.iter().find(|vector| vector.key == key).map(|vector| vector.values.as_slice())
    }

    /// The measurement of this name, if it is words.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        if self.raw.texts.is_empty() {
            return None;
        }
        let key = self.names.key_of(name)?;
        self.raw.texts.iter().find(|text| text.key == key).map(|text| text.value.as_str())
    }

    /// All single numbers whose names fit `pattern` (`*` allowed), with their names.
    pub fn matching(&self, pattern: &str) -> impl Iterator<Item = (Rc<str>, f64)> {
        self.scalars().filter(move |(name, _)| matches(pattern, name))
    }

    /// All single numbers with their names.
    pub fn scalars(&self) -> impl Iterator<Item = (Rc<str>, f64)> {
        self.raw.scalars.iter().filter_map(|scalar| Some((self.names.name_of(scalar.key)?, scalar.value)))
    }

    /// All lists of numbers with their names.
    pub fn vectors(&self) -> impl Iterator<Item = (Rc<str>, &[f32])> {
        self.raw.vectors.iter().filter_map(|vector| Some((self.names.name_of(vector.key)?, vector.values.as_slice())))
    }

    /// All words with their names.
    pub fn texts(&self) -> impl Iterator<Item = (Rc<str>, &str)> {
        self.raw.texts.iter().filter_map(|text| Some((self.names.name_of(text.key)?, text.value.as_str())))
    }
}
