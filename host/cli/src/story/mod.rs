//! A run told as a story: what was decided, by whom, why, and what followed; from the files that it left.
//!
//! It reads a run that has ended, goes on, or was killed, and changes nothing. It does not print:
//! [`command::show`](crate::command::show) and [`report`](crate::report) do. Entries of the timeline become lines
//! ([`moment`]), those that are wanted are kept ([`filter`]) and what happened again and again is told once
//! ([`fold`]). Main items: [`read`], [`Story`].

mod cast;
mod entry;
mod facts;
mod filter;
mod fold;
mod line;
mod moment;
mod path;
mod telling;
#[cfg(test)]
mod tests;

use std::{fs, io, path::Path};

use serde_json::Value;

use self::{
    cast::Cast,
    entry::{Entry, Results},
    filter::Seen,
    fold::Folds,
    moment::Moments,
};
pub(crate) use self::{
    cast::Member,
    facts::Facts,
    filter::{Filter, Steps},
    line::{Line, Tone},
};
use crate::{problem::Problems, run_folder::JsonLines, telemetry::Kind};

/// What is to be told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Which lines.
    pub(crate) filter: Filter,
    /// Each by itself, also those that happen all the time.
    pub(crate) all: bool,
}

/// A run's story.
#[derive(Debug)]
pub(crate) struct Story {
    /// What the run was.
    pub(crate) facts: Facts,
    /// Its callbacks, in their order.
    pub(crate) cast: Vec<Member>,
    /// What happened, in order.
    pub(crate) lines: Vec<Line>,
    /// What about the files themselves should be known.
    pub(crate) notes: Vec<String>,
    wanted: Wanted,
    seen: Seen,
}

/// Whether a folder is one that a run left.
pub(crate) fn is_run(folder: &Path) -> bool {
    folder.join(Kind::Timeline.file()).is_file()
}

/// Reads a run's folder.
///
/// # Errors
///
/// When its timeline cannot be read. Other files may be missing: a run that was killed has no report.
pub(crate) fn read(folder: &Path, wanted: Wanted) -> io::Result<Story> {
    let json = |name: &str| fs::read(folder.join(name)).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let [report, environment]: [Value; 2] =
        ["report.json", "environment.json"].map(|name| json(name).unwrap_or_default());
    let (mut facts, mut cast) = (Facts::new(folder, &report, &environment), Cast::new(&report, &environment));
    let mut notes = Vec::new();
    let metrics = lines::<Value>(folder, Kind::Metrics, |line| facts.measured(&line));
    notes.extend(metrics.unwrap_or_else(|error| vec![error.to_string()]));

    let names = facts.names.clone();
    let mut moments = Moments::new(&names);
    let (mut chosen, mut seen) = (Chosen::new(wanted.all), Seen::default());
    let mut choose = |line: Line| {
        if (wanted.all || !line.quiet) && wanted.filter.wants(&line, &mut seen) {
            chosen.take(line);
        }
    };
    let mut unknown = 0_u64;
    notes.extend(lines(folder, Kind::Timeline, |entry: Entry| {
        unknown += u64::from(matches!(entry.what, entry::What::Other));
        facts.take(&entry);
        cast.take(&entry);
        moments.take(entry).into_iter().for_each(&mut choose);
    })?);
    if unknown > 0 {
        notes.push(format!("{unknown} lines of timeline.jsonl are of kinds that this version does not know"));
    }
    let (open, evaluations) = moments.finish();
    open.into_iter().for_each(&mut choose);
    let lines = chosen.finish(&evaluations);
    Ok(Story { facts, cast: cast.finish(), lines, notes, wanted, seen })
}

impl Story {
    /// Says what there is instead, where the filters leave nothing.
    ///
    /// # Errors
    ///
    /// When no line is wanted, with the nearest names and steps.
    pub(crate) fn check(&self) -> Result<(), Problems> {
        self.wanted.filter.check(&self.seen, &self.cast)
    }
}

/// Reads a file of lines, and gives what should be known about it.
fn lines<T: serde::de::DeserializeOwned>(
    folder: &Path,
    kind: Kind,
    mut each: impl FnMut(T),
) -> io::Result<Vec<String>> {
    let mut unreadable = 0_u64;
    let torn = JsonLines::for_each(&folder.join(kind.file()), |line| match serde_json::from_slice(line) {
        Ok(line) => each(line),
        Err(_) => unreadable += 1,
    })?;
    let mut notes = Vec::new();
    if torn {
        notes.push(format!("the last line of {} is not complete: the run still writes it, or was killed", kind.file()));
    }
    if unreadable > 0 {
        notes.push(format!("{unreadable} lines of {} cannot be read and are left out", kind.file()));
    }
    Ok(notes)
}

/// The lines that are wanted, each by itself or folded.
#[derive(Debug)]
enum Chosen {
    Each(Vec<Line>),
    Folded(Box<Folds>),
}

impl Chosen {
    fn new(all: bool) -> Self {
        if all { Self::Each(Vec::new()) } else { Self::Folded(Box::default()) }
    }

    fn take(&mut self, line: Line) {
        match self {
            Self::Each(lines) => lines.push(line),
            Self::Folded(folds) => folds.take(line),
        }
    }

    fn finish(self, evaluations: &[Results]) -> Vec<Line> {
        let mut lines = match self {
            Self::Each(lines) => lines,
            Self::Folded(folds) => folds.finish(),
        };
        lines.iter_mut().for_each(|line| moment::follow(line, evaluations));
        lines
    }
}
