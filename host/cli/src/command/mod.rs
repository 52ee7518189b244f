//! One module for each subcommand that is more than a call into another one.

pub(crate) mod bench;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod doctor;
pub(crate) mod plugin;
pub(crate) mod plugins;
pub(crate) mod rank;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod shell;
pub(crate) mod show;
mod toolchains;
