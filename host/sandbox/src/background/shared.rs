//! What the loop and a background callback's thread have in common, behind one lock.
//!
//! Nobody holds the lock for longer than it takes to move a few values: never while a callback runs. Main type:
//! [`Shared`].

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use host_callback::{CallbackFailure, Decision, Event, Lag, MAX_DECISIONS, Usage};

use super::queue::{Numbered, Queue};

/// A state and its version; `None` for a callback without one.
type Saved = Option<(u32, Vec<u8>)>;

/// What came of an event.
pub(super) struct Done {
    pub(super) answer: Result<Vec<Decision>, CallbackFailure>,
    /// The state after it, where it was asked for.
    pub(super) state: Option<Saved>,
    /// What went wrong besides.
    pub(super) failures: Vec<CallbackFailure>,
    pub(super) usage: Usage,
}

/// What both threads see.
pub(super) struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
}

struct Inner {
    queue: Queue,
    /// An event was taken and is not answered yet.
    is_busy: bool,
    /// The thread is to end, or has ended.
    is_ending: bool,
    /// Answers that nobody has got yet. There are at most as many as events that can wait, and two more: each new
    /// event takes one along.
    answers: VecDeque<Vec<Decision>>,
    failures: VecDeque<CallbackFailure>,
    state: Saved,
    /// The number of the last event that `state` has seen.
    state_saw: u64,
    usage: Usage,
}

impl Shared {
    pub(super) fn new(most: usize) -> Self {
        let inner = Inner {
            queue: Queue::new(most),
            is_busy: false,
            is_ending: false,
            answers: VecDeque::new(),
            failures: VecDeque::new(),
            state: None,
            state_saw: 0,
            usage: Usage::default(),
        };
        Self { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    // Nothing is done under the lock that could panic half way, so a poisoned one holds nothing half done.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread is about to start.
    pub(super) fn begin(&self, usage: Usage) {
        let mut inner = self.lock();
        inner.is_ending = false;
        inner.usage = usage;
    }

    /// An event goes in; answers come out, as many whole ones as the resolution looks at, or a failure.
    pub(super) fn exchange(&self, event: Event) -> Result<Vec<Decision>, CallbackFailure> {
        let mut inner = self.lock();
        // A thread that is at work or has work looks again by itself.
        let is_waiting = inner.queue.is_empty() && !inner.is_busy;
        inner.queue.push(event);
        if inner.is_ending {
            inner.queue.drop_all();
        }
        let given = match inner.failures.pop_front() {
            Some(failure) => Err(failure),
            None => Ok(inner.next_answers()),
        };
        drop(inner);
        if is_waiting {
            self.changed.notify_all();
        }
        given
    }

    /// The next event, as soon as there is one; `None` when the thread is to end.
    pub(super) fn next(&self) -> Option<Numbered> {
        let inner = self.lock();
        let is_waiting = |inner: &mut Inner| inner.queue.is_empty() && !inner.is_ending;
        let mut inner = self.changed.wait_while(inner, is_waiting).unwrap_or_else(PoisonError::into_inner);
        let event = inner.queue.pop();
        inner.is_busy = event.is_some();
        event
    }

    /// An event was answered.
    pub(super) fn publish(&self, number: u64, done: Done) {
        let mut inner = self.lock();
        match done.answer {
            Ok(answer) if answer.is_empty() => {}
            Ok(answer) => inner.answers.push_back(answer),
            Err(failure) => inner.failures.push_back(failure),
        }
        inner.failures.extend(done.failures);
        if let Some(state) = done.state {
            (inner.state, inner.state_saw) = (state, number);
        }
        inner.usage = done.usage;
        inner.is_busy = false;
        drop(inner);
        self.changed.notify_all();
    }

    /// The callback is gone; nothing more will be answered.
    pub(super) fn lose(&self, failure: CallbackFailure) {
        let mut inner = self.lock();
        inner.failures.push_back(failure);
        (inner.is_busy, inner.is_ending) = (false, true);
        inner.queue.drop_all();
        drop(inner);
        self.changed.notify_all();
    }

    /// Waits until nothing waits, for at most `drain`, and tells the thread to end.
    pub(super) fn end(&self, drain: Duration) {
        let is_working = |inner: &mut Inner| inner.is_busy || !inner.queue.is_empty();
        let waited = self.changed.wait_timeout_while(self.lock(), drain, is_working);
        let (mut inner, _) = waited.unwrap_or_else(PoisonError::into_inner);
        inner.queue.drop_all();
        inner.is_ending = true;
        drop(inner);
        self.changed.notify_all();
    }

    /// All answers that nobody has got yet.
    pub(super) fn take_answers(&self) -> Vec<Vec<Decision>> {
        self.lock().answers.drain(..).collect()
    }

    pub(super) fn take_failure(&self) -> Option<CallbackFailure> {
        self.lock().failures.pop_front()
    }

    /// The state before the first event.
    pub(super) fn keep(&self, version: u32, state: &[u8]) {
        self.lock().state = Some((version, state.to_vec()));
    }

    pub(super) fn state(&self) -> Saved {
        self.lock().state.clone()
    }

    pub(super) fn usage(&self) -> Usage {
        self.lock().usage
    }

    pub(super) fn lag(&self) -> Lag {
        let inner = self.lock();
        Lag { dropped: inner.queue.dropped, unseen: inner.queue.sent - inner.state_saw }
    }
}

impl Inner {
    /// Whole answers, in order, while they are not more than one answer may have; at least one.
    fn next_answers(&mut self) -> Vec<Decision> {
        let mut given = self.answers.pop_front().unwrap_or_default();
        while let Some(next) = self.answers.pop_front_if(|next| given.len() + next.len() <= MAX_DECISIONS) {
            given.extend(next);
        }
        given
    }
}

#[cfg(test)]
impl Shared {
    /// Waits until every event is answered.
    pub(super) fn settle(&self) {
        let is_working = |inner: &mut Inner| inner.is_busy || !inner.queue.is_empty();
        drop(self.changed.wait_while(self.lock(), is_working));
    }

    /// Waits until the thread is told to end.
    pub(super) fn until_it_ends(&self) {
        drop(self.changed.wait_while(self.lock(), |inner| !inner.is_ending));
    }
}
