//! What callbacks may do, end to end: each decision of the contract, and what refuses it.
//! The rules by themselves are tested in `host-callback`; here they pass through sandbox, loop and timeline.

use host_tests::{Project, Run};
use serde_json::Value;

use crate::project;

/// Runs with one scripted callback. The project is kept: its folder goes when it is dropped.
fn scripted(decisions: &str) -> (Project, Run) {
    let project = project();
    let run = scripted_in(&project, "", decisions);
    (project, run)
}

fn scripted_in(project: &Project, more: &str, decisions: &str) -> Run {
    project.plugin("script", "script", more, &format!("decisions = [{decisions}]"));
    project.train("").run(1)
}

fn outcomes(run: &Run) -> Vec<String> {
    run.decisions("script")
        .iter()
        .map(|line| line["outcome"].as_str().expect("what the run left is whole").to_owned())
        .collect()
}

/// The value of a name in the log record of each step.
fn logged(run: &Run, name: &str) -> Vec<f64> {
    run.lines("metrics.jsonl").iter().filter_map(|line| line[name].as_f64()).collect()
}

#[test]
fn stop_ends_the_run_after_the_step_with_its_last_evaluation_and_save() {
    let (_project, run) = scripted(r#"{ hook = "step-end", step = 30, decide = [{ stop = "enough" }] }"#);
    let report = run.json("report.json");
    assert_eq!(report["stop_reason"], "script: enough");
    assert_eq!((&report["status"], &report["steps"]), (&Value::from("stopped"), &Value::from(30)));
    assert_eq!(run.checkpoints(), ["step-30"]);
    let last = run.lines("metrics.jsonl").pop().unwrap();
    assert!(last["eval/loss"].is_number() && last["step"] == 30, "{last}");
}

#[test]
fn end_epoch_goes_on_with_the_next_one() {
    let (_project, run) = scripted(r#"{ hook = "step-end", step = 10, decide = [{ end-epoch = "short" }] }"#);
    let report = run.json("report.json");
    assert_eq!((&report["epochs"], &report["steps"]), (&Value::from(4.0), &Value::from(10 + 3 * 24)));
}

#[test]
fn evaluate_happens_once_however_many_ask() {
    let (_project, run) = scripted(r#"{ hook = "step-end", step = 10, decide = ["evaluate", "evaluate"] }"#);
    assert_eq!(outcomes(&run), ["applied", "merged"]);
    let at: Vec<Value> = run
        .lines("metrics.jsonl")
        .into_iter()
        .filter(|line| line["eval/loss"].is_number())
        .map(|line| line["step"].clone())
        .collect();
    assert_eq!(at, [10, 24, 48, 72, 96]);
}

#[test]
fn save_points_a_tag_to_a_checkpoint_and_two_tags_share_one() {
    let (_project, run) =
        scripted(r#"{ hook = "step-end", step = 10, decide = [{ save = "best" }, { save = "first" }] }"#);
    let tags = run.json("checkpoints/tags.json");
    assert_eq!((&tags["best"], &tags["first"]), (&Value::from("step-10"), &Value::from("step-10")));
    assert!(run.path("checkpoints/step-10/model.safetensors").is_file());
}

#[test]
fn a_save_at_the_end_of_an_epoch_is_of_that_epoch() {
    let (_project, run) = scripted(r#"{ hook = "epoch-end", occurrence = 2, decide = [{ save = "second" }] }"#);
    assert_eq!(run.json("checkpoints/tags.json")["second"], "step-48");
}

#[test]
fn skip_drops_what_the_hook_announces() {
    let project = project();
    project.configure("").write(
        "train.toml",
        &std::fs::read_to_string(project.path("train.toml"))
            .unwrap()
            .replace("keep = 3", "keep = 3\nsave-every = \"1ep\""),
    );
    project.plugin("observer", "observer", "order = 10", "reads = [\"eval/loss\"]");
    let run = scripted_in(
        &project,
        "",
        r#"{ hook = "step-begin", occurrence = 5, decide = [{ skip = "batch" }] },
           { hook = "gradients", occurrence = 8, decide = [{ skip = "update" }] },
           { hook = "evaluate-begin", occurrence = 1, decide = [{ skip = "evaluation" }] },
           { hook = "save-begin", occurrence = 2, decide = [{ skip = "save" }] },
           { hook = "step-end", occurrence = 12, decide = [{ skip = "nothing" }] }"#,
    );
    assert_eq!(outcomes(&run), ["applied", "applied", "refused", "applied", "applied"]);
    // A dropped batch is no step, a dropped update is one.
    let report = run.json("report.json");
    assert_eq!((&report["steps"], &report["samples"]), (&Value::from(95), &Value::from(95 * 5)));
    let notes = run.notes("observer");
    let count = |hook: &str| notes.iter().filter(|note| note["hook"] == hook).count();
    assert_eq!((count("evaluate-begin"), count("evaluate-end")), (4, 3));
    assert_eq!((count("save-begin"), count("save-end")), (4, 3));
    assert_eq!((count("step-begin"), count("gradients"), count("step-end")), (96, 95, 95));
}

#[test]
fn a_dropped_update_leaves_the_weights() {
    let every = |hook: &str| format!(r#"{{ hook = "{hook}", decide = [{{ skip = "all" }}] }}"#);
    let (_project, run) = scripted(&every("gradients"));
    let losses: Vec<f64> = run.lines("metrics.jsonl").iter().filter_map(|line| line["eval/loss"].as_f64()).collect();
    assert!(losses.len() == 4 && losses.iter().all(|loss| *loss == losses[0]), "{losses:?}");
}

#[test]
fn skipping_everything_is_an_error_and_no_endless_run() {
    let project = project();
    project.plugin("script", "script", "", r#"decisions = [{ hook = "step-begin", decide = [{ skip = "all" }] }]"#);
    let outcome = project.host("run train.toml --set train.steps=1000");
    outcome.expect(1);
    let report = outcome.run(1).json("report.json");
    assert_eq!(report["status"], "failed");
    assert!(report["stop_reason"].as_str().unwrap().contains("`script`"), "{report:#}");
}

#[test]
fn restore_puts_weights_and_optimizer_back_and_nothing_else() {
    let (_project, run) = scripted(
        r#"{ hook = "step-end", step = 24, decide = [{ save = "early" }] },
           { hook = "step-end", step = 60, decide = [{ set = ["learning-rate", 0.0] }, { restore = "early" }] }"#,
    );
    let lines = run.lines("metrics.jsonl");
    let evaluation = |step: u64| {
        lines.iter().find(|line| line["step"] == step && line["eval/loss"].is_number()).unwrap()["eval/loss"].clone()
    };
    // From step 60 on nothing is learned, so the weights at 96 are those of step 24.
    assert_eq!(evaluation(96), evaluation(24));
    assert_ne!(evaluation(48), evaluation(24));
    assert_eq!(run.json("report.json")["steps"], 96);
}

#[test]
fn a_restore_of_an_unknown_tag_is_refused_by_name() {
    let (_project, run) = scripted(r#"{ hook = "step-end", step = 5, decide = [{ restore = "best" }] }"#);
    let decision = &run.decisions("script")[0];
    assert_eq!(decision["outcome"], "refused");
    assert!(decision["why"].as_str().unwrap().contains("none is tagged `best`"), "{decision}");
}

#[test]
fn b11_a_restore_at_the_end_decides_on_the_final_model() {
    let (_project, run) = scripted(
        r#"{ hook = "step-end", step = 24, decide = [{ save = "best" }] },
           { hook = "train-end", decide = [{ restore = "best" }] }"#,
    );
    let bytes = |name: &str| std::fs::read(run.path(name)).unwrap();
    assert_eq!(bytes("model.safetensors"), bytes("checkpoints/step-24/model.safetensors"));
    let lines = run.lines("metrics.jsonl");
    let then = lines.iter().find(|line| line["step"] == 24 && line["eval/loss"].is_number()).unwrap();
    // What the report calls final is about the model that the run leaves.
    assert_eq!(run.json("report.json")["final"]["eval/loss"], then["eval/loss"]);
}

#[test]
fn knobs_are_written_in_order_within_their_ranges() {
    let project = project();
    let run = scripted_in(
        &project,
        r#"grant = { knobs = { "learning-rate*" = [1e-4, 0.5], "clip-norm" = true, "batch-size" = [1, 20] } }"#,
        r#"{ hook = "step-begin", occurrence = 10, decide = [
             { set = ["learning-rate/rest", 0.1] }, { scale = ["learning-rate/rest", 0.5] },
             { scale = ["learning-rate", 0.1] }, { set = ["learning-rate", 0.9] }, { set = ["clip-norm", 2.0] },
             { set = ["batch-size", 10] }, { set = ["batch-size", 2.5] }, { set = ["batch-size", 21] },
             { set = ["weight-decay/rest", 0.5] }, { set = ["learnig-rate/rest", 0.1] }, { set = ["clip-norm", "NaN"] }] }"#,
    );
    let lines = run.decisions("script");
    let outcomes: Vec<&str> = lines.iter().map(|line| line["outcome"].as_str().unwrap()).collect();
    let applied = ["applied"; 3].into_iter();
    let expected: Vec<&str> = applied.chain(["refused", "applied", "applied"]).chain(["refused"; 5]).collect();
    assert_eq!(outcomes, expected, "{lines:#?}");
    let why = |at: usize| lines[at]["why"].as_str().unwrap();
    assert!(why(3).contains("is granted 0.0001 to 0.5"), "{}", why(3));
    assert!(why(6).contains("whole numbers"), "{}", why(6));
    assert!(why(8).contains("`weight-decay/rest` is not granted"), "{}", why(8));
    assert!(why(9).contains("did you mean `learning-rate/rest`"), "{}", why(9));
    assert!(why(10).contains("NaN"), "{}", why(10));
    assert_eq!(lines[2]["changes"].as_array().unwrap().len(), 2, "all groups: {}", lines[2]);
    let (rates, batches) = (logged(&run, "learning-rate/rest"), logged(&run, "batch-size"));
    assert_eq!((rates[8], batches[8]), (0.01, 5.0));
    assert!((rates[9] - 0.005).abs() < 1e-15 && batches[9] == 10.0, "{} {}", rates[9], batches[9]);
}

#[test]
fn a_batch_size_in_mid_epoch_neither_repeats_nor_loses_a_sample() {
    let (_project, run) = scripted(
        r#"{ hook = "step-begin", occurrence = 4, decide = [{ set = ["batch-size", 7] }] },
           { hook = "step-begin", occurrence = 9, decide = [{ set = ["accumulation", 3] }] }"#,
    );
    assert_eq!(run.json("report.json")["samples"], 4 * 120);
}

#[test]
fn b14_two_writers_of_one_rate_give_the_same_result_and_are_named() {
    let project = project();
    for (name, order, value) in [("zeta", 1, 0.002), ("alpha", 2, 0.003)] {
        let config = format!(
            "decisions = [{{ hook = \"step-begin\", step = 3, decide = [{{ set = [\"learning-rate\", {value}] }}] }}]"
        );
        project.plugin("script", name, &format!("order = {order}"), &config);
    }
    let outcome = project.train("");
    let run = outcome.run(1);
    assert_eq!(logged(&run, "learning-rate/rest")[3], 0.003);
    let story = run.lines("timeline.jsonl").into_iter().find(|line| line["topic"] == "shared-knob").unwrap();
    assert!(story["text"].as_str().unwrap().contains("zeta and alpha, in this order"), "{story}");
}

#[test]
fn b7_the_order_is_declared_stable_and_shown() {
    let project = project();
    for (name, more) in [("b", ""), ("a", ""), ("z", "order = -5")] {
        project.plugin("observer", name, more, "hooks = [\"step-end\"]");
    }
    let run = project.train("").run(1);
    let order = run.lines("timeline.jsonl").into_iter().find(|line| line["topic"] == "order").unwrap();
    assert!(order["text"].as_str().unwrap().ends_with("z, a, b"), "{order}");
    let first: Vec<Value> = run
        .lines("timeline.jsonl")
        .iter()
        .filter(|line| line["hook"] == "step-end" && line["step"] == 1 && !line["decision"]["note"].is_null())
        .map(|line| line["instance"].clone())
        .collect();
    assert_eq!(first, ["z", "a", "b"]);
}

#[test]
fn b6_evaluation_comes_before_the_save_of_the_same_step() {
    let project = project();
    project.plugin("observer", "observer", "", "hooks = [\"step-end\", \"evaluate-end\", \"save-begin\", \"save-end\", \"epoch-end\", \"train-end\"]\nreads = [\"eval/loss\"]");
    let run = project.train("--set train.save-every=\"1ep\" --set train.epochs=1").run(1);
    let notes = run.notes("observer");
    let hooks: Vec<&str> = notes[23..].iter().map(|note| note["hook"].as_str().unwrap()).collect();
    assert_eq!(hooks, ["step-end", "evaluate-end", "save-begin", "save-end", "epoch-end", "train-end"]);
    assert!(notes[25]["eval/loss"].is_number(), "the save knows the evaluation: {}", notes[25]);
}

#[test]
fn b24_gradient_norms_are_there_before_the_optimizer_step() {
    let project = project();
    project.plugin(
        "observer",
        "observer",
        "",
        "hooks = [\"gradients\"]\nreads = [\"gradient-norm\", \"gradient-norm/biases\", \"gradient-norm/rest\", \"gradient-nonfinite\", \"loss\"]",
    );
    let run = project.train("").run(1);
    let note = &run.notes("observer")[0];
    let number = |name: &str| note[name].as_f64().unwrap();
    let (all, biases, rest) = (number("gradient-norm"), number("gradient-norm/biases"), number("gradient-norm/rest"));
    assert!(all > 0.0 && (biases.hypot(rest) - all).abs() < 1e-9 * all, "{note}");
    assert_eq!((note["step"].clone(), number("gradient-nonfinite")), (Value::from(0), 0.0));
}

#[test]
fn b8_an_unknown_measurement_is_one_error_at_start_with_the_nearest_names() {
    let project = project();
    project.plugin("early-stopping", "stopper", "", "monitor = \"eval/los\"");
    let outcome = project.host("run train.toml");
    outcome.expect(6).says(&["`stopper` reads `eval/los`", "`eval/loss`", "train.toml"]);
    assert!(!project.path("runs").exists());
}

#[test]
fn b10_a_loss_that_is_not_finite_keeps_the_last_good_checkpoint() {
    let project = project();
    let explode = r#"{ hook = "step-begin", step = 30, decide = [{ set = ["learning-rate", 1000.0] }, { set = ["clip-norm", 0.0] }] }"#;
    project.plugin("script", "script", "", &format!("decisions = [{explode}]"));
    let outcome = project
        .host("run train.toml --set train.save-every=\"10st\" --set train.epochs=40 --set optimizer.kind=\"adamw\"");
    // Whether the loss explodes within the run is the model's affair; where it does, the run has failed cleanly.
    let run = outcome.run(1);
    let report = run.json("report.json");
    if report["status"] == "failed" {
        outcome.expect(1);
        assert!(report["stop_reason"].as_str().unwrap().contains("nan-guard"), "{report:#}");
    }
    project
        .host(&format!("run train.toml --until 31st --resume runs/iris-1/checkpoints/{}", run.checkpoints()[0]))
        .expect(0);
}

#[test]
fn b18_b22_b23_reports_name_who_did_what() {
    let project = project();
    project.plugin("evil", "bad", "", "mode = \"trap\"\nhook = \"evaluate-end\"\nfrom-step = 24\nto-step = 24");
    project.plugin("observer", "slow", "", "reads = [\"*\"]");
    let run = project.train("").run(1);
    let failure = run.lines("timeline.jsonl").into_iter().find(|line| line["event"] == "callback-failed").unwrap();
    assert_eq!(
        (&failure["instance"], &failure["hook"], &failure["step"]),
        (&Value::from("bad"), &Value::from("evaluate-end"), &Value::from(24))
    );
    let page = run.text("report.md");
    assert!(page.contains("bad") && page.contains("trap"), "{page}");
    assert!(run.json("report.json")["slowest_callback"].is_object(), "{}", run.json("report.json"));
}

#[test]
fn a_dropped_file_may_only_look_and_the_log_says_how_to_give_it_more() {
    let project = project();
    project.drop_in("early-stopping", "watcher");
    let run = project.train("").run(1);
    let lines = run.lines("timeline.jsonl");
    let loaded = lines.iter().find(|line| line["topic"] == "loaded").unwrap()["text"].as_str().unwrap();
    assert!(
        loaded.contains("may read, report and note") && loaded.contains("[[plugin]] name = \"watcher\""),
        "{loaded}"
    );
    let saves: Vec<&Value> = lines.iter().filter(|line| !line["decision"]["save"].is_null()).collect();
    assert!(!saves.is_empty() && saves.iter().all(|line| line["outcome"] == "refused"), "{saves:#?}");
    assert!(
        run.decisions("watcher")
            .iter()
            .any(|line| !line["decision"]["report"].is_null() && line["outcome"] == "applied")
    );
}

#[test]
fn reports_of_one_callback_are_read_by_another() {
    let project = project();
    project.plugin(
        "script",
        "first",
        "order = 1",
        r#"decisions = [{ hook = "step-end", decide = [{ report = ["depth/x", 2.5] }] }]"#,
    );
    project.plugin("observer", "second", "order = 2", "hooks = [\"step-end\"]\nreads = [\"first/depth/x\"]");
    let run = project.train("").run(1);
    assert_eq!(run.notes("second")[5]["first/depth/x"], 2.5);
    assert_eq!(run.lines("reports.jsonl")[0]["first/depth/x"], 2.5);
}
