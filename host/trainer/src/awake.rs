//! Threads that compute on the CPU wait awake between a step's operations.
//!
//! A thread that has nothing to do is put to sleep by rayon after some 15 µs, and to wake it takes as long again or longer.
//! A step of a small model has many pauses of that length: whenever callbacks are called, a batch is gathered or a record is
//! written. OpenMP, with which PyTorch computes, keeps threads awake in the same way. It does not compute. Main type:
//! [`Awake`].

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use burn::tensor::backend::AutodiffBackend;
use rayon::Yield;

use crate::fused::is_on_host;

/// How long a thread waits for work before it goes to sleep after all. Callbacks take up to 50 µs between two steps; a
/// checkpoint takes milliseconds, in which others may have the core.
const PATIENCE: Duration = Duration::from_micros(200);

/// Steps that begin without waiting threads after a wait in which there was no work: all operations of a small model may be
/// done by one thread.
const PAUSE: usize = 100;

/// Keeps all threads of the pool but one awake: the caller is that one, or it needs the core of one.
#[derive(Debug)]
pub(crate) struct Awake {
    /// Cores that there are; 0 where others than rayon's threads compute.
    cores: usize,
    /// Steps before threads wait again.
    pause: usize,
    watch: Arc<Watch>,
}

/// What threads that wait tell.
#[derive(Debug)]
struct Watch {
    /// How many of them there are now.
    waiting: AtomicUsize,
    /// Whether one of the last ones had work.
    had_work: AtomicBool,
}

impl Awake {
    /// For what computes with a backend.
    pub(crate) fn of<B: AutodiffBackend>() -> Self {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        Self::with(if is_on_host::<B::InnerBackend>() { cores() } else { 0 })
    }

    fn with(cores: usize) -> Self {
        let watch = Watch { waiting: AtomicUsize::new(0), had_work: AtomicBool::new(true) };
        Self { cores, pause: 0, watch: Arc::new(watch) }
    }

    /// Lets threads wait awake from now on, until there is no work for a while. To be called once a step: where they wait
    /// already, it costs nothing.
    pub(crate) fn keep(&mut self) {
        if self.watch.waiting.load(Ordering::Acquire) > 0 {
            return;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        if !self.watch.had_work.swap(true, Ordering::Relaxed) {
            self.pause = PAUSE;
            return;
        }
        self.begin();
    }

    fn begin(&self) {
        let others = self.others();
        if others == 0 {
            return;
        }
        self.watch.waiting.store(others, Ordering::Relaxed);
        self.watch.had_work.store(false, Ordering::Relaxed);
        let (callers, watch) = (rayon::current_thread_index(), Arc::clone(&self.watch));
        rayon::spawn_broadcast(move |thread| {
            if thread.index() != callers.unwrap_or(0) {
                watch.wait();
            }
        });
        if callers.is_some() {
            // Takes the caller's own copy, which would lie there until the caller has to wait for another thread.
            rayon::yield_now();
        }
    }

    /// How many threads can wait awake. With more of them than cores they would take time from those that compute.
    fn others(&self) -> usize {
        let threads = rayon::current_num_threads();
        if (2..=self.cores).contains(&threads) { threads - 1 } else { 0 }
    }
}

impl Watch {
    /// Does what there is to do until there was nothing for a while.
    fn wait(&self) {
        let (mut since, mut had_work) = (Instant::now(), false);
        loop {
            if rayon::yield_now() == Some(Yield::Executed) {
                (since, had_work) = (Instant::now(), true);
            } else if since.elapsed() > PATIENCE {
                break;
            } else {
                // To whoever needs the core.
                thread::yield_now();
            }
        }
        self.had_work.fetch_or(had_work, Ordering::Relaxed);
        self.waiting.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::{Autodiff, Cuda, Flex};
    use rayon::ThreadPoolBuilder;

    use super::*;

    fn within<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    fn waiting(awake: &Awake) -> usize {
        awake.watch.waiting.load(Ordering::Acquire)
    }

    fn until_nobody_waits(awake: &Awake) {
        while waiting(awake) > 0 {
            thread::yield_now();
        }
    }

    #[test]
    fn threads_that_wait_do_what_there_is_and_go_to_sleep_in_the_end() {
        within(3, || {
            let mut awake = Awake::with(3);
            for _ in 0..3 {
                awake.begin();
                awake.keep();
                assert!(waiting(&awake) <= 2, "there is one wait at a time");
                assert_eq!(rayon::join(|| rayon::join(|| 1, || 2), || 3), ((1, 2), 3));
                until_nobody_waits(&awake);
            }
        });
    }

    #[test]
    fn where_there_was_no_work_nobody_waits_for_some_steps() {
        within(2, || {
            let mut awake = Awake::with(2);
            awake.keep();
            until_nobody_waits(&awake);
            assert!(!awake.watch.had_work.load(Ordering::Relaxed));
            for _ in 0..=PAUSE {
                awake.keep();
                assert_eq!(waiting(&awake), 0);
            }
            assert!(awake.pause == 0 && awake.watch.had_work.load(Ordering::Relaxed), "the next step tries again");
        });
    }

    #[test]
    fn nobody_waits_in_vain() {
        let others = |threads, cores| within(threads, || Awake::with(cores).others());
        assert_eq!([(1, 4), (2, 4), (4, 4), (5, 4)].map(|(threads, cores)| others(threads, cores)), [0, 1, 3, 0]);
        assert_eq!(Awake::of::<Autodiff<Cuda>>().cores, 0);
        assert!(Awake::of::<Autodiff<Flex>>().cores > 0);
    }
}
