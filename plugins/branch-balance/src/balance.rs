//! How much two branches weigh, and by how much their rates move.
//! Plain arithmetic; knows nothing of hooks, groups and rates.

use host_sdk::prelude::*;

use crate::Branch;

/// Exponential averages of the norms of both branches' gradients; `None` before the first ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Norms(Option<(f64, f64)>);

impl Norms {
    /// Takes the norms of one update. Both or none: a branch without gradients, or with broken ones, has no weight to
    /// compare, and the averages have to be of the same updates.
    pub(crate) fn take(&mut self, a: f64, b: f64, decay: f64) {
        let counts = |norm: f64| norm.is_finite() && norm > 0.0;
        if !(counts(a) && counts(b)) {
            return;
        }
        let mean = |old: f64, new: f64| decay * old + (1.0 - decay) * new;
        self.0 = Some(self.0.map_or((a, b), |(old_a, old_b)| (mean(old_a, a), mean(old_b, b))));
    }

    /// How many times b's norm a's is.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let (a, b) = self.0?;
        Some(a / b).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
    }
}

/// Which rates move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Adjust {
    /// Those of both branches, in opposite directions.
    Both,
    /// Those of `a`.
    A,
    /// Those of `b`.
    B,
}

/// What limits a move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) target: f64,
    /// A ratio that differs from the target by no more than this part of it is left alone.
    pub(crate) tolerance: f64,
    /// By what part a rate may change at once.
    pub(crate) rate: f64,
    pub(crate) min_factor: f64,
    pub(crate) max_factor: f64,
    pub(crate) adjust: Adjust,
}

/// What the rates of each branch have been multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Factors {
    pub(crate) a: f64,
    pub(crate) b: f64,
}

impl Default for Factors {
    fn default() -> Self {
        Self { a: 1.0, b: 1.0 }
    }
}

impl Factors {
    pub(crate) fn of(&self, branch: Branch) -> f64 {
        match branch {
            Branch::A => self.a,
            Branch::B => self.b,
        }
    }

    /// How many times b's factor a's is.
    pub(crate) fn ratio(&self) -> f64 {
        self.a / self.b
    }

    /// The factors after a move that brings `ratio` nearer to the target.
    pub(crate) fn moved(&self, terms: &Terms, ratio: f64) -> Self {
        let off = terms.target / ratio;
        if !off.is_finite() || (1.0 / (1.0 + terms.tolerance)..=1.0 + terms.tolerance).contains(&off) {
            return *self;
        }
        let most = 1.0 + terms.rate;
        // A step never goes past the target, and no rate changes by more than its part.
        let step = |wanted: f64| wanted.clamp(1.0 / most, most);
        let within = |factor: f64| factor.clamp(terms.min_factor, terms.max_factor);
        match terms.adjust {
            Adjust::Both => {
                let half = step(off.sqrt());
                Self { a: within(self.a * half), b: within(self.b / half) }
            }
            Adjust::A => Self { a: within(self.a * step(off)), b: self.b },
            Adjust::B => Self { a: self.a, b: within(self.b / step(off)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms =
        Terms { target: 1.0, tolerance: 0.0, rate: 0.25, min_factor: 0.1, max_factor: 10.0, adjust: Adjust::Both };

    /// The factors after so many moves, where the norms stay as they are.
    fn after(moves: u32, terms: &Terms, norms: f64) -> Factors {
        (0..moves).fold(Factors::default(), |factors, _| factors.moved(terms, norms * factors.ratio()))
    }

    #[test]
    fn a_move_is_no_larger_than_the_rate() {
        assert_eq!(after(1, &TERMS, 100.0), Factors { a: 0.8, b: 1.25 });
        assert_eq!(after(1, &TERMS, 0.01), Factors { a: 1.25, b: 0.8 });
        assert_eq!(after(1, &Terms { adjust: Adjust::A, ..TERMS }, 100.0), Factors { a: 0.8, b: 1.0 });
        assert_eq!(after(1, &Terms { adjust: Adjust::B, ..TERMS }, 100.0), Factors { a: 1.0, b: 1.25 });
    }

    #[test]
    fn moves_end_at_the_target() {
        for (adjust, target) in [(Adjust::Both, 1.0), (Adjust::A, 1.0), (Adjust::B, 1.0), (Adjust::Both, 3.0)] {
            for norms in [5.0, 0.2, 1.1] {
                let terms = Terms { adjust, target, tolerance: 1e-13, ..TERMS };
                let factors = after(100, &terms, norms);
                assert!(
                    (norms * factors.ratio() / target - 1.0).abs() < 1e-12,
                    "{adjust:?} {target} {norms}: {factors:?}"
                );
                assert_eq!(after(101, &terms, norms), factors, "and stay there");
            }
        }
    }

    #[test]
    fn factors_stay_within_their_bounds() {
        let terms = Terms { min_factor: 0.5, max_factor: 1.5, ..TERMS };
        assert_eq!(after(50, &terms, 1e6), Factors { a: 0.5, b: 1.5 });
        assert_eq!(after(50, &terms, 1e-6), Factors { a: 1.5, b: 0.5 });
    }

    #[test]
    fn a_ratio_near_the_target_is_left_alone() {
        let terms = Terms { tolerance: 0.1, ..TERMS };
        for (norms, moves) in [(1.0, false), (1.09, false), (0.92, false), (1.11, true), (0.9, true)] {
            assert_eq!(after(1, &terms, norms) != Factors::default(), moves, "{norms}");
        }
    }

    #[test]
    fn averages_are_of_good_pairs_only() {
        let mut norms = Norms::default();
        let bad = [(f64::NAN, 1.0), (1.0, f64::INFINITY), (0.0, 1.0), (1.0, -1.0)];
        bad.iter().for_each(|(a, b)| norms.take(*a, *b, 0.5));
        assert_eq!(norms.ratio(), None);
        norms.take(4.0, 1.0, 0.5);
        assert_eq!(norms.ratio(), Some(4.0));
        bad.iter().for_each(|(a, b)| norms.take(*a, *b, 0.5));
        norms.take(2.0, 2.0, 0.5);
        assert_eq!(norms.ratio(), Some(2.0));
    }

    #[test]
    fn a_ratio_that_is_no_number_moves_nothing() {
        for ratio in [0.0, f64::NAN] {
            assert_eq!(Factors::default().moved(&TERMS, ratio), Factors::default());
        }
    }
}
