//! Progress as plain lines, for logs and pipes: one for each log record, evaluation, checkpoint, and for what
//! callbacks do besides writing knobs.
//!
//! It prints no times of day: whoever collects the output adds them. Main type: [`Plain`].

use std::io::{self, Write};

use host_callback::{Progress, Value};
use host_trainer::RunEvent;

use super::{
    headline::figures,
    lines::scalars,
    news::{News, Sink, What},
    words,
};

/// Writes lines to a stream.
#[derive(Debug)]
pub(super) struct Plain<W> {
    to: W,
}

impl<W: Write + Send> Plain<W> {
    /// Lines to `to`.
    pub(super) fn new(to: W) -> Self {
        Self { to }
    }

    // One call a line, so that lines of other writers to the same stream do not get in between.
    fn line(&mut self, line: &str) -> io::Result<()> {
        self.to.write_all(format!("{line}\n").as_bytes())
    }
}

impl<W: Write + Send> Sink for Plain<W> {
    fn name(&self) -> &str {
        "progress lines"
    }

    fn take(&mut self, news: &News<'_>) -> io::Result<()> {
        if let What::Run(RunEvent::Logged { progress, values, performance }) = news.what {
            self.line(&logged(progress, values, performance))?;
        }
        news.headline.map_or(Ok(()), |headline| self.line(headline))
    }

    fn say(&mut self, line: &str) -> bool {
        self.line(line).is_ok()
    }
}

fn logged(progress: &Progress, values: &[(String, Value)], performance: &[(String, Value)]) -> String {
    let total = progress.total_steps.map(|total| format!("/{}", words::count(total))).unwrap_or_default();
    let rate = scalars(performance).find(|(name, _)| *name == "throughput/samples");
    let rate = rate.map(|(_, rate)| format!(", {} samples/s", words::figure(rate))).unwrap_or_default();
    format!("step {}{total} · epoch {:.2} · {}{rate}", words::count(progress.step), progress.epoch, figures(values))
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    #[test]
    fn a_log_record_is_one_line() {
        let values = samples::values(&[("loss", 0.5), ("learning-rate/\x1b[1m", 3e-4)]);
        let line = logged(&samples::at(25), &values, &samples::values(&[("throughput/samples", 1234.0)]));
        assert_eq!(line, "step 25/100 · epoch 2.50 · loss 0.5000, learning-rate/\\u{1b}[1m 3e-4, 1,234 samples/s");
    }
}
