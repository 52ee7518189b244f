//! `host bench`: a run's steps beside those of a bare loop, and what a peer has to be. How fast they are is no matter of tests.

use serde_json::Value;

use crate::project;

/// A few turns of a run that is long enough for them.
const SHORT: &str = "bench train.toml --set train.epochs=50 --set task.dropout=0 --steps 14";

#[test]
fn steps_are_measured_beside_a_bare_loop() {
    let project = project();
    project.plugin("observer", "observer", "", "");
    project.host(SHORT).expect(0).prints(&[
        "train.toml: classification, mlp",
        "\n  ours / bare loop       ",
        "\n  callbacks              1 called, ",
        " ms to the end of the first step",
    ]);
    let measured: Value = serde_json::from_str(&project.host(&format!("{SHORT} --json")).expect(0).stdout).unwrap();
    let measured = &measured[0];
    let number =
        |path: &str| measured.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {measured}"));
    let ratio = number("/step-seconds/median") / number("/bare-step-seconds/median");
    assert!(number("/ours-over-bare/median") > 0.0 && ratio > 0.0, "{measured}");
    assert!(number("/step-seconds/low") <= number("/step-seconds/high"), "{measured}");
    assert!(number("/callbacks/step-seconds") > 0.0, "{measured}");
    assert_eq!(measured["peer"], Value::Null);
    // Nothing is kept.
    assert!(!project.path("runs").exists());
}

#[test]
fn a_run_that_is_too_short_is_told_how_to_be_longer() {
    let outcome = project().host("bench train.toml --set train.steps=12");
    outcome.expect(1).says(&["the run ended before", "--set train.steps=100000"]);
    project().host("bench none.toml").expect(3).says(&["none.toml"]);
    project().host("bench train.toml --compile").expect(2).says(&["--peer"]);
}

#[test]
fn a_peer_that_is_not_what_it_should_be_is_named() {
    let project = project();
    let with = |lines: &str| {
        let script = project.script("peer.sh", &format!("#!/bin/sh\n{lines}\n"));
        format!("{SHORT} --peer {}", script.display())
    };
    let takes = "`--peer` takes a Python 3 with torch";
    project.host(&format!("{SHORT} --peer none/such")).expect(2).says(&["none/such cannot be started", takes]);
    project.host(&with("exit 1")).expect(2).says(&["PyTorch's process ended", takes]);
    let error = r#"echo '{"error": "PyTorch cannot be imported: No module named torch"}'"#;
    project.host(&with(error)).expect(2).says(&["No module named torch", takes]);
    let other = r#"echo '{"version": "2", "threads": 1, "parameters": 5}'"#;
    project.host(&with(other)).expect(2).says(&["PyTorch's model has 5 parameters, ours "]);
    project.host(&format!("{} --set task.dropout=0.1", with(other))).expect(2).says(&["--set task.dropout=0"]);
}
