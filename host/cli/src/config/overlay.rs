//! `--set key=value`: what the command line changes in a configuration.
//!
//! It does not check the new values: they go through the same checks as those of the file, and a mistake in
//! them is shown where it was typed. Main function: [`apply`].

use host_callback::did_you_mean;
use toml::de::{DeTable, DeValue};

use super::{
    tree::{Kind, Member, Node, Origin},
    written::{Written, find_named},
};
use crate::problem::Problem;

/// Keys of which a run has exactly one: setting one replaces the others.
const LENGTHS: [&str; 3] = ["epochs", "steps", "length"];

/// Lists whose entries are addressed by name, as paths of keys.
const NAMED_LISTS: [&[&str]; 2] = [&["plugin"], &["optimizer", "group"]];

/// Applies `--set` arguments in their order. Those that cannot be applied come back as problems.
pub(super) fn apply(written: &mut Written, sets: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for set in sets {
        let source = written.add_source("--set", set);
        match parse(written, source, set) {
            Ok((keys, node, bad)) => {
                problems.extend(bad);
                if let Err(misfit) = insert(&mut written.root, &keys, 0, node) {
                    problems.push(Problem::new(misfit.message).at(Some(written.spot(misfit.origin, misfit.label))));
                } else {
                    replace_other_lengths(&mut written.root, &keys);
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    problems
}

/// One part of a dotted key.
struct Key {
    text: String,
    origin: Origin,
}

fn parse(written: &Written, source: usize, set: &str) -> Result<(Vec<Key>, Node, Vec<Problem>), Problem> {
    let whole = Origin { source, start: 0, end: set.len() };
    let wrong = |message: &str, label| Problem::new(message).at(Some(written.spot(whole, label)));
    let equals = find_equals(set)
        .ok_or_else(|| wrong("`--set` needs a key and a value", "write KEY=VALUE, such as train.epochs=3"))?;
    let keys = parse_keys(source, &set[..equals])
        .ok_or_else(|| wrong("`--set` needs a key", "what stands before `=` is no TOML key"))?;
    let value = set[equals + 1..].trim();
    if value.is_empty() {
        return Err(wrong("`--set` needs a value", "nothing stands after `=`; an empty text is \"\""));
    }
    let start = set.len() - set[equals + 1..].trim_start().len();
    match written.parse_value(source, start, value) {
        Ok((node, bad)) => Ok((keys, node, bad)),
        // What begins like a list, a table or a quoted text was meant as one.
        Err(problem) if value.starts_with(['[', '{', '"', '\'']) => Err(problem),
        Err(_) => {
            let origin = Origin { source, start, end: start + value.len() };
            Ok((keys, Node { origin, kind: Kind::Scalar(value.into()) }, Vec::new()))
        }
    }
}

/// The first `=` that is not inside a quoted key.
fn find_equals(set: &str) -> Option<usize> {
    let mut quote = None;
    set.char_indices().find_map(|(at, c)| {
        match (quote, c) {
            (None, '=') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        None
    })
}

fn parse_keys(source: usize, text: &str) -> Option<Vec<Key>> {
    let line = format!("{text}=0");
    let table = DeTable::parse(&line).ok()?;
    let mut keys = Vec::new();
    let mut next = Some(table.get_ref());
    while let Some(table) = next {
        let (key, value) = table.iter().next()?;
        let span = key.span();
        let origin = Origin { source, start: span.start, end: span.end };
        keys.push(Key { text: key.get_ref().to_string(), origin });
        next = match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        };
    }
    Some(keys)
}

/// Why a value has no place in the tree.
struct Misfit {
    origin: Origin,
    message: String,
    label: &'static str,
}

fn insert(node: &mut Node, keys: &[Key], depth: usize, value: Node) -> Result<(), Misfit> {
    let Some(key) = keys.get(depth) else {
        *node = value;
        return Ok(());
    };
    match &mut node.kind {
        Kind::Table(members) => {
            let at = match members.iter().position(|member| member.key == key.text) {
                Some(at) => at,
                None if is_named_list(&keys[..=depth]) && depth + 1 < keys.len() => {
                    return Err(not_named(&keys[..=depth], &keys[depth + 1], &[]));
                }
                None => {
                    let node = Node::empty_table(key.origin);
                    members.push(Member { key: key.text.clone(), origin: key.origin, node });
                    members.len() - 1
                }
            };
            if depth + 1 == keys.len() {
                members[at].origin = key.origin;
            }
            insert(&mut members[at].node, keys, depth + 1, value)
        }
        Kind::List(elements) => match find_named(elements, &key.text) {
            Some(at) => insert(&mut elements[at], keys, depth + 1, value),
            None => Err(not_named(&keys[..depth], key, elements)),
        },
        Kind::Scalar(_) => Err(Misfit {
            origin: keys[depth - 1].origin,
            message: format!("`{}` is a single value and has no keys", dotted(&keys[..depth])),
            label: "not a table",
        }),
    }
}

fn is_named_list(keys: &[Key]) -> bool {
    NAMED_LISTS.iter().any(|list| list.iter().copied().eq(keys.iter().map(|key| key.text.as_str())))
}

fn not_named(list: &[Key], key: &Key, elements: &[Node]) -> Misfit {
    let near = did_you_mean(&key.text, elements.iter().filter_map(Node::name));
    let message = format!("no [[{}]] is named `{}`{near}", dotted(list), key.text);
    Misfit { origin: key.origin, message, label: "no such entry" }
}

fn dotted(keys: &[Key]) -> String {
    keys.iter().map(|key| key.text.as_str()).collect::<Vec<_>>().join(".")
}

fn replace_other_lengths(root: &mut Node, keys: &[Key]) {
    let [section, length] = keys else { return };
    if section.text != "train" || !LENGTHS.contains(&length.text.as_str()) {
        return;
    }
    let Kind::Table(sections) = &mut root.kind else { return };
    let train = sections.iter_mut().find(|member| member.key == "train");
    if let Some(Kind::Table(members)) = train.map(|member| &mut member.node.kind) {
        members.retain(|member| member.key == length.text || !LENGTHS.contains(&member.key.as_str()));
    }
}
