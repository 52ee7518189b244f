//! What is said of a component that was built: what it is, when it is called, how it is configured.
//!
//! It builds nothing. Main type: [`Report`].

use std::{fmt::Write as _, path::Path, sync::Arc};

use host_callback::{Callback as _, Catalog, RunInfo, Subscription};
use host_sandbox::{InstanceSettings, Plugin};
use serde_json::{Value, json};

use crate::command::plugin::{entry::Entry, inspect::facts};

/// A component that was built.
pub(super) struct Report<'a> {
    plugin: &'a Arc<Plugin>,
    out: &'a Path,
    /// Names and debug information that were left out, in bytes.
    stripped: usize,
    entry: Entry,
    /// When it is called with the settings of the entry, or why it does not start with them.
    subscriptions: Result<Vec<Subscription>, String>,
}

impl<'a> Report<'a> {
    /// Starts an instance with the settings of the entry, since only that tells when it wants to be called.
    pub(super) fn new(plugin: &'a Arc<Plugin>, out: &'a Path, stripped: usize) -> Self {
        let file = out.file_name().unwrap_or_default().to_string_lossy();
        let entry = Entry::new(plugin.manifest(), &file);
        let subscriptions = subscriptions(plugin, &entry);
        Self { plugin, out, stripped, entry, subscriptions }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let manifest = self.plugin.manifest();
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            writeln!(text, "{name:<9}{value}").expect("a String takes everything");
        };
        let list = |words: Vec<String>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        line("plugin", &format!("{} {}", manifest.name, manifest.version));
        let without = match self.stripped {
            0 => String::new(),
            bytes => format!("; {bytes} bytes of names and debug information are left out"),
        };
        line("file", &format!("{} ({} bytes{without})", self.out.display(), self.plugin.size_bytes()));
        line("sha256", self.plugin.sha256());
        match &self.subscriptions {
            Ok(subscriptions) => line("hooks", &list(subscriptions.iter().map(called).collect())),
            Err(why) => line("hooks", &format!("known once it is started; with the settings below it is not: {why}")),
        }
        line("requests", &list(manifest.requests.iter().map(ToString::to_string).collect()));
        line("knobs", &list(manifest.knobs.iter().map(ToString::to_string).collect()));
        text + "\nIn train.toml, with the file in the plugins folder:\n\n" + &self.entry.to_string()
    }

    /// For programs: what `inspect` says, and more.
    pub(super) fn json(&self) -> String {
        let mut facts = facts(self.plugin);
        let hooks = self.subscriptions.as_ref().map_or(Value::Null, |subscriptions| json!(subscriptions));
        facts["file"] = json!(self.out.display().to_string());
        facts["stripped-bytes"] = json!(self.stripped);
        facts["hooks"] = hooks;
        facts["entry"] = json!(self.entry.to_string());
        format!("{facts:#}\n")
    }
}

fn subscriptions(plugin: &Arc<Plugin>, entry: &Entry) -> Result<Vec<Subscription>, String> {
    let name = plugin.manifest().name.parse().map_err(|error| format!("{error}"))?;
    let settings = InstanceSettings::new(name, RunInfo::default(), Catalog::new());
    let started = plugin.start(InstanceSettings { config: entry.config(), ..settings });
    started.map(|callback| callback.subscriptions().to_vec()).map_err(|error| error.kind.to_string())
}

/// `step-end (loss)`, `epoch-end every 5`.
fn called(subscription: &Subscription) -> String {
    let Subscription { hook, every, reads } = subscription;
    let every = if *every == 1 { String::new() } else { format!(" every {every}") };
    let reads: Vec<&str> = reads.iter().map(|pattern| pattern.as_str()).collect();
    let reads = if reads.is_empty() { String::new() } else { format!(" ({})", reads.join(", ")) };
    format!("{}{every}{reads}", hook.name())
}
