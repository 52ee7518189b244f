//! Callbacks that misbehave in the middle of a run: training goes on, and the report names them.
//! Limits and failures one by one are tested in `host-sandbox`; here the whole program stands in front of the guest.

use host_tests::{Project, Run};
use serde_json::Value;

use crate::project;

/// Trains with a misbehaving callback beside an observer; the losses must be those of an undisturbed run.
fn disturbed(mode: &str, more: &str) -> (Project, Run) {
    let project = project();
    let undisturbed = project.train("").run(1);
    project.plugin("evil", "evil", more, &format!("mode = \"{mode}\"\nhook = \"step-end\""));
    project.plugin("observer", "healthy", "", "hooks = [\"step-end\"]\nreads = [\"loss\"]");
    let run = project.train("").run(2);
    assert_eq!(run.text("metrics.jsonl"), undisturbed.text("metrics.jsonl"), "{mode}");
    assert_eq!(run.callback("healthy")["calls"], 96, "{mode}");
    (project, run)
}

fn failures(run: &Run) -> Vec<Value> {
    run.lines("timeline.jsonl").into_iter().filter(|line| line["event"] == "callback-failed").collect()
}

#[test]
fn a2_a4_a5_a7_a9_whatever_a_callback_does_training_goes_on() {
    for (mode, more, kind) in [
        ("trap", "", "trap"),
        ("panic", "", "trap"),
        ("loop", "limits = { fuel = 100000 }", "fuel"),
        ("memory", "limits = { memory-mib = 4 }", "memory"),
        ("recursion", "", "trap"),
        ("error", "", "error"),
    ] {
        let (_project, run) = disturbed(mode, more);
        let failures = failures(&run);
        assert!(!failures.is_empty() && failures.len() < 96, "{mode}: {} failures", failures.len());
        let words = failures[0].to_string();
        assert!(words.contains(kind) && words.contains("evil"), "{mode}: {words}");
        assert_eq!(run.callback("evil")["failures"], failures.len(), "{mode}");
        assert_eq!(run.callback("evil")["state"], "quarantined", "{mode}");
        assert_eq!(run.callback("healthy")["state"], "running", "{mode}");
    }
}

#[test]
fn a2_an_endless_loop_with_much_fuel_ends_by_the_deadline() {
    // Long enough for its start on a busy machine, which has the same deadline; and once is enough.
    let more = "on-failure = \"disable\"\nlimits = { fuel = 4000000000000, deadline-ms = 1000 }";
    let (_project, run) = disturbed("loop", more);
    assert_eq!(failures(&run).len(), 1);
    assert!(failures(&run)[0].to_string().contains("deadline"), "{}", failures(&run)[0]);
}

#[test]
fn a4_one_trap_costs_one_event() {
    let project = project();
    project.plugin("evil", "evil", "", "mode = \"trap\"\nhook = \"step-end\"\nfrom-step = 10\nto-step = 10");
    let run = project.train("").run(1);
    let callback = run.callback("evil");
    assert_eq!((&callback["failures"], &callback["calls"]), (&Value::from(1), &Value::from(96)));
}

#[test]
fn a17_a_flood_of_log_lines_is_capped() {
    let (_project, run) = disturbed("flood", "");
    let size = std::fs::metadata(run.path("timeline.jsonl")).unwrap().len();
    assert!(size < 4 << 20, "the timeline has {size} bytes");
}

#[test]
fn a21_nonsense_is_refused_one_by_one() {
    for mode in ["bad-numbers", "unknown-names"] {
        let (_project, run) = disturbed(mode, "");
        let steering: Vec<Value> =
            run.decisions("evil").into_iter().filter(|line| line["decision"]["report"].is_null()).collect();
        assert!(!steering.is_empty(), "{mode}");
        for line in steering {
            // A second restore of other nonsense is overruled by the first, which is refused.
            assert!(line["outcome"] == "refused" || line["outcome"] == "overruled", "{mode}: {line}");
            assert!(!line["why"].as_str().unwrap().is_empty(), "{line}");
        }
    }
}

#[test]
fn a21_ten_thousand_decisions_in_one_answer_are_looked_at_up_to_a_limit() {
    let project = project();
    project.plugin("evil", "evil", "", "mode = \"many-decisions\"\nhook = \"step-end\"\nfrom-step = 3\nto-step = 3");
    let run = project.train("").run(1);
    let lines: Vec<Value> = run.decisions("evil").into_iter().filter(|line| line["step"] == 3).collect();
    let refused: Vec<&Value> = lines.iter().filter(|line| line["outcome"] == "refused").collect();
    assert_eq!((lines.len(), refused.len()), (257, 1), "{refused:#?}");
    assert!(refused[0]["why"].as_str().unwrap().contains("the first 256 are looked at"), "{}", refused[0]);
}

#[test]
fn a_report_never_takes_the_place_of_a_measurement() {
    let project = project();
    let reports = "{ report = [\"loss\", -1.0] }, { report = [\"mine\", 1.0] }";
    project.plugin(
        "script",
        "eval",
        "order = -1",
        &format!("decisions = [{{ hook = \"step-end\", decide = [{reports}] }}]"),
    );
    project.plugin("observer", "observer", "", "hooks = [\"evaluate-end\"]\nreads = [\"eval/loss\", \"eval/mine\"]");
    let run = project.train("").run(1);
    let notes = run.notes("observer");
    assert!(
        notes.iter().all(|note| note["eval/loss"].as_f64().unwrap() > 0.0 && note["eval/mine"] == 1.0),
        "{notes:#?}"
    );
    let refused = run.decisions("eval").into_iter().find(|line| line["outcome"] == "refused").unwrap();
    assert!(refused["why"].as_str().unwrap().contains("`eval/loss` is a measurement of the run"), "{refused}");
}

#[test]
fn a_callback_that_was_disabled_stays_out_of_a_resumed_run() {
    let project = project();
    project.plugin("evil", "evil", "on-failure = \"disable\"", "mode = \"trap\"\nhook = \"step-end\"\nfrom-step = 5");
    let _ = project.train("--until 20st");
    let resumed = project.train("--resume runs/iris-1").run(2);
    assert_eq!(resumed.callback("evil")["calls"], 0);
}

#[test]
fn a_guard_that_is_lost_stops_the_run_with_its_own_code() {
    let project = project();
    project.plugin(
        "evil",
        "guard",
        "on-failure = \"stop-run\"",
        "mode = \"trap\"\nhook = \"step-end\"\nfrom-step = 12",
    );
    let outcome = project.host("run train.toml");
    outcome.expect(7);
    let report = outcome.run(1).json("report.json");
    assert!(report["stop_reason"].as_str().unwrap().contains("guard `guard` lost"), "{report:#}");
    assert_eq!(outcome.run(1).checkpoints(), ["step-12"], "what was trained is kept");
}

#[test]
fn a_disabled_callback_is_not_called_again() {
    let project = project();
    project.plugin("evil", "evil", "on-failure = \"disable\"", "mode = \"trap\"\nhook = \"step-end\"\nfrom-step = 5");
    let callback = project.train("").run(1).callback("evil");
    assert_eq!((&callback["failures"], &callback["calls"]), (&Value::from(1), &Value::from(5)));
}

#[test]
fn a22_a_state_that_cannot_be_saved_does_not_stop_a_checkpoint() {
    for mode in ["save-error", "save-trap", "save-gigabyte"] {
        let project = project();
        project.plugin("evil", "evil", "", &format!("mode = \"{mode}\""));
        let run = project.train("--set train.save-every=\"20st\"").run(1);
        assert!(run.checkpoints().len() >= 3, "{mode}");
        assert!(!failures(&run).is_empty(), "{mode}");
    }
}
