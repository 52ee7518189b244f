//! `host plugin`: one module for each thing that can be done with a plugin.

mod bench;
mod build;
mod check;
mod entry;
mod inspect;
mod language;
pub(super) mod load;
mod new;
mod pack;
mod settings;
mod test;

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
        PluginAction::Check(args) => check::run(args),
        PluginAction::Test(args) => test::run(args),
        PluginAction::Bench(args) => bench::run(args),
        PluginAction::Pack(args) => pack::run(args),
        PluginAction::Inspect(args) => inspect::run(args),
    }
}
