//! `host plugin`: one module for each thing that can be done with a plugin.

mod build;
mod entry;
mod inspect;
mod language;
mod load;
mod new;
mod pack;

use crate::{args::PluginAction, exit::Exit, problem::Problems};

/// Does what is asked with a plugin.
///
/// # Errors
///
/// Those of the single commands.
pub(crate) fn run(action: &PluginAction) -> Result<Exit, Problems> {
    match action {
        PluginAction::New(args) => new::run(args),
        PluginAction::Build(args) => build::run(args),
        PluginAction::Pack(args) => pack::run(args),
        PluginAction::Inspect(args) => inspect::run(args),
    }
}
