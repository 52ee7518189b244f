//! How often a background callback is asked for its state, which checkpoints take without waiting for it.
//!
//! It does not ask: the callback's thread does. Main type: [`Pace`].

/// Fuel a step that may be spent on asking: about a microsecond of the thread's time, on average.
const STATE_FUEL: u64 = 10_000;

/// When the state was last taken, and what that cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    step: u64,
    fuel: u64,
}

impl Pace {
    /// A callback that joins a run at a step.
    pub(super) fn new(step: u64) -> Self {
        Self { step, fuel: 0 }
    }

    /// Whether the run is so many steps further that the price of the last time is below [`STATE_FUEL`] a step.
    pub(super) fn is_due(&self, step: u64) -> bool {
        let pause = self.fuel.div_ceil(STATE_FUEL).max(1);
        step >= self.step.saturating_add(pause)
    }

    /// The state was taken at a step.
    pub(super) fn taken(&mut self, step: u64, fuel: u64) {
        *self = Self { step, fuel };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_costly_state_is_asked_for_less_often() {
        for (fuel, pause) in [(0, 1), (1, 1), (STATE_FUEL, 1), (STATE_FUEL + 1, 2), (100 * STATE_FUEL, 100)] {
            let mut pace = Pace::new(0);
            pace.taken(7, fuel);
            assert!(!pace.is_due(7 + pause - 1) && pace.is_due(7 + pause), "{fuel}");
        }
        let mut pace = Pace::new(u64::MAX);
        pace.taken(u64::MAX, u64::MAX);
        assert!(pace.is_due(u64::MAX), "no overflow");
    }
}
