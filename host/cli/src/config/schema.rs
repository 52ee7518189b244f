//! The schema of a configuration, made fit for checking TOML, and what can be looked up in it.
//!
//! It does not check values: [`check`](super::check) does. Main type: [`Sections`].

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use host_trainer::task::TaskKind;

use super::raw::RawConfig;

/// The keyword that [`tidy`] adds beside `"type": "integer"`.
///
/// JSON Schema takes 2.0 for an integer, and what reads settings afterwards does not.
pub(super) const WHOLE: &str = "x-whole";

/// The keyword with what a schema allows in words, where those that are made from it would not be good.
pub(super) const WORDS: &str = "x-words";

/// The schema of a whole file, `[task]` as far as it is the same for all tasks.
pub(super) fn of_config(tasks: &[TaskKind]) -> Value {
    // Without references, so that the description of a key stands beside its range.
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<RawConfig>().to_value();
    tidy(&mut schema);
    if let Some(kind) = schema.pointer_mut("/properties/task/properties/kind") {
        kind["enum"] = tasks.iter().map(|kind| kind.name).collect();
        let kinds: Vec<String> = tasks.iter().map(|kind| format!("{} ({})", kind.name, kind.summary)).collect();
        kind["description"] = format!("Which task: {}.", kinds.join(", ")).into();
    }
    schema
}

/// The schema of a whole file with every task's keys, as editors take it: which of them go with `kind` is told by
/// conditions.
pub(super) fn for_editors(tasks: &[TaskKind]) -> Value {
    let mut schema = of_config(tasks);
    let conditions = tasks.iter().map(|kind| {
        let task = of_task(kind);
        let mut task = inlined(&task, &task);
        task["properties"]["kind"] = json!({ "const": kind.name });
        json!({ "if": { "properties": { "kind": { "const": kind.name } }, "required": ["kind"] }, "then": task })
    });
    let conditions: Value = conditions.collect();
    if let Some(task) = schema.pointer_mut("/properties/task") {
        task["allOf"] = conditions;
    }
    schema["title"] = "train.toml".into();
    without_marks(&mut schema);
    schema
}

/// A schema without references: what they refer to stands in their place. The schemas of settings do not refer to
/// themselves.
fn inlined(root: &Value, schema: &Value) -> Value {
    match schema {
        Value::Array(parts) => parts.iter().map(|part| inlined(root, part)).collect(),
        Value::Object(map) => {
            let target = if map.contains_key("$ref") { deref(root, schema) } else { &Value::Null };
            let all = target.as_object().into_iter().flatten().chain(map);
            let kept = all.filter(|(key, _)| !matches!(key.as_str(), "$ref" | "$defs"));
            Value::Object(kept.map(|(key, part)| (key.clone(), inlined(root, part))).collect())
        }
        other => other.clone(),
    }
}

/// Leaves out the keywords that are only this program's.
fn without_marks(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(without_marks),
        Value::Object(map) => {
            map.retain(|key, _| key != WHOLE && key != WORDS);
            map.values_mut().for_each(without_marks);
        }
        _ => {}
    }
}

/// The schema of the keys of `[task]` besides `kind`.
pub(super) fn of_task(kind: &TaskKind) -> Value {
    let mut schema = (kind.schema)().to_value();
    tidy(&mut schema);
    schema
}

/// Fits a schema to what comes from TOML: there is no null, and whole numbers have 64 bits at most.
pub(super) fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(tidy),
        Value::Object(map) => {
            drop_null(map);
            bound_integer(map);
            let is_data = |key: &str| matches!(key, "const" | "default" | "enum" | "examples");
            map.iter_mut().filter(|(key, _)| !is_data(key)).for_each(|(_, part)| tidy(part));
        }
        _ => {}
    }
}

fn drop_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = &mut types[..] {
            let only = only.take();
            map.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(parts)) = map.get_mut("anyOf") {
        parts.retain(|part| part.get("type").is_none_or(|kind| kind != "null"));
        if parts.len() == 1
            && let Some(Value::Object(only)) = parts.pop()
        {
            map.remove("anyOf");
            for (key, value) in only {
                map.entry(key).or_insert(value);
            }
        }
    }
}

fn bound_integer(map: &mut Map<String, Value>) {
    if map.get("type").is_none_or(|kind| kind != "integer") {
        return;
    }
    map.insert(WHOLE.into(), json!(true));
    // `format` says how many bits the reader has; a validator does not look at it.
    let (min, max) = match map.get("format").and_then(Value::as_str) {
        Some("uint8") => (0, i64::from(u8::MAX)),
        Some("uint16") => (0, i64::from(u16::MAX)),
        Some("uint32") => (0, i64::from(u32::MAX)),
        Some("uint" | "uint64") => (0, i64::MAX),
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => return,
    };
    map.entry("minimum").or_insert(json!(min));
    map.entry("maximum").or_insert(json!(max));
}

/// Follows a reference inside the same schema; anything else stays as it is.
pub(super) fn deref<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// The keys that a schema of a table names.
pub(super) fn keys(schema: &Value) -> impl Iterator<Item = &str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str))
}

/// Every section of a configuration with its keys: where a misplaced key belongs.
#[derive(Debug)]
pub(super) struct Sections(Vec<(String, Vec<String>)>);

impl Sections {
    /// The sections of the file's schema, and `[task]` for each kind.
    pub(super) fn new(config: &Value, tasks: &[TaskKind]) -> Self {
        let mut sections = vec![("the top level".to_owned(), keys(config).map(str::to_owned).collect())];
        collect(config, "", &mut sections);
        for kind in tasks {
            let keys = keys(&of_task(kind)).map(str::to_owned).collect();
            sections.push((format!("[task] of kind \"{}\"", kind.name), keys));
        }
        Self(sections)
    }

    /// No sections: for what is not this program's configuration.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// The sections that have a key of this name, for people.
    pub(super) fn with_key(&self, key: &str) -> Vec<&str> {
        let has = |keys: &[String]| keys.iter().any(|known| known == key);
        self.0.iter().filter(|(_, keys)| has(keys)).map(|(section, _)| section.as_str()).collect()
    }
}

fn collect(schema: &Value, path: &str, sections: &mut Vec<(String, Vec<String>)>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (key, part) in properties {
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let element = part.get("items").filter(|items| items.get("properties").is_some());
        let (name, table) = match element {
            Some(items) => (format!("[[{below}]]"), items),
            None => (format!("[{below}]"), part),
        };
        let names: Vec<String> = keys(table).map(str::to_owned).collect();
        if !names.is_empty() {
            sections.push((name, names));
            collect(table, &below, sections);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::document;

    #[test]
    fn tidy_knows_neither_null_nor_more_than_64_bits() {
        for (before, after) in [
            (json!({ "type": ["string", "null"] }), json!({ "type": "string" })),
            (json!({ "enum": ["a", null] }), json!({ "enum": ["a"] })),
            (
                json!({ "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }], "description": "d" }),
                json!({ "$ref": "#/$defs/A", "description": "d" }),
            ),
            (
                json!({ "type": ["integer", "null"], "format": "uint8", "minimum": 1 }),
                json!({ "type": "integer", "format": "uint8", "minimum": 1, "maximum": 255, "x-whole": true }),
            ),
            (
                json!({ "default": { "type": ["integer", "null"] } }),
                json!({ "default": { "type": ["integer", "null"] } }),
            ),
        ] {
            let mut schema = before.clone();
            tidy(&mut schema);
            assert_eq!(schema, after, "{before}");
        }
    }

    #[test]
    fn a_key_is_found_in_every_section_that_has_it() {
        let sections = Sections::new(&of_config(&[]), &[]);
        assert_eq!(sections.with_key("batch-size"), ["[train]"]);
        assert_eq!(sections.with_key("learning-rate"), ["[optimizer]", "[[optimizer.group]]"]);
        assert_eq!(sections.with_key("fuel"), ["[plugin.limits]", "[plugins.limits]"]);
        assert!(sections.with_key("nothing").is_empty());
    }

    #[test]
    fn the_limits_say_the_defaults_of_the_sandbox() {
        let schema = of_config(&[]);
        let described = &schema["properties"]["plugins"]["properties"]["limits"]["properties"];
        for (key, default) in document::limits(&host_sandbox::Limits::default()) {
            let text = described[&key]["description"].as_str().unwrap();
            assert!(text.ends_with(&format!(" Default {default}.")), "{key}: {text} {default}");
        }
    }

    #[test]
    fn every_key_of_a_file_is_described() {
        fn check(schema: &Value, path: &str) {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
            for (key, part) in properties {
                let text = part.get("description").and_then(Value::as_str).unwrap_or_default();
                assert!(text.ends_with('.'), "{path}.{key}: {part}");
                check(part.get("items").unwrap_or(part), &format!("{path}.{key}"));
            }
        }
        check(&of_config(&[]), "");
    }
}
