//! How many samples an update has on the way.
//! Plain arithmetic; knows nothing of hooks, batches and configuration.

use host_sdk::prelude::*;

/// A way from one number of samples to a larger one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ramp {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) length: Length,
    pub(crate) shape: Shape,
}

/// How long the way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Steps(u64),
    Samples(u64),
}

/// How the number rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// By the same number at each step or sample.
    Linear,
    /// Twice as many at a time, in stages of equal length; the last one goes to the end.
    Doubling,
}

impl Ramp {
    /// The samples of an update when so many steps or samples are done.
    pub(crate) fn samples(&self, done: u64) -> u64 {
        let (Length::Steps(length) | Length::Samples(length)) = self.length;
        if done >= length {
            return self.to;
        }
        match self.shape {
            Shape::Linear => {
                let part = done as f64 / length as f64;
                self.from + ((self.to - self.from) as f64 * part).round() as u64
            }
            Shape::Doubling => {
                // In whole numbers: the stages begin where they should, however long the way is.
                let stage = u128::from(done) * u128::from(self.doublings()) / u128::from(length);
                self.from << stage
            }
        }
    }

    /// How often the number is doubled until the end is reached or passed.
    fn doublings(&self) -> u32 {
        let mut count = 0;
        let mut samples = self.from;
        while samples < self.to {
            samples = samples.saturating_mul(2);
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(from: u64, to: u64, length: u64, shape: Shape) -> Vec<u64> {
        let ramp = Ramp { from, to, length: Length::Steps(length), shape };
        (0..length + 2).map(|done| ramp.samples(done)).collect()
    }

    #[test]
    fn a_linear_ramp_rises_evenly() {
        assert_eq!(ramp(8, 16, 4, Shape::Linear), [8, 10, 12, 14, 16, 16]);
        assert_eq!(ramp(1, 2, 4, Shape::Linear), [1, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn doubling_goes_in_stages_of_equal_length() {
        assert_eq!(ramp(8, 32, 4, Shape::Doubling), [8, 8, 16, 16, 32, 32]);
        // The last step up is a smaller one where the numbers ask for it.
        assert_eq!(ramp(8, 50, 6, Shape::Doubling), [8, 8, 16, 16, 32, 32, 50, 50]);
        assert_eq!(ramp(8, 9, 2, Shape::Doubling), [8, 8, 9, 9]);
    }

    #[test]
    fn every_ramp_rises_from_its_beginning_to_its_end() {
        for shape in [Shape::Linear, Shape::Doubling] {
            for (from, to, length) in [(1, 1_000_000, 97), (3, 4, 1), (7, 100, 13), (1, u64::MAX >> 12, 1000)] {
                let samples = ramp(from, to, length, shape);
                assert_eq!((samples[0], samples[length as usize]), (from, to), "{shape:?}");
                assert!(samples.is_sorted(), "{shape:?}: {samples:?}");
            }
        }
    }
}
