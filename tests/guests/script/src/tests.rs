//! That a script plays what it says, when it says.
//! The tests of the host rely on it.

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Assignment, Decision, Hook, Report};
use serde_json::json;

use crate::Script;

#[test]
fn every_decision_of_the_contract_can_be_played() {
    let config = json!({"decisions": [{"hook": "step-end", "decide": [
        {"stop": "a"}, {"end-epoch": "b"}, "evaluate", {"save": "c"}, "log", {"skip": "d"}, {"restore": "e"},
        {"set": ["k", 1.0]}, {"scale": ["k", 2]}, {"report": ["r", 3.0]}, {"mute": "f"}, {"note": "g"},
    ]}]});
    let mut harness = Harness::<Script>::start(&config).unwrap();
    let knob = |value| Assignment { knob: "k".into(), value };
    let expected = [
        Decision::Stop("a".into()),
        Decision::EndEpoch("b".into()),
        Decision::Evaluate,
        Decision::Save("c".into()),
        Decision::Log,
        Decision::Skip("d".into()),
        Decision::Restore("e".into()),
        Decision::Set(knob(1.0)),
        Decision::Scale(knob(2.0)),
        Decision::Report(Report { name: "r".into(), value: 3.0 }),
        Decision::Mute("f".into()),
        Decision::Note("g".into()),
    ];
    assert_eq!(harness.send(Moment::at(Hook::StepEnd, 1)).unwrap(), expected);
}

#[test]
fn entries_are_played_when_they_say() {
    let config = json!({"decisions": [
        {"hook": "step-end", "step": 2, "decide": [{"note": "step"}]},
        {"hook": "step-end", "occurrence": 3, "decide": [{"note": "occurrence"}]},
        {"hook": "step-end", "when": ["loss", "above", 5], "decide": [{"note": "when"}]},
        {"hook": "log", "decide": [{"fail": "on purpose"}]},
    ]});
    let mut harness = Harness::<Script>::start(&config).unwrap();
    let mut notes = |step: u64, loss: f64| {
        harness.resume(step).unwrap();
        let decisions = harness.send(Moment::at(Hook::StepEnd, step).scalar("loss", loss)).unwrap();
        decisions.into_iter().map(|note| if let Decision::Note(line) = note { line } else { panic!() }).collect()
    };
    let played: [Vec<String>; 4] = [notes(1, 6.0), notes(2, f64::NAN), notes(3, 5.0), notes(4, 1.0)];
    assert_eq!(played, [vec!["when".to_owned()], vec!["step".into()], vec!["occurrence".into()], vec![]]);
    assert_eq!(harness.send(Moment::at(Hook::Log, 4)).unwrap_err(), "on purpose");
}

#[test]
fn values_can_be_words() {
    let config = json!({"decisions": [{"hook": "step-end", "decide": [{"set": ["k", "NaN"]}]}]});
    let mut harness = Harness::<Script>::start(&config).unwrap();
    let decisions = harness.send(Moment::at(Hook::StepEnd, 1)).unwrap();
    assert!(matches!(&decisions[..], [Decision::Set(set)] if set.value.is_nan()));
}
