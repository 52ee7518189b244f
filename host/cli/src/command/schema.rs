//! `host schema`: JSON Schemas for editors, of a configuration and of a plugin's settings.
//!
//! It checks nothing. Main function: [`run`].

use serde_json::{Value, json};

use super::plugin::load::{refused, sandbox};
use crate::{args::SchemaArgs, config, exit::Exit, problem::Problems, terminal};

/// Prints a schema.
///
/// # Errors
///
/// When the file is no plugin.
pub(crate) fn run(args: &SchemaArgs) -> Result<Exit, Problems> {
    let schema = match &args.plugin {
        None => config::schema(host_trainer::task::KINDS),
        Some(file) => {
            let plugin = sandbox()?.load(file).map_err(|error| refused(&error))?;
            // The schema was checked when the file was loaded; a plugin without one takes anything.
            let own = serde_json::from_str::<Value>(&plugin.manifest().config_schema);
            own.unwrap_or_else(|_| json!({ "type": "object" }))
        }
    };
    terminal::out(&format!("{schema:#}\n"));
    Ok(Exit::Success)
}
