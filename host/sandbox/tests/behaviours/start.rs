//! Configurations, and guests that fail to start.

use std::time::Duration;

use host_callback::{Callback as _, FailureKind, Hook};
use host_sandbox::{Limits, StartErrorKind};
use serde_json::{Value, json};

use crate::support::{Rig, Setup, small};

fn refused(guest: &str, config: Value) -> StartErrorKind {
    match Setup::default().start(guest, config) {
        Ok(_) => panic!("it started"),
        Err(error) => error.kind,
    }
}

#[test]
fn a1_a_guest_that_fails_to_start_is_stopped_by_its_limits() {
    for (mode, kind) in
        [("start-loop", FailureKind::Fuel), ("start-trap", FailureKind::Trap), ("start-memory", FailureKind::Memory)]
    {
        let refusal = refused("evil", json!({"mode": mode}));
        let StartErrorKind::Failed(failure) = &refusal else { panic!("{mode}: {refusal}") };
        assert_eq!(failure.kind, kind, "{mode}: {failure}");
    }
}

#[test]
fn a_guest_refuses_a_configuration_in_its_own_words() {
    let error = Setup::default().start("evil", json!({"mode": "start-error"})).err().unwrap();
    assert_eq!(error.to_string(), "callback `under-test` (evil) does not start: start failed on purpose");
}

#[test]
fn a_configuration_is_checked_against_the_schema() {
    let refusal = refused("observer", json!({"every": -1, "evry": 2, "hooks": 3}));
    let StartErrorKind::Config(wrong) = &refusal else { panic!("{refusal}") };
    let all = wrong.join("\n");
    assert_eq!(wrong.len(), 3, "{all}");
    for part in ["`/every`", "'evry'", "`/hooks`"] {
        assert!(all.contains(part), "{part} in {all}");
    }
}

#[test]
fn no_configuration_is_an_empty_one() {
    let rig = Rig::start("observer", Value::Null);
    assert_eq!(rig.callback.subscriptions().len(), Hook::ALL.len());
    assert_eq!(rig.callback.order(), rig.callback.plugin().manifest().order);
}

#[test]
fn a_subscription_to_every_0th_time_is_refused() {
    let refusal = refused("observer", json!({"hooks": ["log"], "every": 0}));
    let StartErrorKind::Subscriptions(wrong) = &refusal else { panic!("{refusal}") };
    assert_eq!(wrong.len(), 1, "{wrong:?}");
}

#[test]
fn limits_that_make_no_sense_are_named() {
    let limits = Limits { deadline: Duration::ZERO, ..small() };
    let error = Setup { limits, ..Setup::default() }.start("evil", json!({"mode": "healthy"})).err().unwrap();
    assert!(error.to_string().ends_with("limit `deadline-ms` is 0; it takes 1 to 86400000"), "{error}");
}
