//! The command line of `host plugin`.
//!
//! It reads no file. Main type: [`PluginAction`].

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

/// What can be done with a plugin's file.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginAction {
    /// Show what a plugin is: manifest, imports, configuration.
    ///
    /// Loads the file into the sandbox, under its limits, and asks it to describe itself. Of each interface that it
    /// imports it says whether it is real here, stubbed (nothing is behind it) or refused.
    ///
    /// Example: host plugin inspect plugins/early-stopping/early-stopping.wasm
    Inspect(InspectArgs),
}

/// Arguments of `host plugin inspect`.
#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// The plugin's file.
    #[arg(value_name = "FILE.wasm")]
    pub(crate) file: PathBuf,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}
