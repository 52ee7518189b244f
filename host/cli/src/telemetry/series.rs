//! A measurement over steps in bounded memory, for the loss curve, and the best value that it had.
//!
//! It does not draw. Main types: [`Series`], [`Best`].

use serde::Serialize;

use super::number::Number;

/// How many points a series keeps at most.
const MOST_POINTS: usize = 4_000;

/// Points by step. When there are too many, every second one is dropped, and from then on only every second
/// new one is taken: a long run and a short one both leave between 2,000 and 4,000.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    points: Vec<(u64, f64)>,
    /// Of so many values one is kept.
    stride: u64,
    seen: u64,
    last: Option<(u64, f64)>,
}

impl Default for Series {
    fn default() -> Self {
        Self { points: Vec::new(), stride: 1, seen: 0, last: None }
    }
}

impl Series {
    /// Adds a value; NaN and infinities are values too.
    pub(super) fn push(&mut self, step: u64, value: f64) {
        if self.seen.is_multiple_of(self.stride) {
            self.points.push((step, value));
        }
        self.seen += 1;
        self.last = Some((step, value));
        if self.points.len() > MOST_POINTS {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// The points that were kept, in order; the last value is always among them.
    pub(crate) fn points(&self) -> impl Iterator<Item = (u64, f64)> {
        let kept = self.points.last().map(|&(step, _)| step);
        let last = self.last.filter(|&(step, _)| Some(step) != kept);
        self.points.iter().copied().chain(last)
    }

    /// The newest value.
    pub(crate) fn last(&self) -> Option<f64> {
        self.last.map(|(_, value)| value)
    }
}

/// The best value of a measurement so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Best {
    /// The value, never NaN or infinite.
    #[serde(serialize_with = "number")]
    pub(crate) value: f64,
    /// The first step at which it was that good.
    pub(crate) step: u64,
}

fn number<S: serde::Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    Number(*value).serialize(to)
}

impl Best {
    /// The better of what stands and a new value. What is not finite is never better, and never stands.
    pub(crate) fn better(standing: Option<Self>, name: &str, value: f64, step: u64) -> Option<Self> {
        let better = match standing {
            None => value.is_finite(),
            Some(best) if lower_is_better(name) => value.is_finite() && value < best.value,
            Some(best) => value.is_finite() && value > best.value,
        };
        if better { Some(Self { value, step }) } else { standing }
    }
}

/// In which direction a measurement usually improves: down for losses and perplexities, up for all others.
pub(crate) fn lower_is_better(name: &str) -> bool {
    name.ends_with("loss") || name.ends_with("perplexity")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_bounded_and_keeps_its_ends() {
        for n in [0, 1, 3_999, 4_000, 4_001, 100_000, 1_000_000] {
            let mut series = Series::default();
            (1..=n).for_each(|step| series.push(step, step as f64));
            let points: Vec<_> = series.points().collect();
            assert!(points.len() <= MOST_POINTS + 1, "{n}");
            assert!(points.len() as u64 >= n.min(2_000), "{n}");
            assert_eq!(points.first().map(|point| point.0), (n > 0).then_some(1));
            assert_eq!(points.last().map(|point| point.0), (n > 0).then_some(n));
            let apart: Vec<u64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
            let regular = apart.split_last().is_none_or(|(_, others)| others.windows(2).all(|pair| pair[0] == pair[1]));
            assert!(regular, "{n}");
        }
    }

    #[test]
    fn nan_is_never_the_best() {
        let best = |name: &str, values: &[f64]| {
            (1..).zip(values).fold(None, |best, (step, &value)| Best::better(best, name, value, step))
        };
        let is = |value, step| Some(Best { value, step });
        assert_eq!(best("eval/loss", &[f64::NAN, 2.0, 1.0, f64::NAN, 1.0, 3.0]), is(1.0, 3));
        assert_eq!(best("eval/perplexity", &[3.0, 2.0]), is(2.0, 2));
        assert_eq!(best("eval/accuracy", &[f64::NAN, 0.5, 0.7, f64::INFINITY, 0.6]), is(0.7, 3));
        assert_eq!(best("eval/loss", &[f64::NEG_INFINITY, f64::NAN]), None);
    }
}
