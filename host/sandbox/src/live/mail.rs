//! What the thread that watches asks of the loop, and how the loop finds out that there is something.
//!
//! It carries nothing out: [`Live`](super::Live) does. Main type: [`Mail`].

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Sender},
    },
};

use host_callback::{Callback, CallbackFailure, Grant, InstanceName, Manifest, Permit, Rehearsal, Summary};

/// What the thread waits for.
pub(super) enum Signal {
    /// Something has changed in a folder.
    Look,
    /// A new version has answered its first events; with the number of its swap.
    Proven(InstanceName, u64),
    /// A new version failed, and the old one is back.
    RolledBack(InstanceName, u64),
    /// A callback that is not needed any more. Ending it may take a while, and nobody waits for it here.
    Unneeded(Box<dyn Callback>),
    /// The run is over.
    Stop,
}

impl Signal {
    /// Whether it says what became of this swap.
    pub(super) fn is_of(&self, swap: u64) -> bool {
        matches!(self, Self::Proven(_, of) | Self::RolledBack(_, of) if *of == swap)
    }
}

/// What is to be done between two steps; the answer goes to `reply`.
pub(super) enum Order {
    /// Says at which step the run is, and what a new version of an instance can be tried out with.
    Rehearse { name: InstanceName, reply: Sender<Rehearsed> },
    /// Puts a callback in the place of the one with its name.
    Replace {
        callback: Box<dyn Callback + Send>,
        permit: Permit,
        settings: Vec<&'static str>,
        /// The number of this swap.
        swap: u64,
        reply: Sender<Result<(), String>>,
    },
    /// Takes in a new callback.
    Join {
        callback: Box<dyn Callback + Send>,
        permit: Permit,
        file: std::path::PathBuf,
        manifest: Box<Manifest>,
        grant: Grant,
        reply: Sender<Result<(), String>>,
    },
    /// Changes what a callback may do.
    Allow { name: InstanceName, permit: Permit, reply: Sender<Result<(), String>> },
    /// Takes a callback out.
    Retire { name: InstanceName, why: String, reply: Sender<Result<(), String>> },
    /// Says how it stands with all callbacks.
    Table { reply: Sender<(u64, Vec<Summary>)> },
}

/// At which step the run is, and what an instance of the name has; `None` where there is none.
pub(super) struct Rehearsed {
    pub(super) step: u64,
    pub(super) rehearsal: Option<Result<Rehearsal, CallbackFailure>>,
}

/// Orders on their way to the loop.
#[derive(Default)]
pub(super) struct Mail {
    /// All that a step looks at.
    waiting: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    orders: VecDeque<Order>,
    closed: bool,
}

impl Mail {
    /// Posts an order and waits for the answer; `None` when the run is over.
    pub(super) fn ask<T>(&self, order: impl FnOnce(Sender<T>) -> Order) -> Option<T> {
        let (reply, answer) = mpsc::channel();
        let mut inner = self.lock();
        if inner.closed {
            return None;
        }
        inner.orders.push_back(order(reply));
        // Released after the order is there; the loop takes the lock before it looks.
        self.waiting.store(true, Ordering::Release);
        drop(inner);
        // An order that is dropped at the end of the run drops `reply`, which ends this.
        answer.recv().ok()
    }

    /// Whether there may be orders: one load.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }

    /// All orders so far.
    pub(super) fn take(&self) -> VecDeque<Order> {
        let mut inner = self.lock();
        self.waiting.store(false, Ordering::Release);
        std::mem::take(&mut inner.orders)
    }

    /// The run is over: whoever waits goes on, and nothing is taken any more.
    pub(super) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.orders.clear();
    }

    // Two plain values, each written at once: a poisoned lock holds nothing half done.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
