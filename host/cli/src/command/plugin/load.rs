//! The sandbox that plugins' files are looked at in, and the words for a file that is refused.
//!
//! It starts no instance. Main function: [`sandbox`].

use std::path::{Path, PathBuf};

use host_sandbox::{CompileLimits, LoadError, Sandbox, SandboxConfig};

use crate::{
    config::user_cache,
    exit::Exit,
    problem::{Problem, Problems},
    program,
};

/// A sandbox that keeps compiled code in the user's cache folder, so that a run finds it there.
///
/// # Errors
///
/// When there can be no sandbox on this machine.
pub(in crate::command) fn sandbox() -> Result<Sandbox, Problems> {
    let uncached = SandboxConfig { compiler: program::compiler(CompileLimits::default()), ..SandboxConfig::default() };
    let cached = SandboxConfig { cache: Some(user_cache(|name| std::env::var_os(name))), ..uncached.clone() };
    // Without a folder for compiled code it takes longer, and nothing else.
    let sandbox = Sandbox::new(cached).or_else(|_| Sandbox::new(uncached));
    sandbox.map_err(|error| (Exit::Plugin, Problem::new(error.to_string())).into())
}

/// A file that is no plugin of this host, as a command's end.
pub(in crate::command) fn refused(error: &LoadError) -> Problems {
    (Exit::Plugin, Problem::new(format!("plugin {error}"))).into()
}

/// A file in a folder, without the `./` of a folder that is only where the program was started.
pub(super) fn beside(folder: &Path, name: &str) -> PathBuf {
    if folder == Path::new(".") { PathBuf::from(name) } else { folder.join(name) }
}
