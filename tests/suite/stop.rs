//! A stop that comes while an evaluation runs: what the run leaves is of a whole evaluation or of none.
//! Stops at other moments are in `steer` and `kill`.

use std::io::{BufRead, BufReader};

use host_tests::{Project, Run};

use crate::project;

/// A project whose runs tag the best checkpoint.
fn with_best() -> Project {
    let project = project();
    project.plugin("checkpoint-policy", "policy", "", "");
    project
}

/// An evaluation every 10 steps, and no checkpoint that is removed.
const OFTEN: &str = "--set train.evaluate-every=\"10st\" --set train.keep=20";

/// Step and loss of each evaluation.
fn evaluations(run: &Run) -> Vec<(u64, f64)> {
    let lines = run.lines("metrics.jsonl").into_iter();
    lines.filter_map(|line| Some((line["step"].as_u64()?, line["eval/loss"].as_f64()?))).collect()
}

/// What a run calls the best is the best of its whole evaluations, everywhere.
fn expect_the_best(run: &Run) {
    let all = evaluations(run);
    let best = *all.iter().min_by(|one, other| one.1.total_cmp(&other.1)).expect("an evaluation");
    assert_eq!(run.json("checkpoints/tags.json")["best"], format!("step-{}", best.0));
    let report = run.json("report.json");
    let told = &report["best"]["eval/loss"];
    assert_eq!((&told["step"], &told["value"]), (&best.0.into(), &best.1.into()));
    assert_eq!(report["final"]["eval/loss"], all.last().expect("an evaluation").1);
}

#[test]
fn b27_a_stop_at_the_beginning_of_an_evaluation_leaves_whole_results() {
    let project = with_best();
    let whole = project.train(OFTEN).run(1);
    expect_the_best(&whole);
    // Where it is dropped as well, the evaluation at the end of the run takes its place.
    for decisions in ["{ stop = \"enough\" }", "{ skip = \"not now\" }, { stop = \"enough\" }"] {
        let project = with_best();
        let script = format!("decisions = [{{ hook = \"evaluate-begin\", occurrence = 3, decide = [{decisions}] }}]");
        project.plugin("script", "script", "", &script);
        let run = project.train(OFTEN).run(1);
        let report = run.json("report.json");
        assert_eq!((&report["stop_reason"], &report["steps"]), (&"script: enough".into(), &30.into()), "{decisions}");
        assert_eq!(evaluations(&run), evaluations(&whole)[..3], "{decisions}");
        assert!(whole.text("metrics.jsonl").starts_with(&run.text("metrics.jsonl")), "{decisions}");
        expect_the_best(&run);
    }
}

#[test]
fn b27_an_evaluation_that_was_dropped_is_nobodys_best() {
    let project = with_best();
    project.plugin(
        "script",
        "script",
        "",
        "decisions = [{ hook = \"evaluate-begin\", decide = [{ skip = \"never\" }] }]",
    );
    let run = project.train(OFTEN).run(1);
    assert_eq!(evaluations(&run), []);
    assert!(run.decisions("policy").is_empty());
    let report = run.json("report.json");
    assert!(report["best"]["eval/loss"].is_null() && report["final"]["eval/loss"].is_null(), "{report:#}");
}

/// The signal falls into the evaluation, or where the machine is busy a little behind it: what is asked of the run is
/// the same. Where the run is over by then, one with a longer evaluation is tried.
#[test]
fn b27_a_signal_during_an_evaluation_leaves_whole_results() {
    for work in [100_000_000_u64, 1_000_000_000, 10_000_000_000] {
        let project = with_best();
        let whole = project.train(OFTEN).run(1);
        let says = "decisions = [{ hook = \"evaluate-begin\", occurrence = 3, decide = [{ say = \"it begins\" }] }]";
        project.plugin("script", "script", "", says);
        // The evaluation does not begin before this one has answered.
        let slow = format!("mode = \"slow\"\nhook = \"evaluate-begin\"\nfrom-step = 30\nto-step = 30\nwork = {work}");
        let limits = "order = 10\nlimits = { fuel = 1000000000000, deadline-ms = 600000 }";
        project.plugin("evil", "slow", limits, &slow);

        let mut child = project.start(&format!("run train.toml {OFTEN}"));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("it begins")), "the evaluation is announced");
        let sent = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let rest: Vec<String> = lines.collect();
        let code = child.wait().unwrap().code();
        if code == Some(0) {
            continue;
        }
        assert_eq!(code, Some(130), "{rest:#?}");

        let run = Run::at(project.path("runs/iris-2"));
        assert_eq!(run.json("report.json")["status"], "interrupted");
        assert_eq!(run.callback("slow")["failures"], 0);
        assert!(evaluations(&run).len() >= 3, "the one that was running came to its end");
        assert!(whole.text("metrics.jsonl").starts_with(&run.text("metrics.jsonl")));
        expect_the_best(&run);
        let resumed = project.train(&format!("{OFTEN} --resume runs/iris-2")).run(3);
        assert_eq!(resumed.text("metrics.jsonl"), whole.text("metrics.jsonl"));
        expect_the_best(&resumed);
        return;
    }
    panic!("every run was over before the signal came");
}
