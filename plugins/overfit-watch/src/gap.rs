//! The gap between an evaluation and training, and when it has grown for long enough.
//! Plain arithmetic; knows nothing of hooks and actions.

use host_sdk::prelude::*;

/// The mean of what was measured in training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    /// Takes a value; one that is not finite is left out.
    pub(crate) fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.sum += value;
            self.count += 1;
        }
    }

    /// `None` without values.
    pub(crate) fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// How much worse an evaluation is than training was. Finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gap {
    pub(crate) evaluated: f64,
    pub(crate) trained: f64,
    /// The difference, above 0 where the evaluation is worse.
    pub(crate) gap: f64,
    /// How many times worse; `None` where one of the values is not above 0.
    pub(crate) ratio: Option<f64>,
}

impl Gap {
    /// `None` where there is no finite difference.
    pub(crate) fn between(mode: Mode, evaluated: f64, trained: f64) -> Option<Self> {
        let (worse, better) = match mode {
            Mode::Min => (evaluated, trained),
            Mode::Max => (trained, evaluated),
        };
        let gap = worse - better;
        let ratio = (worse > 0.0 && better > 0.0).then(|| worse / better).filter(|ratio| ratio.is_finite());
        gap.is_finite().then_some(Self { evaluated, trained, gap, ratio })
    }
}

/// When a gap counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Evaluations in a row.
    pub(crate) patience: u32,
    pub(crate) max_gap: Option<f64>,
    pub(crate) max_ratio: Option<f64>,
}

impl Terms {
    /// Whether a gap is beyond one of the limits; without any, whether the evaluation is worse at all.
    fn is_beyond(&self, gap: &Gap) -> bool {
        let by_gap = self.max_gap.map(|limit| gap.gap > limit);
        let by_ratio = self.max_ratio.map(|limit| gap.ratio.is_some_and(|ratio| ratio > limit));
        match (by_gap, by_ratio) {
            (None, None) => gap.gap > 0.0,
            (by_gap, by_ratio) => by_gap == Some(true) || by_ratio == Some(true),
        }
    }
}

/// What is remembered from evaluation to evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Watch {
    /// The gap at the last evaluation that had one.
    last: Option<f64>,
    /// How often in a row it has grown beyond the limits.
    grown: u32,
}

impl Watch {
    /// Takes the gap of an evaluation, and says whether it has grown for long enough. Then the count begins anew.
    pub(crate) fn take(&mut self, terms: &Terms, gap: &Gap) -> bool {
        let grows = self.last.is_some_and(|last| gap.gap > last) && terms.is_beyond(gap);
        self.last = Some(gap.gap);
        self.grown = if grows { self.grown.saturating_add(1) } else { 0 };
        let enough = self.grown >= terms.patience;
        if enough {
            self.grown = 0;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The evaluations, counted from 0, at which these gaps have grown for long enough.
    fn grown(terms: &Terms, pairs: &[(f64, f64)]) -> Vec<usize> {
        let mut watch = Watch::default();
        let gap = |(evaluated, trained)| Gap::between(Mode::Min, evaluated, trained).unwrap();
        let taken = pairs.iter().enumerate().filter(|(_, pair)| watch.take(terms, &gap(**pair)));
        taken.map(|(index, _)| index).collect()
    }

    const TERMS: Terms = Terms { patience: 2, max_gap: None, max_ratio: None };

    #[test]
    fn only_growth_in_a_row_counts() {
        let gaps = |gaps: &[f64]| gaps.iter().map(|gap| (1.0 + gap, 1.0)).collect::<Vec<_>>();
        assert_eq!(grown(&TERMS, &gaps(&[0.25, 0.5, 0.75, 1.0, 1.25])), [2, 4]);
        assert_eq!(grown(&TERMS, &gaps(&[0.25, 0.5, 0.375, 0.5, 0.25, 0.5])), [0; 0]);
        assert_eq!(grown(&TERMS, &gaps(&[0.5, 0.5, 0.5, 0.5])), [0; 0], "a gap that stays is no growth");
        assert_eq!(grown(&TERMS, &gaps(&[-0.5, -0.25, -0.125, 0.0])), [0; 0], "the evaluation is better");
    }

    #[test]
    fn growth_within_the_limits_does_not_count() {
        let pairs = [(2.0, 2.0), (2.25, 2.0), (2.5, 2.0), (2.75, 2.0), (3.0, 2.0), (3.25, 2.0)];
        assert_eq!(grown(&Terms { max_gap: Some(0.5), ..TERMS }, &pairs), [4]);
        assert_eq!(grown(&Terms { max_ratio: Some(1.4), ..TERMS }, &pairs), [5]);
        let either = Terms { max_gap: Some(100.0), max_ratio: Some(1.2), ..TERMS };
        assert_eq!(grown(&either, &pairs), [3, 5]);
    }

    #[test]
    fn a_ratio_is_there_where_it_means_something() {
        let ratio = |mode, evaluated, trained| Gap::between(mode, evaluated, trained).and_then(|gap| gap.ratio);
        assert_eq!(ratio(Mode::Min, 3.0, 2.0), Some(1.5));
        assert_eq!(ratio(Mode::Max, 0.5, 0.75), Some(1.5));
        for (evaluated, trained) in [(1.0, 0.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 5e-324)] {
            assert_eq!(ratio(Mode::Min, evaluated, trained), None, "{evaluated}, {trained}");
        }
    }

    #[test]
    fn a_gap_is_always_finite() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Gap::between(Mode::Min, bad, 1.0), None);
            assert_eq!(Gap::between(Mode::Min, 1.0, bad), None);
        }
        let mut mean = Mean::default();
        [f64::NAN, 1.0, f64::INFINITY, 2.0].iter().for_each(|value| mean.add(*value));
        assert_eq!(mean.value(), Some(1.5));
        assert_eq!(Mean::default().value(), None);
    }
}
