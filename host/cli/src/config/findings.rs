//! Collects what is wrong beyond single keys, so that everything is told at once.
//!
//! It does not decide what is wrong. Main type: [`Findings`].

use std::{fmt::Display, str::FromStr};

use super::{path::Path, words::found, written::Written};
use crate::problem::{Place, Problem};

/// Problems so far, and where things stand.
pub(super) struct Findings<'a> {
    pub(super) written: &'a Written,
    pub(super) problems: Vec<Problem>,
}

impl Findings<'_> {
    /// A value breaks a rule.
    pub(super) fn wrong(&mut self, path: &Path, rule: impl Display, help: &str) {
        let value = self.written.node(path).map(|node| found(&node.to_json())).unwrap_or_default();
        let message = format!("`{}` is {value}", self.written.words(path));
        let place = self.place(path, &rule.to_string());
        self.problems.push(Problem::new(message).at(place).help(help));
    }

    /// A key or a section is wrong whatever its value.
    pub(super) fn misplaced(&mut self, path: &Path, message: String, label: &str, help: &str) {
        let place = self.written.key_origin(path).map(|origin| self.written.spot(origin, label));
        self.problems.push(Problem::new(message).at(place).help(help));
    }

    /// Two places say what only one may say.
    pub(super) fn twice(&mut self, first: &Path, second: &Path, message: String, help: &str) {
        let (Some(one), Some(two)) = (self.origin(first), self.origin(second)) else { return };
        let place = self.written.spot_also(self.written.spot(two, "and here"), two, one, "here");
        self.problems.push(Problem::new(message).at(Some(place)).help(help));
    }

    /// Reads a text that has a form of its own. Where it has not, the default goes on to later checks.
    pub(super) fn read<T: FromStr<Err: Display>>(&mut self, path: &Path, text: Option<String>, default: T) -> T {
        match text.map(|text| text.parse()) {
            None => default,
            Some(Ok(value)) => value,
            Some(Err(error)) => {
                self.wrong(path, error, "");
                default
            }
        }
    }

    fn place(&self, path: &Path, label: &str) -> Option<Place> {
        self.written.value_origin(path).map(|origin| self.written.spot(origin, label))
    }

    // Of keys the key is shown, of values in lists the value.
    fn origin(&self, path: &Path) -> Option<super::tree::Origin> {
        self.written.key_origin(path)
    }
}
