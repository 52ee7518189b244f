//! The clock that ends calls at their deadline: it advances the engine's epoch while instances exist.
//!
//! It does not know deadlines: each call sets its own, in ticks from now. Main type: [`Clock`].

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

/// How far apart two ticks are: the granularity of deadlines.
///
/// 200 wake-ups a second are nothing beside training, and a deadline is about a callback that hangs, not
/// about microseconds.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// Ticks after which a call that begins now has had at least `deadline`.
///
/// One more than fits, since the first tick may come at once.
pub(crate) fn ticks(deadline: Duration) -> u64 {
    let ticks = deadline.as_nanos().div_ceil(TICK.as_nanos());
    u64::try_from(ticks).unwrap_or(u64::MAX / 2).min(u64::MAX / 2) + 1
}

/// One thread that ticks while somebody holds a [`Running`], and sleeps without waking otherwise.
///
/// Dropping it ends the thread.
pub(crate) struct Clock {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    running: usize,
    stop: bool,
}

impl Shared {
    // The state is two plain values, each written at once: a poisoned lock holds nothing half done.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the clock ticking while it lives.
pub(crate) struct Running(Arc<Shared>);

impl Clock {
    /// Starts the thread; it does not tick yet.
    pub(crate) fn start(engine: wasmtime::Engine) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("sandbox-clock".into())
            // It calls nothing that needs more; less would not hold the thread-local data of some programs.
            .stack_size(256 << 10)
            .spawn(move || tick(&own, &engine))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Ticks from now on, at least until the returned value is dropped.
    pub(crate) fn run(&self) -> Running {
        let mut state = self.shared.lock();
        state.running += 1;
        if state.running == 1 {
            self.shared.changed.notify_one();
        }
        drop(state);
        Running(Arc::clone(&self.shared))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // No wake-up: the thread sees at its next tick that nobody needs it any more.
        self.0.lock().running -= 1;
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It cannot panic: it only waits and adds one.
            let _ = thread.join();
        }
    }
}

fn tick(shared: &Shared, engine: &wasmtime::Engine) {
    let mut state = shared.lock();
    while !state.stop {
        if state.running == 0 {
            let idle = |state: &mut State| state.running == 0 && !state.stop;
            state = shared.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        // Only `stop` cuts a tick short; otherwise instances that come and go would hold the clock.
        let waited = shared.changed.wait_timeout_while(state, TICK, |state| !state.stop);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        engine.increment_epoch();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_early() {
        for (deadline, expected) in [
            (Duration::from_nanos(1), 2),
            (TICK, 2),
            (TICK + Duration::from_nanos(1), 3),
            (Duration::from_secs(1), 201),
            (Duration::MAX, u64::MAX / 2 + 1),
        ] {
            assert_eq!(ticks(deadline), expected, "{deadline:?}");
        }
    }

    #[test]
    fn the_thread_ends_with_the_clock() {
        let clock = Clock::start(wasmtime::Engine::default()).unwrap();
        let running = clock.run();
        let shared = Arc::downgrade(&clock.shared);
        drop(running);
        drop(clock);
        assert!(shared.upgrade().is_none());
    }
}
