//! A run in parts is the run in one piece: the same events, decisions and weights, to the bit.
//!
//! What is in a checkpoint is tested in `checkpoints`.

use std::{fs, path::Path, time::Duration};

use host_callback::{Decision, Hook};
use host_trainer::{AnyRun, Ending, Span};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    rig::{Part, Rig},
    script::{Script, Seen},
    task::Regression,
};

/// Everything that a callback can read and that no clock gives.
const READS: [&str; 10] = [
    "loss",
    "root",
    "absolute-error",
    "eval/*",
    "gradient-norm*",
    "gradient-nonfinite",
    "learning-rate/*",
    "batch-size",
    "accumulation",
    "steers/*",
];

/// Epochs of 23 samples, first 6 a step.
fn rig() -> Rig {
    let mut rig = Rig::new(8);
    rig.task = Regression::of(23);
    let settings = &mut rig.settings;
    (settings.batch_size, settings.accumulation, settings.keep) = (3, 2, 1000);
    (settings.evaluate_every, settings.save_every) = (Some(Span::Steps(5)), Some(Span::Steps(7)));
    (settings.log_every, settings.clip_norm) = (Span::Steps(3), 0.5);
    rig
}

fn set(knob: &str, value: f64) -> Decision {
    Decision::Set { knob: knob.into(), value }
}

/// Does a bit of everything; what it does depends on what it saw since the beginning of the run.
fn steer(seen: &Seen, history: &[Seen]) -> Vec<Decision> {
    let tag = |tag: &str| vec![Decision::Save(tag.into())];
    match (seen.hook, seen.step()) {
        (Hook::StepBegin, _) if seen.occurrence == 6 => vec![Decision::Skip("a batch".into())],
        (Hook::StepBegin, step) => vec![set("learning-rate", 0.05 * 0.97_f64.powi(step as i32))],
        (Hook::Gradients, 11) => vec![Decision::Skip("an update".into())],
        (Hook::Gradients, 22) => vec![Decision::Restore("best".into())],
        (Hook::StepEnd, 13) => vec![Decision::Evaluate, Decision::Log],
        (Hook::StepEnd, 15) => vec![set("batch-size", 2.0)],
        (Hook::StepEnd, 18) => vec![Decision::EndEpoch("bored".into())],
        (Hook::StepEnd, 27) => vec![set("accumulation", 1.0)],
        (Hook::EvaluateEnd, _) if is_best(seen, history) => tag("best"),
        (Hook::EpochBegin, _) if seen.occurrence == 5 => tag("begun"),
        (Hook::EpochEnd, _) => {
            let events = Decision::Report { name: "events".into(), value: history.len() as f64 };
            if seen.occurrence.is_multiple_of(2) { [tag("epoch"), vec![events]].concat() } else { vec![events] }
        }
        (Hook::Log, _) => vec![Decision::Mute("root".into())],
        _ => Vec::new(),
    }
}

fn is_best(seen: &Seen, history: &[Seen]) -> bool {
    let earlier = history.iter().filter(|seen| seen.hook == Hook::EvaluateEnd);
    let best = earlier.filter_map(|seen| seen.value("eval/loss")).fold(f64::INFINITY, f64::min);
    seen.value("eval/loss").unwrap() < best
}

fn scripts() -> [Script; 2] {
    [Script::new("steers", steer).reads(&READS), Script::silent("witness").reads(&READS)]
}

/// Compares everything that was seen with the run in one piece.
fn same(what: &str, part: &Part, whole: &Part) {
    for (log, other) in part.logs.iter().zip(&whole.logs) {
        let (log, other) = (log.borrow(), other.borrow());
        for (seen, expected) in log.iter().zip(other.iter()) {
            assert_eq!(seen, expected, "{what}: shown to a callback");
        }
        assert_eq!(log.len(), other.len(), "{what}: events");
    }
    for (told, expected) in part.events.iter().zip(&whole.events) {
        assert_eq!(told, expected, "{what}: told to the observer");
    }
    assert_eq!(part.events.len(), whole.events.len(), "{what}: told to the observer");
    assert_eq!(part.weights, whole.weights, "{what}: weights");
}

fn last(part: &Part) -> &str {
    part.checkpoints().last().copied().unwrap()
}

/// Compares a whole run with ones that were interrupted after so many steps.
fn interrupted(mut rig: Rig, after: impl Fn(u64) -> bool) {
    let whole = rig.run(scripts()).completed();
    let steps = whole.report.progress.step;
    assert!((38..60).contains(&steps), "{steps}");
    for step in (1..steps).filter(|step| after(*step)) {
        rig.settings.until = Some(Span::Steps(step));
        let first = rig.run(scripts());
        assert_eq!((first.report.progress.step, first.report.ending.is_final()), (step, false));
        rig.settings.until = None;
        let rest = rig.resume(&first, last(&first), scripts()).completed();
        same(&format!("after step {step}"), &rest, &whole);
    }
}

/// The same after every step.
fn interrupted_anywhere(rig: fn() -> Rig) {
    // On several threads: writing checkpoints waits for the disk.
    const THREADS: u64 = 4;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || interrupted(rig(), |step| step % THREADS == thread));
        }
    });
}

#[test]
fn b1_b26_a_run_that_was_interrupted_after_any_step_is_the_same_run() {
    interrupted_anywhere(rig);
}

/// Writes checkpoints while the loop goes on: some end when they are due, some before the next one.
fn rig_that_goes_on() -> Rig {
    let mut rig = rig();
    rig.settings.save_async = 3;
    rig
}

#[test]
fn b26_a_run_whose_checkpoints_are_written_meanwhile_is_the_same_run_after_any_step() {
    interrupted_anywhere(rig_that_goes_on);
}

#[test]
fn b26_a_run_that_was_interrupted_is_the_same_run_where_reading_costs_time() {
    // Other values are known there: every fourth step is enough to see that.
    let mut rig = rig();
    rig.reads_are_free = false;
    interrupted(rig, |step| step % 4 == 1);
}

#[test]
fn b26_a_run_goes_on_from_any_of_its_checkpoints() {
    for rig in [rig(), rig_that_goes_on()] {
        let whole = rig.run(scripts()).completed();
        assert!(whole.checkpoints().len() >= 10, "{:?}", whole.checkpoints());
        for name in whole.checkpoints() {
            let rest = rig.resume(&whole, name, scripts()).completed();
            same(name, &rest, &whole);
        }
    }
}

#[test]
fn a_run_that_is_interrupted_after_every_step_is_the_same_run() {
    let mut rig = rig();
    let whole = rig.run(scripts()).completed();
    rig.settings.until = Some(Span::Steps(1));
    let mut part = rig.run(scripts());
    while !part.report.ending.is_final() {
        rig.settings.until = Some(Span::Steps(part.report.progress.step + 1));
        part = rig.resume(&part, last(&part), scripts());
    }
    same("in single steps", &part, &whole);
}

#[test]
fn b2_a_run_that_was_stopped_trains_no_further() {
    for (hook, step) in [
        (Hook::StepBegin, 2),
        (Hook::Gradients, 2),
        (Hook::StepEnd, 3),
        (Hook::EvaluateEnd, 4),
        (Hook::SaveBegin, 4),
        (Hook::SaveEnd, 4),
        (Hook::EpochEnd, 4),
        (Hook::EpochBegin, 4),
    ] {
        let mut rig = Rig::new(8);
        (rig.settings.evaluate_every, rig.settings.save_every) = (Some(Span::Steps(4)), Some(Span::Steps(2)));
        let script = || Script::once(hook, step, [Decision::Stop("enough".into())]);
        let stopped = rig.run([script()]);
        let ending = Ending::Stopped { by: "once".into(), reasons: vec!["enough".into()] };
        assert_eq!(stopped.report.ending, ending, "{hook}");
        let checkpoint = stopped.checkpoint(last(&stopped));
        // Either it is over, or what is still to be sent after the checkpoint makes it so, without a further step.
        match rig.open(Some(&checkpoint)).unwrap().over() {
            Some(over) => assert_eq!(over, ending, "{hook}"),
            None => {
                let rest = rig.resume(&stopped, last(&stopped), [script()]);
                assert_eq!(rest.report.ending, ending, "{hook}");
                assert_eq!((rest.report.processed.samples, rest.probe.batches.borrow().len()), (0, 0), "{hook}");
                same(&hook.to_string(), &rest, &stopped);
            }
        }
    }
}

#[test]
fn b2_a_finished_run_goes_on_only_with_a_greater_length() {
    let mut rig = Rig::new(2);
    let finished = rig.run([]).completed();
    let checkpoint = finished.checkpoint("step-4");
    assert_eq!(rig.open(Some(&checkpoint)).unwrap().over(), Some(Ending::Completed));
    rig.settings.length = Span::Epochs(4);
    assert_eq!(rig.open(Some(&checkpoint)).unwrap().over(), None);
    let longer = rig.resume(&finished, "step-4", []).completed();
    assert_eq!(longer.report.progress.step, 8);
    assert_eq!(longer.weights, rig.run([]).completed().weights);
}

#[test]
fn b5_a_new_run_knows_nothing_of_the_one_before() {
    let rig = rig();
    let (one, two) = (rig.run(scripts()).completed(), rig.run(scripts()).completed());
    same("again", &two, &one);
    assert_eq!(rig.open(None).unwrap().over(), None);
}

/// Rewrites the loop's state in a checkpoint, as if it had been saved so.
fn edit(checkpoint: &Path, change: impl FnOnce(&mut Value)) {
    let read = |name: &str| -> Value { serde_json::from_slice(&fs::read(checkpoint.join(name)).unwrap()).unwrap() };
    let mut state = read("state.json");
    change(&mut state);
    let bytes = serde_json::to_vec(&state).unwrap();
    let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(checkpoint.join("state.json"), &bytes).unwrap();
    let mut manifest = read("checkpoint.json");
    manifest["files"]["state.json"] = json!({ "bytes": bytes.len(), "sha256": sha256 });
    fs::write(checkpoint.join("checkpoint.json"), manifest.to_string()).unwrap();
}

const HOUR: f64 = 3600.0;

/// Two steps, then four more as if those had taken so many seconds; saves every hour, ends after ten of them. No machine is
/// so busy that steps take an hour. Returns at which steps something was saved, and the part.
fn after(seconds: f64) -> (Vec<u64>, Part) {
    let mut rig = Rig::new(1);
    rig.settings.length = Span::Time(Duration::from_secs_f64(10.0 * HOUR));
    rig.settings.save_every = Some(Span::Time(Duration::from_secs_f64(HOUR)));
    rig.settings.until = Some(Span::Steps(2));
    let first = rig.run([]);
    edit(&first.folder.join("step-2"), |state| {
        assert!(state["run"]["elapsed"].as_f64().unwrap() > 0.0);
        for time in ["elapsed", "checked"] {
            state["run"][time] = seconds.into();
        }
    });
    rig.settings.until = Some(Span::Steps(6));
    let clock = Script::silent("clock").listens(&[Hook::StepBegin], 1, &["time/elapsed"]);
    let part = rig.resume(&first, "step-2", [clock]);
    let step = |saved: &&Value| saved["progress"]["step"].as_u64().unwrap();
    (part.told("saved").iter().map(step).collect(), part)
}

#[test]
fn spans_of_time_go_on_where_they_were() {
    // An hour is over a microsecond after the resume, between the steps or in one of them: it is not missed.
    let (saved, part) = after(HOUR - 1e-6);
    assert_eq!(saved, [3, 6], "once for the hour, once at the end");
    assert!(part.seen()[0].value("time/elapsed").unwrap() >= HOUR - 1e-6);
    assert!(part.report.elapsed.as_secs_f64() > part.report.processed.seconds);
    assert_eq!(after(1.5 * HOUR).0, [6], "half an hour is not an hour");
    let (saved, part) = after(10.0 * HOUR - 1e-6);
    assert_eq!((part.ending().as_str(), part.report.progress.step), ("planned length reached", 2));
    assert_eq!(saved, Vec::<u64>::new(), "there is nothing new to save");
}
