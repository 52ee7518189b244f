//! Threads that compile, or wait for a process that does: with a large stack, few, and in a hurry only before a run begins.
//!
//! They know nothing of components. Main type: [`Compilers`].

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::world::panic_message;

/// Stack of the threads that compile: what a main thread has. Translation recurses into nested types.
const STACK_BYTES: usize = 8 << 20;

/// Threads that compile at one time. More do not help: the largest function of a component bounds it.
const MOST: usize = 8;

/// How far a thread that nobody waits for steps back, of 19. Beside a thread of the usual priority it gets about two
/// fifths of a core, and all that nobody else wants: a lower one would wait for minutes where every core is busy.
#[cfg(target_os = "linux")]
const STEP_BACK: i32 = 2;

/// How much a compilation matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Haste {
    /// Somebody waits for it.
    #[default]
    Ordinary,
    /// A run goes on meanwhile, and must not notice.
    Aside,
}

/// Both kinds of threads, each made when something is compiled for the first time: with a warm cache nothing ever is.
#[derive(Default)]
pub(crate) struct Compilers {
    ordinary: Pool,
    aside: Pool,
}

type Pool = Mutex<Option<Arc<ThreadPool>>>;

impl Compilers {
    /// Does work on such a thread. A panic in it becomes an error with the panic's words.
    pub(crate) fn run<T: Send>(&self, haste: Haste, work: impl FnOnce() -> T + Send) -> Result<T, String> {
        let pool = self.pool(haste).map_err(|error| error.to_string())?;
        pool.install(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| panic_message(&*panic))
    }

    fn pool(&self, haste: Haste) -> io::Result<Arc<ThreadPool>> {
        let pool = match haste {
            Haste::Ordinary => &self.ordinary,
            Haste::Aside => &self.aside,
        };
        let mut pool = pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = &*pool {
            return Ok(Arc::clone(pool));
        }
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        // Half of the cores for what nobody waits for: also a thread that steps back shares caches with its neighbour.
        let threads = if haste == Haste::Aside { cores.div_ceil(2) } else { cores }.min(MOST);
        let made = ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(STACK_BYTES)
            .thread_name(|at| format!("sandbox-compile-{at}"))
            .start_handler(move |_| match haste {
                Haste::Ordinary => {}
                Haste::Aside => step_back(),
            })
            .build()
            .map_err(io::Error::other)?;
        Ok(Arc::clone(pool.insert(Arc::new(made))))
    }
}

/// Gives this thread a low priority. Where that is not to be had, the system shares its cores out as it likes.
#[cfg(target_os = "linux")]
pub(crate) fn step_back() {
    // On Linux a priority belongs to a thread, and `None` is the one that asks; elsewhere it is the whole process.
    let _ = rustix::process::setpriority_process(None, STEP_BACK);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn step_back() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_while_compiling_is_an_error() {
        for haste in [Haste::Ordinary, Haste::Aside] {
            let compilers = Compilers::default();
            assert_eq!(compilers.run(haste, || 7), Ok(7));
            assert_eq!(compilers.run(haste, || -> u8 { panic!("too deep") }), Err("too deep".to_owned()));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_threads_that_nobody_waits_for_step_back() {
        let compilers = Compilers::default();
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let usual = priority();
        assert_eq!(compilers.run(Haste::Ordinary, priority), Ok(usual));
        assert_eq!(compilers.run(Haste::Aside, priority), Ok(STEP_BACK));
        assert_eq!(priority(), usual);
    }
}
