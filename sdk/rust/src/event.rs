//! What a callback is shown at a hook.
//! Holds only what was subscribed to; a value that is not known now is missing.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use crate::bindings::train_host::callback::types as wit;
use crate::names::{Names, matches};
use crate::rest::{Rest, Source};
use crate::shapes::{Shape, Shapes};
use crate::{Answer, Hook, Progress, log};

/// What a callback is shown at a hook.
///
/// Measurements are asked for by name. Numbers come along with the event, and what they are called is remembered from
/// the last event that was like it, so that reading one costs a comparison. Vectors, words and
/// [`detail`](Self::detail) are fetched from the host by whoever asks for them, once an event.
pub struct Event<'a> {
    raw: &'a wit::Event,
    names: &'a Names,
    shapes: &'a Shapes,
    shape: OnceCell<Rc<Shape>>,
    rest: Rest<'a>,
    /// Where the next number is looked for first: they come in the order of subscriptions, in which they are read too
    /// as a rule.
    next: Cell<usize>,
}

impl<'a> Event<'a> {
    pub(crate) fn new(raw: &'a wit::Event, source: &'a dyn Source, names: &'a Names, shapes: &'a Shapes) -> Self {
        Self { raw, names, shapes, shape: OnceCell::new(), rest: Rest::new(source), next: Cell::new(0) }
    }

    /// What the event's numbers are called.
    fn shape(&self) -> &Shape {
        let name_of = |key| self.names.name_of(key).unwrap_or_default();
        let names = || self.rest.keys().into_iter().map(name_of).collect();
        self.shape.get_or_init(|| self.shapes.of(self.raw.shape, names))
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
        self.rest.detail()
    }

    /// The measurement of this name, if it is one number, was subscribed to and is known now. It can be NaN.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        let place = self.shape().place_of(name, self.next.get())?;
        self.next.set(place + 1);
        self.raw.values.get(place).copied()
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
        self.rest.vector(self.names.key_of(name)?)
    }

    /// The measurement of this name, if it is words.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.rest.text(self.names.key_of(name)?)
    }

    /// All single numbers whose names fit `pattern` (`*` allowed), with their names.
    pub fn matching(&self, pattern: &str) -> impl Iterator<Item = (Rc<str>, f64)> {
        self.scalars().filter(move |(name, _)| matches(pattern, name))
    }

    /// All single numbers with their names.
    pub fn scalars(&self) -> impl Iterator<Item = (Rc<str>, f64)> {
        self.shape().names.iter().map(Rc::clone).zip(self.raw.values.iter().copied())
    }

    /// All lists of numbers with their names.
    pub fn vectors(&self) -> impl Iterator<Item = (Rc<str>, &[f32])> {
        self.rest.vectors().filter_map(|key| Some((self.names.name_of(key)?, self.rest.vector(key)?)))
    }

    /// All words with their names.
    pub fn texts(&self) -> impl Iterator<Item = (Rc<str>, &str)> {
        self.rest.texts().filter_map(|key| Some((self.names.name_of(key)?, self.rest.text(key)?)))
    }
}
