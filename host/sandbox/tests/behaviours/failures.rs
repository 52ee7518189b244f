//! Attacks on a running callback, and what follows.

use std::time::{Duration, Instant};

use host_callback::{Callback as _, Consequence, Decision, FailureKind};
use host_sandbox::{Limits, OnFailure};
use serde_json::json;

use crate::support::{Rig, Setup, peak_memory, seen, small};

/// Nothing in these tests may take this much, whatever guests ask for.
const FLAT: usize = 768 << 20;

/// One attack at step 2, and a healthy step 3 on a new instance.
fn attacked_once(guest: &str, mode: &str, limits: Limits) -> host_callback::CallbackFailure {
    let config = json!({"mode": mode, "from-step": 2, "to-step": 2});
    let mut rig = Setup { limits, ..Setup::default() }.start(guest, config).unwrap();
    assert_eq!(seen(&rig.step().unwrap()), 1.0);
    let failure = rig.step().unwrap_err();
    assert_eq!(failure.consequence, Consequence::Restart, "{failure}");
    assert_eq!(seen(&rig.step().unwrap()), 2.0, "state restored, and the next event is answered");
    failure
}

#[test]
fn a2_an_endless_loop_ends_by_fuel() {
    let failure = attacked_once("evil", "loop", small());
    assert_eq!(failure.kind, FailureKind::Fuel);
    assert_eq!(failure.fuel, small().fuel, "all of it was used");
}

#[test]
fn a2_an_endless_loop_ends_by_deadline_when_fuel_is_large() {
    // Long enough for the healthy calls on a busy machine: it is theirs too.
    let deadline = Duration::from_secs(1);
    let failure = attacked_once("evil", "loop", Limits { fuel: u64::MAX / 2, deadline, ..small() });
    assert_eq!(failure.kind, FailureKind::Deadline);
    assert!(failure.time >= deadline, "never early: {failure}");
}

#[test]
fn a4_one_trap_costs_one_event() {
    let failure = attacked_once("evil", "trap", small());
    assert_eq!(failure.kind, FailureKind::Trap);
    assert!(failure.message.contains("unreachable"), "{failure}");
}

#[test]
fn a4_a_panic_is_told_in_the_guests_words() {
    // `script` is made with the SDK, which logs panics.
    let decide = json!([{"panic": "as the script says"}]);
    let mut rig = Rig::start("script", json!({"decisions": [{"hook": "step-end", "decide": decide}]}));
    let failure = rig.step().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Trap);
    assert!(failure.message.contains("as the script says"), "{failure}");
}

#[test]
fn an_error_costs_the_instance_too() {
    let failure = attacked_once("evil", "error", small());
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Error, "handle failed on purpose"));
    assert!(failure.fuel > 0);
}

#[test]
fn a5_traps_at_every_event_end_in_quarantine() {
    let mut rig = Rig::start("evil", json!({"mode": "trap"}));
    let mut failures = Vec::new();
    for _ in 0..1000 {
        failures.extend(rig.step().err());
    }
    let consequences: Vec<Consequence> = failures.iter().map(|failure| failure.consequence).collect();
    assert_eq!(consequences, [Consequence::Restart, Consequence::Restart, Consequence::Disabled]);
    let fuel = rig.callback.usage().fuel;
    assert_eq!(rig.step(), Ok(Vec::new()), "nothing is called any more");
    assert_eq!(rig.callback.usage().fuel, fuel);
}

#[test]
fn a6_crashed_and_then_healthy_for_long_has_its_budget_back() {
    // Twice in a row is the most that a budget stands; it does so once more after two hundred good steps.
    let crash = |step: u64| json!({"hook": "step-end", "step": step, "decide": [{"panic": "again"}]});
    let crashes = [101, 102, 301, 302].map(crash);
    let mut rig = Rig::start("script", json!({"decisions": crashes}));
    let failures: Vec<_> = (0..400).filter_map(|_| rig.step().err()).collect();
    assert_eq!(failures.len(), 4);
    assert!(failures.iter().all(|failure| failure.consequence == Consequence::Restart), "{failures:?}");
    let fuel = rig.callback.usage().fuel;
    rig.step().unwrap();
    assert!(rig.callback.usage().fuel > fuel, "it is used again");
}

#[test]
fn a7_memory_stops_at_the_limit() {
    let failure = attacked_once("evil", "memory", small());
    assert_eq!(failure.kind, FailureKind::Memory);
    assert!(failure.message.contains("would pass the limit of 8388608"), "{failure}");
    assert!(peak_memory() < FLAT, "{}", peak_memory());
}

#[test]
fn a8_answers_that_break_the_interface_are_failed_calls() {
    for attack in ["huge-list", "outside", "misaligned", "unknown-decision", "unknown-result", "realloc-outside"] {
        let mut rig = Rig::start("evil-abi", json!(attack));
        let failure = rig.step().unwrap_err();
        assert_eq!(failure.kind, FailureKind::BadValue, "{attack}: {failure}");
        assert_eq!(failure.consequence, Consequence::Restart);
    }
    assert!(peak_memory() < FLAT, "{}", peak_memory());
}

#[test]
fn a8_words_that_are_too_long_or_no_words_are_failed_calls() {
    let failure = attacked_once("evil", "bad-words", small());
    assert_eq!(failure.kind, FailureKind::BadValue, "{failure}");
    for (bytes, taken) in [(1 << 19, true), (2 << 20, false)] {
        let mut rig = Rig::start("evil", json!({"mode": "long-words", "work": bytes}));
        match rig.step() {
            Ok(decisions) => {
                let Decision::Note(words) = &decisions[1] else { panic!("{decisions:?}") };
                assert!(taken && words.len() <= Limits::default().text_bytes, "{bytes}");
            }
            Err(failure) => assert!(!taken && failure.kind == FailureKind::BadValue, "{bytes}: {failure}"),
        }
    }
}

#[test]
fn a9_recursion_without_end_is_a_trap() {
    let failure = attacked_once("evil", "recursion", small());
    assert_eq!(failure.kind, FailureKind::Trap, "{failure}");
}

#[test]
fn a10_a_call_from_realloc_is_a_failed_call() {
    let mut rig = Rig::start("evil-abi", json!("realloc-calls"));
    let failure = rig.step().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Trap, "{failure}");
    assert!(rig.lines.lock().unwrap().is_empty(), "it reached nobody");
}

#[test]
fn a11_fuel_and_deadline_are_set_anew_for_each_call() {
    let config = json!({"mode": "slow", "work": 2_000_000});
    let mut rig = Rig::start("evil", config.clone());
    rig.step().unwrap();
    let before = rig.callback.usage();
    rig.step().unwrap();
    let one_call = rig.callback.usage().fuel - before.fuel;
    // Enough for one call and not for two, and a deadline that a hundred calls together pass.
    let deadline = Duration::from_millis(400);
    let limits = Limits { fuel: one_call * 3 / 2, deadline, ..small() };
    let start = || Setup { limits, ..Setup::default() }.start("evil", config.clone()).unwrap();
    let (mut rig, mut together, mut late) = (start(), Duration::ZERO, 0);
    while together <= 2 * deadline {
        let began = Instant::now();
        match rig.step() {
            Ok(answer) => {
                assert!(!answer.is_empty(), "it was called");
                together += began.elapsed();
            }
            // One call can take that long where the machine is busy. A deadline that went on from call to call would end
            // one that is short itself.
            Err(failure) => {
                late += 1;
                assert!(failure.kind == FailureKind::Deadline && failure.time >= deadline && late < 10, "{failure}");
                (rig, together) = (start(), Duration::ZERO);
            }
        }
    }
}

#[test]
fn the_configuration_says_what_a_failure_means() {
    for (on_failure, consequence) in
        [(OnFailure::Disable, Consequence::Disabled), (OnFailure::StopRun, Consequence::StopRun)]
    {
        let setup = Setup { on_failure, ..Setup::default() };
        let mut rig = setup.start("evil", json!({"mode": "trap", "to-step": 1})).unwrap();
        assert_eq!(rig.step().unwrap_err().consequence, consequence);
        assert_eq!(rig.step(), Ok(Vec::new()));
    }
}
