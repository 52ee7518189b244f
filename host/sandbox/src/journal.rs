//! What a callback has answered since its state was taken, so that a new instance can catch up with the last one.
//!
//! It shows nothing to anybody: the callback does. Main type: [`Journal`].

use host_callback::Event;

/// When one of these is reached the state is asked for, and the journal begins anew. So a restart repeats some
/// milliseconds of events at most, or one that takes longer; and sixty-four, which those of an interpreter fit into, are
/// enough for the price of asking to vanish beside that of events.
const MAX_EVENTS: usize = 64;
const MAX_FUEL: u64 = 10_000_000;
const MAX_BYTES: usize = 1 << 20;

/// Events in their order.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// The first `length` are in use; the others are memory for later ones.
    events: Vec<Event>,
    length: usize,
    fuel: u64,
    bytes: usize,
}

impl Journal {
    /// An event was answered, for so much fuel.
    pub(crate) fn note(&mut self, event: &Event, fuel: u64) {
        match self.events.get_mut(self.length) {
            Some(place) => copy(place, event),
            None => self.events.push(event.clone()),
        }
        self.length += 1;
        self.fuel = self.fuel.saturating_add(fuel);
        self.bytes += bytes(event);
    }

    /// What a new instance has to be shown after the last good state.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events[..self.length]
    }

    /// Whether it is time to ask for the state.
    pub(crate) fn is_full(&self) -> bool {
        self.length >= MAX_EVENTS || self.fuel >= MAX_FUEL || self.bytes >= MAX_BYTES
    }

    /// The state was taken, or replaced by another one.
    pub(crate) fn clear(&mut self) {
        if self.bytes >= MAX_BYTES {
            self.events.clear();
        }
        (self.length, self.fuel, self.bytes) = (0, 0, 0);
    }
}

/// Overwrites an event and keeps its memory.
fn copy(place: &mut Event, event: &Event) {
    let Event { moment, scalars, vectors, texts } = event;
    place.moment.clone_from(moment);
    place.scalars.clone_from(scalars);
    place.vectors.clone_from(vectors);
    place.texts.clone_from(texts);
}

/// What an event takes besides its numbers, which are few.
fn bytes(event: &Event) -> usize {
    let vectors: usize = event.vectors.iter().map(|(_, values)| size_of_val(values.as_slice())).sum();
    let texts: usize = event.texts.iter().map(|(_, text)| text.len()).sum();
    vectors + texts + event.moment.detail.len()
}

#[cfg(test)]
mod tests {
    use host_callback::{Hook, Moment, Progress};

    use super::*;

    fn event(step: u64) -> Event {
        let moment = Moment {
            hook: Hook::StepEnd,
            occurrence: step,
            progress: Progress { step, ..Progress::default() },
            detail: String::new(),
        };
        Event { moment, scalars: vec![(0, step as f64)], vectors: Vec::new(), texts: Vec::new() }
    }

    #[test]
    fn events_come_back_in_their_order_and_only_those_since_the_state() {
        let mut journal = Journal::default();
        for round in 0..3 {
            for step in 0..5 + round {
                journal.note(&event(10 * round + step), 1);
            }
            let expected: Vec<Event> = (0..5 + round).map(|step| event(10 * round + step)).collect();
            assert_eq!(journal.events(), expected);
            journal.clear();
            assert_eq!(journal.events(), []);
        }
    }

    #[test]
    fn it_is_full_by_number_by_fuel_and_by_size() {
        let large = Event { vectors: vec![(0, vec![0.0; MAX_BYTES / 4])], ..event(1) };
        for (event, fuel, most) in [(event(1), 1, MAX_EVENTS), (event(1), MAX_FUEL / 2, 2), (large, 1, 1)] {
            let mut journal = Journal::default();
            for _ in 0..most {
                assert!(!journal.is_full());
                journal.note(&event, fuel);
            }
            assert!(journal.is_full());
            journal.clear();
            assert!(!journal.is_full());
            assert!(journal.events.iter().map(bytes).sum::<usize>() < MAX_BYTES, "large ones are not kept");
        }
    }
}
