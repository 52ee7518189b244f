//! Reads a run's files back into events, so that a resumed run's report knows what came before.
//!
//! It does not need every field: a line that it cannot read is passed over, because a report with a gap is
//! better than a run that does not start. What it gives goes to the history only, never to a file again.

use std::{io, path::Path, sync::Arc};

use host_callback::{CallbackFailure, FailureRecord, Hook, Identity, Progress, Record, Value as Measured, Verdict};
use host_trainer::RunEvent;
use serde::Deserialize;
use serde_json::Value;

use super::files::Kind;
use crate::run_folder::JsonLines;

/// Tells again what the files in a folder have, metrics first.
pub(super) fn replay(folder: &Path, mut tell: impl FnMut(&RunEvent<'_>)) -> io::Result<()> {
    for (kind, read) in [(Kind::Metrics, metrics as Reader), (Kind::Timeline, timeline)] {
        JsonLines::for_each(&folder.join(kind.file()), |line| {
            if let Ok(line) = serde_json::from_slice::<Value>(line) {
                let _ = read(&line, &mut tell);
            }
        })?;
    }
    Ok(())
}

type Reader = fn(&Value, &mut dyn FnMut(&RunEvent<'_>)) -> Option<()>;

fn metrics(line: &Value, tell: &mut dyn FnMut(&RunEvent<'_>)) -> Option<()> {
    let progress = progress(line)?;
    let place = ["step", "epoch", "samples", "tokens"];
    let values: Vec<(String, Measured)> = line
        .as_object()?
        .iter()
        .filter(|(name, _)| !place.contains(&name.as_str()))
        .filter_map(|(name, value)| Some((name.clone(), Measured::deserialize(value).ok()?)))
        .collect();
    // Both kinds of lines are in the file, and an evaluation's names tell which one it is.
    let evaluation = !values.is_empty() && values.iter().all(|(name, _)| name.starts_with("eval/"));
    let event = if evaluation {
        RunEvent::Evaluated { progress, values: &values, seconds: 0.0 }
    } else {
        RunEvent::Logged { progress, values: &values, performance: &[] }
    };
    tell(&event);
    Some(())
}

fn timeline(line: &Value, tell: &mut dyn FnMut(&RunEvent<'_>)) -> Option<()> {
    let progress = progress(line)?;
    let mut run = |event: RunEvent<'_>| tell(&event);
    // How this process begins is not known yet, and evaluations are told by the metrics.
    match line.get("event")?.as_str()? {
        "decided" => run(RunEvent::Decided { progress, hook: field(line, "hook")?, record: &record(line)? }),
        "callback-failed" => {
            let hook: Hook = field(line, "hook")?;
            run(RunEvent::CallbackFailed { progress, hook, failure: &failure(line)? });
        }
        "saved" => {
            let tags: Vec<String> = field(line, "tags")?;
            run(RunEvent::Saved { progress, checkpoint: text(line, "checkpoint")?, tags: &tags, seconds: 0.0 });
        }
        _ => {}
    }
    Some(())
}

fn field<'a, T: Deserialize<'a>>(line: &'a Value, name: &str) -> Option<T> {
    T::deserialize(line.get(name)?).ok()
}

fn text<'a>(line: &'a Value, name: &str) -> Option<&'a str> {
    line.get(name)?.as_str()
}

fn progress(line: &Value) -> Option<Progress> {
    let count = |name| line.get(name).and_then(Value::as_u64).unwrap_or(0);
    let epoch = line.get("epoch").and_then(Value::as_f64).unwrap_or(0.0);
    let step = line.get("step")?.as_u64()?;
    Some(Progress { step, total_steps: None, epoch, samples: count("samples"), tokens: count("tokens") })
}

fn identity(line: &Value) -> Option<Arc<Identity>> {
    Identity::deserialize(line).ok().map(Arc::new)
}

fn record(line: &Value) -> Option<Record> {
    let (decision, changes) = (field(line, "decision")?, field(line, "changes")?);
    Some(Record { by: identity(line)?, decision, verdict: verdict(line)?, changes })
}

fn verdict(line: &Value) -> Option<Verdict> {
    let why = || text(line, "why").map(str::to_owned);
    match text(line, "outcome")? {
        "applied" => Some(Verdict::Applied),
        "merged" => Some(Verdict::Merged),
        "overruled" => why().map(Verdict::Overruled),
        "refused" => why().map(Verdict::Refused),
        _ => None,
    }
}

fn failure(line: &Value) -> Option<FailureRecord> {
    let failure = CallbackFailure {
        kind: field(line, "cause")?,
        message: text(line, "message")?.to_owned(),
        fuel: field(line, "fuel")?,
        time: std::time::Duration::try_from_secs_f64(field(line, "seconds")?).ok()?,
        consequence: field(line, "consequence")?,
    };
    Some(FailureRecord { by: identity(line)?, failure })
}

#[cfg(test)]
mod tests {
    use host_callback::Decision;

    use super::{
        super::{
            Clock, lines,
            news::{News, What},
            samples,
        },
        *,
    };

    /// An event as it comes back after it was written to the timeline.
    fn there_and_back(event: &RunEvent<'_>, look: impl Fn(&RunEvent<'_>)) {
        let news = News { what: What::Run(event), at: Progress::default(), headline: None, clock: Clock::default() };
        let line = serde_json::to_value(lines::timeline(&news)).unwrap();
        let mut seen = 0;
        timeline(&line, &mut |event| {
            seen += 1;
            look(event);
        });
        assert_eq!(seen, 1, "{line}");
    }

    #[test]
    fn every_decision_and_verdict_comes_back() {
        let name = || "n".to_owned();
        let decisions = [
            Decision::Stop("why".into()),
            Decision::EndEpoch("why".into()),
            Decision::Evaluate,
            Decision::Save(String::new()),
            Decision::Log,
            Decision::Skip("why".into()),
            Decision::Restore("best".into()),
            Decision::Set { knob: name(), value: f64::INFINITY },
            Decision::Scale { knob: name(), factor: 0.1 },
            Decision::Report { name: name(), value: f64::NEG_INFINITY },
            Decision::Mute("a*".into()),
            Decision::Note("\n".into()),
        ];
        let verdicts =
            [Verdict::Applied, Verdict::Merged, Verdict::Overruled("x".into()), Verdict::Refused("y".into())];
        for (decision, verdict) in decisions.iter().flat_map(|decision| verdicts.iter().map(move |v| (decision, v))) {
            let record = samples::record(decision.clone(), verdict.clone());
            let event = RunEvent::Decided { progress: samples::at(3), hook: Hook::StepEnd, record: &record };
            there_and_back(&event, |back| match back {
                RunEvent::Decided { progress, hook, record: back } => {
                    assert_eq!((progress.step, *hook), (3, Hook::StepEnd));
                    assert_eq!(**back, record);
                }
                other => panic!("{other:?}"),
            });
        }
    }

    #[test]
    fn failures_and_checkpoints_come_back() {
        let failure = samples::failure("boom");
        let event = RunEvent::CallbackFailed { progress: samples::at(3), hook: Hook::Log, failure: &failure };
        there_and_back(&event, |back| match back {
            RunEvent::CallbackFailed { hook: Hook::Log, failure: back, .. } => assert_eq!(**back, failure),
            other => panic!("{other:?}"),
        });
        let tags = ["best".to_owned()];
        let event = RunEvent::Saved { progress: samples::at(3), checkpoint: "step-3", tags: &tags, seconds: 1.0 };
        there_and_back(&event, |back| match back {
            RunEvent::Saved { checkpoint: "step-3", tags: back, .. } => assert_eq!(**back, tags),
            other => panic!("{other:?}"),
        });
    }

    #[test]
    fn a_line_of_another_program_is_passed_over() {
        for line in
            ["{}", "[]", "null", r#"{"step":1}"#, r#"{"step":1,"event":"decided"}"#, r#"{"step":1,"event":"new"}"#]
        {
            timeline(&serde_json::from_str(line).unwrap(), &mut |event| panic!("{line}: {event:?}"));
        }
    }
}
