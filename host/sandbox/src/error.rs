//! Why a file is not a plugin, and why a plugin does not start.
//!
//! What goes wrong in a call of a running callback is not here: the domain's `CallbackFailure` tells that. Main
//! types: [`LoadError`], [`StartError`].

use std::{io, path::PathBuf};

use host_callback::{CallbackFailure, InstanceName};

use crate::{limits::BadLimit, world::CONTRACT};

/// The sandbox could not be set up at all.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The engine refuses its settings on this machine.
    #[error("the WebAssembly engine cannot be set up: {0}")]
    Engine(String),
    /// A thread of the sandbox's own could not be started.
    #[error("a thread of the sandbox could not be started: {0}")]
    Thread(#[source] io::Error),
    /// The cache folder cannot be made, or cannot be made private.
    #[error("the cache folder {} cannot be used: {source}", folder.display())]
    Cache {
        /// The folder.
        folder: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}

/// A file that is not a plugin of this host.
#[derive(Debug, thiserror::Error)]
#[error("{} {kind}", file.display())]
pub struct LoadError {
    /// The file, or the name that its bytes were given.
    pub file: PathBuf,
    /// What is wrong with it.
    pub kind: LoadErrorKind,
}

/// What is wrong with a file. Each text goes on from the file's name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// It could not be read.
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
    /// It is larger than [`SandboxConfig::file_bytes`](crate::SandboxConfig::file_bytes).
    #[error("is larger than the limit of {0} bytes")]
    TooLarge(u64),
    /// It has no bytes.
    #[error("is empty")]
    Empty,
    /// It is text.
    #[error("is a text file, not WebAssembly{}", if *.wat { "; it looks like WAT, which has to be assembled first" } else { "" })]
    Text {
        /// It begins like WebAssembly's text format.
        wat: bool,
    },
    /// It begins with other bytes than WebAssembly does.
    #[error("is not WebAssembly")]
    NotWasm,
    /// It begins like WebAssembly, of a format that nobody knows yet.
    #[error("is WebAssembly of an unknown format")]
    UnknownFormat,
    /// A core module that does not carry the type of a component.
    #[error("is a core module that was not built against the contract: it carries no component type")]
    NoComponentType,
    /// A core module that does not fit the component type that it carries.
    #[error("is a core module that cannot be made a component: {0}")]
    Wrap(String),
    /// The engine does not accept it.
    #[error("is not a valid component: {0}")]
    Invalid(String),
    /// Compiling it took more processor time, in seconds, than
    /// [`CompileLimits::seconds`](crate::CompileLimits::seconds).
    #[error("takes more than {0} s of processor time to compile")]
    CompileTime(u64),
    /// Compiling it took more memory, in bytes, than [`CompileLimits::memory_bytes`](crate::CompileLimits::memory_bytes),
    /// or more stack than there is.
    #[error("takes more than {} MiB of memory, or more stack than there is, to compile", .0 >> 20)]
    CompileMemory(u64),
    /// A component that is not a callback.
    #[error(
        "is a component of another world: it exports {}, and no `train-host:callback/callback`",
        if .exports.is_empty() { "nothing".to_owned() } else { format!("`{}`", .exports.join("`, `")) }
    )]
    OtherWorld {
        /// What it exports.
        exports: Vec<String>,
    },
    /// A callback of another version of the contract.
    #[error(
        "is built for version {found} of the contract; this host speaks {CONTRACT}: build it against that, or use a \
         newer host"
    )]
    OtherVersion {
        /// The version that it was built for.
        found: String,
    },
    /// It needs something from the outside that no callback gets.
    #[error("imports `{import}`, which this host does not offer")]
    UnknownImport {
        /// The name of the import.
        import: String,
        /// Everything else that it imports and that is not offered either.
        others: Vec<String>,
    },
    /// It has the names of the contract, and other types.
    #[error("does not fit the contract {CONTRACT}: {0}")]
    Contract(String),
    /// It failed when it was asked what it is.
    #[error("fails in {stage}: {failure}")]
    Guest {
        /// What it was doing.
        stage: &'static str,
        /// How it failed.
        failure: CallbackFailure,
    },
    /// What it says of itself is wrong.
    #[error("has a bad manifest: {}", .0.join("; "))]
    Manifest(Vec<String>),
    /// The host failed: a bug of ours or of the engine.
    #[error("cannot be loaded because the host failed: {0}")]
    Host(String),
}

/// An instance that did not start.
#[derive(Debug, thiserror::Error)]
#[error("callback `{instance}` ({plugin}) does not start: {kind}")]
pub struct StartError {
    /// The instance.
    pub instance: InstanceName,
    /// Its plugin's name.
    pub plugin: String,
    /// Why.
    pub kind: StartErrorKind,
}

/// Why an instance did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartErrorKind {
    /// Its limits make no sense.
    #[error("{}", join(.0))]
    Limits(Vec<BadLimit>),
    /// Its configuration breaks the plugin's schema; each entry names the place and the rule.
    #[error("its configuration is wrong: {}", .0.join("; "))]
    Config(Vec<String>),
    /// The plugin refuses the configuration, in its own words.
    #[error("{0}")]
    Refused(String),
    /// It failed while it started.
    #[error("{0}")]
    Failed(CallbackFailure),
    /// What it listens to makes no sense.
    #[error("{}", .0.join("; "))]
    Subscriptions(Vec<String>),
}

fn join(limits: &[BadLimit]) -> String {
    limits.iter().map(BadLimit::to_string).collect::<Vec<_>>().join("; ")
}
