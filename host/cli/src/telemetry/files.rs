//! The run's JSON-lines files as sinks.
//!
//! It does not choose the lines' fields: [`lines`] does. Main type: [`FileSink`].

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use host_trainer::RunEvent;

use super::{
    lines,
    news::{News, Sink, What},
};
use crate::run_folder::{JsonLines, RunFolder};

/// One of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Values that every run with this seed has.
    Metrics,
    /// Values of clocks and of the system.
    Performance,
    /// What callbacks reported.
    Reports,
    /// What happened, and who decided it.
    Timeline,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Metrics, Self::Performance, Self::Reports, Self::Timeline];

    /// Its name in a mark.
    fn name(self) -> &'static str {
        self.file().trim_end_matches(".jsonl")
    }

    /// Its name in the run's folder.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Metrics => "metrics.jsonl",
            Self::Performance => "performance.jsonl",
            Self::Reports => "reports.jsonl",
            Self::Timeline => "timeline.jsonl",
        }
    }

    /// How many lines a mark says that this file had.
    pub(super) fn marked(self, mark: &serde_json::Value) -> u64 {
        mark.get(self.name()).and_then(serde_json::Value::as_u64).unwrap_or(0)
    }
}

/// How long decisions and reports may wait to be written. Callbacks can make some at each step, and to write each of them
/// by itself would take more of a short step than to call the callback.
const WAIT: Duration = Duration::from_millis(100);

/// A file that takes the lines of its kind.
///
/// Each file is a sink of its own: one that cannot be written does not take the others along. Decisions and reports are
/// written with the next event of another kind, or with the end of a step where they have waited for a while.
pub(super) struct FileSink {
    kind: Kind,
    lines: JsonLines,
    /// Since when lines wait that may.
    since: Option<Instant>,
}

impl FileSink {
    /// The files of a new run.
    pub(super) fn create(folder: &RunFolder) -> io::Result<Vec<Self>> {
        let create = |kind: Kind| Ok(Self::over(kind, JsonLines::open(&folder.file(kind.file()))?));
        Kind::ALL.into_iter().map(create).collect()
    }

    /// The files of a run that goes on where another one was at its `mark`.
    pub(super) fn resume(folder: &RunFolder, parent: &Path, mark: &serde_json::Value) -> io::Result<Vec<Self>> {
        let resume = |kind: Kind| {
            let name = kind.file();
            let lines = JsonLines::continue_from(&folder.file(name), &parent.join(name), kind.marked(mark))?;
            Ok(Self::over(kind, lines))
        };
        Kind::ALL.into_iter().map(resume).collect()
    }

    /// How many lines of the mark the parent did not have.
    pub(super) fn missing(&self, mark: &serde_json::Value) -> u64 {
        self.kind.marked(mark).saturating_sub(self.lines.lines())
    }

    pub(super) fn over(kind: Kind, lines: JsonLines) -> Self {
        Self { kind, lines, since: None }
    }

    /// Whether lines that wait go on waiting after some news.
    fn can_wait(&mut self, news: &News<'_>) -> bool {
        let steady = news.clock.steady;
        match news.what {
            What::Run(RunEvent::Decided { .. } | RunEvent::Reported { .. }) => {
                self.since.get_or_insert_with(steady);
                true
            }
            What::Run(RunEvent::Stepped { .. }) => self.since.is_some_and(|since| steady() - since < WAIT),
            What::Run(_) | What::Story(_) => false,
        }
    }
}

impl Sink for FileSink {
    fn name(&self) -> &str {
        self.kind.file()
    }

    fn take(&mut self, news: &News<'_>) -> io::Result<()> {
        let to = &mut self.lines;
        let done = match self.kind {
            Kind::Metrics => lines::metrics(news).map(|line| to.append(&line)),
            Kind::Performance => lines::performance(news).map(|line| to.append(&line)),
            Kind::Reports => lines::reports(news).map(|line| to.append(&line)),
            Kind::Timeline => lines::timeline(news).map(|line| to.append(&line)),
        };
        done.unwrap_or(Ok(()))?;
        if !self.lines.has_waiting() || self.can_wait(news) {
            return Ok(());
        }
        self.since = None;
        self.lines.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.lines.sync()
    }

    fn mark(&self) -> Option<(&str, u64)> {
        Some((self.kind.name(), self.lines.lines()))
    }
}
