//! Threads that compute on the CPU wait awake between a step's operations.
//!
//! A thread that has nothing to do is put to sleep by rayon after some 15 µs, and to wake it takes as long again or longer.
//! A step of a small model has many pauses of that length: whenever callbacks are called, a batch is gathered or a record is
//! written. OpenMP, with which PyTorch computes, keeps threads awake in the same way. It does not compute. Main type:
//! [`Awake`].

use std::{
    any::TypeId,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use burn::{backend::Flex, tensor::backend::AutodiffBackend};
use rayon::Yield;

/// How long a thread waits for work before it goes to sleep after all. Callbacks take up to 50 µs between two steps; a
/// checkpoint takes milliseconds, in which others may have the core.
const PATIENCE: Duration = Duration::from_micros(200);

/// Keeps the threads of the pool awake, that of the caller excepted.
#[derive(Debug)]
pub(crate) struct Awake {
    /// Threads that wait now.
    waiting: Arc<AtomicUsize>,
    /// Cores that there are; 0 where others than rayon's threads compute.
    cores: usize,
}

impl Awake {
    /// For what computes with a backend.
    pub(crate) fn of<B: AutodiffBackend>() -> Self {
        let is_on_cpu = TypeId::of::<B::InnerBackend>() == TypeId::of::<Flex>();
        let cores = if is_on_cpu { thread::available_parallelism().map_or(1, usize::from) } else { 0 };
        Self { waiting: Arc::default(), cores }
    }

    /// Lets threads wait awake from now on, until there is no work for a while. To be called once a step: where they wait
    /// already, it costs nothing.
    pub(crate) fn keep(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            return;
        }
        let others = self.others();
        if others == 0 {
            return;
        }
        self.waiting.store(others, Ordering::Relaxed);
        let (own, waiting) = (rayon::current_thread_index(), Arc::clone(&self.waiting));
        rayon::spawn_broadcast(move |thread| {
            if Some(thread.index()) != own {
                wait();
                waiting.fetch_sub(1, Ordering::Relaxed);
            }
        });
    }

    /// How many threads can wait awake. With more of them than cores they would take time from those that compute.
    fn others(&self) -> usize {
        let threads = rayon::current_num_threads();
        let is_useful = (2..=self.cores).contains(&threads);
        if is_useful { threads - usize::from(rayon::current_thread_index().is_some()) } else { 0 }
    }
}

/// Does what there is to do until there was nothing for a while.
fn wait() {
    let mut since = Instant::now();
    loop {
        if rayon::yield_now() == Some(Yield::Executed) {
            since = Instant::now();
        } else if since.elapsed() > PATIENCE {
            return;
        } else {
            // To whoever needs the core.
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::{Autodiff, Cuda};
    use rayon::ThreadPoolBuilder;

    use super::*;

    fn within<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    #[test]
    fn threads_that_wait_do_what_there_is_and_go_to_sleep_in_the_end() {
        within(3, || {
            let awake = Awake { waiting: Arc::default(), cores: 3 };
            for _ in 0..3 {
                awake.keep();
                awake.keep();
                assert!(awake.waiting.load(Ordering::Relaxed) <= 2, "there is one wait at a time");
                assert_eq!(rayon::join(|| rayon::join(|| 1, || 2), || 3), ((1, 2), 3));
                while awake.waiting.load(Ordering::Relaxed) > 0 {
                    thread::yield_now();
                }
            }
        });
    }

    #[test]
    fn nobody_waits_in_vain() {
        let awake = |cores| Awake { waiting: Arc::default(), cores };
        let others = |threads, cores| within(threads, || awake(cores).others());
        assert_eq!([(1, 4), (2, 4), (4, 4), (5, 4)].map(|(threads, cores)| others(threads, cores)), [0, 1, 3, 0]);
        assert_eq!(Awake::of::<Autodiff<Cuda>>().cores, 0);
        assert!(Awake::of::<Autodiff<Flex>>().cores > 0);
    }
}
