//! The last gradient norms, and their percentiles.
//! Plain arithmetic; knows nothing of hooks and limits.

use std::collections::VecDeque;

use host_sdk::prelude::*;

/// Finite norms, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct History(VecDeque<f64>);

impl History {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes a norm; of more than `size` the oldest goes.
    pub(crate) fn push(&mut self, norm: f64, size: usize) {
        self.0.push_back(norm);
        while self.0.len() > size {
            self.0.pop_front();
        }
    }

    /// The value below which `percent` of 100 norms are, between two of them in proportion: what `numpy.percentile`
    /// gives. `None` without norms.
    pub(crate) fn percentile(&self, percent: f64) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        let place = percent / 100.0 * last as f64;
        let below = (place as usize).min(last);
        let mut norms: Vec<f64> = self.0.iter().copied().collect();
        // Two neighbours are enough, so the rest need not be in order.
        let (_, &mut lower, above) = norms.select_nth_unstable_by(below, f64::total_cmp);
        let upper = above.iter().copied().min_by(f64::total_cmp).unwrap_or(lower);
        Some(lower + (upper - lower) * (place - below as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percentile(norms: &[f64], percent: f64) -> Option<f64> {
        History(norms.iter().copied().collect()).percentile(percent)
    }

    #[test]
    fn percentiles_are_those_of_numpy() {
        let norms = [4.0, 1.0, 3.0, 2.0, 10.0];
        for (percent, expected) in [(0.0, 1.0), (10.0, 1.4), (25.0, 2.0), (50.0, 3.0), (90.0, 7.6), (100.0, 10.0)] {
            let found = percentile(&norms, percent).unwrap();
            assert!((found - expected).abs() < 1e-12, "{percent}: {found}");
        }
        assert_eq!(percentile(&[2.0], 10.0), Some(2.0));
        assert_eq!(percentile(&[2.0, 2.0, 2.0], 37.0), Some(2.0));
        assert_eq!(percentile(&[], 10.0), None);
    }

    #[test]
    fn a_percentile_is_between_the_norms_that_a_sorted_list_has_there() {
        let mut bits = 3_u64;
        let mut history = History::default();
        for count in 1..200 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            history.push((bits >> 40) as f64, 150);
            let mut sorted: Vec<f64> = history.0.iter().copied().collect();
            sorted.sort_by(f64::total_cmp);
            for percent in [0.0, 3.0, 50.0, 99.0, 100.0] {
                let place = percent / 100.0 * (sorted.len() - 1) as f64;
                let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
                let found = history.percentile(percent).unwrap();
                assert!((low..=high).contains(&found), "{count} norms, {percent}: {found} in {low} to {high}");
            }
        }
        assert_eq!(history.len(), 150);
    }
}
