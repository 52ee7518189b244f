//! Checked names and patterns: instances, checkpoint tags, and `*` in names of measurements and knobs.
//!
//! It does not know which names exist: that is [`Catalog`](crate::Catalog)'s and [`Knobs`](crate::Knobs)'s part.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use wildmatch::WildMatchPattern;

/// The longest name of an instance, a tag or a report, in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// A name that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} `{name}` {rule}")]
pub struct BadName {
    kind: &'static str,
    name: String,
    rule: &'static str,
}

fn check(kind: &'static str, name: &str, extra: &str) -> Result<(), BadName> {
    let bad = |rule| Err(BadName { kind, name: shown(name), rule });
    if name.is_empty() {
        return bad("is empty");
    }
    if name.len() > MAX_NAME_BYTES {
        return bad("is longer than 64 bytes");
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || extra.contains(c);
    if !name.chars().all(fits) || name.starts_with('-') {
        return bad(if extra.is_empty() {
            "has other characters than a-z, 0-9 and `-`"
        } else {
            "has other characters than a-z, 0-9, `-`, `_`, `.` and `/`"
        });
    }
    Ok(())
}

/// The name of one configured callback; its state, its reports and its lines in the timeline go by it.
///
/// 1 to 64 bytes of `a-z`, `0-9` and `-`, not beginning with `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InstanceName(String);

impl InstanceName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InstanceName {
    type Err = BadName;

    fn from_str(name: &str) -> Result<Self, BadName> {
        check("instance name", name, "").map(|()| Self(name.to_owned()))
    }
}

impl TryFrom<String> for InstanceName {
    type Error = BadName;

    fn try_from(name: String) -> Result<Self, BadName> {
        name.parse()
    }
}

impl From<InstanceName> for String {
    fn from(name: InstanceName) -> Self {
        name.0
    }
}

impl fmt::Display for InstanceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks the tag of a checkpoint as a callback may give it: empty, or 1 to 64 bytes of `a-z`, `0-9` and `-`.
///
/// # Errors
///
/// When it breaks that rule, or when it is `last` or `step-<n>`, which the host gives itself.
pub fn check_tag(tag: &str) -> Result<(), BadName> {
    if tag.is_empty() {
        return Ok(());
    }
    check("tag", tag, "")?;
    if tag == "last" || tag.strip_prefix("step-").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())) {
        return Err(BadName { kind: "tag", name: tag.to_owned(), rule: "is one that the host gives itself" });
    }
    Ok(())
}

/// Checks the name of a report: 1 to 64 bytes of `a-z`, `0-9`, `-`, `_`, `.` and `/`.
///
/// # Errors
///
/// When it breaks that rule.
pub fn check_report(name: &str) -> Result<(), BadName> {
    check("report", name, "_./")
}

/// A name in which `*` stands for any run of characters, `/` included.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Pattern {
    text: String,
    // `?` is a plain character in the contract, so the wildcard for one character is one that no name has.
    matcher: WildMatchPattern<'*', '\0'>,
}

impl Pattern {
    /// Whether the pattern covers a name.
    ///
    /// Besides a match of the whole name, a pattern covers what lies below a name that it matches:
    /// `learning-rate` covers `learning-rate/encoder`.
    pub fn covers(&self, name: &str) -> bool {
        self.matches(name) || name.match_indices('/').any(|(at, _)| self.matches(&name[..at]))
    }

    /// Whether the pattern matches the whole name.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.matches(name)
    }

    /// Whether the pattern is a plain name.
    pub fn is_literal(&self) -> bool {
        !self.text.contains('*')
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), matcher: WildMatchPattern::new(text) }
    }
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A name as a message shows it: what a callback wrote may be longer than anybody reads.
pub(crate) fn shown(name: &str) -> String {
    const MAX_CHARS: usize = 80;
    let mut characters = name.chars();
    let mut shown: String = characters.by_ref().take(MAX_CHARS).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Up to three of `names` that a person may have meant by `written`, nearest first.
///
/// Near is a Jaro-Winkler similarity of at least 0.75, or containing the written word; names with
/// equal distance keep their order. Nothing is near to more than 256 bytes: comparing takes time with the square of
/// the length, and a callback may write hundreds of such names at every hook.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const NEAR: f64 = 0.75;
    const MAX_WRITTEN_BYTES: usize = 256;
    if written.len() > MAX_WRITTEN_BYTES {
        return Vec::new();
    }
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| {
            let long = |text: &str| text.len() >= 3;
            let contains = long(written) && long(name) && (name.contains(written) || written.contains(name));
            let score = strsim::jaro_winkler(written, name);
            (if contains { score.max(NEAR) } else { score }, name)
        })
        .filter(|(score, _)| *score >= NEAR)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.dedup_by_key(|(_, name)| *name);
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// ", did you mean `a` or `b`?" for the end of an error text; empty where nothing is near.
pub fn did_you_mean<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let near: Vec<String> = nearest(written, names).iter().map(|name| format!("`{name}`")).collect();
    if near.is_empty() { String::new() } else { format!(", did you mean {}?", near.join(" or ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["early-stopping", "a", "x9"] {
            assert!(good.parse::<InstanceName>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "Über", "a/b", "a b", "../x", &"a".repeat(65)] {
            assert!(bad.parse::<InstanceName>().is_err(), "{bad}");
        }
        for (tag, good) in
            [("", true), ("best", true), ("last", false), ("step-12", false), ("step-up", true), ("a/b", false)]
        {
            assert_eq!(check_tag(tag).is_ok(), good, "{tag}");
        }
    }

    #[test]
    fn a_pattern_covers_what_lies_below() {
        for (pattern, name, covers) in [
            ("learning-rate", "learning-rate/encoder", true),
            ("learning-rate", "learning-rate", true),
            ("learning-rate*", "learning-rate/encoder", true),
            ("learning-rate/enc*", "learning-rate/encoder", true),
            ("learning-rate/enc*", "learning-rate", false),
            ("learning", "learning-rate", false),
            ("*", "clip-norm", true),
        ] {
            assert_eq!(Pattern::from(pattern).covers(name), covers, "{pattern} over {name}");
        }
    }

    #[test]
    fn a_question_mark_is_a_plain_character() {
        assert!(!Pattern::from("los?").matches("loss"));
    }

    #[test]
    fn a_long_name_is_shown_by_its_beginning() {
        assert_eq!(shown(&"ü".repeat(80)), "ü".repeat(80));
        assert_eq!(shown(&"ü".repeat(1_000)), format!("{}…", "ü".repeat(80)));
    }

    #[test]
    fn near_names_come_nearest_first() {
        let names = ["loss", "eval/loss", "accuracy", "eval/accuracy"];
        assert_eq!(nearest("eval/los", names)[0], "eval/loss");
        assert_eq!(nearest("zzz", names), Vec::<&str>::new());
        assert_eq!(did_you_mean("lss", names), ", did you mean `loss`?");
        assert_eq!(nearest(&"eval/loss".repeat(100), names), Vec::<&str>::new(), "too long to be a slip");
    }
}
