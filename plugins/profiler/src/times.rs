//! Sums of seconds by phase, and their shares.
//! Knows nothing of hooks; which phases there are stands here.

use std::collections::BTreeMap;

use host_sdk::prelude::*;

/// A whole step. Its phases are parts of it, evaluations and checkpoints come besides it.
pub(crate) const STEP: &str = "step";
/// The phases of a step.
pub(crate) const IN_A_STEP: [&str; 5] = ["data", "forward", "backward", "optimizer", "callbacks"];
pub(crate) const EVALUATION: &str = "evaluation";
pub(crate) const CHECKPOINT: &str = "checkpoint";
/// What is left of the steps.
const OTHER: &str = "other";

/// Seconds by phase, those of whole steps among them. A phase that was never told is not in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Times(BTreeMap<String, f64>);

impl Times {
    /// Adds the seconds of one step, evaluation or checkpoint. What is no time is left out.
    pub(crate) fn add(&mut self, phase: &str, seconds: f64) {
        if seconds.is_finite() && seconds >= 0.0 {
            *self.0.entry(phase.to_owned()).or_default() += seconds;
        }
    }

    fn of(&self, phase: &str) -> f64 {
        self.0.get(phase).copied().unwrap_or(0.0)
    }

    fn in_phases(&self) -> f64 {
        IN_A_STEP.iter().map(|phase| self.of(phase)).sum()
    }

    /// All time that was told: of steps, or of their phases where these are more, and besides steps.
    pub(crate) fn total(&self) -> f64 {
        self.of(STEP).max(self.in_phases()) + self.of(EVALUATION) + self.of(CHECKPOINT)
    }

    /// The seconds of each phase that was told; `other` is what is left of the steps, where their time was.
    fn phases(&self) -> Vec<(&str, f64)> {
        let known = IN_A_STEP.into_iter().chain([EVALUATION, CHECKPOINT]);
        let mut phases: Vec<_> = known.filter_map(|phase| Some((phase, *self.0.get(phase)?))).collect();
        if let Some(steps) = self.0.get(STEP) {
            phases.push((OTHER, (steps - self.in_phases()).max(0.0)));
        }
        phases
    }

    /// The part that each phase has of all time; nothing where there is none.
    pub(crate) fn shares(&self) -> Vec<(&str, f64)> {
        let total = self.total();
        if total == 0.0 {
            return Vec::new();
        }
        self.phases().into_iter().map(|(phase, seconds)| (phase, seconds / total)).collect()
    }

    /// The phase with the most seconds, the first of equals; none where nothing was told but whole steps.
    pub(crate) fn slowest(&self) -> Option<(&str, f64)> {
        let phases = self.phases();
        if phases.iter().all(|(phase, _)| *phase == OTHER) {
            return None;
        }
        phases.into_iter().rev().max_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seconds: &[(&str, f64)]) -> Times {
        let mut times = Times::default();
        seconds.iter().for_each(|(phase, seconds)| times.add(phase, *seconds));
        times
    }

    #[test]
    fn shares_are_of_steps_and_what_comes_besides_them() {
        let times = times(&[("step", 6.0), ("data", 1.0), ("forward", 2.0), ("evaluation", 2.0)]);
        assert_eq!(times.shares(), [("data", 0.125), ("forward", 0.25), ("evaluation", 0.25), ("other", 0.375)]);
        assert_eq!(times.slowest(), Some(("other", 3.0)));
    }

    #[test]
    fn without_whole_steps_the_phases_are_all() {
        let times = times(&[("data", 1.0), ("backward", 3.0)]);
        assert_eq!(times.shares(), [("data", 0.25), ("backward", 0.75)]);
        assert_eq!((times.total(), times.slowest()), (4.0, Some(("backward", 3.0))));
    }

    #[test]
    fn clocks_that_do_not_agree_leave_nothing_over() {
        let times = times(&[("step", 1.0), ("forward", 2.0)]);
        assert_eq!(times.shares(), [("forward", 1.0), ("other", 0.0)]);
    }

    #[test]
    fn nothing_told_is_nothing_said() {
        assert_eq!((times(&[]).shares(), times(&[]).slowest()), (Vec::new(), None));
        assert_eq!(times(&[("step", 1.0)]).slowest(), None);
        assert!(times(&[("data", 0.0)]).shares().is_empty());
    }

    #[test]
    fn what_is_no_time_does_not_count() {
        let bad = [f64::NAN, f64::INFINITY, -1.0].map(|seconds| ("data", seconds));
        assert_eq!(times(&bad), Times::default());
    }

    #[test]
    fn of_equals_the_first_is_the_slowest() {
        assert_eq!(times(&[("forward", 1.0), ("backward", 1.0)]).slowest(), Some(("forward", 1.0)));
    }
}
