//! The values that a knob or a measurement went through, in bounded memory: where they began, turned and ended.
//!
//! Main type: [`Path`].

use std::cmp::Ordering;

/// With more turns than fit, only the ends and the extremes are told.
const MOST_POINTS: usize = 4;

/// Values in their order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    /// The first value, where the direction changed, and the last; no more of them once there are too many.
    points: Vec<f64>,
    first: f64,
    last: f64,
    lowest: Extreme,
    highest: Extreme,
    values: u64,
}

/// A value and its place among all.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extreme {
    at: u64,
    value: f64,
}

impl Path {
    /// A path that begins.
    pub(super) fn from(first: f64) -> Self {
        let extreme = Extreme { at: 0, value: first };
        Self { points: vec![first], first, last: first, lowest: extreme, highest: extreme, values: 1 }
    }

    /// A path with one more value.
    pub(super) fn to(mut self, value: f64) -> Self {
        self.turn(value);
        let extreme = Extreme { at: self.values, value };
        // What is not a number is neither low nor high.
        if value < self.lowest.value || self.lowest.value.is_nan() {
            self.lowest = extreme;
        }
        if value > self.highest.value || self.highest.value.is_nan() {
            self.highest = extreme;
        }
        self.last = value;
        self.values += 1;
        self
    }

    fn turn(&mut self, value: f64) {
        if same(self.last, value) || self.points.len() > MOST_POINTS {
            return;
        }
        let before = self.points.len().checked_sub(2).map(|at| direction(self.points[at], self.last));
        let goes_on = before.is_some_and(|before| before.is_some() && before == direction(self.last, value));
        if goes_on {
            self.points.pop();
        }
        self.points.push(value);
    }

    /// One path after another.
    pub(super) fn then(&self, next: &Self) -> Self {
        next.told().into_iter().fold(self.clone(), Self::to)
    }

    /// The first value and the last.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.first, self.last)
    }

    /// Whether all values are one.
    pub(super) fn is_flat(&self) -> bool {
        same(self.first, self.last) && same(self.lowest.value, self.highest.value)
    }

    /// The values that stand for all.
    fn told(&self) -> Vec<f64> {
        if self.points.len() <= MOST_POINTS {
            return self.points.clone();
        }
        let (low, high) = (self.first.min(self.last), self.first.max(self.last));
        let low = Some(self.lowest).filter(|lowest| lowest.value < low);
        let high = Some(self.highest).filter(|highest| highest.value > high);
        let mut between: Vec<Extreme> = low.into_iter().chain(high).collect();
        between.sort_by_key(|extreme| extreme.at);
        [self.first].into_iter().chain(between.into_iter().map(|extreme| extreme.value)).chain([self.last]).collect()
    }

    /// `0 → 0.002 → 0.0001`. Values that read the same are told once; `flat` stands before a value that is the
    /// only one.
    pub(super) fn words(&self, word: fn(f64) -> String, flat: &str) -> String {
        let mut told: Vec<String> = self.told().into_iter().map(word).collect();
        told.dedup();
        if told.len() == 1 { format!("{flat}{}", told[0]) } else { told.join(" → ") }
    }
}

/// Up or down; what is not a number has no direction.
fn direction(from: f64, to: f64) -> Option<Ordering> {
    from.partial_cmp(&to)
}

/// Whether two values are one; NaN is itself here.
fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::words::setting;

    fn path(values: &[f64]) -> Path {
        values[1..].iter().fold(Path::from(values[0]), |path, value| path.to(*value))
    }

    #[test]
    fn a_path_tells_its_ends_and_turns_or_extremes() {
        for (values, told) in [
            (&[0.1][..], "stays 0.1"),
            (&[0.1, 0.1, 0.1], "stays 0.1"),
            (&[0.002, 0.001], "0.002 → 0.001"),
            (&[0.0, 0.001, 0.002, 0.001, 0.0001], "0 → 0.002 → 1e-4"),
            (&[3.0, 1.0, 2.0], "3 → 1 → 2"),
            (&[2.0, 3.0, 1.0, 2.5], "2 → 3 → 1 → 2.5"),
            (&[1.0, 2.0, 1.0], "1 → 2 → 1"),
            (&[0.1, 0.0, 0.05, 0.1, 0.1, 0.05, 0.0], "0.1 → 0 → 0.1 → 0"),
            (&[1.0, 3.0, 2.0, 5.0, 0.5, 4.0, 2.5], "1 → 5 → 0.5 → 2.5"),
            (&[f64::NAN, 2.0, 1.0], "NaN → 2 → 1"),
            (&[1.0, f64::NAN], "1 → NaN"),
            (&[1.0, f64::INFINITY, 2.0], "1 → Infinity → 2"),
        ] {
            assert_eq!(path(values).words(setting, "stays "), told, "{values:?}");
        }
    }

    #[test]
    fn paths_are_joined_in_order() {
        let joined = path(&[0.0, 0.5, 0.25]).then(&path(&[0.25, 2.0, 0.1, 0.2])).then(&path(&[0.3, 0.4]));
        assert_eq!(joined.words(setting, ""), "0 → 2 → 0.4");
        assert_eq!(joined.ends(), (0.0, 0.4));
        assert!(path(&[1.0, 1.0]).is_flat() && !path(&[1.0, 2.0, 1.0]).is_flat());
    }
}
