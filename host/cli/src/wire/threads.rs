//! The threads that compute on the CPU: how many there are, and that the loop is on one of them.
//!
//! Main function: [`computing`].

use std::{env, thread};

use rayon::ThreadPoolBuilder;

/// Says how many threads a process computes with on the CPU.
const THREADS: &str = "RAYON_NUM_THREADS";

/// Stack of a thread that computes: the loop's is one of them, and has what a main thread has.
const STACK_BYTES: usize = 8 << 20;

/// Does work on one of the threads that compute. A loop on another thread would hand every operation over and sleep until it
/// is done, which takes a tenth of a step.
///
/// Each of several ranks gets its part of the cores, unless the environment says how many threads there are.
pub(crate) fn computing<R: Send>(ranks: usize, work: impl FnOnce() -> R + Send) -> R {
    let count = if env::var_os(THREADS).is_some() { 0 } else { share(ranks) };
    let pool = ThreadPoolBuilder::new().num_threads(count).stack_size(STACK_BYTES);
    // Where there are threads already, they stay as they are.
    drop(pool.thread_name(|at| format!("compute-{at}")).build_global());
    rayon::scope(|_| work())
}

/// The part of the cores that one of several ranks has.
fn share(ranks: usize) -> usize {
    (thread::available_parallelism().map_or(1, usize::from) / ranks).max(1)
}
