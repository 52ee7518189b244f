//! Names of measurements against their numbers, each asked of the host once.
//! Does not know which measurements a run has: the host's catalog does.

use std::cell::RefCell;
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
}

impl Names {
    pub(crate) fn new(catalog: impl Catalog + 'static) -> Self {
        Self { catalog: Box::new(catalog), known: RefCell::default() }
    }

    pub(crate) fn key_of(&self, name: &str) -> Option<u32> {
        if let Some((_, key)) = self.known.borrow().iter().find(|(known, _)| **known == *name) {
            return Some(*key);
        }
        let key = self.catalog.key_of(name)?;
        self.known.borrow_mut().push((name.into(), key));
        Some(key)
    }

    pub(crate) fn name_of(&self, key: u32) -> Option<Rc<str>> {
        if let Some((name, _)) = self.known.borrow().iter().find(|(_, known)| *known == key) {
            return Some(Rc::clone(name));
        }
        let name: Rc<str> = self.catalog.name_of(key)?.into();
        self.known.borrow_mut().push((Rc::clone(&name), key));
        Some(name)
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
}
