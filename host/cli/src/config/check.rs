//! Checks values against a schema and turns every violation into a problem at its place.
//!
//! What depends on more than one key is not checked here: [`resolve`](super::resolve) does. Main type:
//! [`Checker`].

use host_callback::did_you_mean;
use jsonschema::{Keyword, PatternOptions, ValidationError, error::ValidationErrorKind, paths::Location};
use serde_json::{Map, Value};

use super::{
    path::Path,
    schema::{Sections, WHOLE, deref, keys},
    words::{allowed, choices, either, found},
    written::Written,
};
use crate::problem::Problem;

/// Violations that are listed; a file with more has one mistake many times.
const MAX_VIOLATIONS: usize = 100;

/// What is needed to say what is wrong.
pub(super) struct Checker<'a> {
    /// Where values stand.
    pub(super) written: &'a Written,
    /// Where misplaced keys belong.
    pub(super) sections: &'a Sections,
}

/// A violation: where it is, so that the value can be left out, and what to say.
pub(super) struct Violation {
    /// The value, or the key, that is wrong; for a missing key the key that is missing.
    pub(super) path: Path,
    /// What to say.
    pub(super) problem: Problem,
}

impl Checker<'_> {
    /// Every violation in a value that stands at `base`.
    ///
    /// # Errors
    ///
    /// When the schema itself cannot be used.
    pub(super) fn check(&self, base: &Path, schema: &Value, value: &Value) -> Result<Vec<Violation>, String> {
        let validator = jsonschema::options()
            .offline()
            .with_keyword(WHOLE, whole)
            // A plain automaton: a plugin's pattern cannot make it go back and forth for ever.
            .with_pattern_options(PatternOptions::regex().size_limit(1 << 20))
            .build(schema)
            .map_err(|error| error.to_string())?;
        let mut violations: Vec<Violation> = Vec::new();
        for error in validator.iter_errors(value).take(MAX_VIOLATIONS) {
            // A number that JSON has not was reported when it was read.
            if error.instance().is_null() {
                continue;
            }
            for violation in self.explain(base, schema, &error) {
                // A value of the wrong type breaks several rules; the first one says it.
                if !violations.iter().any(|known| known.path == violation.path) {
                    violations.push(violation);
                }
            }
        }
        Ok(violations)
    }

    fn explain(&self, base: &Path, root: &Value, error: &ValidationError<'_>) -> Vec<Violation> {
        let path = base.join(error.instance_path());
        let schema = parent(root, error.schema_path());
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                unexpected.iter().map(|key| self.unknown_key(&path, schema, key)).collect()
            }
            ValidationErrorKind::Required { property } => {
                vec![self.missing_key(&path, root, schema, property.as_str().unwrap_or_default())]
            }
            kind => {
                let rule = match kind {
                    ValidationErrorKind::Type { .. }
                    | ValidationErrorKind::Enum { .. }
                    | ValidationErrorKind::Constant { .. }
                    | ValidationErrorKind::AnyOf { .. }
                    | ValidationErrorKind::OneOfNotValid { .. }
                    | ValidationErrorKind::Minimum { .. }
                    | ValidationErrorKind::Maximum { .. }
                    | ValidationErrorKind::ExclusiveMinimum { .. }
                    | ValidationErrorKind::ExclusiveMaximum { .. }
                    | ValidationErrorKind::MultipleOf { .. }
                    | ValidationErrorKind::Pattern { .. }
                    | ValidationErrorKind::MinLength { .. }
                    | ValidationErrorKind::MaxLength { .. }
                    | ValidationErrorKind::MinItems { .. }
                    | ValidationErrorKind::MaxItems { .. }
                    | ValidationErrorKind::Custom { .. } => format!("must be {}", allowed(root, schema)),
                    _ => error.masked_with("this").to_string(),
                };
                vec![self.wrong_value(path, root, schema, error.instance(), &rule)]
            }
        }
    }

    fn wrong_value(&self, path: Path, root: &Value, schema: &Value, value: &Value, rule: &str) -> Violation {
        let near = value.as_str().map(|text| did_you_mean(text, choices(root, schema))).unwrap_or_default();
        let help = if near.is_empty() { description(schema) } else { near.trim_start_matches(", ").to_owned() };
        let message = format!("`{}` is {}", self.written.words(&path), found(value));
        let place = self.written.value_origin(&path).map(|origin| self.written.spot(origin, rule));
        Violation { path, problem: Problem::new(message).at(place).help(help) }
    }

    fn unknown_key(&self, table: &Path, schema: &Value, key: &str) -> Violation {
        let path = table.key(key);
        let message = format!("unknown key `{}`", self.written.words(&path));
        let elsewhere = self.sections.with_key(key);
        let near = did_you_mean(key, keys(schema));
        let known: Vec<String> = keys(schema).map(|key| format!("`{key}`")).collect();
        let help = if !elsewhere.is_empty() {
            let sections: Vec<String> = elsewhere.iter().map(|section| (*section).to_owned()).collect();
            format!("`{key}` belongs to {}", either(&sections))
        } else if !near.is_empty() {
            near.trim_start_matches(", ").to_owned()
        } else if known.is_empty() {
            "no keys are allowed here".to_owned()
        } else {
            format!("the keys here are {}", known.join(", "))
        };
        let place = self.written.key_origin(&path).map(|origin| self.written.spot(origin, "no such key here"));
        Violation { path, problem: Problem::new(message).at(place).help(help) }
    }

    fn missing_key(&self, table: &Path, root: &Value, schema: &Value, key: &str) -> Violation {
        let path = table.key(key);
        let message = format!("`{}` is missing", self.written.words(&path));
        let label = format!("has no `{key}`");
        let place = self.written.key_origin(table).map(|origin| self.written.spot(origin, &label));
        let part = schema.get("properties").and_then(|properties| properties.get(key));
        let help = part.map(|part| format!("{}; {}", allowed(root, part), description(deref(root, part))));
        Violation { path, problem: Problem::new(message).at(place).help(help.unwrap_or_default()) }
    }
}

/// The part of a schema that a violated keyword stands in.
fn parent<'a>(root: &'a Value, keyword: &Location) -> &'a Value {
    let pointer = keyword.as_str();
    let above = pointer.rsplit_once('/').map_or("", |(above, _)| above);
    root.pointer(above).unwrap_or(&Value::Null)
}

/// The first paragraph of a description as a fragment, as all helps are: lower case, no full stop.
fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let paragraph = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    lower(paragraph.strip_suffix('.').unwrap_or(&paragraph))
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    // An abbreviation, such as CSV, stays what it is.
    let is_word = chars.clone().next().is_none_or(|second| !second.is_uppercase());
    if is_word { first.to_lowercase().chain(chars).collect() } else { text.to_owned() }
}

struct Whole;

impl<'i> Keyword<'i> for Whole {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(value) { Ok(()) } else { Err(ValidationError::custom("is not a whole number")) }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        !value.is_f64()
    }
}

fn whole<'a>(
    _: &'a Map<String, Value>,
    _: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    Ok(Box::new(Whole))
}
