//! Events that wait for a callback on a thread of its own: so many and no more, and the oldest of its hook goes first.
//!
//! It knows no threads: what is around it locks. Main type: [`Queue`].

use std::collections::VecDeque;

use host_callback::Event;

/// An event, and which one it is of all that were sent: 1 for the first.
pub(super) type Numbered = (u64, Event);

/// Events in the order in which they came.
#[derive(Debug)]
pub(super) struct Queue {
    events: VecDeque<Numbered>,
    most: usize,
    /// Events that were sent so far.
    pub(super) sent: u64,
    /// Those of them that left unseen.
    pub(super) dropped: u64,
}

impl Queue {
    /// A queue for so many events, at least 1.
    pub(super) fn new(most: usize) -> Self {
        Self { events: VecDeque::new(), most: most.max(1), sent: 0, dropped: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Takes an event in. Where there is no room the oldest one of the same hook leaves, since the new one tells the
    /// same and later; with none of the same hook, the oldest of all.
    pub(super) fn push(&mut self, event: Event) {
        if self.events.len() >= self.most {
            let hook = event.moment.hook;
            let oldest = self.events.iter().position(|(_, waiting)| waiting.moment.hook == hook);
            self.events.remove(oldest.unwrap_or(0));
            self.dropped += 1;
        }
        self.sent += 1;
        self.events.push_back((self.sent, event));
    }

    pub(super) fn pop(&mut self) -> Option<Numbered> {
        self.events.pop_front()
    }

    /// Nobody will look at what waits.
    pub(super) fn drop_all(&mut self) {
        self.dropped += self.events.len() as u64;
        self.events.clear();
    }
}
