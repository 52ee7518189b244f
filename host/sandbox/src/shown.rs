//! The part of an event that a guest asks for while it answers: why it is sent, vectors and texts.
//!
//! It does not hold the numbers, which are handed over with the call ([`convert`](crate::convert)). Main type: [`Shown`].

use host_callback::{Event, Key};

/// What a guest may ask for now. Empty outside of the call that answers an event.
///
/// A copy and not a reference, since a store outlives events. At most events it copies nothing: few callbacks read
/// vectors or texts, and few hooks have a reason.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) detail: String,
    vectors: Vec<(Key, Vec<f32>)>,
    texts: Vec<(Key, String)>,
}

impl Shown {
    /// An event begins.
    pub(crate) fn show(&mut self, event: &Event) {
        self.detail.clone_from(&event.moment.detail);
        self.vectors.clone_from(&event.vectors);
        self.texts.clone_from(&event.texts);
    }

    /// The event is over.
    pub(crate) fn clear(&mut self) {
        self.detail.clear();
        self.vectors.clear();
        self.texts.clear();
    }

    pub(crate) fn vectors(&self) -> impl Iterator<Item = Key> {
        self.vectors.iter().map(|(key, _)| *key)
    }

    pub(crate) fn vector(&self, key: Key) -> Option<&[f32]> {
        self.vectors.iter().find(|(known, _)| *known == key).map(|(_, values)| values.as_slice())
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = Key> {
        self.texts.iter().map(|(key, _)| *key)
    }

    pub(crate) fn text(&self, key: Key) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == key).map(|(_, text)| text.as_str())
    }
}
