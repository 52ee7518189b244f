//! `host inspect`: what a plugin file is.
//!
//! It starts no instance; only `describe` is asked, under the sandbox's limits. Main function: [`run`].

use std::fmt::Write as _;

use host_sandbox::{Plugin, Sandbox, SandboxConfig};
use serde_json::{Value, json};

use crate::{
    args::InspectArgs,
    exit::Exit,
    problem::{Problem, Problems},
    telemetry::words,
    terminal,
};

/// Shows a plugin.
///
/// # Errors
///
/// When the file is no plugin of this host.
pub(crate) fn run(args: &InspectArgs) -> Result<Exit, Problems> {
    let failed = |message: String| Problems::from((Exit::Plugin, Problem::new(message)));
    let sandbox = Sandbox::new(SandboxConfig::default()).map_err(|error| failed(error.to_string()))?;
    let plugin = sandbox.load(&args.file).map_err(|error| failed(format!("plugin {error}")))?;
    let text = if args.json { format!("{:#}\n", facts(&plugin)) } else { describe(&plugin) };
    terminal::out(&text);
    Ok(Exit::Success)
}

fn facts(plugin: &Plugin) -> Value {
    json!({
        "file": plugin.file().display().to_string(),
        "bytes": plugin.size_bytes(),
        "sha256": plugin.sha256(),
        "imports": plugin.imports(),
        "manifest": plugin.manifest(),
    })
}

fn describe(plugin: &Plugin) -> String {
    let manifest = plugin.manifest();
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        writeln!(text, "{name:<9}{}", words::short(&value)).expect("a String takes everything");
    };
    let list = |words: Vec<String>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    line("plugin", format!("{} {}", manifest.name, manifest.version));
    line("summary", manifest.summary.clone());
    line("file", format!("{} ({} bytes)", plugin.file().display(), plugin.size_bytes()));
    line("sha256", plugin.sha256().to_owned());
    line("lane", format!("{:?}, order {}", manifest.lane, manifest.order).to_lowercase());
    line("requests", list(manifest.requests.iter().map(ToString::to_string).collect()));
    line("knobs", list(manifest.knobs.iter().map(ToString::to_string).collect()));
    line("imports", list(plugin.imports().iter().map(|import| import.name.clone()).collect()));
    line("state", format!("version {}", manifest.state_version));
    if manifest.config_schema.trim().is_empty() {
        line("settings", "none".to_owned());
        return text;
    }
    // The schema was checked when the file was loaded.
    let schema: Value = serde_json::from_str(&manifest.config_schema).unwrap_or_default();
    for (name, about) in schema["properties"].as_object().into_iter().flatten() {
        let default = about.get("default").map(|value| format!(" (default {value})")).unwrap_or_default();
        let meaning = about["description"].as_str().unwrap_or_default().replace('\n', " ");
        line("setting", format!("{name}{default}: {meaning}"));
    }
    text
}
