//! The part of an event that a guest asks for while it answers: what its numbers are, why it is sent, vectors, texts.
//!
//! It does not hold the numbers, which are handed over with the call ([`convert`](crate::convert)). Main type:
//! [`Shown`].

use host_callback::{Event, Key};

/// So many lists of keys are known at one time. An instance that meets more, since what is known at its hooks varies
/// that much, is told new numbers and asks again.
const MAX_SHAPES: usize = 64;

/// What a guest may ask for now. Empty outside of the call that answers an event.
///
/// A copy and not a reference, since a store outlives events. At most events it copies nothing: few callbacks read
/// vectors or texts, and few hooks have a reason.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    shapes: Shapes,
    /// The shape of the event.
    shape: Option<u32>,
    pub(crate) detail: String,
    vectors: Vec<(Key, Vec<f32>)>,
    texts: Vec<(Key, String)>,
}

impl Shown {
    /// An event begins; it has this shape.
    pub(crate) fn show(&mut self, event: &Event) -> u32 {
        // All of it is empty before, and nearly always now too: then not even the code that copies is touched.
        if !event.moment.detail.is_empty() {
            self.detail.clone_from(&event.moment.detail);
        }
        if !event.vectors.is_empty() {
            self.vectors.clone_from(&event.vectors);
        }
        if !event.texts.is_empty() {
            self.texts.clone_from(&event.texts);
        }
        let shape = self.shapes.of(&event.scalars);
        self.shape = Some(shape);
        shape
    }

    /// The event is over.
    pub(crate) fn clear(&mut self) {
        self.shape = None;
        self.detail.clear();
        self.vectors.clear();
        self.texts.clear();
    }

    pub(crate) fn keys(&self) -> &[Key] {
        self.shape.map_or(&[], |shape| self.shapes.keys(shape))
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

/// Numbers for lists of keys, so that a guest is not handed the same list at each event.
#[derive(Debug, Default)]
struct Shapes {
    /// Few: a callback reads the same at each occurrence of a hook, as a rule.
    known: Vec<(u32, Vec<Key>)>,
    /// The last number that was given. No two lists have the same one, also where one was forgotten.
    last: u32,
}

impl Shapes {
    fn of(&mut self, scalars: &[(Key, f64)]) -> u32 {
        let is_same = |keys: &[Key]| {
            keys.len() == scalars.len() && keys.iter().zip(scalars).all(|(known, (key, _))| known == key)
        };
        if let Some((number, _)) = self.known.iter().find(|(_, keys)| is_same(keys)) {
            return *number;
        }
        if self.known.len() == MAX_SHAPES {
            self.known.clear();
        }
        self.last = self.last.wrapping_add(1);
        self.known.push((self.last, scalars.iter().map(|(key, _)| *key).collect()));
        self.last
    }

    fn keys(&self, shape: u32) -> &[Key] {
        self.known.iter().find(|(number, _)| *number == shape).map_or(&[], |(_, keys)| keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalars(keys: &[Key]) -> Vec<(Key, f64)> {
        keys.iter().map(|key| (*key, 0.5)).collect()
    }

    #[test]
    fn equal_keys_have_equal_shapes_and_others_never() {
        let mut shapes = Shapes::default();
        let lists: [&[Key]; 5] = [&[], &[1], &[1, 2], &[2, 1], &[1, 2, 3]];
        let numbers = lists.map(|keys| shapes.of(&scalars(keys)));
        for (at, keys) in lists.into_iter().enumerate() {
            assert_eq!(shapes.of(&scalars(keys)), numbers[at]);
            assert_eq!(shapes.keys(numbers[at]), keys);
            assert_eq!(numbers.iter().filter(|number| **number == numbers[at]).count(), 1);
        }
    }

    #[test]
    fn a_guest_that_is_shown_always_something_else_costs_a_bounded_memory() {
        let mut shapes = Shapes::default();
        let first = shapes.of(&scalars(&[0]));
        for key in 0..1000 {
            let shape = shapes.of(&scalars(&[key]));
            assert_eq!(shapes.keys(shape), [key]);
            assert!(shapes.known.len() <= MAX_SHAPES);
        }
        assert!(shapes.of(&scalars(&[0])) > first, "forgotten, and not a number that another list has had");
    }
}
