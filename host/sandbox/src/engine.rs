//! The sandbox itself: the engine's settings, and what all plugins share.
//!
//! It does not look into files ([`component`](crate::component) does) and runs nothing by itself. Main type:
//! [`Sandbox`].

use std::{path::PathBuf, sync::Arc};

use host_callback::Catalog;
use wasmtime::{Config, Engine, Memory, MemoryType, Store};

use crate::{
    Limits,
    cache::Cache,
    clock::Clock,
    compile::{Compiler, Compilers, Haste},
    error::SandboxError,
    log::InstanceLog,
    store::{StoreData, new_store},
    world::{Random, World},
};

/// Stack that WebAssembly may use. Beyond it a call traps; the host's own stack is not touched. A thread
/// that calls callbacks needs this and some 200 KiB, which every thread of Rust's has.
const WASM_STACK_BYTES: usize = 512 << 10;

/// Address space of a memory, and of what lies behind it and faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Everything that a guest of 32 bits can address, with an offset. Then no access needs a check of its own, since what
    /// is not there faults, and code is smaller: an event is a fifth faster, and a third when caches are cold. Only pages
    /// that are used take memory.
    Whole,
    /// What a memory has at first, and gets when it outgrows that, where address space is limited (`ulimit -v`).
    Small,
}

impl Room {
    fn memory_bytes(self) -> u64 {
        match self {
            Self::Whole => 4 << 30,
            Self::Small => 16 << 20,
        }
    }

    fn guard_bytes(self) -> u64 {
        match self {
            Self::Whole => 32 << 20,
            Self::Small => 64 << 10,
        }
    }
}

/// Memories for which there must be room: those of a run's instances, and others while they are replaced.
const MEMORIES: usize = 64;

/// Settings of a [`Sandbox`].
#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// Where compiled code is kept; `None` compiles at each load. The folder is made private (mode 0700), and
    /// several processes may use it at once. Default `None`.
    pub cache: Option<PathBuf>,
    /// The largest plugin file in bytes. Beyond it a load fails before anything is read. Default 64 MiB:
    /// Python components have 18, and compiling takes time and memory in proportion.
    pub file_bytes: u64,
    /// Where plugins are compiled. Default [`Compiler::Threads`], which needs no program; a process holds limits.
    pub compiler: Compiler,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self { cache: None, file_bytes: 64 << 20, compiler: Compiler::default() }
    }
}

/// Loads plugins and carries what their instances share.
///
/// A clone is another handle to the same sandbox. Its clock's thread ends with the last handle, plugin and
/// instance.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) inner: Arc<Inner>,
    pub(crate) haste: Haste,
}

/// What plugins and instances keep of their sandbox.
pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) world: World,
    pub(crate) cache: Option<Cache>,
    pub(crate) file_bytes: u64,
    pub(crate) compilers: Compilers,
    pub(crate) compiler: Compiler,
    /// What memories of the engine have: code is compiled for it.
    pub(crate) room: Room,
    clock: Clock,
}

impl Sandbox {
    /// Sets a sandbox up.
    ///
    /// # Errors
    ///
    /// When the engine does not run on this machine, a thread cannot be started, or the cache folder cannot
    /// be made private.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        let engine_error = |error: wasmtime::Error| SandboxError::Engine(format!("{error:#}"));
        let (engine, room) = engine().map_err(engine_error)?;
        let world = World::new(&engine).map_err(engine_error)?;
        let clock = Clock::start(engine.clone()).map_err(SandboxError::Thread)?;
        let cache = config
            .cache
            .map(|folder| Cache::open(&folder, &engine).map_err(|source| SandboxError::Cache { folder, source }));
        let inner = Inner {
            engine,
            world,
            cache: cache.transpose()?,
            file_bytes: config.file_bytes,
            compilers: Compilers::default(),
            compiler: config.compiler,
            room,
            clock,
        };
        Ok(Self { inner: Arc::new(inner), haste: Haste::Ordinary })
    }

    /// The same sandbox, for plugins that nobody waits for: what it compiles leaves the cores to whoever else wants
    /// them, as far as the system can do that.
    #[must_use]
    pub fn aside(&self) -> Self {
        Self { haste: Haste::Aside, ..self.clone() }
    }
}

impl Inner {
    /// A limited store for one instance. The clock ticks while it lives.
    pub(crate) fn store(
        &self,
        limits: &Limits,
        log: InstanceLog,
        catalog: Catalog,
        random: Random,
    ) -> Store<StoreData> {
        new_store(&self.engine, StoreData::new(limits, log, catalog, random, self.clock.run()))
    }
}

/// An engine whose memories have the whole room, or a small one where that is not to be had.
fn engine() -> wasmtime::Result<(Engine, Room)> {
    let engine = Engine::new(&settings(Room::Whole))?;
    if has_room(&engine) { Ok((engine, Room::Whole)) } else { Ok((Engine::new(&settings(Room::Small))?, Room::Small)) }
}

/// Tries it out: whether there is so much address space depends on the processor, the system and its limits.
fn has_room(engine: &Engine) -> bool {
    let mut store = Store::new(engine, ());
    let page = || Memory::new(&mut store, MemoryType::new(1, None));
    std::iter::repeat_with(page).take(MEMORIES).all(|memory| memory.is_ok())
}

/// What code is compiled for; the same in every process with the same room.
pub(crate) fn settings(room: Room) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // Nothing here is asynchronous, and bookkeeping for it would cost each call.
        .concurrency_support(false)
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        .memory_reservation(room.memory_bytes())
        .memory_reservation_for_growth(Room::Small.memory_bytes())
        .memory_guard_size(room.guard_bytes())
        // The same decisions on every machine, whatever its vector units make of NaN.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true);
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_address_space_is_short_there_is_no_room() {
        assert!(has_room(&Engine::new(&settings(Room::Small)).unwrap()));
        let mut short = settings(Room::Whole);
        // All of these together are more than any processor addresses today.
        short.memory_reservation(1 << 46);
        assert!(!has_room(&Engine::new(&short).unwrap()));
    }
}
