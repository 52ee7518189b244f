//! `host plugin`: one module for each thing that can be done with a plugin.

mod inspect;
mod load;

use crate::{args::PluginAction, exit::Exit, problem::Problems};

/// Does what is asked with a plugin.
///
/// # Errors
///
/// Those of the single commands.
pub(crate) fn run(action: &PluginAction) -> Result<Exit, Problems> {
    match action {
        PluginAction::Inspect(args) => inspect::run(args),
    }
}
