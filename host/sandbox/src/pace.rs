//! How often a callback is asked for its state, so that asking stays cheap beside training.
//!
//! It does not ask: the callback does, or the thread that a background callback has. Main type: [`Pace`].

/// Fuel a step that may be spent on asking for the state, on average.
///
/// Asking runs code that an event does not, serialisation above all. After a training step none of it is in a cache, and
/// it takes ten times as long as its fuel says: asked at every step, two callbacks in three cost more than their events.
const STATE_FUEL: u64 = 500;

/// The longest pause, in steps, for a callback that gave no state.
const LONGEST_PAUSE: u64 = 1024;

/// When the state was last taken, what that cost, and whether there was one.
///
/// Counted in steps and fuel and not in seconds, so that equal runs stay equal even when something crashes in them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    step: u64,
    fuel: u64,
    /// How long to wait after no state was given; 0 after one was.
    pause: u64,
}

impl Pace {
    /// A callback that joins a run at a step.
    pub(crate) fn new(step: u64) -> Self {
        Self { step, fuel: 0, pause: 0 }
    }

    /// Whether the run is so many steps further that the price of the last time is below [`STATE_FUEL`] a step. A
    /// callback without a state is asked less and less often whether it has one.
    pub(crate) fn is_due(&self, step: u64) -> bool {
        let pause = self.fuel.div_ceil(STATE_FUEL).max(1).max(self.pause);
        step >= self.step.saturating_add(pause)
    }

    /// Whether the callback had no state when it was asked last.
    pub(crate) fn is_stateless(&self) -> bool {
        self.pause > 0
    }

    /// The state was taken at a step; `is_empty` says that there was none.
    pub(crate) fn taken(&mut self, step: u64, fuel: u64, is_empty: bool) {
        let pause = if is_empty { (2 * self.pause).clamp(1, LONGEST_PAUSE) } else { 0 };
        *self = Self { step, fuel, pause };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_costly_state_is_asked_for_less_often() {
        for (fuel, pause) in [(0, 1), (1, 1), (STATE_FUEL, 1), (STATE_FUEL + 1, 2), (100 * STATE_FUEL, 100)] {
            let mut pace = Pace::new(0);
            pace.taken(7, fuel, false);
            assert!(!pace.is_due(7 + pause - 1) && pace.is_due(7 + pause), "{fuel}");
        }
        let mut pace = Pace::new(u64::MAX);
        pace.taken(u64::MAX, u64::MAX, false);
        assert!(pace.is_due(u64::MAX), "no overflow");
    }

    #[test]
    fn no_state_is_asked_for_less_and_less_often() {
        let (mut pace, mut step, mut asked) = (Pace::new(0), 0, 0);
        while step < 10_000 {
            step += 1;
            if pace.is_due(step) {
                pace.taken(step, 10, true);
                asked += 1;
            }
        }
        assert_eq!(asked, 19, "at 1, 2, 4, ... 1024 and then every 1024 steps");
        pace.taken(step, 10, false);
        assert!(!pace.is_stateless() && pace.is_due(step + 1), "as soon as there is one");
    }
}
