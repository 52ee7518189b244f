//! What is kept over a failure and a checkpoint.

use host_callback::{Callback as _, Consequence, FailureKind};
use serde_json::json;

use crate::support::{Rig, peak_memory, seen};

#[test]
fn a_state_goes_into_a_checkpoint_and_comes_back() {
    let mut rig = Rig::start("evil", json!({"mode": "healthy"}));
    for _ in 0..5 {
        rig.step().unwrap();
    }
    let (version, state) = rig.callback.save().unwrap().unwrap();
    assert_eq!((version, state.as_slice()), (1, &b"5"[..]));
    let mut resumed = Rig::start("evil", json!({"mode": "healthy"}));
    resumed.callback.load(version, &state).unwrap();
    assert_eq!(seen(&resumed.step().unwrap()), 6.0);
}

#[test]
fn two_instances_of_one_plugin_never_mix() {
    let mut rigs = [0, 1].map(|_| Rig::start("evil", json!({"mode": "healthy"})));
    for _ in 0..3 {
        rigs[0].step().unwrap();
    }
    assert_eq!(seen(&rigs[1].step().unwrap()), 1.0);
    assert_eq!(seen(&rigs[0].step().unwrap()), 4.0);
}

#[test]
fn the_last_good_state_survives_a_failure_and_a_checkpoint_after_it() {
    let mut rig = Rig::start("evil", json!({"mode": "trap", "from-step": 4, "to-step": 5}));
    for _ in 0..3 {
        rig.step().unwrap();
    }
    assert!(rig.step().is_err());
    assert_eq!(rig.callback.save().unwrap().unwrap().1, b"3", "while there is no instance");
    assert!(rig.step().is_err());
    assert_eq!(seen(&rig.step_until_called().unwrap()), 4.0);
}

#[test]
fn a_failure_loses_the_event_at_which_it_happens_and_no_other() {
    // Long after the last state was asked for, and right after a decision.
    for crash in [2, 40, 63, 64, 65, 66, 100, 200] {
        let mut rig = Rig::start("evil", json!({"mode": "trap", "from-step": crash, "to-step": crash}));
        for step in 1..crash {
            assert_eq!(seen(&rig.step().unwrap()), step as f64);
        }
        assert!(rig.step().is_err());
        assert_eq!(seen(&rig.step().unwrap()), crash as f64, "all but the one at which it failed");
    }
}

#[test]
fn a_checkpoint_after_a_failure_has_what_was_seen_before_it() {
    let mut rig = Rig::start("evil", json!({"mode": "trap", "from-step": 40, "to-step": 40}));
    for _ in 1..40 {
        rig.step().unwrap();
    }
    assert!(rig.step().is_err());
    assert_eq!(rig.callback.save(), Ok(Some((1, b"39".to_vec()))));
    assert_eq!(rig.callback.take_failure(), None);
}

#[test]
fn catching_up_is_silent() {
    // `script` says a line at each step, and panics at the tenth.
    let say = json!({"hook": "step-end", "decide": [{"say": "here"}, {"note": "here"}]});
    let crash = json!({"hook": "step-end", "step": 10, "decide": [{"panic": "on purpose"}]});
    let mut rig = Rig::start("script", json!({"decisions": [say, crash]}));
    let lines = |rig: &Rig| rig.lines.lock().unwrap().iter().filter(|(_, line)| line == "here").count();
    for _ in 1..10 {
        rig.step().unwrap();
    }
    assert!(rig.step().is_err());
    assert_eq!(lines(&rig), 10);
    assert_eq!(rig.step().unwrap().len(), 1, "the answer to this event only");
    assert_eq!(lines(&rig), 11);
}

#[test]
fn the_state_is_asked_for_rarely() {
    let fuel = |steps: u64, ask: bool| {
        let mut rig = Rig::start("evil", json!({"mode": "healthy"}));
        rig.step().unwrap();
        let before = rig.callback.usage().fuel;
        for _ in 0..steps {
            rig.step().unwrap();
            if ask {
                rig.callback.save().unwrap();
            }
        }
        rig.callback.usage().fuel - before
    };
    let save = fuel(20, true) - fuel(20, false);
    let asked = fuel(63 + 64, false) - 127 * fuel(1, false);
    assert!(asked < save, "at most twice in 128 events: {asked} fuel, and {save} for twenty times");
}

#[test]
fn a22_a_failing_save_keeps_the_last_good_state_and_is_reported() {
    for (mode, kind) in
        [("save-error", FailureKind::Error), ("save-trap", FailureKind::Trap), ("save-gigabyte", FailureKind::Memory)]
    {
        let mut rig = Rig::start("evil", json!({"mode": mode}));
        rig.callback.load(1, b"41").unwrap();
        rig.step().unwrap();
        assert_eq!(rig.callback.save().unwrap(), Some((1, b"41".to_vec())), "{mode}");
        let failure = rig.callback.take_failure().unwrap();
        assert_eq!((failure.kind, failure.consequence), (kind, Consequence::Restart), "{mode}: {failure}");
        assert!(failure.message.starts_with("`save`: "), "{failure}");
        assert_eq!(rig.callback.take_failure(), None, "it is reported once");
        assert_eq!(seen(&rig.step().unwrap()), 43.0, "{mode}: from the last good state and what came after it");
    }
    assert!(peak_memory() < 768 << 20, "{}", peak_memory());
}

#[test]
fn a22_a_failing_save_without_an_earlier_state_is_an_error() {
    let mut rig = Rig::start("evil", json!({"mode": "save-error"}));
    rig.step().unwrap();
    let failure = rig.callback.save().unwrap_err();
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Error, "`save`: save failed on purpose"));
}

#[test]
fn a22_a_state_that_is_not_there_is_not_copied() {
    let mut rig = Rig::start("evil-abi", json!("huge-state"));
    let failure = rig.callback.save().unwrap_err();
    assert_eq!(failure.kind, FailureKind::BadValue, "{failure}");
    assert!(peak_memory() < 768 << 20, "{}", peak_memory());
}

#[test]
fn a22_a_guest_that_does_not_take_its_state_back_says_so() {
    for (mode, kind) in [("load-error", FailureKind::Error), ("load-trap", FailureKind::Trap)] {
        let mut rig = Rig::start("evil", json!({"mode": mode}));
        let failure = rig.callback.load(1, b"5").unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
    }
    let mut rig = Rig::start("evil", json!({"mode": "healthy"}));
    let failure = rig.callback.load(1, b"no number").unwrap_err();
    assert!(failure.message.contains("state is not a number"), "{failure}");
}

#[test]
fn a_restart_that_fails_is_a_failure_of_its_own_kind() {
    // A new instance is given the state of the old one, which this guest never takes.
    let mut rig = Rig::start("evil", json!({"mode": "load-error"}));
    rig.step().unwrap();
    rig.callback.save().unwrap();
    assert!(rig.callback.load(1, b"5").is_err(), "this costs the instance");
    let failure = rig.step().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Restart);
    assert_eq!(failure.message, "`load` of the last good state: error: load failed on purpose");
}
