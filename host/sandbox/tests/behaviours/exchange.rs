//! Events, decisions and log lines on their way through.

use std::{sync::Arc, time::Duration};

use host_callback::{
    Answer, Callback as _, Catalog, Decision, Event, Grant, Hook, KnobSpec, Knobs, MeasurementSpec, Moment, Permit,
    Verdict, resolve,
};
use host_sandbox::{Limits, LogLevel};
use serde_json::{Value, json};

use crate::support::{Rig, Setup, event, small};

/// What `observer` says that it was shown.
fn shown(decisions: &[Decision]) -> Value {
    let note = decisions.iter().find_map(|decision| match decision {
        Decision::Note(line) => Some(serde_json::from_str(line).unwrap()),
        _ => None,
    });
    note.unwrap()
}

#[test]
fn an_event_arrives_as_it_is() {
    let catalog = Catalog::new();
    let offer = |name: &str| catalog.offer(MeasurementSpec::new(name, "1", "a test"));
    let (loss, rate, load, sample) = (offer("loss"), offer("rate"), offer("moe/load/0"), offer("sample"));
    let setup = Setup { catalog: catalog.clone(), ..Setup::default() };
    let mut rig = setup.start("observer", json!({"reads": ["*"]})).unwrap();
    for hook in Hook::ALL {
        let mut event = event(hook, 7);
        event.moment.detail = format!("at {hook}");
        event.scalars = vec![(loss, f64::NAN), (rate, 0.1 + 0.2)];
        event.vectors = vec![(load, vec![0.25, 0.5])];
        event.texts = vec![(sample, "grüß dich".into())];
        let shown = shown(&rig.callback.handle(&event).unwrap());
        let expected = json!({
            "hook": hook.name(), "step": 7, "total-steps": 1000, "epoch": 0.5, "samples": 56, "tokens": 0,
            "detail": format!("at {hook}"), "loss": "NaN", "rate": 0.1 + 0.2, "moe/load/0": [0.25, 0.5],
            "sample": "grüß dich",
        });
        assert_eq!(shown, expected);
    }
    drop(rig.catalog);
}

/// The notes of an answer.
fn notes(decisions: &[Decision]) -> Vec<&str> {
    let notes = decisions.iter().filter_map(|decision| match decision {
        Decision::Note(line) => Some(line.as_str()),
        _ => None,
    });
    notes.collect()
}

#[test]
fn the_rest_of_an_event_is_there_while_it_is_answered() {
    let nothing = r#"[] "" [] [] [] [] (None, None)"#;
    let mut rig = Rig::start("evil", json!({"mode": "pull"}));
    let full = Event {
        scalars: vec![(7, 0.5), (2, 1.5)],
        vectors: vec![(3, vec![0.5, f32::NAN]), (9, Vec::new())],
        texts: vec![(4, "grüß dich".into()), (5, String::new())],
        ..event(Hook::StepEnd, 1)
    };
    let mut full = Event { moment: Moment { detail: "because".into(), ..full.moment.clone() }, ..full };
    let everything = r#"[7, 2] "because" [(3, Some([0.5, NaN])), (9, Some([]))] [(4, Some("grüß dich")), (5, Some(""))] [None, None] [None, None] (None, None)"#;
    assert_eq!(notes(&rig.callback.handle(&full).unwrap()), [nothing, everything]);
    assert_eq!(rig.callback.save().unwrap().unwrap().1, nothing.as_bytes(), "nothing of an event is left after it");
    full.scalars.clear();
    full.vectors.clear();
    full.moment.detail.clear();
    let rest = r#"[] "" [] [(4, Some("grüß dich")), (5, Some(""))] [None, None] [] (None, None)"#;
    assert_eq!(notes(&rig.callback.handle(&full).unwrap()), [nothing, rest], "nothing of an earlier event");
}

#[test]
fn asking_for_the_event_without_end_is_stopped_by_fuel() {
    let limits = Limits { fuel: 1_000_000, deadline: Duration::from_secs(600), ..small() };
    let mut rig = Setup { limits, ..Setup::default() }.start("evil", json!({"mode": "pull-forever"})).unwrap();
    let vectors = vec![(0, vec![1.0; 10_000])];
    let failure = rig.callback.handle(&Event { vectors, ..event(Hook::StepEnd, 1) }).unwrap_err();
    assert_eq!(failure.kind, host_callback::FailureKind::Fuel, "{failure}");
    assert!(failure.message.contains("calls to the host"), "a byte costs a unit, so it is the host's part: {failure}");
}

#[test]
fn a21_bad_decisions_are_refused_one_by_one_and_named() {
    let spec = KnobSpec {
        name: "learning-rate/all".into(),
        unit: "1".into(),
        min: 0.0,
        max: 1.0,
        whole: false,
        effective: Hook::Gradients,
        meaning: "a test".into(),
    };
    let mut knobs = Knobs::new();
    knobs.offer(spec, 0.5);
    for (mode, refused) in [("bad-numbers", 10), ("unknown-names", 9), ("many-decisions", 1)] {
        let limits = Limits { memory_bytes: 64 << 20, ..small() };
        let setup = Setup { limits, ..Setup::default() };
        let mut rig = setup.start("evil", json!({"mode": mode, "work": 10_000})).unwrap();
        let decisions = rig.step().unwrap();
        let permit = Permit::new(rig.callback.plugin().manifest(), &Grant::Declared);
        let by = Arc::clone(rig.callback.identity());
        let outcome = resolve(Hook::StepEnd, vec![Answer { by, permit: &permit, decisions }], &knobs);
        let refusals: Vec<&Verdict> = outcome.records.iter().map(|record| &record.verdict).collect();
        let refusals: Vec<_> = refusals.into_iter().filter(|verdict| matches!(verdict, Verdict::Refused(_))).collect();
        if mode == "unknown-names" {
            // A checkpoint's tag is looked up by the loop, which knows the checkpoints.
            assert!(refusals.len() >= refused - 2, "{mode}: {refusals:?}");
        } else {
            assert_eq!(refusals.len(), refused, "{mode}: {refusals:?}");
        }
        assert!(outcome.controls.writes.iter().all(|(_, value)| *value == 0.5), "{mode}");
    }
}

#[test]
fn a17_a_flood_of_log_lines_is_capped_and_said_once() {
    let limits = Limits { fuel: u64::MAX / 2, deadline: Duration::from_secs(600), ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    // A gigabyte, were it all written.
    let mut rig = setup.start("evil", json!({"mode": "flood", "work": 1 << 18, "to-step": 4})).unwrap();
    for _ in 0..4 {
        rig.step().unwrap();
    }
    let lines = rig.lines.lock().unwrap().clone();
    let bytes: usize = lines.iter().map(|(_, line)| line.len()).sum();
    // What may be written ahead, and a KiB for each call of `start`, `handle` and `save`.
    assert!(bytes <= (256 << 10) + (16 << 10), "{bytes} bytes");
    let warnings: Vec<_> = lines.iter().filter(|(level, _)| *level == LogLevel::Warn).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let dropped = rig.callback.dropped_log_lines();
    assert_eq!(dropped + lines.len() as u64 - 1, 4 << 18);
    drop(rig.callback);
    let last = rig.lines.lock().unwrap().last().cloned();
    assert_eq!(last, Some((LogLevel::Warn, format!("{dropped} log lines were dropped"))));
}

#[test]
fn calls_to_the_host_cost_fuel() {
    let limits = Limits { fuel: 1_000_000, ..small() };
    let setup = Setup { limits, ..Setup::default() };
    let mut rig = setup.start("evil", json!({"mode": "flood", "work": 1_000_000})).unwrap();
    let failure = rig.step().unwrap_err();
    assert_eq!(failure.kind, host_callback::FailureKind::Fuel, "{failure}");
    assert!(failure.message.contains("calls to the host"), "{failure}");
}

#[test]
fn a_panic_in_the_log_sink_is_a_fault_of_the_host() {
    // `script` says a line; what takes it panics, and the run goes on.
    let mut rig =
        Rig::start("script", json!({"decisions": [{"hook": "step-end", "step": 1, "decide": [{"say": "hello"}]}]}));
    let lines = Arc::clone(&rig.lines);
    let poisoned = std::thread::spawn(move || {
        let _guard = lines.lock().unwrap();
        panic!("so that the sink's own unwrap panics");
    });
    assert!(poisoned.join().is_err());
    let failure = rig.step().unwrap_err();
    assert_eq!(failure.kind, host_callback::FailureKind::Host, "{failure}");
    assert!(failure.message.starts_with("`log` panicked: "), "{failure}");
    assert_eq!(rig.step(), Ok(Vec::new()));
}

#[test]
fn equal_runs_use_equal_fuel() {
    let fuel = || {
        let mut rig = Rig::start("evil", json!({"mode": "trap", "from-step": 20, "to-step": 20}));
        for _ in 0..50 {
            let _ = rig.step();
        }
        rig.callback.usage().fuel
    };
    assert_eq!(fuel(), fuel());
}
