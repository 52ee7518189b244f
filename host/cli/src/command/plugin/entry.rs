//! The entry of a plugin for `train.toml`: its settings, those that have to be given with a value to begin with.
//!
//! It writes no file. Main types: [`Entry`], [`Setting`].

use std::fmt;

use host_callback::Manifest;
use serde_json::{Map, Value, json};

/// A setting of a plugin, as its schema has it.
#[derive(Clone, Debug, PartialEq)]
struct Setting {
    name: String,
    /// What it is if it is not given, or something to begin with.
    value: Value,
    is_required: bool,
    meaning: String,
}

/// `[[plugin]]` with `[plugin.config]`.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    name: String,
    /// The file's name, where it is not the plugin's.
    file: Option<String>,
    settings: Vec<Setting>,
}

impl Entry {
    /// The entry of a plugin whose file has this name.
    pub(super) fn new(manifest: &Manifest, file: &str) -> Self {
        let schema: Value = serde_json::from_str(&manifest.config_schema).unwrap_or_default();
        let is_required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
        let settings = schema["properties"].as_object().into_iter().flatten().map(|(name, about)| Setting {
            name: name.clone(),
            value: if is_required(name) { example(about) } else { about["default"].clone() },
            is_required: is_required(name),
            meaning: about["description"].as_str().unwrap_or_default().replace(char::is_control, " "),
        });
        let file = Some(file.to_owned()).filter(|file| *file != format!("{}.wasm", manifest.name));
        Self { name: manifest.name.clone(), file, settings: settings.collect() }
    }

    /// The least configuration that the schema takes.
    pub(super) fn config(&self) -> Value {
        let required = self.settings.iter().filter(|setting| setting.is_required);
        Value::Object(required.map(|setting| (setting.name.clone(), setting.value.clone())).collect::<Map<_, _>>())
    }
}

/// A value to begin with, of a setting that has no default: one that the schema names, or a small one of its type.
fn example(about: &Value) -> Value {
    let named = about["examples"].as_array().and_then(|all| all.first());
    if let Some(value) = named.or(about.get("default")).or(about.get("const")).or(about["enum"].get(0)) {
        return value.clone();
    }
    let kind = about["type"].as_str().or(about["type"].get(0).and_then(Value::as_str)).unwrap_or_default();
    let least = about["minimum"].as_f64().or(about["exclusiveMinimum"].as_f64().map(|above| above + 1.0));
    let most = about["maximum"].as_f64().unwrap_or(f64::INFINITY);
    let number = least.unwrap_or(1.0).max(1.0).min(most);
    match kind {
        "integer" => json!(number as i64),
        "number" => json!(number),
        "boolean" => json!(false),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!(""),
    }
}

/// TOML. What need not be given is a comment.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[[plugin]]\nname = \"{}\"", self.name)?;
        if let Some(file) = &self.file {
            writeln!(f, "file = {}", toml::Value::String(file.clone()))?;
        }
        if !self.settings.is_empty() {
            writeln!(f, "[plugin.config]")?;
        }
        let (required, others): (Vec<_>, Vec<_>) = self.settings.iter().partition(|setting| setting.is_required);
        for setting in required.into_iter().chain(others) {
            let mark = if setting.is_required { "" } else { "# " };
            // `null` is nothing that TOML could say: a setting without it is not given.
            let value =
                toml::Value::try_from(&setting.value).map_or_else(|_| "...".to_owned(), |value| value.to_string());
            let line = format!("{mark}{} = {value}", key(&setting.name));
            match setting.meaning.as_str() {
                "" => writeln!(f, "{line}")?,
                meaning => writeln!(f, "{line:<24}  # {meaning}")?,
            }
        }
        Ok(())
    }
}

fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if is_bare { name.to_owned() } else { toml::Value::String(name.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(schema: &str, file: &str) -> Entry {
        let manifest = Manifest { name: "loss-ceiling".into(), config_schema: schema.into(), ..manifest() };
        Entry::new(&manifest, file)
    }

    fn manifest() -> Manifest {
        Manifest {
            name: String::new(),
            version: "0.1.0".into(),
            summary: String::new(),
            requests: Vec::new(),
            knobs: Vec::new(),
            lane: host_callback::Lane::Inline,
            order: 0,
            config_schema: String::new(),
            state_version: 1,
        }
    }

    #[test]
    fn what_must_be_given_comes_first_and_what_need_not_is_a_comment() {
        let schema = r#"{"required": ["ceiling"], "properties": {
            "a": {"default": null}, "ceiling": {"type": "number", "description": "Too high."}, "patience": {"default": 3}}}"#;
        let entry = entry(schema, "loss-ceiling.wasm");
        let expected = "[[plugin]]\nname = \"loss-ceiling\"\n[plugin.config]\nceiling = 1.0             # Too high.\n\
                        # a = ...\n# patience = 3\n";
        assert_eq!(entry.to_string(), expected);
        assert_eq!(entry.config(), json!({"ceiling": 1.0}));
        assert!(entry.to_string().parse::<toml::Table>().is_ok());
    }

    #[test]
    fn a_plugin_without_settings_has_a_short_entry() {
        assert_eq!(entry("", "a.wasm").to_string(), "[[plugin]]\nname = \"loss-ceiling\"\nfile = \"a.wasm\"\n");
        assert_eq!(entry("", "a.wasm").config(), json!({}));
    }

    #[test]
    fn examples_fit_their_schema() {
        for (about, expected) in [
            (json!({"examples": ["eval/loss"]}), json!("eval/loss")),
            (json!({"enum": ["min", "max"]}), json!("min")),
            (json!({"type": "integer", "minimum": 10}), json!(10)),
            (json!({"type": "number", "maximum": 0.5}), json!(0.5)),
            (json!({"type": "number", "exclusiveMinimum": 5}), json!(6.0)),
            (json!({"type": "array"}), json!([])),
        ] {
            assert_eq!(example(&about), expected, "{about}");
        }
    }
}
