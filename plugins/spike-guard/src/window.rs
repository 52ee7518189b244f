//! The last losses that were no spikes, and whether another one is.
//! Plain arithmetic; knows nothing of hooks and checkpoints.

use std::collections::VecDeque;

use host_sdk::prelude::*;

/// What a loss is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Standard deviations above the mean.
    pub(crate) sigmas: Option<f64>,
    /// Times the median.
    pub(crate) factor: Option<f64>,
    /// How many losses there have to be.
    pub(crate) window: usize,
    /// It is too early to judge a finite loss.
    pub(crate) warming_up: bool,
}

/// The part of the mean that the standard deviation is taken for at least: losses that do not move at all would make
/// the next rounding error a spike.
const LEAST_DEVIATION: f64 = 1e-6;

/// Finite losses, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Window(VecDeque<f64>);

impl Window {
    /// Why a loss is a spike, if it is one.
    pub(crate) fn spike(&self, terms: &Terms, loss: f64) -> Option<String> {
        if !loss.is_finite() {
            return Some("which is not finite".into());
        }
        if terms.warming_up || self.0.len() < terms.window {
            return None;
        }
        let by_deviation = terms.sigmas.and_then(|sigmas| {
            let (mean, deviation) = self.moments();
            let limit = mean + sigmas * deviation;
            (loss > limit).then(|| format!("above {limit} = {mean} + {sigmas} x {deviation}"))
        });
        by_deviation.or_else(|| {
            let factor = terms.factor?;
            let median = self.median();
            let limit = factor * median;
            // Losses below zero have no multiple that is worse.
            (median > 0.0 && loss > limit).then(|| format!("above {limit} = {factor} x the median {median}"))
        })
    }

    /// Takes a loss that is no spike; of more than `size` the oldest goes.
    pub(crate) fn push(&mut self, loss: f64, size: usize) {
        self.0.push_back(loss);
        while self.0.len() > size {
            self.0.pop_front();
        }
    }

    /// Mean and standard deviation. Computed from the losses each time: a sum that is carried on would be another one
    /// after many updates, and lose what is small beside a large loss that has left.
    fn moments(&self) -> (f64, f64) {
        let count = self.0.len() as f64;
        let mean = self.0.iter().sum::<f64>() / count;
        let variance = self.0.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / count;
        (mean, variance.sqrt().max(LEAST_DEVIATION * mean.abs()))
    }

    /// The lower one of two in the middle.
    fn median(&self) -> f64 {
        let mut losses: Vec<f64> = self.0.iter().copied().collect();
        let middle = (losses.len() - 1) / 2;
        *losses.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(losses: &[f64]) -> Window {
        Window(losses.iter().copied().collect())
    }

    const TERMS: Terms = Terms { sigmas: Some(2.0), factor: None, window: 4, warming_up: false };

    #[test]
    fn a_loss_is_measured_in_standard_deviations() {
        // Mean 2, standard deviation 1.
        let window = window(&[1.0, 3.0, 1.0, 3.0]);
        assert_eq!(window.spike(&TERMS, 4.0), None);
        assert_eq!(window.spike(&TERMS, 4.5).as_deref(), Some("above 4 = 2 + 2 x 1"));
        assert_eq!(window.spike(&TERMS, -100.0), None, "a loss that falls is none");
    }

    #[test]
    fn a_loss_is_measured_in_medians() {
        let terms = Terms { sigmas: None, factor: Some(3.0), ..TERMS };
        let losses = window(&[1.0, 2.0, 2.0, 100.0]);
        assert_eq!(losses.spike(&terms, 6.0), None);
        assert_eq!(losses.spike(&terms, 6.5).as_deref(), Some("above 6 = 3 x the median 2"));
        assert_eq!(window(&[-1.0; 4]).spike(&terms, -0.5), None);
    }

    #[test]
    fn either_measure_is_enough() {
        let terms = Terms { sigmas: Some(2.0), factor: Some(10.0), ..TERMS };
        assert!(window(&[1.0, 3.0, 1.0, 3.0]).spike(&terms, 5.0).is_some());
        assert!(window(&[1.0, 1.0, 1.0, 1000.0]).spike(&terms, 11.0).is_some());
    }

    #[test]
    fn losses_that_do_not_move_are_no_trap() {
        let window = window(&[2.0; 4]);
        assert_eq!(window.spike(&TERMS, 2.000_001), None);
        assert!(window.spike(&TERMS, 2.1).is_some());
    }

    #[test]
    fn few_losses_judge_nothing_but_what_is_not_finite() {
        for (losses, warming_up) in [(window(&[1.0; 3]), false), (window(&[1.0; 4]), true)] {
            let terms = Terms { warming_up, ..TERMS };
            assert_eq!(losses.spike(&terms, 1e9), None);
            for loss in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                assert!(losses.spike(&terms, loss).is_some());
            }
        }
    }

    #[test]
    fn the_oldest_loss_goes() {
        let mut losses = window(&[]);
        (0..6).for_each(|loss| losses.push(f64::from(loss), 4));
        assert_eq!(losses, window(&[2.0, 3.0, 4.0, 5.0]));
        // Also after a resume with a smaller window.
        losses.push(6.0, 2);
        assert_eq!(losses, window(&[5.0, 6.0]));
    }
}
