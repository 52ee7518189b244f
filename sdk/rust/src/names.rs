//! Names of measurements against their numbers, each asked of the host once.
//! Does not know which measurements a run has: the host's catalog does.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Where names and numbers come from: the host, or a test.
pub(crate) trait Catalog {
    fn key_of(&self, name: &str) -> Option<u32>;
    fn name_of(&self, key: u32) -> Option<String>;
}

/// What the catalog answered so far.
///
/// Only found names are kept: one that does not exist yet may be reported by another callback later.
pub(crate) struct Names {
    catalog: Box<dyn Catalog>,
    known: RefCell<Vec<(Rc<str>, u32)>>,
    /// Where the next look-up begins. A callback reads the same names in the same order at each event, so what it
    /// asks for is nearly always what was found after this the last time.
    next: Cell<usize>,
}

impl Names {
    pub(crate) fn new(catalog: impl Catalog + 'static) -> Self {
        Self { catalog: Box::new(catalog), known: RefCell::default(), next: Cell::new(0) }
    }

    pub(crate) fn key_of(&self, name: &str) -> Option<u32> {
        if let Some(key) = self.find(|(known, _)| is_same(known, name), |(_, key)| *key) {
            return Some(key);
        }
        let key = self.catalog.key_of(name)?;
        self.known.borrow_mut().push((name.into(), key));
        Some(key)
    }

    pub(crate) fn name_of(&self, key: u32) -> Option<Rc<str>> {
        if let Some(name) = self.find(|(_, known)| *known == key, |(name, _)| Rc::clone(name)) {
            return Some(name);
        }
        let name: Rc<str> = self.catalog.name_of(key)?.into();
        self.known.borrow_mut().push((Rc::clone(&name), key));
        Some(name)
    }

    fn find<T>(&self, fits: impl Fn(&(Rc<str>, u32)) -> bool, take: impl Fn(&(Rc<str>, u32)) -> T) -> Option<T> {
        let known = self.known.borrow();
        let next = self.next.get();
        let place = match known.get(next) {
            Some(entry) if fits(entry) => next,
            _ => known.iter().position(fits)?,
        };
        self.next.set(if place + 1 == known.len() { 0 } else { place + 1 });
        known.get(place).map(take)
    }
}

/// Whether two names are equal, eight bytes at a time: the target's own comparison goes byte by byte, which for eight
/// names takes longer than the rest of an event.
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    // The last eight overlap with those before them, so that nothing is left over.
    match (one.last_chunk(), other.last_chunk()) {
        (Some(end), Some(other_end)) => {
            let chunks = one.as_chunks().0.iter().zip(other.as_chunks().0);
            u64::from_le_bytes(*end) == u64::from_le_bytes(*other_end)
                && chunks.map(|(one, other)| (u64::from_le_bytes(*one), u64::from_le_bytes(*other))).all(|(a, b)| a == b)
        }
        _ => one.iter().eq(other),
    }
}

/// Whether `name` fits `pattern`, in which `*` stands for any characters, also none.
///
/// ```
/// assert!(host_sdk::matches("gradient-norm/*", "gradient-norm/lora"));
/// assert!(!host_sdk::matches("gradient-norm/*", "gradient-norm"));
/// ```
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((prefix, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(prefix) else { return false };
    // Each part between two stars is taken where it comes first, which leaves the most for those behind it.
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(place) = left.find(part) else { return false };
        left = &left[place + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, fits) in [
            ("loss", "loss", true),
            ("loss", "losses", false),
            ("*", "", true),
            ("*", "eval/loss", true),
            ("eval/*", "eval/loss", true),
            ("eval/*", "eval", false),
            ("*/loss", "eval/loss", true),
            ("*/loss", "eval/loss/2", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("*norm*", "gradient-norm/x", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} against {name}");
        }
    }

    #[test]
    fn only_equal_names_are_the_same() {
        let names = ["", "a", "b", "loss", "lost", "12345678", "12345679", "123456789", "eval/accuracy", "eval/accuracx"];
        for (place, one) in names.iter().enumerate() {
            for (other_place, other) in names.iter().enumerate() {
                assert_eq!(is_same(one, &other.to_string()), place == other_place, "{one} and {other}");
            }
        }
    }

    struct Counting(Rc<RefCell<u32>>);

    impl Catalog for Counting {
        fn key_of(&self, name: &str) -> Option<u32> {
            *self.0.borrow_mut() += 1;
            (name != "unknown").then_some(name.len() as u32)
        }

        fn name_of(&self, key: u32) -> Option<String> {
            *self.0.borrow_mut() += 1;
            Some("x".repeat(key as usize))
        }
    }

    #[test]
    fn a_known_name_is_asked_once_and_an_unknown_one_again() {
        let asked = Rc::new(RefCell::new(0));
        let names = Names::new(Counting(Rc::clone(&asked)));
        for _ in 0..3 {
            assert_eq!(names.key_of("loss"), Some(4));
            assert_eq!(names.name_of(2).as_deref(), Some("xx"));
        }
        assert_eq!(*asked.borrow(), 2);
        // Known from the name, so known from the number too.
        assert_eq!(names.name_of(4).as_deref(), Some("loss"));
        assert_eq!(*asked.borrow(), 2);
        for _ in 0..3 {
            assert_eq!(names.key_of("unknown"), None);
        }
        assert_eq!(*asked.borrow(), 5);
    }

    #[test]
    fn names_are_found_in_any_order() {
        let names = Names::new(Counting(Rc::default()));
        for round in 0..7_usize {
            for step in 1..=8 {
                let key = (step * (round + 1)) % 9;
                assert_eq!(names.key_of(&"x".repeat(key)), Some(key as u32));
                assert_eq!(names.name_of(key as u32).as_deref(), Some("x".repeat(key).as_str()));
            }
        }
    }
}
