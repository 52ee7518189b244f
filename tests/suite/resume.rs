//! A resumed run is the same run: same numbers to the last digit, same decisions at the same steps.
//! What survives a SIGKILL is in `kill`.

use host_tests::{Project, Run};

use crate::project;

/// Callbacks with state, a schedule and checkpoints in mid-epoch: what a resume could get wrong.
fn steered() -> Project {
    let project = project();
    project.configure("[train.x]").write("train.toml", &config(&project));
    project.plugin("lr-schedule", "schedule", "", "kind = \"cosine\"\nwarm-up = 10");
    project.plugin("early-stopping", "stopper", "", "patience = 100");
    project.plugin("checkpoint-policy", "policy", "", "every-steps = 17\nkeep-last = 2");
    project.plugin(
        "observer",
        "observer",
        "",
        "reads = [\"loss\", \"eval/*\", \"learning-rate/*\", \"gradient-norm\", \"stopper/*\"]",
    );
    project
}

fn config(project: &Project) -> String {
    let file = std::fs::read_to_string(project.path("train.toml")).expect("what the run left is whole");
    file.replace("[train.x]", "").replace("epochs = 4", "epochs = 4\nsave-every = \"25st\"")
}

/// The lines of a timeline that a resumed run must have too: what callbacks decided, and where.
fn decisions(run: &Run) -> Vec<String> {
    let keep = |line: &serde_json::Value| line["event"] == "decided";
    let words = |line: serde_json::Value| {
        format!(
            "{} {} {} {} {} {}",
            line["step"], line["hook"], line["instance"], line["decision"], line["outcome"], line["changes"]
        )
    };
    run.lines("timeline.jsonl").into_iter().filter(keep).map(words).collect()
}

#[test]
fn b1_b26_a_resumed_run_equals_an_uninterrupted_one() {
    let project = steered();
    let whole = project.train("").run(1);
    let mut n = 1;
    for at in ["1st", "24st", "25st", "50st", "63st", "1ep", "95st"] {
        project.train(&format!("--until {at}"));
        n += 2;
        let resumed = project.train(&format!("--resume runs/iris-{}", n - 1)).run(n);
        assert_eq!(resumed.text("metrics.jsonl"), whole.text("metrics.jsonl"), "{at}");
        assert_eq!(decisions(&resumed), decisions(&whole), "{at}");
        let model = |run: &Run| std::fs::read(run.path("model.safetensors")).unwrap();
        assert_eq!(model(&resumed), model(&whole), "{at}");
    }
}

#[test]
fn a_run_that_was_planned_shorter_goes_on_as_a_longer_one() {
    let project = project();
    let whole = project.train("--set train.steps=60").run(1);
    // 30 steps are no whole epoch: the evaluation at the end of the short run is not one of the long run.
    project.train("--set train.steps=30");
    let resumed = project.train("--set train.steps=60 --resume runs/iris-2").run(3);
    assert_eq!(resumed.text("metrics.jsonl"), whole.text("metrics.jsonl"));
}

#[test]
fn a_checkpoint_in_the_middle_can_be_resumed_too() {
    let project = steered();
    let whole = project.train("").run(1);
    let checkpoints = whole.checkpoints();
    assert!(checkpoints.len() > 2, "{checkpoints:?}");
    for (n, checkpoint) in (2..).zip(&checkpoints) {
        let outcome = project.host(&format!("run train.toml --resume runs/iris-1/checkpoints/{checkpoint}"));
        outcome.expect(0);
        if outcome.stdout.contains("nothing left to train") {
            continue;
        }
        assert_eq!(outcome.run(n).text("metrics.jsonl"), whole.text("metrics.jsonl"), "{checkpoint}");
    }
}

#[test]
fn the_last_checkpoint_is_the_same_one_after_an_interruption() {
    let project = project();
    let restore = r#"decisions = [{ hook = "step-end", step = 40, decide = [{ restore = "last" }] }]"#;
    project.plugin("script", "script", "", restore);
    let every = "--set train.save-every=\"25st\" --set train.keep=1";
    let whole = project.train(every).run(1);
    let _ = project.train(&format!("{every} --until 33st"));
    let resumed = project.train(&format!("{every} --resume runs/iris-2")).run(3);
    assert_eq!(whole.decisions("script")[0]["outcome"], "applied");
    assert_eq!(resumed.text("metrics.jsonl"), whole.text("metrics.jsonl"));
}

#[test]
fn b2_a_run_that_stopped_early_trains_no_further() {
    let project = project();
    project.plugin(
        "script",
        "script",
        "",
        "decisions = [{ hook = \"step-end\", step = 10, decide = [{ stop = \"enough\" }] }]",
    );
    assert_eq!(project.train("").run(1).json("report.json")["steps"], 10);
    let outcome = project.host("run train.toml --resume runs/iris-1");
    outcome.expect(0);
    assert!(outcome.stdout.contains("had ended at step 10: script: enough"), "{}", outcome.stdout);
    assert!(!project.path("runs/iris-2").exists());
}

#[test]
fn b5_a_new_run_starts_with_clean_state() {
    let project = project();
    project.plugin(
        "script",
        "script",
        "",
        "decisions = [{ hook = \"epoch-end\", occurrence = 2, decide = [{ stop = \"two\" }] }]",
    );
    for n in [1, 2] {
        assert_eq!(project.train("").run(n).json("report.json")["epochs"], 2.0);
    }
}

#[test]
fn b4_two_instances_keep_separate_state() {
    let project = project();
    for (name, at) in [("first", 3), ("second", 5)] {
        let config =
            format!("decisions = [{{ hook = \"epoch-end\", occurrence = {at}, decide = [{{ stop = \"{name}\" }}] }}]");
        project.plugin("script", name, "", &config);
    }
    project.train("--until 2ep");
    let report = project.train("--resume runs/iris-1").run(2).json("report.json");
    assert_eq!(report["stop_reason"], "first: first");
    assert_eq!(report["epochs"], 3.0);
}

#[test]
fn the_older_run_is_only_read() {
    let project = steered();
    let first = project.train("--until 40st").run(1);
    let before = listing(first.path(""));
    project.train("--resume runs/iris-1");
    assert_eq!(listing(first.path("")), before);
}

fn listing(folder: std::path::PathBuf) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("what the run left is whole") {
        let path = entry.expect("what the run left is whole").path();
        if path.is_dir() {
            files.extend(listing(path));
        } else {
            files.push((path.display().to_string(), std::fs::read(&path).expect("what the run left is whole")));
        }
    }
    files.sort();
    files
}

#[test]
fn a_resume_that_does_not_fit_is_refused() {
    let project = project();
    project.train("--until 20st");
    for (arguments, words) in [
        ("--set run.seed=9", ["seed 7", "seed 9"]),
        ("--set task.hidden=[17]", ["mlp 4-16-3", "mlp 4-17-3"]),
        ("--set task.validation=0.3", ["120 training samples", "105 training samples"]),
    ] {
        let outcome = project.host(&format!("run train.toml --resume runs/iris-1 {arguments}"));
        outcome.expect(5).says(&words);
    }
    project.host("run train.toml --resume runs/none").expect(5);
    project.host("run train.toml --resume .").expect(5);
    assert!(!project.path("runs/iris-2").exists());
}

#[test]
fn a_damaged_checkpoint_is_refused_and_the_one_before_offered() {
    let project = project();
    let run = project.train("--set train.save-every=\"10st\" --set train.keep=3").run(1);
    let checkpoints = run.path("checkpoints");
    for (file, damage) in
        [("model.safetensors", 9), ("optimizer.safetensors", 9), ("state.json", 3), ("checkpoint.json", 2)]
    {
        let path = checkpoints.join("step-96").join(file);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / damage]).unwrap();
        let outcome = project.host("run train.toml --resume runs/iris-1");
        outcome.expect(5).says(&["step-96", file, "step-90"]);
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        project.host("run train.toml --resume runs/iris-1").expect(5).says(&["step-96", "step-90"]);
        std::fs::remove_file(&path).unwrap();
        project.host("run train.toml --resume runs/iris-1").expect(5).says(&[file, "step-90"]);
        std::fs::write(&path, &whole).unwrap();
    }
    project.host("run train.toml --resume runs/iris-1/checkpoints/step-90").expect(0);
}

#[test]
fn b15_retention_keeps_the_best_and_the_newest() {
    let project = project();
    project.plugin(
        "script",
        "script",
        "",
        "decisions = [{ hook = \"step-end\", step = 20, decide = [{ save = \"best\" }] }]",
    );
    let run = project.train("--set train.save-every=\"7st\" --set train.keep=2").run(1);
    assert_eq!(run.checkpoints(), ["step-20", "step-91", "step-96"]);
    assert_eq!(run.json("checkpoints/tags.json")["best"], "step-20");
}
