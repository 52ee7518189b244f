//! Plugins that look at a run: `profiler` and `overfit-watch`.

use std::collections::BTreeMap;

use host_tests::{Project, Run};
use serde_json::Value;

use crate::project;

use super::{
    changes, changes_nothing, column, decided, evaluations, is_close, notes, number, records, reported, steps,
};

/// The names of phases in the profiler's reports.
const PHASES: [&str; 8] =
    ["data", "forward", "backward", "optimizer", "callbacks", "other", "evaluation", "checkpoint"];

#[test]
fn b22_profiler_names_the_slowest_phase_and_callback() {
    let project = project();
    project.plugin("profiler", "profiler", "", "every = 20");
    // Far more than everything else in a step takes together.
    project.plugin("evil", "sluggish", "", "mode = \"slow\"\nwork = 2000000");
    project.plugin("evil", "quick", "", "mode = \"healthy\"");
    let run = project.train("").run(1);
    let told = notes(&run, "profiler");
    assert_eq!(told.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [96, 96]);
    assert!(told[0].1.starts_with("slowest phase: callbacks, "), "{told:?}");
    assert!(told[1].1.starts_with("slowest callback: sluggish, "), "{told:?}");
    assert_eq!(run.json("report.json")["slowest_callback"]["instance"], "sluggish");

    let mut shares: BTreeMap<u64, BTreeMap<String, f64>> = BTreeMap::new();
    for (step, _, report) in decided(&run, "profiler", "report") {
        let name = report["name"].as_str().unwrap().to_owned();
        assert!(PHASES.contains(&name.as_str()), "{name}");
        shares.entry(step).or_default().insert(name, number(&report, "value"));
    }
    assert_eq!(shares.keys().copied().collect::<Vec<_>>(), [20, 40, 60, 80]);
    for (step, shares) in &shares {
        assert!(shares.values().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
        assert!(is_close(shares.values().sum(), 1.0, 1e-9), "step {step}: {shares:?}");
        assert!(shares["callbacks"] > 0.5, "step {step}: {shares:?}");
        // The first evaluation is that of step 24, and each part has one; nothing was saved before the end.
        assert_eq!(shares.contains_key("evaluation"), *step > 20, "step {step}: {shares:?}");
        assert!(!shares.contains_key("checkpoint"), "step {step}: {shares:?}");
    }
}

#[test]
fn profiler_changes_nothing_and_says_little_in_a_short_run() {
    let project = project();
    let run = changes_nothing(&project, "profiler", "", "");
    assert_eq!(notes(&run, "profiler").len(), run.decisions("profiler").len(), "no report before step 100");
    assert_eq!(steps(&run, "profiler", "note"), [96, 96]);
}

#[test]
fn profiler_needs_no_entry() {
    let project = project();
    project.drop_in("profiler", "profiler");
    let run = project.train("--set train.epochs=5").run(1);
    assert_eq!(steps(&run, "profiler", "note"), [120, 120]);
    let shares = decided(&run, "profiler", "report");
    assert!(shares.len() > 5 && shares.iter().all(|(step, ..)| *step == 100), "{shares:?}");
}

/// Flowers whose labels have nothing to do with them: what a model learns of them is no use for others.
fn with_noise() -> Project {
    let project = project();
    let flowers = std::fs::read_to_string(project.path("iris.csv")).expect("the data");
    let mut lines = flowers.lines();
    let mut noise = lines.next().expect("a header").to_owned();
    for (at, line) in lines.enumerate() {
        let (numbers, _) = line.rsplit_once(',').expect("columns");
        noise.push_str(&format!("\n{numbers},{}", ["one", "two", "three"][at % 3]));
    }
    project.write("iris.csv", &noise);
    project
}

const OVERFITS: &str = "--set task.dropout=0 --set task.validation=0.5 --set task.hidden=[64] --set train.epochs=12 \
                        --set optimizer.learning-rate=0.03";

/// The gap at each evaluation: its loss less the mean of the losses since the one before.
fn gaps(run: &Run) -> Vec<(u64, f64)> {
    let records = records(run);
    let mut from = 0;
    let gap = |evaluation: &Value| {
        let step = evaluation["step"].as_u64().expect("a step");
        let losses = column(&records[from..step as usize], "loss");
        from = step as usize;
        (step, number(evaluation, "eval/loss") - losses.iter().sum::<f64>() / losses.len() as f64)
    };
    evaluations(run).iter().map(gap).collect()
}

/// The evaluations at which the gap has grown for the second time in a row, above 0 both times.
fn grown_twice(gaps: &[(u64, f64)]) -> Vec<u64> {
    let (mut grown, mut found) = (0, Vec::new());
    for pair in gaps.windows(2) {
        grown = if pair[1].1 > pair[0].1 && pair[1].1 > 0.0 { grown + 1 } else { 0 };
        if grown == 2 {
            found.push(pair[1].0);
            grown = 0;
        }
    }
    found
}

fn watched(config: &str) -> (Project, Run) {
    let project = with_noise();
    project.plugin("overfit-watch", "watch", "", &format!("patience = 2\n{config}"));
    let run = project.train(OVERFITS).run(1);
    (project, run)
}

#[test]
fn overfit_watch_reports_the_gap_and_notes_its_growth() {
    let (_project, run) = watched("");
    let gaps = gaps(&run);
    let told = reported(&run, "watch", "gap");
    assert_eq!((gaps.len(), told.len()), (12, 12));
    for ((step, gap), (at, told)) in gaps.iter().zip(&told) {
        assert_eq!(step, at);
        assert!((gap - told).abs() < 1e-12, "step {step}: {told} instead of {gap}");
    }
    let expected = grown_twice(&gaps);
    assert!(expected.len() >= 2, "a model of this size learns noise by heart: {gaps:?}");
    assert_eq!(steps(&run, "watch", "note"), expected);
    assert_eq!(changes(&run, "watch"), []);
    assert_eq!(run.json("report.json")["status"], "completed");
}

#[test]
fn overfit_watch_stops_a_run_that_learns_by_heart() {
    let (_project, run) = watched("action = \"stop\"");
    let expected = grown_twice(&gaps(&run));
    assert_eq!(steps(&run, "watch", "stop"), expected);
    let report = run.json("report.json");
    assert_eq!((&report["status"], &report["steps"]), (&"stopped".into(), &expected[0].into()));
    assert!(report["stop_reason"].as_str().unwrap().contains("has grown 2 times in a row"), "{report:#}");
    assert_eq!(records(&run).len() as u64, expected[0], "nothing was trained after it");
}

#[test]
fn overfit_watch_raises_the_weight_decay_up_to_its_bound() {
    let (_project, run) = watched("action = \"scale-weight-decay\"\nmax-factor = 3.0");
    let expected = grown_twice(&gaps(&run));
    assert!(expected.len() >= 2, "{expected:?}");
    // The group without any decay is left out.
    let raised = |step, before, after| (step, "weight-decay/rest".to_owned(), before, after);
    assert_eq!(changes(&run, "watch"), [raised(expected[0], 0.01, 0.02), raised(expected[1], 0.02, 0.03)]);
    for record in records(&run) {
        let step = record["step"].as_u64().unwrap();
        let decay = [0.01, 0.02, 0.03][expected[..2].iter().filter(|raised| step > **raised).count()];
        assert_eq!(number(&record, "weight-decay/rest"), decay, "step {step}");
        assert_eq!(number(&record, "weight-decay/biases"), 0.0);
    }
}

#[test]
fn overfit_watch_lets_a_run_go_on_that_learns_what_is_there() {
    let project = project();
    let run = changes_nothing(&project, "overfit-watch", "action = \"stop\"\npatience = 2", "");
    let kinds = run.decisions("overfit-watch");
    assert!(kinds.iter().all(|line| !line["decision"]["report"].is_null()), "{kinds:#?}");
    assert!(grown_twice(&gaps(&run)).is_empty());
    assert_eq!(reported(&run, "overfit-watch", "gap").len(), 4);
}
