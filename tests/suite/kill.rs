//! Whatever is killed at whatever moment, the last durable checkpoint can be loaded and what was written be read.
//! The moments are not timed: the program is killed when it has written a certain number of lines.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
};

use crate::project;

/// How often the program is killed; each time a bit later.
const KILLS: usize = 24;

#[test]
fn a_kill_at_any_moment_leaves_the_last_checkpoint_loadable() {
    let project = project();
    project.plugin("checkpoint-policy", "policy", "", "every-steps = 3\nkeep-last = 2");
    let whole = project.train("--set train.save-every=\"2st\"").run(1);
    let metrics = whole.text("metrics.jsonl");
    let mut resumed = 0;
    for kill in 0..KILLS {
        let n = newest(&project.path("runs")) + 1;
        let mut child = project.start("run train.toml --set train.save-every=\"2st\"");
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // A line is printed for each step and each save; the kill falls somewhere in what follows it.
        let seen = lines.map_while(Result::ok).take(6 + 9 * kill).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen > 0, "the program says what it does");
        let run = host_tests::Run::at(project.path(&format!("runs/iris-{n}")));
        for file in ["metrics.jsonl", "timeline.jsonl"] {
            whole_lines(&run.text(file), file);
        }
        if run.checkpoints().is_empty() {
            continue;
        }
        resumed += 1;
        let outcome = project.host(&format!("run train.toml --set train.save-every=\"2st\" --resume runs/iris-{n}"));
        outcome.expect(0);
        if !outcome.stdout.contains("nothing left to train") {
            assert_eq!(outcome.run(n + 1).text("metrics.jsonl"), metrics, "killed after {seen} lines");
        }
    }
    assert!(resumed >= 20, "{resumed} of {KILLS} had a checkpoint");
}

fn newest(runs: &Path) -> usize {
    let entries = fs::read_dir(runs)
        .expect("what the run left is whole")
        .map(|entry| entry.expect("what the run left is whole").file_name().to_string_lossy().into_owned());
    entries.filter_map(|name| name.strip_prefix("iris-")?.parse().ok()).max().unwrap_or(0)
}

/// Every line but a torn last one is JSON.
fn whole_lines(text: &str, file: &str) {
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{file}: {line}");
    }
}

#[test]
fn the_first_signal_stops_after_the_step_and_the_run_can_be_resumed() {
    // What so many steps print does not fit into the pipe: the run is not over before it is read.
    const LONG: &str = "--set train.epochs=100000";
    let project = project();
    let mut child = project.start(&format!("run train.toml {LONG}"));
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let begun = lines.by_ref().map_while(Result::ok).any(|line| line.contains("step 3/"));
    assert!(begun, "the third step is told");
    let killed = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:#?}");
    let run = host_tests::Run::at(project.path("runs/iris-1"));
    let report = run.json("report.json");
    assert_eq!(report["status"], "interrupted");
    let steps = report["steps"].as_u64().unwrap();
    assert_eq!(run.checkpoints(), [format!("step-{steps}")]);
    let on = format!("{LONG} --until {}st", steps + 50);
    let resumed = project.train(&format!("{on} --resume runs/iris-1")).run(2);
    let whole = project.train(&on).run(3);
    assert_eq!(resumed.json("report.json")["steps"], steps + 50);
    assert_eq!(resumed.text("metrics.jsonl"), whole.text("metrics.jsonl"));
}
