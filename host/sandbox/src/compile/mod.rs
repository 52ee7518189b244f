//! From a plugin's bytes to compiled code: on threads of this process, or in a process of its own under limits.
//!
//! It does not know the contract's meaning, loads no code and runs none. Main types: [`Binary`], [`Compiler`].

mod process;
mod threads;
mod wrap;

use wasmtime::Engine;

pub use self::process::{CompileLimits, CompilerProcess, compile_for_parent};
pub(crate) use self::threads::{Compilers, Haste, step_back};
pub use self::wrap::componentize;
use self::wrap::wrap;
use crate::{error::LoadErrorKind, text::clean};

/// Words of the engine or the encoder that go into an error.
const MAX_WORDS_BYTES: usize = 1 << 10;

/// How WebAssembly begins, and then which of its two formats it is.
pub(crate) const WASM: &[u8] = b"\0asm";
pub(crate) const MODULE: &[u8] = &[1, 0, 0, 0];
const COMPONENT: &[u8] = &[13, 0, 1, 0];

/// Where components are compiled.
#[derive(Clone, Debug, Default)]
pub enum Compiler {
    /// On threads of this process. A compilation cannot be interrupted there: only the size of the file bounds its time
    /// and its memory.
    #[default]
    Threads,
    /// In a process for each component, with limits.
    Process(CompilerProcess),
}

/// What bytes are, as far as their beginning tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Binary<'a> {
    Module(&'a [u8]),
    Component(&'a [u8]),
}

impl<'a> Binary<'a> {
    pub(crate) fn recognise(bytes: &'a [u8]) -> Result<Self, LoadErrorKind> {
        if bytes.is_empty() {
            return Err(LoadErrorKind::Empty);
        }
        match bytes.strip_prefix(WASM) {
            Some(rest) if rest.starts_with(MODULE) => Ok(Self::Module(bytes)),
            Some(rest) if rest.starts_with(COMPONENT) => Ok(Self::Component(bytes)),
            Some(_) => Err(LoadErrorKind::UnknownFormat),
            None => Err(not_wasm(bytes)),
        }
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Module(bytes) | Self::Component(bytes) => bytes,
        }
    }

    /// The code of the component, which a core module is made one of first, for an engine with the same settings.
    pub(crate) fn compile(self, engine: &Engine) -> Result<Vec<u8>, LoadErrorKind> {
        let wrapped;
        let bytes = match self {
            Self::Component(bytes) => bytes,
            Self::Module(bytes) => {
                wrapped = wrap(bytes)?;
                &wrapped
            }
        };
        engine.precompile_component(bytes).map_err(|error| LoadErrorKind::Invalid(words(&error)))
    }
}

fn not_wasm(bytes: &[u8]) -> LoadErrorKind {
    let is_text = |text: &str| !text.contains(|c: char| c.is_control() && !c.is_whitespace());
    match str::from_utf8(bytes).ok().filter(|text| is_text(text)) {
        Some(text) => {
            let text = text.trim_start();
            LoadErrorKind::Text { wat: ["(module", "(component", ";;"].iter().any(|start| text.starts_with(start)) }
        }
        None => LoadErrorKind::NotWasm,
    }
}

/// What the engine says, within bounds.
pub(crate) fn words(error: &wasmtime::Error) -> String {
    clean(format!("{error:#}"), MAX_WORDS_BYTES)
}

/// An unsigned 32-bit number in WebAssembly's encoding, and what follows it.
pub(crate) fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(value).ok()?, &bytes[at + 1..]));
        }
    }
    None
}
