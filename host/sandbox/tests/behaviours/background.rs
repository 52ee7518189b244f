//! Guests on a thread of their own. What the thread does with any callback is tested beside its code.

use std::time::Duration;

use host_callback::{Callback as _, FailureKind, Hook};
use host_sandbox::{Background, BackgroundSettings, Limits};
use serde_json::json;

use crate::support::{Rig, Setup, event, seen, small};

/// The end waits for whatever waits, however busy the machine is.
fn patient() -> BackgroundSettings {
    BackgroundSettings { drain: Duration::from_secs(600), ..BackgroundSettings::default() }
}

#[test]
fn a_guest_in_the_background_sees_every_event_and_keeps_its_state() {
    let rig = Rig::start("evil", json!({"mode": "healthy"}));
    let mut background = Background::new(rig.callback, patient());
    background.load(1, b"100").unwrap();
    let mut counts = Vec::new();
    for step in 1..=50 {
        let answer = background.handle(&event(Hook::StepEnd, step)).unwrap();
        counts.extend((!answer.is_empty()).then(|| seen(&answer)));
    }
    counts.extend(background.finish().iter().map(|answer| seen(answer)));
    assert_eq!(counts.last(), Some(&150.0), "answers of several events may come together, and none is missing");
    assert_eq!(background.save(), Ok(Some((1, b"150".to_vec()))));
    assert_eq!(background.lag().dropped, 0);
}

#[test]
fn a_guest_that_never_returns_is_ended_by_its_limits_and_so_is_its_thread() {
    for (limits, kind) in [
        (Limits { fuel: 1_000_000, ..small() }, FailureKind::Fuel),
        // Long enough for the start on a busy machine: it is its deadline too.
        (Limits { fuel: u64::MAX / 2, deadline: Duration::from_secs(1), ..small() }, FailureKind::Deadline),
    ] {
        let start = || Setup { limits, ..Setup::default() }.start("evil", json!({"mode": "loop"})).unwrap().callback;
        let settings = BackgroundSettings { queue: 1, ..patient() };
        let mut background = Background::new(start(), settings);
        background.handle(&event(Hook::StepEnd, 1)).unwrap();
        assert!(background.finish().is_empty());
        let failure = background.take_failure().unwrap();
        assert_eq!(failure.kind, kind, "{failure}");
        // The same when nobody waits for the end: dropping it comes back.
        let mut background = Background::new(start(), settings);
        background.handle(&event(Hook::StepEnd, 1)).unwrap();
        drop(background);
    }
}
