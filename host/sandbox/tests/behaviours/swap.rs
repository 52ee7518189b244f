//! Plugins that change while a run goes on: what takes over, what is refused, what comes back.
//!
//! The loop is played by the test: it fires hooks until the thing that it waits for is told. What is about files that
//! arrive in strange ways is tested without clocks in `live/settling.rs`, and through the whole program in the suite. What
//! swaps hold of the process is tested in `soak`, where no other test runs meanwhile.

use std::{fs, time::Duration};

use host_callback::{
    Callbacks as _, Consequence, Grant, Hook, KnobGrant, Knobs, Moment, NoMeasurements, Permit, Progress, Request,
    Standing,
};
use host_sandbox::{LiveNews, OnFailure};
use serde_json::json;

use crate::{
    stage::{Stage, marked, put},
    support::sandbox,
};

#[test]
fn a_new_file_takes_over_with_the_state() {
    let mut stage = Stage::new("evil", json!({"mode": "healthy"}));
    for _ in 0..5 {
        stage.step();
    }
    assert_eq!(stage.seen, Some(5.0));
    put(&stage.file("one.wasm"), &marked("evil", "1"));
    let LiveNews::Swapped { from, to, settings, .. } = stage.swapped() else { panic!() };
    assert_ne!(from.sha256, to.sha256);
    assert!(settings.is_empty());
    assert_eq!(stage.seen, Some(stage.step as f64), "no step was lost, and none counted twice");
    stage.step();
    assert_eq!(stage.seen, Some(stage.step as f64));
    assert_eq!(stage.live.table()[0].calls, stage.step, "the count goes on");
    stage.is_quiet();
}

#[test]
fn another_version_of_the_state_is_the_plugins_to_take_or_to_refuse() {
    let mut stage = Stage::new("evil", json!({"mode": "healthy"}));
    put(&stage.file("one.wasm"), &marked("evil-next", "1"));
    let LiveNews::Swapped { from, to, .. } = stage.swapped() else { panic!() };
    assert_eq!((from.version.as_str(), to.version.as_str()), ("0.1.0", "2.0.0"));
    assert_eq!(stage.seen, Some(1000.0 + stage.step as f64), "migrated");

    let mut stage = Stage::new("evil", json!({"mode": "load-error"}));
    put(&stage.file("one.wasm"), &marked("evil-next", "1"));
    let why = stage.refused();
    assert!(why.contains("a state of version 1 is not read any more"), "{why}");
    assert_eq!(stage.seen, Some(stage.step as f64), "the old one goes on");
    assert_eq!(stage.live.table()[0].by.version, "0.1.0");
}

#[test]
fn a1_a12_what_is_no_good_is_refused_and_the_old_one_stays() {
    let mut stage = Stage::new("evil", json!({"mode": "healthy"}));
    for (bytes, words) in [
        (b"no component".to_vec(), "is a text file"),
        (Vec::new(), "is empty"),
        (marked("evil", "1")[..2000].to_vec(), "is not a valid component"),
        (marked("evil-describe-loop", "1"), "fails in `describe`"),
        (marked("script", "1"), "it is the plugin `script`, and this is the place of `evil`"),
    ] {
        put(&stage.file("one.wasm"), &bytes);
        let why = stage.refused();
        assert!(why.contains(words), "{words}: {why}");
    }
    put(&stage.file("one.wasm"), &marked("evil", "2"));
    stage.swapped();
    assert_eq!(stage.seen, Some(stage.step as f64));
    stage.is_quiet();
}

#[test]
fn a1_a22_a_configuration_with_which_it_fails_is_refused_and_the_old_one_stays() {
    let mut stage = Stage::new("evil", json!({"mode": "healthy"}));
    for (mode, words) in [
        ("start-loop", "out of fuel"),
        ("start-error", "start failed on purpose"),
        ("load-error", "it does not take the state of the running one: error: `load`"),
        ("load-trap", "it does not take the state of the running one: trap"),
        ("save-error", "it does not give its state"),
        ("save-gigabyte", "it does not give its state"),
        ("trap", "it fails at the last event of the running one, `step-end`: trap"),
        ("nonsense", "unknown variant"),
    ] {
        stage.configure(|one| {
            one.config = json!({ "mode": mode });
            one.limits.fuel = 5_000_000;
        });
        let why = stage.refused();
        assert!(why.contains(words), "{mode}: {why}");
        assert_eq!(stage.seen, Some(stage.step as f64), "{mode}: the old one goes on");
    }
    stage.is_quiet();
}

#[test]
fn a22_a_state_that_the_old_one_does_not_give_keeps_it_there() {
    let mut stage = Stage::new("evil", json!({"mode": "save-error", "hook": "evaluate-end"}));
    stage.step();
    put(&stage.file("one.wasm"), &marked("evil", "1"));
    let why = stage.refused();
    assert!(why.contains("the running one does not give its state: error: `save`"), "{why}");
    assert!(stage.outcomes.iter().all(|outcome| outcome.failures[0].by.instance == "one".parse().unwrap()));
    assert!(!stage.outcomes.is_empty(), "it is told as a failure of the old one too");
}

#[test]
fn a_new_one_that_fails_in_its_first_calls_goes_and_the_old_one_is_back() {
    let mut stage = Stage::with("evil", json!({"mode": "healthy"}), |one| one.on_failure = OnFailure::StopRun);
    // The last event, which the canary answers too, is of step 10; the trap comes at step 11.
    stage.at = Some(10);
    stage.configure(|one| one.config = json!({"mode": "trap", "from-step": 11}));
    stage.swapped();
    let seen = stage.seen.unwrap();
    stage.at = Some(11);
    let LiveNews::RolledBack { why, .. } =
        stage.until("a roll-back", |news| matches!(news, LiveNews::RolledBack { .. }))
    else {
        panic!()
    };
    assert!(why.starts_with("trap"), "{why}");
    let failure = &stage.outcomes[0].failures[0].failure;
    assert_eq!(failure.consequence, Consequence::Restart, "no reason to stop the run: the old guard is back");
    stage.step();
    assert_eq!(stage.seen, Some(seen), "from the state that it had: what the new one saw is not in it");
    for _ in 0..10 {
        stage.step();
    }
    assert_eq!(stage.outcomes.len(), 1);
    assert_eq!(stage.live.table()[0].state, Standing::Running);
    // The same is not tried again; something else is.
    stage.is_quiet();
    stage.configure(|one| {
        one.config = json!({"mode": "healthy"});
        one.order = Some(1);
    });
    let LiveNews::Swapped { settings, .. } = stage.swapped() else { panic!() };
    assert_eq!(settings, ["order"], "beside what is there again");
}

#[test]
fn a_new_one_that_was_taken_back_late_is_not_tried_again() {
    let mut stage = Stage::new("evil", json!({"mode": "healthy", "hook": "evaluate-end"}));
    stage.configure(|one| one.config = json!({"mode": "trap", "hook": "evaluate-end"}));
    stage.swapped();
    // Something else happens while it waits for its first event.
    put(&stage.file("two.wasm"), &marked("evil", "0"));
    stage.until("join", |news| matches!(news, LiveNews::Joined { .. }));
    let moment =
        Moment { hook: Hook::EvaluateEnd, occurrence: 1, progress: Progress::default(), detail: String::new() };
    stage.live.handle(&moment, &mut NoMeasurements, &Knobs::new());
    stage.until("a roll-back", |news| matches!(news, LiveNews::RolledBack { .. }));
    fs::remove_file(stage.file("two.wasm")).unwrap();
    stage.until("leave", |news| matches!(news, LiveNews::Retired { .. }));
    put(&stage.file("three.wasm"), &marked("evil", "0"));
    stage.until("join", |news| matches!(news, LiveNews::Joined { .. }));
    stage.is_quiet();
}

#[test]
fn a_new_one_that_is_taken_back_while_a_newer_one_is_tried_out_is_not_taken_for_the_running_one() {
    let mut stage = Stage::new("evil", json!({"mode": "trap", "hook": "evaluate-end"}));
    let fire = |stage: &mut Stage, hook| {
        let moment = Moment { hook, occurrence: 1, progress: Progress::default(), detail: String::new() };
        stage.live.handle(&moment, &mut NoMeasurements, &Knobs::new())
    };
    let is_back = |news: &LiveNews| matches!(news, LiveNews::RolledBack { .. });
    put(&stage.file("one.wasm"), &marked("evil", "1"));
    stage.swapped();
    put(&stage.file("one.wasm"), &marked("evil", "2"));
    // Being asked for its state is all that costs it fuel.
    let fuel = |stage: &Stage| stage.live.table()[0].fuel;
    let before = fuel(&stage);
    while fuel(&stage) == before {
        fire(&mut stage, Hook::StepBegin);
        std::thread::yield_now();
    }
    fire(&mut stage, Hook::EvaluateEnd);
    stage.until("a roll-back", is_back);
    stage.swapped();
    fire(&mut stage, Hook::EvaluateEnd);
    stage.until("a roll-back", is_back);
    // The first one runs, and not the second one: it is tried.
    put(&stage.file("one.wasm"), &marked("evil", "1"));
    let why = stage.refused();
    assert!(why.contains("it fails at the last event"), "{why}");
}

#[test]
fn a_new_one_that_was_healthy_for_three_calls_has_failures_of_its_own() {
    let mut stage = Stage::new("evil", json!({"mode": "healthy"}));
    stage.at = Some(10);
    stage.configure(|one| one.config = json!({"mode": "trap", "from-step": 11}));
    stage.swapped();
    for _ in 0..3 {
        stage.step();
    }
    stage.at = Some(11);
    for _ in 0..3 {
        stage.step();
    }
    assert!(!stage.outcomes.is_empty());
    stage.is_quiet();
}

#[test]
fn a_pin_refuses_another_file() {
    let sha256 = |bytes: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.wasm");
        fs::write(&file, bytes).unwrap();
        sandbox().load(&file).unwrap().sha256().to_owned()
    };
    let (first, second) = (sha256(&marked("evil", "0")), sha256(&marked("evil", "1")));
    let mut stage = Stage::with("evil", json!({"mode": "healthy"}), |one| one.sha256 = Some(first));
    put(&stage.file("one.wasm"), &marked("evil", "1"));
    let why = stage.refused();
    assert!(why.contains("takes") && why.contains(&second), "{why}");
    stage.configure(|one| one.sha256 = Some(second));
    stage.swapped();
    stage.is_quiet();
}

#[test]
fn a_file_never_gives_more_and_a_grant_in_the_configuration_does() {
    let mut stage = Stage::with("evil", json!({"mode": "healthy"}), |one| one.grant = Grant::Observe);
    put(&stage.file("one.wasm"), &marked("evil", "1"));
    let LiveNews::Swapped { permit, .. } = stage.swapped() else { panic!() };
    assert_eq!(permit, Permit::default(), "the file asks for everything");
    let knobs = vec![KnobGrant { knobs: "learning-rate".into(), range: Some((0.0, 0.1)) }];
    stage.configure(|one| one.grant = Grant::Only { requests: vec![Request::Stop], knobs });
    let granted = stage.until("a grant", |news| matches!(news, LiveNews::Granted { .. }));
    let LiveNews::Granted { permit, .. } = granted else { panic!() };
    assert_eq!((permit.requests(), permit.knob("learning-rate/all")), (&[Request::Stop][..], Some((0.0, 0.1))));
    assert_eq!(stage.seen, Some(stage.step as f64), "nothing was started anew");
    stage.configure(|one| one.grant = Grant::Observe);
    stage.until("a grant", |news| matches!(news, LiveNews::Granted { permit, .. } if *permit == Permit::default()));
    fs::remove_file(stage.file("one.wasm")).unwrap();
    stage.until("leave", |news| matches!(news, LiveNews::Retired { .. }));
    put(&stage.file("one.wasm"), &marked("evil", "2"));
    let LiveNews::Joined { permit, .. } = stage.until("join", |news| matches!(news, LiveNews::Joined { .. })) else {
        panic!()
    };
    assert_eq!(permit, Permit::default());
}

#[test]
fn a_changed_entry_starts_a_new_instance_with_the_state() {
    let mut stage = Stage::new("evil", json!({"mode": "healthy"}));
    stage.step();
    stage.configure(|one| {
        one.order = Some(7);
        one.limits.fuel = 1_000_000;
    });
    let LiveNews::Swapped { from, to, settings, .. } = stage.swapped() else { panic!() };
    assert_eq!((from, settings), (to, vec!["limits", "order"]));
    assert_eq!(stage.seen, Some(stage.step as f64));
    stage.wishes.0.lock().unwrap().next = Some(Err("line 3 is wrong".into()));
    put(&stage.folder.path().join("train.toml"), b"wrong");
    stage.until("a problem", |news| matches!(news, LiveNews::Invalid { why } if why == "line 3 is wrong"));
    stage.is_quiet();
}

#[test]
fn files_come_and_go() {
    let mut stage = Stage::new("evil", json!({"mode": "healthy"}));
    put(&stage.file("two.wasm"), &marked("evil", "0"));
    stage.until("join", |news| matches!(news, LiveNews::Joined { .. }));
    let states: Vec<_> = stage.live.table().iter().map(|row| row.state).collect();
    assert_eq!(states, [Standing::Running, Standing::Running]);
    fs::remove_file(stage.file("two.wasm")).unwrap();
    stage.until("leave", |news| matches!(news, LiveNews::Retired { .. }));
    assert_eq!((stage.live.table().len(), stage.live.summaries().len()), (1, 2), "what it did stays known");
    put(&stage.file("three.wasm"), b"no plugin");
    let refused = stage.until("a refusal", |news| matches!(news, LiveNews::Refused { .. }));
    assert!(matches!(refused, LiveNews::Refused { stays: false, .. }), "{refused:?}");
    stage.is_quiet();
}

#[test]
fn a23_a_folder_that_is_gone_is_told_once_and_what_is_loaded_goes_on() {
    let mut stage = Stage::new("evil", json!({"mode": "healthy"}));
    stage.step();
    let (plugins, away) = (stage.folder.path().join("plugins"), stage.folder.path().join("away"));
    fs::rename(&plugins, &away).unwrap();
    stage.until("gone", |news| matches!(news, LiveNews::FolderGone { .. }));
    fs::rename(&away, &plugins).unwrap();
    stage.until("back", |news| matches!(news, LiveNews::FolderBack { .. }));
    assert_eq!(stage.seen, Some(stage.step as f64));
    put(&stage.file("one.wasm"), &marked("evil", "1"));
    stage.swapped();
    assert_eq!(stage.seen, Some(stage.step as f64));
    stage.is_quiet();
}

#[test]
fn a18_a_thousand_swaps_lose_nothing_and_are_short() {
    let mut stage = Stage::new("evil", json!({"mode": "healthy"}));
    let mut hand_overs = Vec::new();
    for n in 1..=1000 {
        stage.configure(|one| one.order = Some(n));
        let LiveNews::Swapped { hand_over, .. } = stage.swapped() else { panic!() };
        hand_overs.push(hand_over);
    }
    assert_eq!(stage.seen, Some(stage.step as f64), "the state went through all of them");
    assert_eq!(stage.live.table()[0].calls, stage.step);
    // Half of them: on a busy machine any single one may take long.
    hand_overs.sort_unstable();
    assert!(hand_overs[500] < Duration::from_millis(20), "{:?}", hand_overs[500]);
}
