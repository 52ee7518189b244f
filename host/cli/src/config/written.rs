//! A configuration as it was written: the texts it comes from, and the tree of its keys and values.
//!
//! It does not know which keys exist. Main type: [`Written`].

use std::sync::Arc;

use miette::NamedSource;
use toml::de::{DeTable, DeValue};

use super::{
    path::{Path, Step},
    tree::{Kind, Node, Origin, Planter},
};
use crate::problem::{Place, Problem};

/// Texts and the tree that they make together.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// The file, then each `--set`.
    sources: Vec<Arc<NamedSource<String>>>,
    /// The root table.
    pub(super) root: Node,
}

impl Written {
    /// Parses a file's text. Numbers that JSON has not come along as problems; the rest of the tree is good.
    ///
    /// # Errors
    ///
    /// Every syntax error.
    pub(super) fn parse(name: &str, text: String) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(&text);
        let (mut bad, mut planter_bad) = (Vec::new(), Vec::new());
        let mut planter = Planter { source: 0, shift: 0, bad: &mut planter_bad };
        let members = table.get_ref().iter().map(|(key, value)| planter.member(key, value)).collect();
        let root = Node { origin: Origin { source: 0, start: 0, end: 0 }, kind: Kind::Table(members) };
        let spans = errors.iter().map(|error| (error.message().to_owned(), error.span().unwrap_or(0..0)));
        let spans: Vec<_> = spans.collect();
        drop((table, errors));
        let source = Arc::new(NamedSource::new(name, text));
        for (message, span) in spans {
            let place = Place::new(&source, span, message.replace('\n', "; "));
            bad.push(Problem::new(format!("{name} is no valid TOML")).at(Some(place)));
        }
        if !bad.is_empty() {
            return Err(bad);
        }
        let written = Self { sources: vec![source], root };
        bad.extend(planter_bad.iter().map(|number| written.bad_number(number.origin, number.rule)));
        Ok((written, bad))
    }

    /// Adds another text and says its number.
    pub(super) fn add_source(&mut self, name: &str, text: &str) -> usize {
        self.sources.push(Arc::new(NamedSource::new(name, text.to_owned())));
        self.sources.len() - 1
    }

    /// Parses a value that stands at `start` in an added text. Numbers that JSON has not come along as problems.
    ///
    /// # Errors
    ///
    /// When it is no TOML value.
    pub(super) fn parse_value(&self, source: usize, start: usize, text: &str) -> Result<(Node, Vec<Problem>), Problem> {
        let mut bad = Vec::new();
        let mut planter = Planter { source, shift: start, bad: &mut bad };
        match DeValue::parse(text) {
            Ok(value) => {
                let node = planter.plant(&value);
                Ok((node, bad.iter().map(|number| self.bad_number(number.origin, number.rule)).collect()))
            }
            Err(error) => {
                let span = error.span().unwrap_or(0..text.len());
                let origin = Origin { source, start: start + span.start, end: start + span.end };
                Err(Problem::new("the value is no valid TOML").at(Some(self.spot(origin, error.message()))))
            }
        }
    }

    fn bad_number(&self, origin: Origin, rule: &str) -> Problem {
        Problem::new("a number cannot be used").at(Some(self.spot(origin, rule)))
    }

    /// A place by its origin.
    pub(super) fn spot(&self, origin: Origin, label: &str) -> Place {
        Place::new(&self.sources[origin.source], origin.start..origin.end, label)
    }

    /// Adds a second place to a first one, if both are in one text.
    pub(super) fn spot_also(&self, place: Place, of: Origin, other: Origin, label: &str) -> Place {
        if of.source == other.source { place.also(other.start..other.end, label) } else { place }
    }

    /// Puts problems into the order of the file, then of the `--set`s; those without a place come first.
    pub(super) fn sort(&self, problems: &mut [Problem]) {
        problems.sort_by_key(|problem| {
            problem.place().map(|place| {
                let text = self.sources.iter().position(|source| place.is_in(source));
                (text, place.offset())
            })
        });
    }

    /// Where a value stands, or what is nearest above it; `None` for the root.
    pub(super) fn value_origin(&self, path: &Path) -> Option<Origin> {
        let (mut node, mut origin) = (&self.root, None);
        for step in path.steps() {
            let Some(next) = node.down(step) else { break };
            node = next;
            origin = Some(node.origin);
        }
        origin
    }

    /// Where a key stands, or what is nearest above it; `None` for the root.
    pub(super) fn key_origin(&self, path: &Path) -> Option<Origin> {
        let (last, above) = path.steps().split_last()?;
        let mut node = &self.root;
        for step in above {
            let Some(next) = node.down(step) else { return self.value_origin(path) };
            node = next;
        }
        match last {
            Step::Key(key) => node.member(key).map(|member| member.origin).or_else(|| self.value_origin(path)),
            Step::Index(_) => self.value_origin(path),
        }
    }

    /// The node at a path.
    pub(super) fn node(&self, path: &Path) -> Option<&Node> {
        path.steps().iter().try_fold(&self.root, |node, step| node.down(step))
    }

    /// The path that names lead to; elements of lists go by their `name`, or by position.
    pub(super) fn path(&self, names: &[&str]) -> Path {
        let (mut node, mut path) = (Some(&self.root), Path::default());
        for name in names {
            let step = match node.map(|node| &node.kind) {
                Some(Kind::List(elements)) => match find_named(elements, name) {
                    Some(at) => Step::Index(at),
                    None => Step::Key((*name).to_owned()),
                },
                _ => Step::Key((*name).to_owned()),
            };
            node = node.and_then(|node| node.down(&step));
            path = path.with(step);
        }
        path
    }

    /// A path for people: `plugin.early-stopping.grant.requests[1]`.
    pub(super) fn words(&self, path: &Path) -> String {
        let (mut node, mut text) = (Some(&self.root), String::new());
        for step in path.steps() {
            node = node.and_then(|node| node.down(step));
            match (step, node.and_then(Node::name)) {
                (Step::Key(key), _) => text.push_str(&format!(".{}", quoted(key))),
                (Step::Index(_), Some(name)) => text.push_str(&format!(".{}", quoted(name))),
                (Step::Index(at), None) => text.push_str(&format!("[{at}]")),
            }
        }
        text.trim_start_matches('.').to_owned()
    }
}

/// The position of the element with a name, or else the position that the name says.
pub(super) fn find_named(elements: &[Node], name: &str) -> Option<usize> {
    let named = elements.iter().position(|element| element.name() == Some(name));
    named.or_else(|| name.parse().ok().filter(|at| *at < elements.len()))
}

fn quoted(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if bare { key.to_owned() } else { format!("{key:?}") }
}
