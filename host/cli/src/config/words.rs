//! Words for values that were found and for values that a schema allows.
//!
//! It does not decide whether a value is allowed. Main functions: [`found`], [`allowed`].

use serde_json::Value;

use super::schema::{WORDS, deref};

/// References and lists that are followed for a text; more would not be read, and a schema may be circular.
const MAX_DEPTH: usize = 4;

/// A value that was found, shortened.
pub(super) fn found(value: &Value) -> String {
    match value {
        Value::Array(elements) if elements.is_empty() => "an empty list".into(),
        Value::Array(elements) if elements.iter().all(|element| !element.is_array() && !element.is_object()) => {
            shortened(format!("[{}]", elements.iter().map(found).collect::<Vec<_>>().join(", ")))
        }
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a table".into(),
        scalar => shortened(scalar.to_string()),
    }
}

/// What a schema allows: "a whole number, at least 1".
pub(super) fn allowed(root: &Value, schema: &Value) -> String {
    worded(root, schema, 0)
}

/// Every text that a schema names as a choice.
pub(super) fn choices<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let schema = deref(root, schema);
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let single = schema.get("const").into_iter();
    let mut choices: Vec<&str> = listed.chain(single).filter_map(Value::as_str).collect();
    for part in parts(schema) {
        choices.extend(part.get("const").and_then(Value::as_str));
    }
    choices
}

/// "a, b or c"; of many the first ones.
pub(super) fn either(words: &[String]) -> String {
    const MAX: usize = 12;
    match words {
        [] => String::new(),
        [only] => only.clone(),
        many if many.len() > MAX => format!("{} or {} more", many[..MAX].join(", "), many.len() - MAX),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

fn parts(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)).filter_map(Value::as_array);
    lists.flatten()
}

fn worded(root: &Value, schema: &Value, depth: usize) -> String {
    let schema = deref(root, schema);
    if depth > MAX_DEPTH {
        return "what the schema says".into();
    }
    if let Some(words) = schema.get(WORDS).and_then(Value::as_str) {
        return words.to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return either(&values.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
    let alternatives: Vec<String> = parts(schema).map(|part| worded(root, part, depth + 1)).collect();
    if !alternatives.is_empty() {
        return either(&alternatives);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => format!("a whole number{}", range(schema)),
        Some("number") => format!("a number{}", range(schema)),
        Some("boolean") => "true or false".into(),
        Some("string") => text(schema),
        Some("array") => list(root, schema, depth),
        Some("object") => "a table".into(),
        _ => "what the schema says".into(),
    }
}

fn range(schema: &Value) -> String {
    let bound = |key: &str| schema.get(key).filter(|limit| !is_technical(limit));
    let bound = |key: &str| bound(key).map(number);
    let (min, max) = (bound("minimum"), bound("maximum"));
    if let (Some(min), Some(max)) = (&min, &max) {
        return format!(" from {min} to {max}");
    }
    let low = min.map(|n| format!("at least {n}")).or(bound("exclusiveMinimum").map(|n| format!("above {n}")));
    let high = max.map(|n| format!("at most {n}")).or(bound("exclusiveMaximum").map(|n| format!("below {n}")));
    let step = bound("multipleOf").map(|n| format!("a multiple of {n}"));
    let rules: Vec<String> = [low, high, step].into_iter().flatten().collect();
    if rules.is_empty() { String::new() } else { format!(", {}", rules.join(" and ")) }
}

/// A bound as people write it: 0 and not 0.0.
fn number(value: &Value) -> String {
    match value.as_f64() {
        Some(float) if value.is_f64() => float.to_string(),
        _ => value.to_string(),
    }
}

/// A bound that stands there because a number has 64 bits, and not because a setting has a range.
fn is_technical(limit: &Value) -> bool {
    limit.as_i64().is_some_and(|limit| limit == i64::MAX || limit == i64::MIN) || limit.as_u64() == Some(u64::MAX)
}

fn text(schema: &Value) -> String {
    let examples = schema.get("examples").and_then(Value::as_array).filter(|examples| !examples.is_empty());
    if let Some(examples) = examples {
        return format!("a text such as {}", either(&examples.iter().map(ToString::to_string).collect::<Vec<_>>()));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        return format!("a text that fits `{pattern}`");
    }
    let length = |key: &str| schema.get(key).and_then(Value::as_u64);
    match (length("minLength"), length("maxLength")) {
        (Some(1), None) => "a text that is not empty".into(),
        (Some(min), Some(max)) => format!("a text of {min} to {max} characters"),
        (Some(min), None) => format!("a text of at least {min} characters"),
        (None, Some(max)) => format!("a text of at most {max} characters"),
        (None, None) => "a text".into(),
    }
}

fn list(root: &Value, schema: &Value, depth: usize) -> String {
    let count = |key: &str| schema.get(key).and_then(Value::as_u64);
    let size = match (count("minItems"), count("maxItems")) {
        (Some(min), Some(max)) if min == max => format!("a list of {min}"),
        (Some(min), Some(max)) => format!("a list of {min} to {max}"),
        (Some(min), None) if min > 0 => format!("a list of at least {min}"),
        (_, Some(max)) => format!("a list of at most {max}"),
        _ => "a list".into(),
    };
    match schema.get("items") {
        Some(items) => format!("{size}, each {}", worded(root, items, depth + 1)),
        None => size,
    }
}

fn shortened(text: String) -> String {
    const MAX: usize = 60;
    if text.chars().count() <= MAX { text } else { text.chars().take(MAX).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_are_put_into_words() {
        for (schema, words) in [
            (json!({ "type": "integer", "minimum": 1 }), "a whole number, at least 1"),
            (json!({ "type": "integer", "minimum": 1, "maximum": i64::MAX }), "a whole number, at least 1"),
            (json!({ "type": "integer", "minimum": 1, "maximum": 9 }), "a whole number from 1 to 9"),
            (json!({ "type": "number", "minimum": 0, "exclusiveMaximum": 1 }), "a number, at least 0 and below 1"),
            (json!({ "type": "number", "exclusiveMinimum": 0 }), "a number, above 0"),
            (json!({ "type": "boolean" }), "true or false"),
            (json!({ "type": "string" }), "a text"),
            (json!({ "type": "string", "minLength": 1 }), "a text that is not empty"),
            (json!({ "type": "string", "pattern": "^a$" }), "a text that fits `^a$`"),
            (
                json!({ "type": "string", "pattern": "x", "examples": ["1ep", "5st"] }),
                "a text such as \"1ep\" or \"5st\"",
            ),
            (json!({ "enum": ["a", "b", "c"] }), "\"a\", \"b\" or \"c\""),
            (json!({ "oneOf": [{ "const": "a", "description": "x" }, { "const": "b" }] }), "\"a\" or \"b\""),
            (json!({ "$ref": "#/$defs/A" }), "a table"),
            (json!({ "$ref": "#/$defs/Loop" }), "what the schema says"),
            (
                json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 }),
                "a list of 2, each a number",
            ),
            (
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
                "a list of at least 1, each a text",
            ),
            (json!({}), "what the schema says"),
        ] {
            let root = json!({ "$defs": {
                "A": { "type": "object" },
                "Loop": { "anyOf": [{ "$ref": "#/$defs/Loop" }] }
            } });
            assert_eq!(allowed(&root, &schema), words, "{schema}");
        }
    }

    #[test]
    fn values_are_shown_short() {
        for (value, words) in [
            (json!("adam"), "\"adam\""),
            (json!(1e-3), "0.001"),
            (json!([]), "an empty list"),
            (json!([2, "a"]), "[2, \"a\"]"),
            (json!([[1], 2]), "a list"),
            (json!({ "a": 1 }), "a table"),
        ] {
            assert_eq!(found(&value), words);
        }
        assert_eq!(found(&json!("x".repeat(100))).chars().count(), 61);
        let many: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
        assert_eq!(either(&many), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 or 8 more");
    }

    #[test]
    fn choices_are_collected_from_enums_and_constants() {
        let root = json!({});
        assert_eq!(choices(&root, &json!({ "enum": ["a", 1] })), ["a"]);
        assert_eq!(choices(&root, &json!({ "anyOf": [{ "type": "string" }, { "const": "end" }] })), ["end"]);
    }
}
