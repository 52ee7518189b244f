//! What this process holds: memory, threads, open files. Tests of this binary take turns, so that it is theirs. Main
//! functions: [`turn`], [`Memory::is_flat`].

use std::{
    env, fs,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Longer than a thread takes to end on a busy machine.
const ENDS_WITHIN: Duration = Duration::from_secs(600);

/// What allocators may keep besides: how much that is depends on which threads happen to allocate.
pub(crate) const SLACK: usize = 8 << 20;

static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other test runs.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The numbers of rounds: `HOST_SOAK_ROUNDS` as a count or a range, or else the first one.
pub(crate) fn rounds() -> Range<u64> {
    let asked = env::var("HOST_SOAK_ROUNDS").unwrap_or_else(|_| "1".to_owned());
    let number = |text: &str| text.trim().parse().unwrap_or_else(|_| panic!("HOST_SOAK_ROUNDS={asked} is no number"));
    match asked.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => 0..number(&asked),
    }
}

/// How many rounds there are.
pub(crate) fn round_count() -> u64 {
    let rounds = rounds();
    rounds.end - rounds.start
}

/// Threads and open files; 0 where they are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    threads: usize,
    files: usize,
}

pub(crate) fn held() -> Held {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
    // Threads of tests come and go as others end; they are called after their tests.
    let names = entries("/proc/self/task").filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    Held { threads: names.filter(|name| !name.contains("::")).count(), files: entries("/proc/self/fd").count() }
}

/// Waits until no more is held than before. Threads that nobody joins need a moment to end.
pub(crate) fn is_given_back(before: Held) {
    let began = Instant::now();
    loop {
        let now = held();
        if now.threads <= before.threads && now.files <= before.files {
            return;
        }
        assert!(began.elapsed() < ENDS_WITHIN, "{now:?} is held, and {before:?} was");
        thread::yield_now();
    }
}

/// How much memory the process had, again and again.
#[derive(Default)]
pub(crate) struct Memory(Vec<usize>);

impl Memory {
    pub(crate) fn note(&mut self) {
        let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        self.0.push(pages.unwrap_or_default() * 4096);
    }

    /// The last quarter's median is within 5 % of the first one's, and `slack` besides.
    #[expect(clippy::print_stdout, reason = "how much it was is for whoever asks")]
    pub(crate) fn is_flat(&self, what: &str, slack: usize) {
        let medians: Vec<usize> = self.0.chunks(self.0.len().div_ceil(4)).map(median).collect();
        let shown = medians.iter().map(|bytes| format!("{:.1}", *bytes as f64 / f64::from(1 << 20)));
        let shown = shown.collect::<Vec<_>>().join(", ");
        println!("{what}: medians of memory by quarter: {shown} MiB");
        let (first, last) = (medians[0], medians[medians.len() - 1]);
        assert!(last <= first + first / 20 + slack, "{what}: memory grew: {shown} MiB by quarter");
    }
}

fn median(values: &[usize]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}
