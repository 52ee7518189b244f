//! Scores of a classifier from its confusion matrix.
//!
//! It does not run the model. Main type: [`Confusion`].

/// How often each true class was guessed as each class.
pub(super) struct Confusion {
    classes: usize,
    counts: Vec<u64>,
}

impl Confusion {
    pub(super) fn new(classes: usize) -> Self {
        Self { classes, counts: vec![0; classes * classes] }
    }

    pub(super) fn add(&mut self, truth: usize, guess: usize) {
        self.counts[truth * self.classes + guess] += 1;
    }

    fn at(&self, truth: usize, guess: usize) -> f64 {
        self.counts[truth * self.classes + guess] as f64
    }

    /// Part of the samples on the diagonal.
    pub(super) fn accuracy(&self) -> f64 {
        let right: f64 = (0..self.classes).map(|class| self.at(class, class)).sum();
        right / self.counts.iter().sum::<u64>() as f64
    }

    /// Mean of the classes' F1 scores; a class that is neither there nor guessed scores 0, as in scikit-learn
    /// with `zero_division=0`.
    pub(super) fn macro_f1(&self) -> f64 {
        let f1 = |class: usize| {
            let right = self.at(class, class);
            let truths: f64 = (0..self.classes).map(|guess| self.at(class, guess)).sum();
            let guesses: f64 = (0..self.classes).map(|truth| self.at(truth, class)).sum();
            if truths + guesses == 0.0 { 0.0 } else { 2.0 * right / (truths + guesses) }
        };
        (0..self.classes).map(f1).sum::<f64>() / self.classes as f64
    }

    /// For each class, part of its samples that were guessed right; NaN for a class without samples.
    pub(super) fn class_accuracy(&self) -> Vec<f32> {
        let truths = |class: usize| (0..self.classes).map(|guess| self.at(class, guess)).sum::<f64>();
        (0..self.classes).map(|class| (self.at(class, class) / truths(class)) as f32).collect()
    }

    /// The matrix row after row.
    pub(super) fn flat(&self) -> Vec<f32> {
        self.counts.iter().map(|&count| count as f32).collect()
    }

    /// The matrix as rows.
    pub(super) fn rows(&self) -> Vec<Vec<f64>> {
        (0..self.classes).map(|truth| (0..self.classes).map(|guess| self.at(truth, guess)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against scikit-learn's scores in `tests/fixtures/metrics/classification.json`.
    #[test]
    fn scores_agree_with_scikit_learn() {
        let text = include_str!("../../../../../tests/fixtures/metrics/classification.json");
        let fixture: serde_json::Value = serde_json::from_str(text).unwrap();
        let cases = fixture["cases"].as_array().unwrap();
        assert!(cases.len() >= 3);
        for case in cases {
            let counts: Vec<Vec<u64>> = serde_json::from_value(case["confusion_matrix"].clone()).unwrap();
            let mut confusion = Confusion::new(counts.len());
            for (truth, row) in counts.iter().enumerate() {
                for (guess, &count) in row.iter().enumerate() {
                    (0..count).for_each(|_| confusion.add(truth, guess));
                }
            }
            let id = &case["id"];
            let near = |ours: f64, theirs: &serde_json::Value| (ours - theirs.as_f64().unwrap()).abs() < 1e-9;
            assert!(near(confusion.accuracy(), &case["accuracy"]), "{id}");
            assert!(near(confusion.macro_f1(), &case["macro"]["f1"]), "{id}");
            let right = |(class, row): (usize, &Vec<u64>)| row[class] as f32 / row.iter().sum::<u64>() as f32;
            let expected: Vec<f32> = counts.iter().enumerate().map(right).collect();
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&confusion.class_accuracy()), bits(&expected), "{id}");
        }
    }
}
