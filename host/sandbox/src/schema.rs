//! Checks an instance's configuration against the JSON Schema that its plugin brings.
//!
//! The schema comes from the guest, so it is bounded before anything is done with it. This does not read
//! configuration files: the caller hands over a JSON value. Main type: [`ConfigSchema`].

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

use crate::text::clean;

/// The largest schema in bytes: a hundred settings with their descriptions have some 20 KiB.
const MAX_BYTES: usize = 256 << 10;

/// Subschemas after every reference is followed, and how deep they nest. A validator visits each of them,
/// so a short schema whose references fan out could otherwise keep the host busy for ever, and one that
/// refers to itself could overflow its stack.
const MAX_EXPANDED: usize = 20_000;
const MAX_DEPTH: usize = 64;

/// Violations that are listed; a file with more has one mistake many times.
const MAX_VIOLATIONS: usize = 20;

/// Keywords that are not taken: references that cannot be followed here, and what a validator visits again
/// at each level of nesting.
const REFUSED: [&str; 4] = ["$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems"];

/// A schema that is ready to check configurations.
#[derive(Debug)]
pub(crate) struct ConfigSchema {
    validator: Validator,
}

impl ConfigSchema {
    /// Prepares a schema; an empty one checks nothing.
    pub(crate) fn new(text: &str) -> Result<Option<Self>, String> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        if text.len() > MAX_BYTES {
            return Err(format!("it has {} bytes, the limit is {MAX_BYTES}", text.len()));
        }
        let schema: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        Bounds { root: &schema, visited: 0 }.visit(&schema, 0)?;
        let validator = jsonschema::options()
            .offline()
            // A plain automaton: no pattern can make it go back and forth for ever.
            .with_pattern_options(PatternOptions::regex().size_limit(1 << 20))
            .build(&schema)
            .map_err(|error| clean(error.to_string(), 500))?;
        Ok(Some(Self { validator }))
    }

    /// Every place at which a configuration breaks the schema.
    pub(crate) fn check(&self, config: &Value) -> Result<(), Vec<String>> {
        let mut errors = self.validator.iter_errors(config);
        let mut wrong: Vec<String> = errors
            .by_ref()
            .take(MAX_VIOLATIONS)
            .map(|error| {
                let path = error.instance_path().to_string();
                let place = if path.is_empty() { "the configuration".to_owned() } else { format!("`{path}`") };
                clean(format!("{place}: {error}"), 500)
            })
            .collect();
        if wrong.is_empty() {
            return Ok(());
        }
        if errors.next().is_some() {
            wrong.push("and more".to_owned());
        }
        Err(wrong)
    }
}

/// Walks a schema as a validator would.
struct Bounds<'a> {
    root: &'a Value,
    visited: usize,
}

impl Bounds<'_> {
    fn visit(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        self.visited += 1;
        if self.visited > MAX_EXPANDED {
            return Err(format!("with its references followed it has more than {MAX_EXPANDED} parts"));
        }
        if depth > MAX_DEPTH {
            return Err(format!("it nests deeper than {MAX_DEPTH} levels, or refers to itself"));
        }
        match value {
            Value::Object(object) => self.visit_object(object, depth),
            Value::Array(items) => items.iter().try_for_each(|item| self.visit(item, depth + 1)),
            _ => Ok(()),
        }
    }

    fn visit_object(&mut self, object: &Map<String, Value>, depth: usize) -> Result<(), String> {
        for (key, value) in object {
            // A property may well be called `$dynamicRef`; then its value is a schema and not a string.
            let refused = REFUSED.contains(&key.as_str()) && (value.is_string() || key.starts_with("unevaluated"));
            // At the root it only names the schema; below, it would change what `#` means.
            let base = key == "$id" && value.is_string() && depth > 0;
            if refused || base {
                return Err(format!("`{key}` is not supported{}", if base { " below the root" } else { "" }));
            }
            match value {
                Value::String(target) if key == "$ref" => self.follow(target, depth)?,
                other => self.visit(other, depth + 1)?,
            }
        }
        Ok(())
    }

    fn follow(&mut self, target: &str, depth: usize) -> Result<(), String> {
        let shown = clean(target.to_owned(), 80);
        let pointer = target.strip_prefix('#').ok_or(format!("`$ref` to `{shown}` does not stay in the schema"))?;
        let found = self.root.pointer(pointer).ok_or(format!("`$ref` to `{shown}` leads nowhere"))?;
        self.visit(found, depth + 1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(schema: &Value) -> Result<Option<ConfigSchema>, String> {
        ConfigSchema::new(&schema.to_string())
    }

    #[test]
    fn every_violation_is_listed_with_its_path() {
        let schema = schema(&json!({
            "type": "object",
            "properties": {
                "monitor": {"type": "string"},
                "patience": {"type": "integer", "minimum": 1},
                "mode": {"enum": ["min", "max"]},
            },
            "required": ["monitor"],
            "additionalProperties": false,
        }))
        .unwrap()
        .unwrap();
        let wrong = schema.check(&json!({"patience": 0, "mode": "up", "x": 1})).unwrap_err().join("\n");
        for part in ["`/patience`: 0 is less than the minimum of 1", "`/mode`: ", "\"monitor\" is a required", "'x'"] {
            assert!(wrong.contains(part), "{part} in {wrong}");
        }
        assert_eq!(schema.check(&json!({"monitor": "loss"})), Ok(()));
    }

    #[test]
    fn references_within_the_schema_work() {
        let schema = schema(&json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"positive": {"type": "number", "exclusiveMinimum": 0}},
            "properties": {"a": {"$ref": "#/$defs/positive"}, "b": {"$ref": "#/$defs/positive"}},
        }))
        .unwrap()
        .unwrap();
        assert!(schema.check(&json!({"a": -1, "b": 2})).unwrap_err()[0].starts_with("`/a`"));
    }

    #[test]
    fn a_hostile_schema_is_refused_before_it_is_used() {
        let fan = |level: usize| json!({"allOf": vec![json!({"$ref": format!("#/$defs/l{}", level + 1)}); 8]});
        let mut defs: Map<String, Value> = (0..8).map(|level| (format!("l{level}"), fan(level))).collect();
        defs.insert("l8".into(), json!({}));
        for (name, hostile, why) in [
            ("itself", json!({"$ref": "#"}), "refers to itself"),
            ("a fan", json!({"$defs": defs, "$ref": "#/$defs/l0"}), "more than 20000 parts"),
            ("elsewhere", json!({"$ref": "file:///etc/passwd"}), "does not stay"),
            ("nowhere", json!({"$ref": "#/$defs/x"}), "leads nowhere"),
            ("dynamic", json!({"$dynamicRef": "#x"}), "`$dynamicRef` is not supported"),
            ("visited twice", json!({"unevaluatedProperties": false}), "is not supported"),
            ("no schema", json!({"type": "nonsense"}), "nonsense"),
            ("look-around", json!({"pattern": "(a*)*(?=b)"}), "regex"),
            ("large pattern", json!({"pattern": "((a{1000}){1000}){1000}"}), "regex"),
        ] {
            let error = schema(&hostile).expect_err(name);
            assert!(error.contains(why), "{name}: {error}");
        }
        assert!(ConfigSchema::new(&"[".repeat(100_000)).unwrap_err().contains("not JSON"));
        assert!(ConfigSchema::new("").unwrap().is_none());
    }
}
