//! `host compile`: compiles one plugin for another process of this program, which starts it; people do not.
//!
//! Main function: [`run`].

use std::io;

use crate::{
    exit::Exit,
    problem::{Problem, Problems},
};

/// Reads a plugin from stdin and writes its code to stdout.
///
/// # Errors
///
/// When nobody is at the other end who knows what to send.
pub(crate) fn run() -> Result<Exit, Problems> {
    host_sandbox::compile_for_parent(io::stdin(), io::stdout()).map_err(|error| {
        let help = "`host run`, `host check` and `host plugin` start it by themselves";
        Problems::from((Exit::Usage, Problem::new("this is no command for people").caused_by(error).help(help)))
    })?;
    Ok(Exit::Success)
}
