//! What an event has beside its numbers, asked of the host when a callback wants it and kept until the event is over.
//! Does not know names: `event` turns them into keys.

use std::cell::OnceCell;

/// Where the rest of an event comes from: the host, or a test.
pub(crate) trait Source {
    /// Keys of the event's numbers, in their order.
    fn keys(&self) -> Vec<u32>;
    fn detail(&self) -> String;
    fn vectors(&self) -> Vec<u32>;
    fn vector(&self, key: u32) -> Option<Vec<f32>>;
    fn texts(&self) -> Vec<u32>;
    fn text(&self, key: u32) -> Option<String>;
}

/// The keys of the event's measurements of one kind, once they were asked for, each with its value once it was.
type Asked<T> = OnceCell<Vec<(u32, OnceCell<T>)>>;

/// The rest of one event, as far as it was asked for.
pub(crate) struct Rest<'a> {
    source: &'a dyn Source,
    detail: OnceCell<String>,
    vectors: Asked<Vec<f32>>,
    texts: Asked<String>,
}

impl<'a> Rest<'a> {
    pub(crate) fn new(source: &'a dyn Source) -> Self {
        Self { source, detail: OnceCell::new(), vectors: OnceCell::new(), texts: OnceCell::new() }
    }

    pub(crate) fn keys(&self) -> Vec<u32> {
        self.source.keys()
    }

    pub(crate) fn detail(&self) -> &str {
        self.detail.get_or_init(|| self.source.detail())
    }

    pub(crate) fn vector(&self, key: u32) -> Option<&[f32]> {
        let value = place(&self.vectors, || self.source.vectors(), key)?;
        Some(value.get_or_init(|| self.source.vector(key).unwrap_or_default()))
    }

    pub(crate) fn text(&self, key: u32) -> Option<&str> {
        let value = place(&self.texts, || self.source.texts(), key)?;
        Some(value.get_or_init(|| self.source.text(key).unwrap_or_default()))
    }

    pub(crate) fn vectors(&self) -> impl Iterator<Item = u32> {
        keys(&self.vectors, || self.source.vectors())
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = u32> {
        keys(&self.texts, || self.source.texts())
    }
}

fn asked<T>(all: &Asked<T>, ask: impl FnOnce() -> Vec<u32>) -> &[(u32, OnceCell<T>)] {
    all.get_or_init(|| ask().into_iter().map(|key| (key, OnceCell::new())).collect())
}

fn keys<T>(all: &Asked<T>, ask: impl FnOnce() -> Vec<u32>) -> impl Iterator<Item = u32> {
    asked(all, ask).iter().map(|(key, _)| *key)
}

/// Where the value of a measurement is kept, if the event has one of this key.
fn place<T>(all: &Asked<T>, ask: impl FnOnce() -> Vec<u32>, key: u32) -> Option<&OnceCell<T>> {
    asked(all, ask).iter().find(|(known, _)| *known == key).map(|(_, value)| value)
}
