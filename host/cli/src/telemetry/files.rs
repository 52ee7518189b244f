//! The run's JSON-lines files as sinks.
//!
//! It does not choose the lines' fields: [`lines`] does. Main type: [`FileSink`].

use std::{io, path::Path};

use super::{
    lines,
    news::{News, Sink},
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

/// A file that takes the lines of its kind.
///
/// Each file is a sink of its own: one that cannot be written does not take the others along.
pub(super) struct FileSink {
    kind: Kind,
    lines: JsonLines,
}

impl FileSink {
    /// The files of a new run.
    pub(super) fn create(folder: &RunFolder) -> io::Result<Vec<Self>> {
        let create = |kind: Kind| Ok(Self { kind, lines: JsonLines::open(&folder.file(kind.file()))? });
        Kind::ALL.into_iter().map(create).collect()
    }

    /// The files of a run that goes on where another one was at its `mark`.
    pub(super) fn resume(folder: &RunFolder, parent: &Path, mark: &serde_json::Value) -> io::Result<Vec<Self>> {
        let resume = |kind: Kind| {
            let name = kind.file();
            let lines = JsonLines::continue_from(&folder.file(name), &parent.join(name), kind.marked(mark))?;
            Ok(Self { kind, lines })
        };
        Kind::ALL.into_iter().map(resume).collect()
    }

    /// How many lines of the mark the parent did not have.
    pub(super) fn missing(&self, mark: &serde_json::Value) -> u64 {
        self.kind.marked(mark).saturating_sub(self.lines.lines())
    }

    #[cfg(test)]
    pub(super) fn over(kind: Kind, lines: JsonLines) -> Self {
        Self { kind, lines }
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
        done.unwrap_or(Ok(()))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.lines.sync()
    }

    fn mark(&self) -> Option<(&str, u64)> {
        Some((self.kind.name(), self.lines.lines()))
    }
}
