//! The settings that a plugin is tried with: from a file, or the least that its schema takes.
//!
//! It does not check them against the schema: who starts the plugin does. Main function: [`settings`].

use std::{fs, path::Path};

use host_callback::Manifest;
use serde_json::Value;

use super::entry::Entry;
use crate::{
    exit::Exit,
    problem::{Problem, Problems},
};

/// The settings in a TOML file, as they stand in `[plugin.config]`; without a file, what the schema needs and no more.
///
/// # Errors
///
/// When the file cannot be read, or is no TOML.
pub(super) fn settings(manifest: &Manifest, file: Option<&Path>) -> Result<Value, Problems> {
    let Some(file) = file else { return Ok(Entry::new(manifest, "").config()) };
    let wrong = |what: &str, error: Box<dyn std::error::Error + Send + Sync>| {
        let help = "it holds what stands below [plugin.config] in train.toml";
        let problem = Problem::new(format!("the settings {} {what}", file.display())).caused_by(error).help(help);
        Problems::from((Exit::Configuration, problem))
    };
    let text = fs::read_to_string(file).map_err(|error| wrong("cannot be read", error.into()))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| wrong("are no TOML", error.into()))?;
    serde_json::to_value(table).map_err(|error| wrong("are no settings", error.into()))
}
