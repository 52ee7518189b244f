//! TOML as a tree in which every key and value knows where it was written.
//!
//! It does not know what keys mean. Main type: [`Node`].

use serde_json::{Map, Number, Value};
use toml::{Spanned, de::DeValue};

use super::path::Step;

/// Bytes of one of the texts that a configuration is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// Which text: 0 is the file, n the n-th `--set`.
    pub(super) source: usize,
    /// First byte.
    pub(super) start: usize,
    /// Byte after the last one.
    pub(super) end: usize,
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Where. Of a table with a header: the header.
    pub(super) origin: Origin,
    /// What.
    pub(super) kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A text, number, truth value or date; null stands for a number that JSON has not.
    Scalar(Value),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Vec<Member>),
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The key.
    pub(super) key: String,
    /// Where the key was written.
    pub(super) origin: Origin,
    /// The value.
    pub(super) node: Node,
}

/// A number that is valid TOML and no JSON.
#[derive(Debug, PartialEq)]
pub(super) struct BadNumber {
    /// Where.
    pub(super) origin: Origin,
    /// The rule that it breaks.
    pub(super) rule: &'static str,
}

/// Turns parsed TOML into a tree.
pub(super) struct Planter<'a> {
    /// The number of the text.
    pub(super) source: usize,
    /// What to add to offsets, where not the whole text was parsed.
    pub(super) shift: usize,
    /// Gets the numbers that cannot be used.
    pub(super) bad: &'a mut Vec<BadNumber>,
}

impl Planter<'_> {
    fn origin<T>(&self, spanned: &Spanned<T>) -> Origin {
        let span = spanned.span();
        Origin { source: self.source, start: span.start + self.shift, end: span.end + self.shift }
    }

    /// The tree of a value.
    pub(super) fn plant(&mut self, value: &Spanned<DeValue<'_>>) -> Node {
        let origin = self.origin(value);
        let kind = match value.get_ref() {
            DeValue::String(text) => Kind::Scalar(Value::from(text.as_ref())),
            DeValue::Boolean(truth) => Kind::Scalar(Value::from(*truth)),
            DeValue::Datetime(time) => Kind::Scalar(Value::from(time.to_string())),
            DeValue::Integer(number) => {
                let read = i64::from_str_radix(number.as_str(), number.radix()).ok();
                self.number(origin, read.map(Number::from), "whole numbers have 64 bits at most")
            }
            DeValue::Float(number) => {
                let read = number.as_str().parse().ok().and_then(Number::from_f64);
                self.number(origin, read, "numbers have to be finite")
            }
            DeValue::Array(elements) => Kind::List(elements.iter().map(|element| self.plant(element)).collect()),
            DeValue::Table(table) => Kind::Table(table.iter().map(|(key, value)| self.member(key, value)).collect()),
        };
        Node { origin, kind }
    }

    /// A key and its value.
    pub(super) fn member(&mut self, key: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) -> Member {
        Member { key: key.get_ref().to_string(), origin: self.origin(key), node: self.plant(value) }
    }

    fn number(&mut self, origin: Origin, read: Option<Number>, rule: &'static str) -> Kind {
        if read.is_none() {
            self.bad.push(BadNumber { origin, rule });
        }
        Kind::Scalar(read.map_or(Value::Null, Value::Number))
    }
}

impl Node {
    /// A table without members.
    pub(super) fn empty_table(origin: Origin) -> Self {
        Self { origin, kind: Kind::Table(Vec::new()) }
    }

    /// The members of a table; none for anything else.
    pub(super) fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Table(members) => members,
            _ => &[],
        }
    }

    /// The member with a key.
    pub(super) fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    /// The `name` of a list's element.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.member("name")?.node.kind {
            Kind::Scalar(Value::String(name)) => Some(name),
            _ => None,
        }
    }

    /// The node one step down.
    pub(super) fn down(&self, step: &Step) -> Option<&Self> {
        match (step, &self.kind) {
            (Step::Key(key), Kind::Table(_)) => self.member(key).map(|member| &member.node),
            (Step::Index(at), Kind::List(elements)) => elements.get(*at),
            _ => None,
        }
    }

    /// The values alone. Members with a [`BadNumber`] are left out.
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::List(elements) => elements.iter().map(Self::to_json).collect(),
            Kind::Table(members) => {
                let pairs = members.iter().map(|member| (member.key.clone(), member.node.to_json()));
                Value::Object(pairs.filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
            }
        }
    }
}
