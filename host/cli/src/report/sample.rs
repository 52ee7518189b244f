//! A run to report on, for tests. Not part of the program.

use std::{path::PathBuf, time::Duration};

use host_callback::{Decision, Hook, Progress, Verdict};
use host_trainer::{Artifact, Ending, RunEvent};

use super::ReportInputs;
use crate::{
    environment::Environment,
    story::Line,
    telemetry::{History, samples},
};

fn at(step: u64) -> Progress {
    Progress { total_steps: Some(2_000), ..samples::at(step) }
}

/// 1,000 steps with an evaluation each 100, a gap of NaN in both losses, and a guest that writes what it should not.
pub(crate) fn history() -> History {
    let mut history = History::default();
    let device = "cpu (Flex)";
    history.take(&RunEvent::Started { device, parameters: 12_345, progress: at(0) });
    for step in (10..=1_000).step_by(10) {
        let wave = ((step * 37 % 11) as f64 - 5.0) / 60.0;
        let loss = if step == 1_000 || (300..350).contains(&step) { f64::NAN } else { loss(step) + wave };
        let values = samples::values(&[("loss", loss)]);
        history.take(&RunEvent::Stepped { progress: at(step), loss: None, seconds: 0.5 });
        history.take(&RunEvent::Logged { progress: at(step), values: &values, performance: &[] });
        if step % 100 == 0 {
            evaluate(&mut history, step);
        }
    }
    callbacks(&mut history);
    history
}

fn loss(step: u64) -> f64 {
    0.4 + 2.0 * (-(step as f64) / 250.0).exp()
}

fn evaluate(history: &mut History, step: u64) {
    let distance = (step as f64 - 600.0) / 1_000.0;
    let loss = if step == 400 { f64::NAN } else { loss(step) + 0.2 + 2.5 * distance.max(0.0) };
    let values = samples::values(&[("eval/loss", loss), ("eval/accuracy", step as f64 / 1_100.0)]);
    history.take(&RunEvent::Evaluated { progress: at(step), values: &values, seconds: 0.5 });
    let tags = if step == 600 { vec!["best".to_owned()] } else { Vec::new() };
    let checkpoint = format!("step-{step}");
    let saved = RunEvent::Saved { progress: at(step), checkpoint: &checkpoint, tags: &tags, seconds: 0.1 };
    history.take(&saved);
}

fn callbacks(history: &mut History) {
    let progress = at(1_000);
    let stop = samples::record(Decision::Stop("no improvement | for 3 evaluations\x1b[31m".into()), Verdict::Applied);
    history.take(&RunEvent::Decided { progress, hook: Hook::EvaluateEnd, record: &stop });
    let failure = samples::failure("index `7` out of | bounds\n# not a heading");
    history.take(&RunEvent::CallbackFailed { progress, hook: Hook::EvaluateEnd, failure: &failure });
    let ending =
        Ending::Stopped { by: "early".into(), reasons: vec!["no improvement | for 3 evaluations\x1b[31m".into()] };
    let summaries = [samples::summary("quick", 0.01), samples::summary("slow", 20.0)];
    let evaluation = Default::default();
    history.take(&RunEvent::Ended { progress, ending: &ending, evaluation: &evaluation, callbacks: &summaries });
}

/// A story of so many lines, by a guest that writes what it should not.
pub(crate) fn story(lines: usize) -> Vec<Line> {
    (0..lines as u64).map(|step| Line::sample(step, "a | b\x1b[31m")).collect()
}

pub(crate) fn artifacts() -> Vec<Artifact> {
    vec![
        Artifact::Text { name: "sample".into(), text: "once ```upon\n# a time\x1b[2J".into() },
        Artifact::Table {
            name: "confusion | matrix".into(),
            columns: vec!["cat".into(), "d|og".into()],
            rows: vec![("cat".into(), vec![9.0, f64::NAN]), ("d|og".into(), vec![2.0, 8.5])],
        },
    ]
}

pub(crate) fn inputs<'a>(
    history: &'a History,
    environment: &'a Environment,
    artifacts: &'a [Artifact],
) -> ReportInputs<'a> {
    let checkpoints = history.checkpoints.iter().filter(|one| [600, 1_000].contains(&one.step)).cloned().collect();
    ReportInputs {
        run: "quickstart-3".into(),
        place: PathBuf::from("runs/quickstart-3"),
        ending: history.ending.clone().unwrap(),
        history,
        elapsed: Duration::from_secs(100),
        environment,
        checkpoints,
        artifacts,
    }
}
