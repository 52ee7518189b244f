//! Everything that the loop draws at random, as a function of the seed and the place in the run.
//!
//! Nothing here keeps a state, so a resumed run has nothing to restore. The stream is ChaCha's, which is the
//! same on every platform.

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

/// Different uses of one seed draw from different streams.
#[derive(Clone, Copy)]
enum Use {
    Order = 1,
    Offset = 2,
    Step = 3,
    Course = 4,
}

fn generator(seed: u64, purpose: Use, place: u64) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    generator.set_stream(purpose as u64);
    generator
}

/// The order of an epoch's samples.
pub(crate) fn order(seed: u64, epoch: u64, samples: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..samples).collect();
    order.shuffle(&mut generator(seed, Use::Order, epoch));
    order
}

/// A number below `limit` (at least 1) for an epoch.
pub(crate) fn below(seed: u64, epoch: u64, limit: u64) -> u64 {
    generator(seed, Use::Offset, epoch).random_range(0..limit)
}

/// The seed of the backend's own generator (dropout) at a step, another one on each rank.
pub(crate) fn step_seed(seed: u64, step: u64, rank: usize) -> u64 {
    let mut generator = generator(seed, Use::Step, step);
    for _ in 0..rank {
        let _: u64 = generator.random();
    }
    generator.random()
}

/// A number of the standard normal distribution for a place of a made-up course, by the transform of Box and Muller
/// (1958).
pub(crate) fn normal(seed: u64, place: u64) -> f64 {
    let mut generator = generator(seed, Use::Course, place);
    // Above 0, whose logarithm is none.
    let (radius, angle) = (1.0 - generator.random::<f64>(), generator.random::<f64>());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let numbers: Vec<f64> = (0..4000).map(|place| normal(7, place)).collect();
        let mean = numbers.iter().sum::<f64>() / 4000.0;
        let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / 4000.0;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.07, "{mean} {variance}");
        assert_eq!(normal(7, 3), numbers[3]);
    }

    #[test]
    fn an_order_has_every_sample_once() {
        let mut one = order(7, 0, 100);
        assert_eq!(one, order(7, 0, 100));
        assert_ne!(one, order(7, 1, 100));
        assert_ne!(one, order(8, 0, 100));
        one.sort_unstable();
        assert_eq!(one, (0..100).collect::<Vec<_>>());
    }
}
