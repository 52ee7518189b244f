//! Progress as plain lines, for logs and pipes: one for each log record, evaluation, checkpoint, and for what
//! callbacks do besides writing knobs.
//!
//! It prints no times of day: whoever collects the output adds them. Main type: [`Plain`].

use std::io::{self, Write};

use host_callback::{Progress, Value};
use host_trainer::RunEvent;

use super::{
    headline::figure,
    lines::scalars,
    news::{News, Sink, What},
    words,
};

/// How many values a line has at most, besides the loss and the learning rates.
const MOST_VALUES: usize = 6;

/// Writes lines to a stream.
#[derive(Debug)]
pub(super) struct Plain<W> {
    to: W,
    /// The values of the first record that have never moved since, such as a weight decay: they are in its
    /// line only. `None` before it.
    still: Option<Vec<(String, f64)>>,
}

impl<W: Write + Send> Plain<W> {
    /// Lines to `to`.
    pub(super) fn new(to: W) -> Self {
        Self { to, still: None }
    }

    // One call a line, so that lines of other writers to the same stream do not get in between.
    fn line(&mut self, line: &str) -> io::Result<()> {
        self.to.write_all(format!("{line}\n").as_bytes())
    }

    fn logged(&mut self, progress: &Progress, values: &[(String, Value)], performance: &[(String, Value)]) -> String {
        let total = progress.total_steps.map(|total| format!("/{}", words::count(total))).unwrap_or_default();
        let mut parts = vec![format!("step {}{total}", words::count(progress.step))];
        parts.push(format!("epoch {:.2}", progress.epoch));
        parts.extend(scalars(values).find(|(name, _)| *name == "loss").map(figure));
        parts.extend(words::learning_rates(scalars(values)));
        parts.extend(self.moving(values).take(MOST_VALUES).map(figure));
        let rate = scalars(performance).find(|(name, _)| *name == "throughput/samples");
        parts.extend(rate.map(|(_, rate)| format!("{} samples/s", words::figure(rate))));
        parts.join(" · ")
    }

    /// The values that are not in every line anyway and not known to stand still.
    fn moving<'v>(&mut self, values: &'v [(String, Value)]) -> impl Iterator<Item = (&'v str, f64)> {
        let is_first = self.still.is_none();
        let owned = |(name, value): (&str, f64)| (name.to_owned(), value);
        let still = self.still.get_or_insert_with(|| scalars(values).map(owned).collect());
        still.retain(|(name, old)| scalars(values).all(|(other, new)| other != name || new == *old));
        scalars(values).filter(move |(name, _)| !is_told(name) && (is_first || !still.iter().any(|one| one.0 == *name)))
    }
}

/// Whether a value is in every line anyway.
fn is_told(name: &str) -> bool {
    name == "loss" || name.starts_with(words::RATE)
}

impl<W: Write + Send> Sink for Plain<W> {
    fn name(&self) -> &str {
        "progress lines"
    }

    fn take(&mut self, news: &News<'_>) -> io::Result<()> {
        if let What::Run(RunEvent::Logged { progress, values, performance }) = news.what {
            let line = self.logged(progress, values, performance);
            self.line(&line)?;
        }
        news.headline.map_or(Ok(()), |headline| self.line(headline))
    }

    fn say(&mut self, line: &str) -> bool {
        self.line(line).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    #[test]
    fn a_log_record_is_one_line_without_what_stands_still() {
        let mut plain = Plain::new(Vec::new());
        let mut line = |step, loss, decay| {
            let values = [("accuracy", loss), ("loss", loss), ("learning-rate/a", 3e-4), ("weight\x1b[1m", decay)];
            let performance = samples::values(&[("throughput/samples", 1234.0)]);
            plain.logged(&samples::at(step), &samples::values(&values), &performance)
        };
        assert_eq!(
            line(25, 0.5, 0.01),
            "step 25/100 · epoch 2.50 · loss 0.5000 · lr 3e-4 · accuracy 0.5000 · weight\\u{1b}[1m 0.01000 · 1,234 samples/s"
        );
        assert_eq!(
            line(26, f64::NAN, 0.01),
            "step 26/100 · epoch 2.60 · loss NaN · lr 3e-4 · accuracy NaN · 1,234 samples/s"
        );
        assert!(line(27, 0.5, 0.02).contains("lr 3e-4 · accuracy 0.5000 · weight"));
        assert!(line(28, 0.5, 0.02).contains("lr 3e-4 · accuracy 0.5000 · weight"));
    }
}
