//! Runs of several processes: one of them writes, all of them stop at the same step, and one that is lost ends the run.
//! What ranks compute is tested in the trainer.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command},
};

use host_tests::{Project, Run};
use serde_json::Value;

use crate::project;

/// Chance differs between ranks, so there is none here.
const PLAIN: &str = "--set task.dropout=0 --set train.save-every=1ep";

fn names(run: &Run) -> Vec<String> {
    let entries = fs::read_dir(run.path("")).expect("a run's folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in ASCII")).collect();
    names.sort();
    names
}

/// Numbers that differ in the order of sums only; whatever else is the same.
fn near(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, one)| other.get(key).is_some_and(|it| near(one, it)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| near(one, other))
        }
        _ => match (one.as_f64(), other.as_f64()) {
            (Some(one), Some(other)) => (one - other).abs() <= 1e-3 * one.abs().max(1.0),
            _ => one == other,
        },
    }
}

/// The rank that a process was started as.
fn rank(pid: u32) -> Option<u32> {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    line.split('\0').skip_while(|word| *word != "--rank").nth(1)?.parse().ok()
}

/// The processes that a process has started, in the order of their ranks.
fn children(parent: u32) -> Vec<u32> {
    let is_child = |pid: &u32| {
        // The name, which may hold anything, ends with the last bracket; the state and the parent follow.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let of = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        of == Some(parent)
    };
    let entries = fs::read_dir("/proc").expect("a Linux system");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut pids: Vec<u32> = pids.filter(is_child).collect();
    pids.sort_by_key(|pid| rank(*pid));
    pids
}

fn signal(kind: &str, pid: u32) {
    assert!(Command::new("kill").args([kind, &pid.to_string()]).status().expect("a signal is sent").success());
}

/// A run of three processes that has made three steps.
fn started(project: &Project) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = project.start(&format!("run train.toml --set run.ranks=3 --set train.epochs=100000 {PLAIN}"));
    let mut lines = BufReader::new(child.stderr.take().expect("it was asked for")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("step 3/")), "the third step is told");
    (child, lines)
}

#[test]
fn b16_of_three_processes_one_writes_the_same_run() {
    let project = project();
    project.plugin("observer", "observer", "", "");
    project.plugin("checkpoint-policy", "policy", "", "every-steps = 7\nkeep-last = 2");
    let alone = project.train(PLAIN).run(1);
    let together = project.train(&format!("{PLAIN} --set run.ranks=3")).run(2);
    assert_eq!(fs::read_dir(project.path("runs")).unwrap().count(), 2, "one folder a run");
    assert_eq!(names(&together), names(&alone));
    assert_eq!(together.checkpoints(), alone.checkpoints());
    let (ours, theirs) = (together.lines("metrics.jsonl"), alone.lines("metrics.jsonl"));
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!(near(ours, theirs), "{ours} and {theirs}");
    }
    let calls = |run: &Run| run.callback("observer")["calls"].clone();
    assert_eq!(calls(&together), calls(&alone), "callbacks run on one rank");
    assert_eq!(
        (&together.json("environment.json")["ranks"], &alone.json("environment.json")["ranks"]),
        (&3.into(), &1.into())
    );
    // It goes on with another number of ranks.
    let rest = project.train(&format!("{PLAIN} --set run.ranks=2 --set train.epochs=5 --resume runs/iris-2")).run(3);
    assert_eq!(rest.json("report.json")["steps"], 120);
}

#[test]
fn b17_a_signal_to_one_process_stops_all_at_the_same_step() {
    let project = project();
    let (mut child, lines) = started(&project);
    let ranks = children(child.id());
    assert_eq!(ranks.iter().map(|pid| rank(*pid)).collect::<Vec<_>>(), [Some(1), Some(2)]);
    signal("-TERM", ranks[1]);
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:#?}");
    let run = Run::at(project.path("runs/iris-1"));
    let report = run.json("report.json");
    assert_eq!(report["stop_reason"], "interrupted by a signal on rank 2");
    assert!(run.checkpoints().contains(&format!("step-{}", report["steps"])), "{:?}", run.checkpoints());
    assert!(ranks.iter().all(|pid| !children(child.id()).contains(pid)));
}

#[test]
fn a_process_that_is_killed_ends_the_run_and_the_others() {
    let project = project();
    let (mut child, lines) = started(&project);
    let ranks = children(child.id());
    signal("-KILL", ranks[0]);
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest:#?}");
    let report = Run::at(project.path("runs/iris-1")).json("report.json");
    assert!(report["stop_reason"].as_str().unwrap().starts_with("failed: rank 1 is lost: it is gone"), "{report}");
    assert!(!fs::exists(format!("/proc/{}", ranks[1])).unwrap(), "nobody is left behind");
}

#[test]
fn a_rank_that_cannot_begin_says_why() {
    let project = project();
    let outcome = project.host("rank train.toml --rank 1 --set task.data=none.csv");
    outcome.expect(4).says(&["none.csv"]);
    let outcome = project.host("rank train.toml --rank 1");
    outcome.expect(1).says(&["rank 0 is lost: it is gone", "this is rank 1 of a run"]);
    project.host("run train.toml --set run.ranks=0").expect(3).says(&["run.ranks"]);
}
