//! A median and how far numbers spread around it.

/// The quartiles of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// A quarter of the numbers is at most this.
    pub(crate) low: f64,
    /// Half of them.
    pub(crate) median: f64,
    /// Three quarters of them.
    pub(crate) high: f64,
}

impl Spread {
    /// Of at least one number.
    pub(crate) fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        let [low, median, high] = [1, 2, 3].map(|quarter| numbers[(numbers.len() - 1) * quarter / 4]);
        Self { low, median, high }
    }
}

/// The middle one of some numbers, of which there is at least one.
pub(super) fn median(numbers: &[f64]) -> f64 {
    Spread::of(numbers.to_vec()).median
}

/// The larger of two numbers; NaN where one is NaN, which `f64::max` would drop.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_of_two_numbers_is_nan_where_one_is() {
        assert_eq!((larger(1.0, 2.0), larger(2.0, 1.0)), (2.0, 2.0));
        assert!(larger(1.0, f64::NAN).is_nan() && larger(f64::NAN, 1.0).is_nan());
    }

    #[test]
    fn half_of_the_numbers_lies_between_the_outer_ones() {
        let spread = Spread::of(vec![5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(spread, Spread { low: 2.0, median: 3.0, high: 4.0 });
        assert_eq!(Spread::of(vec![7.0]), Spread { low: 7.0, median: 7.0, high: 7.0 });
    }
}
