//! When a callback that failed is used again: growing pauses, a budget, and how it comes back.
//!
//! Pure: it counts calls and neither makes instances nor looks at clocks, so that equal runs treat their
//! callbacks alike. Main type: [`Policy`].

use host_callback::{Consequence, Standing};
use serde::{Deserialize, Serialize};

/// What a failure of an instance means for the run: `on-failure` in the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// A new instance takes over, within a budget; then as for `Disable`.
    #[default]
    Restart,
    /// It is not called again in this run.
    Disable,
    /// The run ends: a guard must not be missing.
    StopRun,
}

/// Calls that are passed over after the first, second ... failure in a row. A failure after the last of
/// them is the end: three in a row are no accident.
///
/// The first restart is at once, since most crashes are single ones and a pause would lose events.
const PAUSES: [u64; 2] = [0, 8];

/// Successful calls after which earlier failures are forgotten. Failures that lie closer together count as
/// "in a row": a callback that fails at every tenth call is not healthy.
const HEALTHY_CALLS: u64 = 100;

/// Where one callback stands.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    on_failure: OnFailure,
    /// Failures in a row.
    failures: usize,
    /// Successful calls since the last failure.
    healthy: u64,
    /// Calls that are still passed over.
    pause: u64,
    ended: bool,
}

impl Policy {
    pub(crate) fn new(on_failure: OnFailure) -> Self {
        Self { on_failure, failures: 0, healthy: 0, pause: 0, ended: false }
    }

    /// Whether a call that is due is made; counts it where it is passed over.
    pub(crate) fn admits(&mut self) -> bool {
        if self.ended {
            return false;
        }
        let paused = self.pause > 0;
        self.pause = self.pause.saturating_sub(1);
        !paused
    }

    /// Whether no call is made any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// How it stands with the callback.
    pub(crate) fn standing(&self) -> Standing {
        match (self.ended, self.on_failure) {
            (true, OnFailure::Restart) => Standing::Quarantined,
            (true, OnFailure::Disable | OnFailure::StopRun) => Standing::Disabled,
            (false, _) if self.pause > 0 => Standing::Paused,
            (false, _) => Standing::Running,
        }
    }

    pub(crate) fn succeeded(&mut self) {
        if self.failures == 0 {
            return;
        }
        self.healthy += 1;
        if self.healthy >= HEALTHY_CALLS {
            self.failures = 0;
        }
    }

    pub(crate) fn failed(&mut self) -> Consequence {
        self.healthy = 0;
        let pause = PAUSES.get(self.failures).copied();
        self.failures += 1;
        match (self.on_failure, pause) {
            (OnFailure::Restart, Some(pause)) => {
                self.pause = pause;
                return Consequence::Restart;
            }
            (OnFailure::Restart | OnFailure::Disable, _) => {}
            (OnFailure::StopRun, _) => {
                self.ended = true;
                return Consequence::StopRun;
            }
        }
        self.ended = true;
        Consequence::Disabled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays calls (`true` succeeds) for as long as the script goes and tells what each one became.
    fn play(policy: &mut Policy, calls: impl IntoIterator<Item = bool>) -> Vec<Option<Consequence>> {
        let mut calls = calls.into_iter();
        let mut seen = Vec::new();
        while !policy.ended {
            if !policy.admits() {
                seen.push(None);
                continue;
            }
            match calls.next() {
                Some(true) => policy.succeeded(),
                Some(false) => seen.push(Some(policy.failed())),
                None => break,
            }
        }
        seen
    }

    #[test]
    fn a5_three_in_a_row_are_the_end() {
        let mut policy = Policy::new(OnFailure::Restart);
        let mut expected = vec![Some(Consequence::Restart), Some(Consequence::Restart)];
        expected.extend([None; 8]);
        expected.push(Some(Consequence::Disabled));
        assert_eq!(play(&mut policy, [false; 10]), expected);
        assert!(!policy.admits());
    }

    #[test]
    fn a6_a_long_healthy_stretch_gives_the_budget_back() {
        let mut policy = Policy::new(OnFailure::Restart);
        for _ in 0..10 {
            let stretch = std::iter::once(false).chain(std::iter::repeat_n(true, HEALTHY_CALLS as usize));
            assert_eq!(play(&mut policy, stretch), [Some(Consequence::Restart)]);
        }
    }

    #[test]
    fn a_short_one_does_not() {
        let mut policy = Policy::new(OnFailure::Restart);
        let mut calls = Vec::new();
        for _ in 0..3 {
            calls.push(false);
            calls.extend(std::iter::repeat_n(true, HEALTHY_CALLS as usize - 1));
        }
        assert_eq!(play(&mut policy, calls).last(), Some(&Some(Consequence::Disabled)));
    }

    #[test]
    fn the_configuration_may_be_stricter() {
        assert_eq!(Policy::new(OnFailure::Disable).failed(), Consequence::Disabled);
        assert_eq!(Policy::new(OnFailure::StopRun).failed(), Consequence::StopRun);
    }
}
