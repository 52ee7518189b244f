//! `host plugin inspect`: what a plugin file is.
//!
//! It starts no instance; only `describe` is asked, under the sandbox's limits. Main function: [`run`].

use std::{fmt::Write as _, path::Path};

use host_sandbox::{Import, ImportKind, LoadErrorKind, Plugin};
use serde_json::{Value, json};

use super::load::{refused, sandbox};
use crate::{args::InspectArgs, exit::Exit, problem::Problems, telemetry::words, terminal};

/// Prints what a plugin's file is.
///
/// # Errors
///
/// When the file is no plugin of this host.
pub(super) fn run(args: &InspectArgs) -> Result<Exit, Problems> {
    let sandbox = sandbox()?;
    match sandbox.load(&args.file) {
        Ok(plugin) => {
            let text = if args.json { format!("{:#}\n", facts(&plugin)) } else { describe(&plugin) };
            terminal::out(&text);
            Ok(Exit::Success)
        }
        Err(error) => {
            // Which imports are refused is what whoever built the file has to know, and not only the first one.
            if matches!(error.kind, LoadErrorKind::UnknownImport { .. })
                && let Ok(imports) = sandbox.imports(&args.file)
            {
                terminal::out(&unloaded(&args.file, &imports, args.json));
            }
            Err(refused(&error))
        }
    }
}

/// What programs are told about a plugin.
pub(super) fn facts(plugin: &Plugin) -> Value {
    json!({
        "file": plugin.file().display().to_string(),
        "bytes": plugin.size_bytes(),
        "sha256": plugin.sha256(),
        "imports": plugin.imports(),
        "manifest": plugin.manifest(),
    })
}

/// What there is to say of a component that is not loaded because of its imports.
fn unloaded(file: &Path, imports: &[Import], as_json: bool) -> String {
    if as_json {
        return format!("{:#}\n", json!({ "file": file.display().to_string(), "imports": imports }));
    }
    let mut text = String::new();
    line(&mut text, "file", &file.display().to_string());
    list_imports(&mut text, imports);
    text
}

fn line(text: &mut String, name: &str, value: &str) {
    writeln!(text, "{name:<9}{}", words::short(value)).expect("a String takes everything");
}

fn list_imports(text: &mut String, imports: &[Import]) {
    for Import { name, kind, missing } in imports {
        let kind = match kind {
            ImportKind::Real => "real",
            ImportKind::Stubbed => "stubbed: there is nothing behind it",
            ImportKind::Refused if missing.is_empty() => "refused: this host does not offer it",
            ImportKind::Refused => &format!("refused: this host does not offer {}", missing.join(", ")),
        };
        line(text, "import", &format!("{name} ({kind})"));
    }
}

fn describe(plugin: &Plugin) -> String {
    let manifest = plugin.manifest();
    let mut text = String::new();
    let mut say = |name: &str, value: String| line(&mut text, name, &value);
    let list = |words: Vec<String>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    say("plugin", format!("{} {}", manifest.name, manifest.version));
    say("summary", manifest.summary.clone());
    say("file", format!("{} ({} bytes)", plugin.file().display(), plugin.size_bytes()));
    say("sha256", plugin.sha256().to_owned());
    say("lane", format!("{:?}, order {}", manifest.lane, manifest.order).to_lowercase());
    say("requests", list(manifest.requests.iter().map(ToString::to_string).collect()));
    say("knobs", list(manifest.knobs.iter().map(ToString::to_string).collect()));
    say("state", format!("version {}", manifest.state_version));
    list_imports(&mut text, plugin.imports());
    let mut say = |name: &str, value: String| line(&mut text, name, &value);
    if manifest.config_schema.trim().is_empty() {
        say("settings", "none".to_owned());
        return text;
    }
    // The schema was checked when the file was loaded.
    let schema: Value = serde_json::from_str(&manifest.config_schema).unwrap_or_default();
    for (name, about) in schema["properties"].as_object().into_iter().flatten() {
        let default = about.get("default").map(|value| format!(" (default {value})")).unwrap_or_default();
        let meaning = about["description"].as_str().unwrap_or_default().replace('\n', " ");
        say("setting", format!("{name}{default}: {meaning}"));
    }
    text
}
