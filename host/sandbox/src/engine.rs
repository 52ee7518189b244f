//! The sandbox itself: the engine's settings, the clock, the cache and the threads that compile.
//!
//! It does not look into files ([`component`](crate::component) does) and runs nothing by itself. Main type:
//! [`Sandbox`].

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use host_callback::Catalog;
use rayon::{ThreadPool, ThreadPoolBuilder};
use wasmtime::{Config, Engine, Store, component::Linker};

use crate::{
    Limits,
    cache::Cache,
    clock::Clock,
    error::SandboxError,
    log::InstanceLog,
    store::{StoreData, new_store},
    world::{self, panic_message},
};

/// Stack that WebAssembly may use. Beyond it a call traps; the host's own stack is not touched. A thread
/// that calls callbacks needs this and some 200 KiB, which every thread of Rust's has.
const WASM_STACK_BYTES: usize = 512 << 10;

/// Stack of the threads that compile: what a main thread has. Translation recurses into nested types.
const COMPILE_STACK_BYTES: usize = 8 << 20;

/// Threads that compile at one time. More do not help: the largest function of a component bounds it.
const COMPILE_THREADS: usize = 8;

/// Address space that a memory has at first, and that it gets when it outgrows that. Small, so that hundreds of
/// instances fit where address space is limited; the default of 4 GiB each would save bounds checks, which
/// callbacks do not notice.
const MEMORY_RESERVATION_BYTES: u64 = 16 << 20;

/// Settings of a [`Sandbox`].
#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// Where compiled code is kept; `None` compiles at each load. The folder is made private (mode 0700), and
    /// several processes may use it at once. Default `None`.
    pub cache: Option<PathBuf>,
    /// The largest plugin file in bytes. Beyond it a load fails before anything is read. Default 64 MiB:
    /// Python components have 18, and compiling takes time and memory in proportion.
    pub file_bytes: u64,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self { cache: None, file_bytes: 64 << 20 }
    }
}

/// Loads plugins and carries what their instances share.
///
/// A clone is another handle to the same sandbox. Its clock's thread ends with the last handle, plugin and
/// instance.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) inner: Arc<Inner>,
}

/// What plugins and instances keep of their sandbox.
pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<StoreData>,
    pub(crate) cache: Option<Cache>,
    pub(crate) file_bytes: u64,
    clock: Clock,
    /// Made when something is compiled for the first time: with a warm cache nothing ever is.
    pool: Mutex<Option<Arc<ThreadPool>>>,
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
        let engine = Engine::new(&settings()).map_err(engine_error)?;
        let linker = world::linker(&engine).map_err(engine_error)?;
        let clock = Clock::start(engine.clone()).map_err(SandboxError::Thread)?;
        let cache = config
            .cache
            .map(|folder| Cache::open(&folder, &engine).map_err(|source| SandboxError::Cache { folder, source }));
        let (cache, file_bytes) = (cache.transpose()?, config.file_bytes);
        let pool = Mutex::new(None);
        Ok(Self { inner: Arc::new(Inner { engine, linker, cache, file_bytes, clock, pool }) })
    }
}

impl Inner {
    /// A limited store for one instance. The clock ticks while it lives.
    pub(crate) fn store(&self, limits: &Limits, log: InstanceLog, catalog: Catalog) -> Store<StoreData> {
        new_store(&self.engine, StoreData::new(limits, log, catalog, self.clock.run()))
    }

    /// Does work on a thread with a large stack. A panic in it becomes an error with the panic's words.
    pub(crate) fn on_large_stack<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, String> {
        let pool = self.pool().map_err(|error| error.to_string())?;
        pool.install(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| panic_message(&*panic))
    }

    fn pool(&self) -> io::Result<Arc<ThreadPool>> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = &*pool {
            return Ok(Arc::clone(pool));
        }
        let threads = thread::available_parallelism().map_or(1, |cores| cores.get().min(COMPILE_THREADS));
        let made = ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(COMPILE_STACK_BYTES)
            .thread_name(|at| format!("sandbox-compile-{at}"))
            .build()
            .map_err(io::Error::other)?;
        Ok(Arc::clone(pool.insert(Arc::new(made))))
    }
}

fn settings() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // Nothing here is asynchronous, and bookkeeping for it would cost each call.
        .concurrency_support(false)
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        .memory_reservation(MEMORY_RESERVATION_BYTES)
        .memory_reservation_for_growth(MEMORY_RESERVATION_BYTES)
        .memory_guard_size(64 << 10)
        // The same decisions on every machine, whatever its vector units make of NaN.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true);
    config
}
