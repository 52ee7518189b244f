//! This very program: as another process of itself, for other ranks of a run and compilations under limits, and the memory
//! that it takes.
//!
//! It starts no process. Main functions: [`path`], [`compiler`].

use std::{io, path::PathBuf};

use host_sandbox::{CompileLimits, Compiler, CompilerProcess};

/// What to start for another process of this program.
///
/// # Errors
///
/// When the system does not tell.
pub(crate) fn path() -> io::Result<PathBuf> {
    // The file that is running, also where another one has taken its place or it was deleted.
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// Plugins are compiled by processes of this program.
pub(crate) fn compiler(limits: CompileLimits) -> Compiler {
    match path() {
        Ok(program) => Compiler::Process(CompilerProcess {
            program,
            arguments: vec!["compile".into()],
            // mimalloc would take a GiB of address space before it is limited, and be free to fill that.
            environment: vec![("MIMALLOC_ARENA_RESERVE".into(), "0".into())],
            limits,
        }),
        // Nowhere known; the size of a file still bounds what compiling it takes.
        Err(_) => Compiler::Threads,
    }
}

/// Resident memory of this process in bytes; 0 where the system does not tell.
pub(crate) fn resident() -> usize {
    memory_stats::memory_stats().map_or(0, |stats| stats.physical_mem)
}
