//! How a made-up training goes: its loss, its evaluation and its gradients as functions of how far it is.
//!
//! It draws nothing but noise, which depends on the seed and the place alone: a resumed run goes the same way. Main type:
//! [`Course`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random;

/// The kinds of courses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// It gets better to the end.
    Healthy,
    /// It gets better to 40 % of its length, and no better after that.
    Plateau,
    /// From 40 % on the loss grows, and the gradients with it.
    Divergence,
    /// At 25 % an evaluation is not a number, and at 50 % the losses of three batches; the rest is healthy.
    Nan,
    /// At 50 % three batches have 8 times the loss and 20 times the gradients; the rest is healthy.
    Spike,
    /// It gets better, with noise of a fifth of the loss.
    Noisy,
    /// The loss gets better to the end, the evaluation to 40 % of the length; from there it gets worse.
    Overfitting,
    /// From 50 % on a forward pass has memory for half of a batch only.
    OutOfMemory,
}

impl Course {
    /// Every course.
    pub const ALL: [Self; 8] = [
        Self::Healthy,
        Self::Plateau,
        Self::Divergence,
        Self::Nan,
        Self::Spike,
        Self::Noisy,
        Self::Overfitting,
        Self::OutOfMemory,
    ];
}

/// What happens at a place of a course.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) loss: f64,
    pub(super) evaluated: f64,
    /// The gradient norms of both parameters.
    pub(super) gradients: [f64; 2],
    /// The part of a batch that fits into memory.
    pub(super) fits: f64,
}

/// The loss of ten classes at random, and where it goes to.
const FIRST: f64 = 2.3;
const LAST: f64 = 0.2;
/// How fast: the loss falls to a third of the way within a fifth of the length.
const PACE: f64 = 5.0;
/// Where it turns.
const TURN: f64 = 0.4;
const MIDDLE: f64 = 0.5;
const QUARTER: f64 = 0.25;
/// Batches that something is wrong with.
const BAD_BATCHES: u64 = 3;
/// Relative noise of an ordinary course, and of a noisy one.
const NOISE: (f64, f64) = (0.01, 0.2);
/// An evaluation averages over more samples than a batch has.
const EVALUATED: f64 = 0.1;

fn decay(way: f64) -> f64 {
    LAST + (FIRST - LAST) * (-PACE * way).exp()
}

impl Course {
    /// What happens at batch `at` of `length`.
    pub(super) fn point(self, seed: u64, at: u64, length: u64) -> Point {
        let way = at as f64 / length as f64;
        let beyond = (way - TURN).max(0.0);
        let trained = match self {
            Self::Plateau => decay(way.min(TURN)),
            Self::Divergence => decay(way.min(TURN)) * (12.0 * beyond).exp(),
            _ => decay(way),
        };
        let evaluated = match self {
            Self::Overfitting => decay(way.min(TURN)) * (1.0 + 2.0 * beyond),
            _ => trained,
        };
        let noise = if self == Self::Noisy { NOISE.1 } else { NOISE.0 };
        let noisy = |place: u64, part: f64| 1.0 + noise * part * random::normal(seed, place);
        // A gap that no training is without.
        let evaluated = 1.05 * evaluated * noisy(2 * at + 1, EVALUATED);
        let loss = trained * noisy(2 * at, 1.0);
        let gradient = loss.abs().sqrt();
        let middle = (length as f64 * MIDDLE) as u64;
        let bad = (middle..middle + BAD_BATCHES).contains(&at);
        let quarter = (length as f64 * QUARTER) as u64;
        let is_lost = self == Self::Nan && (quarter.saturating_sub(BAD_BATCHES)..quarter).contains(&at);
        let evaluated = if is_lost { f64::NAN } else { evaluated };
        let (loss, gradient) = match self {
            Self::Nan if bad => (f64::NAN, f64::NAN),
            Self::Spike if bad => (8.0 * loss, 20.0 * gradient),
            _ => (loss, gradient),
        };
        let fits = if self == Self::OutOfMemory && at >= middle { 0.5 } else { 1.0 };
        Point { loss, evaluated, gradients: [0.8 * gradient, 0.6 * gradient], fits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = 400;

    fn points(course: Course) -> Vec<Point> {
        (0..LENGTH).map(|at| course.point(7, at, LENGTH)).collect()
    }

    fn mean(points: &[Point], part: fn(&Point) -> f64) -> f64 {
        points.iter().map(part).sum::<f64>() / points.len() as f64
    }

    #[test]
    fn each_course_goes_as_it_says() {
        let loss = |points: &[Point]| mean(points, |point| point.loss);
        let evaluated = |points: &[Point]| mean(points, |point| point.evaluated);
        let healthy = points(Course::Healthy);
        assert!(loss(&healthy[..40]) > 1.5 && loss(&healthy[360..]) < 0.25);
        let plateau = points(Course::Plateau);
        assert!((loss(&plateau[200..240]) / loss(&plateau[360..]) - 1.0).abs() < 0.02);
        let divergence = points(Course::Divergence);
        assert!(loss(&divergence[360..]) > 50.0 * loss(&divergence[150..160]));
        let overfitting = points(Course::Overfitting);
        assert!(loss(&overfitting[360..]) < loss(&overfitting[160..200]));
        assert!(evaluated(&overfitting[360..]) > 1.5 * evaluated(&overfitting[150..170]));
        let deviation = |points: &[Point], smooth: &[Point]| {
            mean(
                &points
                    .iter()
                    .zip(smooth)
                    .map(|(a, b)| Point { loss: (a.loss / b.loss - 1.0).abs(), ..*a })
                    .collect::<Vec<_>>(),
                |p| p.loss,
            )
        };
        assert!(deviation(&points(Course::Noisy), &healthy) > 0.1);
    }

    #[test]
    fn three_batches_in_the_middle_are_bad() {
        let bad = |course, is_bad: fn(&Point, &Point) -> bool| -> Vec<usize> {
            let (points, healthy) = (points(course), points(Course::Healthy));
            (0..LENGTH as usize).filter(|&at| is_bad(&points[at], &healthy[at])).collect()
        };
        assert_eq!(bad(Course::Nan, |point, _| point.loss.is_nan() && point.gradients[1].is_nan()), [200, 201, 202]);
        assert_eq!(bad(Course::Nan, |point, _| point.evaluated.is_nan()), [97, 98, 99]);
        assert_eq!(bad(Course::Spike, |point, healthy| point.loss == 8.0 * healthy.loss), [200, 201, 202]);
        assert_eq!(bad(Course::OutOfMemory, |point, _| point.fits == 0.5), (200..400).collect::<Vec<_>>());
    }

    #[test]
    fn a_seed_gives_its_noise_and_another_one_another() {
        assert_eq!(points(Course::Noisy), points(Course::Noisy));
        assert_ne!(Course::Noisy.point(7, 3, LENGTH), Course::Noisy.point(8, 3, LENGTH));
    }
}
