//! What is left to read when a run has ended: `report.json` for programs, `report.md` with `loss.svg` for people,
//! and a summary for the terminal.
//!
//! It does not watch the run: [`telemetry`](crate::telemetry) did, and hands over its history. Main types:
//! [`ReportInputs`], [`write()`], [`summary()`].

mod chart;
mod json;
mod markdown;
mod page;
#[cfg(test)]
mod sample;
mod summary;

use std::{io, path::PathBuf, time::Duration};

use host_callback::Summary;
use host_trainer::{Artifact, Ending};

pub(crate) use self::summary::summary;
use crate::{
    environment::Environment,
    run_folder::RunFolder,
    story::{self, Wanted},
    telemetry::{Checkpoint, History},
};

/// Everything that a report is made from.
#[derive(Clone, Debug)]
pub(crate) struct ReportInputs<'a> {
    /// The run's name with its number.
    pub(crate) run: String,
    /// Its folder, as people are told.
    pub(crate) place: PathBuf,
    /// How it ended.
    pub(crate) ending: Ending,
    /// What telemetry kept of it.
    pub(crate) history: &'a History,
    /// Wall-clock time of this process's part of it.
    pub(crate) elapsed: Duration,
    /// Where it took place.
    pub(crate) environment: &'a Environment,
    /// The checkpoints that are there.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// What the task left to look at.
    pub(crate) artifacts: &'a [Artifact],
}

impl<'a> ReportInputs<'a> {
    /// The report on a run in `folder`. Its ending is the one that the loop told; a run of which the loop told
    /// none has failed. Checkpoints are those that were saved and have not been deleted since.
    pub(crate) fn new(
        folder: &RunFolder,
        history: &'a History,
        environment: &'a Environment,
        elapsed: Duration,
        artifacts: &'a [Artifact],
    ) -> Self {
        let untold = || Ending::Failed { error: "the loop ended without saying how".into() };
        let there = |checkpoint: &&Checkpoint| folder.checkpoints().join(&checkpoint.name).exists();
        Self {
            run: folder.name(),
            place: folder.path().to_owned(),
            ending: history.ending.clone().unwrap_or_else(untold),
            history,
            elapsed,
            environment,
            checkpoints: history.checkpoints.iter().filter(there).cloned().collect(),
            artifacts,
        }
    }

    /// Samples that this process trained on a second, evaluations and saves left out.
    fn samples_per_second(&self) -> Option<f64> {
        self.per_second(self.history.began.samples, self.history.progress.samples)
    }

    /// The same in tokens, where the task has them.
    fn tokens_per_second(&self) -> Option<f64> {
        self.per_second(self.history.began.tokens, self.history.progress.tokens).filter(|&rate| rate > 0.0)
    }

    fn per_second(&self, before: u64, after: u64) -> Option<f64> {
        let seconds = self.history.step_seconds;
        (seconds > 0.0).then(|| after.saturating_sub(before) as f64 / seconds)
    }

    /// The part of the elapsed time that a callback took, from 0 to 1.
    fn share(&self, callback: &Summary) -> f64 {
        let elapsed = self.elapsed.as_secs_f64();
        if elapsed > 0.0 { callback.seconds / elapsed } else { 0.0 }
    }

    /// The callback that took the most time, if any took some.
    fn slowest(&self) -> Option<&Summary> {
        let callbacks = self.history.callbacks.iter().filter(|callback| callback.seconds > 0.0);
        callbacks.max_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }
}

/// Writes `loss.svg`, `report.md` and, last of them, `report.json`: who finds that one finds them all.
///
/// # Errors
///
/// When a file cannot be written.
pub(crate) fn write(folder: &RunFolder, inputs: &ReportInputs<'_>) -> io::Result<()> {
    let chart = chart::losses(inputs.history);
    if let Some(chart) = &chart {
        folder.write(chart::FILE, chart.as_bytes())?;
    }
    // A report without its story is still a report.
    let story = story::read(folder.path(), Wanted::default()).map(|story| story.lines).unwrap_or_default();
    folder.write("report.md", markdown::page(inputs, &story, chart.is_some()).as_bytes())?;
    folder.write_json("report.json", &json::report(inputs))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_report_is_three_files() {
        let runs = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(runs.path(), "run").unwrap();
        fs::create_dir(folder.checkpoints().join("step-100")).unwrap();
        let (history, environment) = (sample::history(), crate::environment::tests::sample());
        let inputs = ReportInputs::new(&folder, &history, &environment, Duration::from_secs(100), &[]);
        write(&folder, &inputs).unwrap();
        for file in ["loss.svg", "report.md", "report.json"] {
            assert!(fs::metadata(folder.file(file)).unwrap().len() > 500, "{file}");
        }
        let names: Vec<_> = inputs.checkpoints.iter().map(|checkpoint| checkpoint.name.as_str()).collect();
        assert_eq!(names, ["step-100"], "those that were deleted are left out");
    }

    #[test]
    fn b19_a_run_that_said_nothing_is_closed_as_failed() {
        let runs = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(runs.path(), "run").unwrap();
        let (history, environment) = (History::default(), crate::environment::tests::sample());
        let inputs = ReportInputs::new(&folder, &history, &environment, Duration::ZERO, &[]);
        write(&folder, &inputs).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&fs::read(folder.file("report.json")).unwrap()).unwrap();
        assert_eq!(json["status"], "failed");
        assert!(!folder.file("loss.svg").exists());
    }
}
