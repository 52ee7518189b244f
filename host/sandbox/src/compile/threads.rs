//! Threads that compile, or wait for a process that does: with a large stack, few, and in a hurry only before a run begins.
//!
//! They know nothing of components. Main type: [`Compilers`]; [`patiently`] is for a process that does nothing else.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
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
    /// Only what nobody else wants of the cores is taken, which may be next to nothing: see [`patiently`].
    Idle,
}

/// Each kind of threads, made when something is compiled for the first time: with a warm cache nothing ever is.
#[derive(Default)]
pub(crate) struct Compilers {
    ordinary: Pool,
    aside: Pool,
    idle: Pool,
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
            Haste::Idle => &self.idle,
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
                Haste::Idle => idle(),
            })
            .build()
            .map_err(io::Error::other)?;
        Ok(Arc::clone(pool.insert(Arc::new(made))))
    }
}

/// Does work on idle threads. Where that takes longer than `patience`, because every core is wanted, it is begun once more on
/// threads that step back, and what comes first counts. A thread that was made idle cannot be raised again.
pub(super) fn patiently<T: Send + 'static>(
    patience: Duration,
    work: impl Fn() -> T + Send + Sync + 'static,
) -> Result<T, String> {
    let (work, (done, first)) = (Arc::new(work), mpsc::channel());
    let begin = |haste| {
        let (work, done) = (Arc::clone(&work), done.clone());
        let run = move || drop(done.send(Compilers::default().run(haste, || work())));
        thread::Builder::new().spawn(run).map(drop).map_err(|error| error.to_string())
    };
    begin(Haste::Idle)?;
    if let Ok(result) = first.recv_timeout(patience) {
        return result;
    }
    begin(Haste::Aside)?;
    first.recv().map_err(|error| error.to_string())?
}

/// Gives this thread what is left of the cores, and nothing else. Where that is not to be had it steps back.
#[cfg(target_os = "linux")]
fn idle() {
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
    };
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    if set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy).is_err() {
        step_back();
    }
}

#[cfg(not(target_os = "linux"))]
fn idle() {
    step_back();
}

/// Gives this thread a low priority, or leaves it one that is lower already. Where that is not to be had, the system
/// shares its cores out as it likes.
#[cfg(target_os = "linux")]
pub(crate) fn step_back() {
    // On Linux a priority belongs to a thread, and `None` is the one that asks; elsewhere it is the whole process.
    let usual = rustix::process::getpriority_process(None).unwrap_or_default();
    let _ = rustix::process::setpriority_process(None, usual.max(STEP_BACK));
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn step_back() {}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn a_panic_while_compiling_is_an_error() {
        for haste in [Haste::Ordinary, Haste::Aside, Haste::Idle] {
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
        // Whoever runs the tests may have stepped back further.
        assert_eq!(compilers.run(Haste::Aside, priority), Ok(usual.max(STEP_BACK)));
        assert_eq!(priority(), usual);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn idle_threads_take_what_is_left() {
        use thread_priority::{NormalThreadSchedulePolicy, ThreadSchedulePolicy, thread_schedule_policy};
        let policy = || thread_schedule_policy().unwrap();
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        assert_eq!(Compilers::default().run(Haste::Idle, policy), Ok(idle));
        assert_ne!(policy(), idle);
    }

    #[test]
    fn patience_ends_with_a_second_try() {
        assert_eq!(patiently(Duration::MAX, || 7), Ok(7));
        // The first try waits for the second one: without it there would be no end.
        let tries = Barrier::new(2);
        let work = move || {
            tries.wait();
            7
        };
        assert_eq!(patiently(Duration::ZERO, work), Ok(7));
    }
}
