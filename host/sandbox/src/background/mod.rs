//! A callback on a thread of its own, so that the loop never waits for it: the manifest's lane `background`.
//!
//! It does not know WebAssembly: it takes any [`Callback`], and limits what waits, not what runs. Main type:
//! [`Background`].
//!
//! The callback stays with its owner until the first event, so that a state which it does not take back is an error
//! at the start, and comes back when the run has ended. In between the two threads share only what is in
//! [`shared`]: events one way, answers, failures and the state the other way.

mod pace;
mod queue;
mod shared;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use host_callback::{
    Callback, CallbackFailure, Consequence, Decision, Event, FailureKind, Identity, Lag, Subscription, Usage,
};

use self::{
    pace::Pace,
    shared::{Done, Shared},
};
use crate::{failure::Fault, world::panic_message};

/// How much waits for a callback on a thread of its own, and how long it is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundSettings {
    /// Events that may wait, at least 1. When there is no room for a new one, the oldest that waits of the same hook is
    /// dropped, and with none of the same hook the oldest of all.
    ///
    /// Default 64: a callback that is as fast as the loop on average may pause for so many of its events.
    pub queue: usize,
    /// How long the end of the run waits for events that still wait. What is left after it is dropped; the event that
    /// is being handled then is still waited for, since only its own limits end it.
    ///
    /// Default 5 s.
    pub drain: Duration,
}

impl Default for BackgroundSettings {
    fn default() -> Self {
        Self { queue: 64, drain: Duration::from_secs(5) }
    }
}

type Any = Box<dyn Callback + Send>;

/// Runs a callback on a thread of its own.
///
/// - [`handle`](Callback::handle) puts the event into the queue and gives what the callback has answered since the
///   last time, or the oldest failure that nobody was told of. Decisions that steer are passed on like any other; the
///   permit of a background callback refuses them by name.
/// - [`save`](Callback::save) gives the state that was taken last, which may be some events old:
///   [`lag`](Callback::lag) says how many. It is taken after an event, and at nearly every
///   one where that is cheap.
/// - [`usage`](Callback::usage) is that of the thread, for which the loop did not wait.
/// - [`finish`](Callback::finish) waits for the queue, within a bound, and ends the thread.
///
/// Dropping it ends the thread too, and drops what waits. A thread ends after the event that it is at: one in which
/// the guest never returns is ended by the guest's limits.
pub struct Background {
    identity: Arc<Identity>,
    order: i32,
    subscriptions: Vec<Subscription>,
    settings: BackgroundSettings,
    shared: Arc<Shared>,
    place: Place,
}

/// Where the callback is.
enum Place {
    /// With its owner: before the first event and after the last one.
    Here(Any),
    /// With its thread.
    There(JoinHandle<Option<Any>>),
    /// Nowhere: it panicked, or the thread could not be started.
    Lost,
}

impl Background {
    /// Prepares a callback to be run on a thread, which starts with the first event.
    pub fn new(callback: impl Callback + 'static, settings: BackgroundSettings) -> Self {
        Self {
            identity: Arc::clone(callback.identity()),
            order: callback.order(),
            subscriptions: callback.subscriptions().to_vec(),
            settings,
            shared: Arc::new(Shared::new(settings.queue)),
            place: Place::Here(Box::new(callback)),
        }
    }

    /// Sees to it that the callback is with its thread, unless it is lost.
    fn send_off(&mut self) -> Result<(), CallbackFailure> {
        let callback = match std::mem::replace(&mut self.place, Place::Lost) {
            Place::Here(callback) => callback,
            place => {
                self.place = place;
                return Ok(());
            }
        };
        self.shared.begin(callback.usage());
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name(format!("callback {}", self.identity.instance));
        match thread.spawn(move || work(callback, &shared)) {
            Ok(thread) => self.place = Place::There(thread),
            Err(error) => {
                let fault = Fault::new(FailureKind::Host, format!("a thread could not be started: {error}"));
                return Err(fault.with(Consequence::Disabled));
            }
        }
        Ok(())
    }

    /// Ends the thread after at most `drain` and the event that it is at; the callback comes back.
    fn bring_back(&mut self, drain: Duration) {
        self.place = match std::mem::replace(&mut self.place, Place::Lost) {
            Place::There(thread) => {
                self.shared.end(drain);
                // A panic of the callback was caught, so this is `Ok`; of ours it is as if it had been lost.
                thread.join().ok().flatten().map_or(Place::Lost, Place::Here)
            }
            place => place,
        };
    }
}

/// What the thread does: one event after the other, until it is told to end.
fn work(mut callback: Any, shared: &Shared) -> Option<Any> {
    let mut pace = Pace::new(0);
    while let Some((number, event)) = shared.next() {
        match catch_unwind(AssertUnwindSafe(|| answer(&mut *callback, &event, &mut pace))) {
            Ok(done) => shared.publish(number, done),
            Err(panic) => {
                let fault = Fault::new(FailureKind::Host, panic_message(&*panic));
                shared.lose(fault.with(Consequence::Disabled));
                return None;
            }
        }
    }
    Some(callback)
}

fn answer(callback: &mut dyn Callback, event: &Event, pace: &mut Pace) -> Done {
    let answer = callback.handle(event);
    let step = event.moment.progress.step;
    let mut state = None;
    let mut failures = Vec::new();
    if answer.is_ok() && pace.is_due(step) {
        let before = callback.usage().fuel;
        match callback.save() {
            Ok(saved) => state = Some(saved),
            Err(failure) => failures.push(failure),
        }
        failures.extend(callback.take_failure());
        pace.taken(step, callback.usage().fuel - before);
    }
    Done { answer, state, failures, usage: callback.usage() }
}

impl Callback for Background {
    fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    fn order(&self) -> i32 {
        self.order
    }

    fn subscriptions(&self) -> &[Subscription] {
        &self.subscriptions
    }

    fn handle(&mut self, event: &Event) -> Result<Vec<Decision>, CallbackFailure> {
        self.send_off()?;
        self.shared.exchange(event.clone())
    }

    fn save(&mut self) -> Result<Option<(u32, Vec<u8>)>, CallbackFailure> {
        match &mut self.place {
            Place::Here(callback) => callback.save(),
            Place::There(_) | Place::Lost => Ok(self.shared.state()),
        }
    }

    fn take_failure(&mut self) -> Option<CallbackFailure> {
        self.shared.take_failure().or_else(|| match &mut self.place {
            Place::Here(callback) => callback.take_failure(),
            Place::There(_) | Place::Lost => None,
        })
    }

    /// Before the first event; later it is refused.
    fn load(&mut self, version: u32, state: &[u8]) -> Result<(), CallbackFailure> {
        let Place::Here(callback) = &mut self.place else {
            let fault = Fault::new(FailureKind::Host, "a state came after the first event");
            return Err(fault.with(Consequence::Restart));
        };
        callback.load(version, state)?;
        self.shared.keep(version, state);
        Ok(())
    }

    fn usage(&self) -> Usage {
        match &self.place {
            Place::Here(callback) => callback.usage(),
            Place::There(_) | Place::Lost => self.shared.usage(),
        }
    }

    fn lag(&self) -> Lag {
        let lag = self.shared.lag();
        match self.place {
            Place::Here(_) => Lag { unseen: 0, ..lag },
            Place::There(_) | Place::Lost => lag,
        }
    }

    fn finish(&mut self) -> Vec<Vec<Decision>> {
        self.bring_back(self.settings.drain);
        self.shared.take_answers()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.bring_back(Duration::ZERO);
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background").field("identity", &self.identity).field("lag", &self.lag()).finish_non_exhaustive()
    }
}
