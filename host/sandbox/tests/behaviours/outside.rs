//! The outside world of a guest: time and randomness that are the same in every run, output that goes into the log,
//! and nothing else. The guest `wasi` is built against a later WASI than there is.

use host_callback::{Callback as _, CallbackFailure, Decision, FailureKind, Hook};
use host_sandbox::{ImportKind, Limits, LogLevel};
use serde_json::json;

use crate::support::{Rig, Setup, component, event, plugin, sandbox, small};

/// What one of its modes answers at a step.
fn answer(mode: &str, step: u64) -> Result<Vec<Decision>, CallbackFailure> {
    Rig::start("wasi", json!({ "mode": mode })).callback.handle(&event(Hook::StepEnd, step))
}

fn numbers(mode: &str, step: u64) -> Vec<(String, f64)> {
    let reports = answer(mode, step).unwrap().into_iter().map(|decision| match decision {
        Decision::Report { name, value } => (name, value),
        other => panic!("{other:?}"),
    });
    reports.collect()
}

fn notes(mode: &str) -> Vec<String> {
    let notes = answer(mode, 1).unwrap().into_iter().map(|decision| match decision {
        Decision::Note(note) => note,
        other => panic!("{other:?}"),
    });
    notes.collect()
}

#[test]
fn a13_a_newer_minor_version_of_wasi_loads_where_what_is_used_is_there() {
    let imports = plugin("wasi").imports().to_vec();
    let kind = |name: &str| imports.iter().find(|import| import.name == name).map(|import| import.kind);
    assert_eq!(kind("wasi:clocks/wall-clock@0.2.99"), Some(ImportKind::Real));
    assert_eq!(kind("wasi:filesystem/types@0.2.99"), Some(ImportKind::Stubbed));
    assert_eq!(kind("train-host:callback/types@0.1.0"), Some(ImportKind::Real));
    assert!(imports.iter().all(|import| import.kind != ImportKind::Refused), "{imports:?}");
    assert_eq!(sandbox().imports(&component("wasi")).unwrap(), imports);
}

#[test]
fn a3_whoever_waits_finds_that_the_time_has_passed() {
    let began = std::time::Instant::now();
    assert_eq!(numbers("rest", 1), [("hours".to_owned(), 1.0), ("hours".to_owned(), 1.0)]);
    assert_eq!(notes("input"), ["true true true"], "input has ended, and nobody waits for it");
    assert!(began.elapsed().as_secs() < 60, "an hour has not passed here");
}

#[test]
fn a20_time_and_randomness_are_those_of_the_step_and_the_seed() {
    let clocks = numbers("clock", 7);
    let second = 1e9;
    let values: Vec<f64> = clocks.iter().map(|(_, value)| *value).collect();
    assert!((7.0 * second..7.001 * second).contains(&values[0]) && values[1] > values[0], "{clocks:?}");
    assert_eq!((values[2], values[3]), (946_684_807.0, 946_684_807.0), "seven seconds after the year 2000 began");
    assert_eq!(numbers("clock", 7), clocks);
    let random = numbers("random", 7);
    assert_eq!(numbers("random", 7), random);
    let other = numbers("random", 8);
    assert_eq!(random[0], other[0], "what was drawn in `start`");
    for at in 1..4 {
        assert_ne!(random[at], other[at]);
    }
}

#[test]
fn a20_a_callback_that_crashed_draws_what_it_would_have_drawn() {
    let mut undisturbed = Rig::start("wasi", json!({ "mode": "random" }));
    let mut crashed = Rig::start("wasi", json!({ "mode": "random" }));
    for step in 1..=5 {
        let expected = undisturbed.callback.handle(&event(Hook::StepEnd, step)).unwrap();
        if step == 3 {
            crashed.callback.load(1, b"").unwrap();
        }
        assert_eq!(crashed.callback.handle(&event(Hook::StepEnd, step)).unwrap(), expected);
    }
}

#[test]
fn what_is_printed_goes_into_the_log_line_by_line() {
    let mut rig = Rig::start("wasi", json!({ "mode": "print" }));
    rig.callback.handle(&event(Hook::StepEnd, 1)).unwrap();
    let info = |text: &str| (LogLevel::Info, text.to_owned());
    let expected = [info("one"), info("two"), info(""), info("three"), (LogLevel::Warn, "careful".to_owned())];
    assert_eq!(*rig.lines.lock().unwrap(), expected);
}

#[test]
fn a17_a_flood_of_output_is_capped_and_said_once() {
    let limits = Limits { log_lines: 20, ..small() };
    let mut rig = Setup { limits, ..Setup::default() }.start("wasi", json!({ "mode": "flood" })).unwrap();
    let failure = rig.callback.handle(&event(Hook::StepEnd, 1)).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Fuel, "each byte is paid for");
    let lines = rig.lines.lock().unwrap();
    assert!(lines.len() <= 21 && lines.iter().all(|(_, line)| line.len() < 5000), "{}", lines.len());
}

#[test]
fn a8_more_randomness_than_can_be_paid_for_is_not_reserved() {
    assert_eq!(answer("random-bomb", 1).unwrap_err().kind, FailureKind::Fuel);
}

#[test]
fn more_handles_than_there_may_be_end_the_call() {
    let failure = answer("handles", 1).unwrap_err();
    assert_eq!(failure.kind, FailureKind::BadValue, "{failure}");
    assert!(failure.message.ends_with("store handle limit exceeded"), "{failure}");
}

#[test]
fn b23_what_a_guest_says_before_it_gives_up_is_the_message() {
    let failure = answer("abort", 1).unwrap_err();
    assert_eq!(failure.message, "Traceback:\n  everything\nValueError: no such thing");
    let failure = answer("exit", 1).unwrap_err();
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Trap, "it called `exit`, with a failure"));
}

#[test]
fn what_was_said_before_a_crash_is_not_said_again() {
    let mut rig = Rig::start("wasi", json!({ "mode": "abort", "from-step": 3 }));
    for step in 1..=4 {
        assert_eq!(rig.callback.handle(&event(Hook::StepEnd, step)).is_ok(), step < 3);
    }
    let lines = rig.lines.lock().unwrap();
    assert_eq!(lines.iter().filter(|(_, line)| line == "begun").count(), 1, "{lines:?}");
    assert_eq!(lines.iter().filter(|(_, line)| line.starts_with("ValueError")).count(), 2, "{lines:?}");
}

#[test]
fn there_are_no_files_no_network_and_no_environment() {
    let notes = notes("surroundings");
    assert_eq!(notes[..5], ["[]", "[]", "None", "false", "0"]);
    assert!(notes[5].contains("access-denied"), "{notes:?}");
    let failure = answer("future", 1).unwrap_err();
    let words =
        "it called `wasi:filesystem/types@0.2.99#disk-size`; callbacks have no files, no network and no environment";
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Trap, words));
    assert_eq!(answer("poll-nothing", 1).unwrap_err().message, "it polls an empty list");
}
