//! `host bench`: a run's steps beside those of a bare loop, and what a peer has to be. How fast they are is no matter of tests.

use serde_json::Value;

use host_tests::Project;

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

/// A PyTorch that answers at once, and notes what it is told.
const SHAM: &str = r#"#!/bin/sh
echo '{"version": "2", "threads": 1, "parameters": PARAMETERS}'
while read -r line; do
    echo "$line" >> told.jsonl
    case "$line" in
    *'"steps":'*)
        count=${line#*:} count=${count%%,*}
        answer=$(yes 0.25 | head -n "$count" | paste -s -d , -)
        echo "{\"seconds\": [$answer], \"losses\": [$answer]}" ;;
    *'"evaluate":'*) echo '{"seconds": 0.5, "loss": 0.125}' ;;
    esac
done
"#;

/// A project with such a PyTorch and a callback that decides what is given, and the words that compare its whole run.
fn whole(decisions: &str) -> (Project, String) {
    let project = project();
    project.plugin("script", "script", "", &format!("decisions = [{decisions}]"));
    let other = project.script("other.sh", &SHAM.replace("PARAMETERS", "5"));
    let told = project.host(&format!("{SHORT} --peer {}", other.display())).expect(2).stderr.clone();
    let parameters = told.split("ours ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a number");
    let peer = project.script("peer.sh", &SHAM.replace("PARAMETERS", parameters));
    let words = "bench train.toml --set task.dropout=0 --set train.evaluate-every=4st --whole";
    (project, format!("{words} --peer {}", peer.display()))
}

#[test]
fn a_whole_run_is_compared_with_one_that_is_told_its_batches_and_rates() {
    let (project, words) = whole(
        r#"{ hook = "step-begin", step = 2, decide = [{ set = ["learning-rate", 0.5] }] },
           { hook = "step-end", step = 5, decide = [{ set = ["learning-rate", 0.25] }] },
           { hook = "step-end", step = 7, decide = [{ stop = "enough" }] }"#,
    );
    let outcome = project.host(&format!("{words} --json"));
    let measured: Value = serde_json::from_str(&outcome.expect(0).stdout).unwrap();
    let measured = &measured[0];
    assert_eq!(
        (&measured["steps"], &measured["ending"]),
        (&Value::from(7), &Value::from("script: enough")),
        "{measured}"
    );
    // 7 steps of 0.25 s and 2 evaluations of 0.5 s.
    assert_eq!(measured["peer"]["seconds"], 2.75, "{measured}");
    let (ours, ratio) = (measured["seconds"].as_f64().unwrap(), measured["ours-over-peer"].as_f64().unwrap());
    assert!(ours > 0.0 && (ratio - ours / 2.75).abs() < 1e-9, "{measured}");
    let evaluations = measured["evaluations"].as_array().unwrap();
    let steps: Vec<_> = evaluations.iter().map(|one| one["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [4, 7]);
    assert!(evaluations.iter().all(|one| one["loss"].as_f64().unwrap() > 0.0 && one["peer-loss"] == 0.125));

    let told = std::fs::read_to_string(project.path("told.jsonl")).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(told[0]["batches"].is_string() && told.last().unwrap()["evaluate"].is_string(), "{told:?}");
    let steps = told.iter().filter_map(|order| order["rates"].as_array()).flatten();
    let rates: Vec<_> = steps.map(|groups| groups[0][0].as_f64().unwrap()).collect();
    let first = rates[0];
    assert_eq!(rates, [first, first, 0.5, 0.5, 0.5, 0.25, 0.25], "what a callback says at step n holds after n steps");
}

#[test]
fn a_whole_run_that_nobody_could_follow_is_not_compared() {
    let (project, words) = whole(r#"{ hook = "gradients", occurrence = 3, decide = [{ skip = "update" }] }"#);
    project.host(&words).expect(1).says(&[
        "the comparison broke off: after 2 steps `script` dropped a batch or an update, which PyTorch does not do here",
        "learning rates and weight decay",
    ]);
    project.host(&format!("{words} --set train.length=10min")).expect(2).says(&["--set train.steps=1000"]);
    project.host("bench train.toml --whole").expect(2).says(&["--peer"]);
}

#[test]
fn what_came_out_of_a_whole_run_is_told_in_words() {
    let (project, words) = whole("");
    project.host(&words).expect(0).prints(&[
        "train.toml: classification, mlp",
        "\n  ours / PyTorch         ",
        ", of a whole run\n  ours                   ",
        "\n  PyTorch 2, 1 thread    ",
        "\n  ended                  planned length reached\n  validation loss        ",
        " ours, 0.1250 PyTorch's after 4 steps\n",
        " apart\n",
    ]);
}
