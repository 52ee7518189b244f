//! `host show`: what a run left is told as a story, also when it was killed; a question is answered by one line.
//! How lines come about and are folded is tested with the modules; here a real run is told.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write},
};

use host_tests::{Outcome, Project};
use serde_json::Value;

use crate::project;

/// A decay that writes at every step, and a callback that halves the rate once and says why.
fn steered() -> Project {
    let project = project();
    let decay = r#"decisions = [{ hook = "step-begin", decide = [{ scale = ["weight-decay/rest", 0.99] }] }]"#;
    let halve = r#"decisions = [
        { hook = "evaluate-end", step = 48, decide = [{ note = "no better for 3 checks" }, { scale = ["learning-rate", 0.5] }] },
        { hook = "step-end", step = 60, decide = [{ set = ["learning-rate", 2000.0] }, { save = "mine" }] },
        { hook = "evaluate-end", step = 72, decide = [{ stop = "enough" }] }]"#;
    project.plugin("script", "decay", "", decay).plugin("script", "halver", "", halve);
    project.train("");
    project
}

fn lines<'a>(outcome: &'a Outcome, words: &[&str]) -> Vec<&'a str> {
    outcome.stdout.lines().filter(|line| words.iter().all(|word| line.contains(word))).collect()
}

#[test]
fn one_line_says_why_the_rate_fell() {
    let project = steered();
    let story = project.host("show runs/iris-1");
    story.expect(0);
    let why = lines(&story, &["step 48 ", "learning-rate"]);
    assert_eq!(why.len(), 1, "{}", story.stdout);
    for part in [
        "epoch 2.00",
        "evaluate-end",
        "halver 0.1.0",
        "learning-rate/* 0.01 → 0.005 (no better for 3 checks), then eval/loss ",
    ] {
        assert!(why[0].contains(part), "{part} is not in {}", why[0]);
    }
    let asked = project.host("show runs/iris-1 --knob learning-rate --steps 48");
    asked.expect(0);
    assert_eq!(asked.stdout.lines().count(), 1, "{}", asked.stdout);
    assert!(asked.stdout.contains("no better for 3 checks"), "{}", asked.stdout);
}

#[test]
fn what_every_step_writes_does_not_drown_the_story() {
    let project = steered();
    let story = project.host("show runs/iris-1");
    let decay = lines(&story, &["weight-decay/rest"]);
    assert_eq!(decay.len(), 1, "{}", story.stdout);
    assert!(decay[0].contains("steps 0–71") && decay[0].contains(", 72 times"), "{}", decay[0]);
    let refused = lines(&story, &["step 60 ", "set learning-rate to 2000 refused", "0 to 1000", "save `mine`"]);
    assert_eq!(refused.len(), 1, "{}", story.stdout);
    assert_eq!(lines(&story, &["halver", "the run ends, stopped: halver: enough; it leaves eval/"]).len(), 1);
    assert_eq!(
        lines(&story, &["decay", "script 0.1.0", "72 applied (72 scale), 72 calls"]).len(),
        1,
        "{}",
        story.stdout
    );
    let all = project.host("show runs/iris-1 --all --by decay");
    assert_eq!(lines(&all, &["weight-decay/rest"]).len(), 72);
    // The page tells the same, folded.
    let page = fs::read_to_string(project.path("runs/iris-1/report.md")).unwrap();
    for part in ["## Story", ", 72 times", "(no better for 3 checks), then eval/loss", "`host show runs/iris-1`"] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
}

#[test]
fn every_line_of_the_timeline_says_when_and_every_decision_whose_it_was() {
    let project = steered();
    let run = host_tests::Run::at(project.path("runs/iris-1"));
    let timeline = run.lines("timeline.jsonl");
    let events: BTreeSet<&str> = timeline.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(events, BTreeSet::from(["decided", "ended", "evaluated", "saved", "started", "story"]));
    for line in &timeline {
        assert!(line["step"].is_u64() && line["epoch"].is_f64() && line["time"].is_string(), "{line}");
        if line["event"] == "decided" {
            assert!(
                ["hook", "instance", "plugin", "version", "outcome"].iter().all(|it| line[it].is_string()),
                "{line}"
            );
            assert_eq!(line["sha256"].as_str().map(str::len), Some(64), "{line}");
            assert!(line["decision"].is_object() && line["changes"].is_array(), "{line}");
            assert_eq!(line["why"].is_string(), line["outcome"] == "refused", "{line}");
        }
    }
}

#[test]
fn a_shipped_run_is_told_with_its_callbacks() {
    let project = project();
    project.plugin("lr-schedule", "lr-schedule", "", "kind = \"cosine\"\nwarm-up = 10");
    project.plugin("early-stopping", "early-stopping", "", "patience = 50");
    project.drop_in("nan-guard", "nan-guard");
    project.train("");
    let story = project.host("show runs/iris-1");
    story.expect(0);
    let task = lines(&story, &["task ", "classification: ", " parameters"]);
    assert!(task.len() == 1 && lines(&story, &["completed", "planned length reached"]).len() == 2, "{}", story.stdout);
    assert_eq!(lines(&story, &["nan-guard", "nothing decided"]).len(), 1, "{}", story.stdout);
    let schedule = lines(&story, &["lr-schedule 0.1.0", "learning-rate/* ", " → 0.01 → ", " times"]);
    assert_eq!(schedule.len(), 1, "{}", story.stdout);
    assert!(!story.stdout.contains('\u{1b}'), "colours are for terminals");
    assert!(project.host("show runs/iris-1 --color always").stdout.contains('\u{1b}'));
}

#[test]
fn the_same_as_lines_of_json() {
    let project = steered();
    let outcome = project.host("show runs/iris-1 --json");
    outcome.expect(0);
    let told: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&told[0]["kind"], &told[0]["status"]), (&Value::from("run"), &Value::from("stopped")));
    let callbacks: Vec<&Value> = told.iter().filter(|line| line["kind"] == "callback").collect();
    assert_eq!((callbacks.len(), &callbacks[1]["refused"]), (2, &Value::from(1)));
    let asked = project.host("show runs/iris-1 --json --knob learning-rate/rest --steps ..50");
    let event: Value = serde_json::from_str(&asked.stdout).expect("one line");
    assert_eq!((&event["step"], &event["why"]), (&Value::from(48), &Value::from("no better for 3 checks")));
    assert_eq!(
        (&event["changes"][0]["before"], &event["changes"][0]["after"]),
        (&Value::from(0.01), &Value::from(0.005))
    );
    assert_eq!(event["by"][0]["sha256"].as_str().map(str::len), Some(64));
}

#[test]
fn a_killed_run_is_told_as_far_as_it_came() {
    let project = project();
    let decisions = r#"decisions = [{ hook = "step-end", step = 20, decide = [{ set = ["learning-rate", 0.001] }, { note = "slower" }] }]"#;
    project.plugin("script", "script", "", decisions);
    let mut child = project.start("run train.toml --set train.epochs=4000");
    let mut printed = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(printed.any(|line| line.contains("step 30/")), "the thirtieth step is told");
    child.kill().unwrap();
    child.wait().unwrap();
    let mut timeline = fs::OpenOptions::new().append(true).open(project.path("runs/iris-1/timeline.jsonl")).unwrap();
    timeline.write_all(br#"{"event":"evaluated","step":9"#).unwrap();
    let story = project.host("show runs/iris-1");
    story.expect(0).says(&["last line of timeline.jsonl is not complete", "killed"]);
    assert_eq!(lines(&story, &["not ended", "it still runs, or was killed"]).len(), 1, "{}", story.stdout);
    assert_eq!(lines(&story, &["step 20 ", "learning-rate/* 0.01 → 0.001 (slower)"]).len(), 1, "{}", story.stdout);
}

#[test]
fn a_folder_of_no_run_is_an_error_that_names_runs() {
    let project = project();
    project.host("show nowhere").expect(9).says(&["there is no folder `nowhere`", "runs/digits-1"]);
    project.train("--set train.epochs=1");
    project.host("show runs").expect(9).says(&["`runs` is not the folder of a run", "timeline.jsonl", "runs/iris-1"]);
    project
        .host("show plugins")
        .expect(9)
        .says(&["`plugins` is not the folder of a run", "<run.folder>/<run.name>-<n>"]);
}

#[test]
fn a_filter_that_fits_nothing_says_what_there_is() {
    let project = steered();
    let says = |filter: &str, words: &[&str]| {
        project.host(&format!("show runs/iris-1 {filter}")).expect(2).says(words);
    };
    says("--by halvre", &["no callback of this run is called so", "did you mean `halver`", "decay, halver"]);
    says("--knob learning-rat/rest", &["no knob that was written", "did you mean `learning-rate/rest`"]);
    says("--knob learning-rate --steps 50..55", &["the nearest ones are at step 48 and 60"]);
    says("--steps 9..3", &["`9..3` names no steps", "1000..1300"]);
}
