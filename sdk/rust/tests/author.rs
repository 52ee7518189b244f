//! What an author relies on, seen from outside: hooks, state and its versions, settings, the log.
//! Plays the host natively; the component's binary interface is tested where components are built.

use host_sdk::log::Level;
use host_sdk::prelude::*;
use host_sdk::testing::{Harness, Moment, take_log};
use serde_json::json;

/// Remembers the lowest value of a measurement.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Lowest {
    monitor: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct State {
    lowest: f64,
    told: bool,
}

impl Default for State {
    fn default() -> Self {
        Self { lowest: f64::INFINITY, told: false }
    }
}

impl Callback for Lowest {
    type Settings = Self;
    type State = State;
    const MANIFEST: Manifest = manifest!().state_version(2);

    fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
        let subscriptions = Subscriptions::new()
            .on(Hook::StepEnd, &[&settings.monitor])
            .every(2, Hook::Log, &["eval/*", "samples/*", "words"])
            .on(Hook::TrainEnd, &[]);
        Ok((settings, subscriptions))
    }

    fn migrate(&self, saved: Saved) -> Result<State, String> {
        // Version 1 was the number alone.
        match saved.version() {
            1 => Ok(State { lowest: saved.read()?, told: false }),
            version => Err(format!("no version {version}")),
        }
    }

    fn step_end(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        if let Some(value) = event.get_or_tell(&self.monitor, &mut state.told, answer) {
            state.lowest = state.lowest.min(value);
            answer.report("lowest", state.lowest);
        }
    }

    fn log(&self, _state: &mut State, event: &Event, answer: &mut Answer) {
        for (name, value) in event.matching("eval/*") {
            answer.note(format!("{name} {value}"));
        }
        answer.note(format!("{:?} {:?}", event.vector("samples/a"), event.text("words")));
    }

    fn train_end(&self, _state: &mut State, event: &Event, answer: &mut Answer) {
        answer.note("not kept").fail(event.detail());
    }
}

fn start() -> Harness<Lowest> {
    Harness::start(&json!({"monitor": "loss"})).expect("the settings are good")
}

fn note(line: &str) -> Decision {
    Decision::Note(line.into())
}

#[test]
fn only_what_was_subscribed_to_is_seen() {
    let mut harness = start();
    let moment = Moment::at(Hook::StepEnd, 1).scalar("other", 1.0).scalar("loss", 2.0);
    harness.send(moment).unwrap();
    assert_eq!(harness.state().lowest, 2.0);
    assert_eq!(harness.send(Moment::at(Hook::StepBegin, 1)).unwrap(), []);
}

#[test]
fn every_kind_of_measurement_is_read_and_every_second_occurrence_called() {
    let mut harness = start();
    let moment = Moment::at(Hook::Log, 1)
        .scalar("eval/loss", 0.5)
        .scalar("eval/accuracy", 0.25)
        .scalar("loss", 1.0)
        .vector("samples/a", &[1.0, 2.0])
        .text("words", "hello");
    assert_eq!(harness.send(moment.clone()).unwrap(), []);
    let notes = [note("eval/loss 0.5"), note("eval/accuracy 0.25"), note("Some([1.0, 2.0]) Some(\"hello\")")];
    assert_eq!(harness.send(moment).unwrap(), notes);
}

#[test]
fn state_survives_a_resume_also_where_it_is_not_finite() {
    let mut harness = start();
    harness.resume(0).unwrap();
    assert_eq!(*harness.state(), State::default());
    harness.send(Moment::at(Hook::StepEnd, 1).scalar("loss", f64::NEG_INFINITY)).unwrap();
    harness.resume(1).unwrap();
    assert_eq!(harness.state().lowest, f64::NEG_INFINITY);
}

#[test]
fn state_of_an_older_version_is_migrated_or_refused() {
    let mut harness = start();
    harness.load(&json!(0.25), 1).unwrap();
    assert_eq!(harness.state().lowest, 0.25);
    assert_eq!(harness.load(&json!(0.25), 7).unwrap_err(), "no version 7");
    let error = harness.load(&json!({"lowest": 1}), 2).unwrap_err();
    assert_eq!(error, "state of version 2: missing field `told`");
    assert_eq!(harness.state().lowest, 0.25, "a failed load leaves the state alone");
}

#[test]
fn a_missing_value_is_told_once_in_log_and_timeline() {
    let mut harness = start();
    take_log();
    let line = "loss is not known here, so nothing was checked";
    assert_eq!(harness.send(Moment::at(Hook::StepEnd, 1)).unwrap(), [note(line)]);
    assert_eq!(harness.send(Moment::at(Hook::StepEnd, 2)).unwrap(), []);
    assert_eq!(take_log(), [(Level::Warn, line.to_owned())]);
}

#[test]
fn a_failure_drops_the_decisions() {
    let mut harness = start();
    let ended = harness.send(Moment::at(Hook::TrainEnd, 1).detail("the reason"));
    assert_eq!(ended, Err("the reason".into()));
}

#[test]
fn settings_are_refused_in_words() {
    let error = Harness::<Lowest>::start(&json!({"monitr": "loss"})).err().unwrap();
    assert_eq!(error, "configuration: unknown field `monitr`, expected `monitor`");
}
