//! `host plugin check`: whether a plugin would work in a run, without one.
//!
//! It trains nothing. Main function: [`run`].

use std::fmt::Write as _;

use host_sandbox::{ImportKind, Plugin};
use host_trainer::task::Course;
use serde_json::{Value, json};

use super::{
    entry::Entry,
    load::{refused, sandbox},
    settings::settings,
};
use crate::{
    args::PluginCheckArgs,
    exit::Exit,
    problem::Problems,
    rehearsal::{EPOCHS, Stage},
    telemetry::words,
    terminal,
};

/// Loads the plugin, and starts it in a made-up run.
///
/// # Errors
///
/// Everything that would keep it out of a run.
pub(super) fn run(args: &PluginCheckArgs) -> Result<Exit, Problems> {
    let plugin = sandbox()?.load(&args.file).map_err(|error| refused(&error))?;
    let manifest = plugin.manifest();
    let config = settings(manifest, args.tried.config.as_deref())?;
    let stage = Stage { file: &args.file, name: &manifest.name, config, set: args.tried.set.clone(), epochs: EPOCHS };
    let listens = stage.start(Course::Healthy)?;
    let found = Found { plugin: &plugin, config: &stage.config, listens, remarks: remarks(&plugin) };
    terminal::out(&if args.json { format!("{:#}\n", found.json()) } else { found.words() });
    Ok(Exit::Success)
}

/// What was found of a plugin that works.
struct Found<'a> {
    plugin: &'a Plugin,
    config: &'a Value,
    /// What it listens to, with what it reads there.
    listens: Vec<String>,
    remarks: Vec<String>,
}

/// What works, and may be a surprise.
fn remarks(plugin: &Plugin) -> Vec<String> {
    let manifest = plugin.manifest();
    let mut remarks = Vec::new();
    let stubbed: Vec<&str> = plugin
        .imports()
        .iter()
        .filter(|import| import.kind == ImportKind::Stubbed)
        .map(|import| import.name.as_str())
        .collect();
    if !stubbed.is_empty() {
        remarks.push(format!("nothing is behind these imports: {}", stubbed.join(", ")));
    }
    if manifest.config_schema.trim().is_empty() {
        remarks.push("it has no schema of its settings, so mistakes in them are found only by itself".into());
    }
    if manifest.knobs.iter().any(|knob| knob.as_str() == "*") {
        remarks.push("it asks for every knob; a grant in its entry can hold it to less".into());
    }
    if manifest.summary.trim().is_empty() {
        remarks.push("its manifest has no summary".into());
    }
    remarks
}

impl Found<'_> {
    fn json(&self) -> Value {
        json!({
            "plugin": super::inspect::facts(self.plugin),
            "config": self.config,
            "listens": self.listens,
            "remarks": self.remarks,
        })
    }

    fn words(&self) -> String {
        let (plugin, manifest) = (self.plugin, self.plugin.manifest());
        let mut text = String::new();
        let mut say = |name: &str, words: &str| {
            writeln!(text, "{name:<9} {}", words::short(words)).expect("a String takes everything");
        };
        say(
            "plugin",
            &format!("{} {}, {} bytes", manifest.name, manifest.version, words::count(plugin.size_bytes() as u64)),
        );
        say(
            "imports",
            &match plugin.imports().len() {
                0 => "none".to_owned(),
                n => format!("{n}, none of them refused; `host plugin inspect` lists them"),
            },
        );
        say("settings", &format!("the schema takes {}", self.config));
        say("starts", "in a made-up run, within its limits");
        for listens in &self.listens {
            say("listens", listens);
        }
        for remark in &self.remarks {
            say("note", remark);
        }
        let file = plugin.file().file_name().unwrap_or_default().to_string_lossy().into_owned();
        write!(text, "\nIts entry in train.toml:\n\n{}", Entry::new(manifest, &file))
            .expect("a String takes everything");
        text
    }
}
