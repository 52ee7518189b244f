//! Plugins that look at a run: `profiler` and `overfit-watch`.

use std::{collections::BTreeMap, ops::Range};

use host_tests::{Project, Run};
use serde_json::Value;

use crate::project;

use super::{
    changes, changes_nothing, column, decided, evaluations, is_close, notes, number, records, reported, steps,
};

/// The phases of a step in the profiler's reports; besides them there are `other`, `evaluation` and `checkpoint`.
const IN_A_STEP: [&str; 5] = ["data", "forward", "backward", "optimizer", "callbacks"];

/// The seconds of each phase in some steps and what followed them, as the run has written them.
fn phases(run: &Run, steps: Range<u64>) -> BTreeMap<String, f64> {
    let (mut phases, mut whole) = (BTreeMap::<String, f64>::new(), 0.0);
    let mut add = |phase: &str, seconds: f64| *phases.entry(phase.to_owned()).or_default() += seconds;
    for line in run.lines("performance.jsonl") {
        match line["event"].as_str().expect("a word") {
            _ if !steps.contains(&line["step"].as_u64().expect("a step")) => {}
            "logged" => {
                whole += number(&line, "time/step");
                for phase in IN_A_STEP {
                    add(phase, number(&line, &format!("time/{phase}")));
                }
            }
            "evaluated" => add("evaluation", number(&line, "seconds")),
            "saved" => add("checkpoint", number(&line, "seconds")),
            other => panic!("{other}"),
        }
    }
    let known: f64 = IN_A_STEP.into_iter().map(|phase| phases[phase]).sum();
    phases.insert("other".into(), (whole - known).max(0.0));
    phases
}

#[test]
fn b22_profiler_names_the_slowest_phase_and_callback() {
    let project = project();
    project.plugin("profiler", "profiler", "", "every = 20");
    // Far more than everything else in a step takes together, unless the machine is busy: what is expected is what the
    // run has measured.
    project.plugin("evil", "sluggish", "", "mode = \"slow\"\nwork = 2000000");
    project.plugin("evil", "quick", "", "mode = \"healthy\"");
    let run = project.train("").run(1);
    let told = notes(&run, "profiler");
    assert_eq!(told.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [96, 96]);
    let all = phases(&run, 1..97);
    let (slowest, seconds) = all.iter().max_by(|(_, one), (_, other)| one.total_cmp(other)).unwrap();
    assert!(told[0].1.starts_with(&format!("slowest phase: {slowest}, {seconds:.3} s, ")), "{all:?}: {told:?}");
    let report = run.json("report.json");
    let slowest_but = |out: &str| {
        let callbacks = report["callbacks"].as_array().unwrap().iter().filter(|callback| callback["instance"] != out);
        let slowest = callbacks.max_by(|one, other| number(one, "seconds").total_cmp(&number(other, "seconds")));
        slowest.unwrap()["instance"].as_str().unwrap()
    };
    assert_eq!(report["slowest_callback"]["instance"], slowest_but("nobody"));
    // What its own last call takes is in the report alone.
    let slowest = slowest_but("profiler");
    assert!(told[1].1.starts_with(&format!("slowest callback: {slowest}, ")), "{report:#}: {told:?}");

    let mut shares: BTreeMap<u64, BTreeMap<String, f64>> = BTreeMap::new();
    for (step, _, report) in decided(&run, "profiler", "report") {
        let name = report["name"].as_str().unwrap().to_owned();
        shares.entry(step).or_default().insert(name, number(&report, "value"));
    }
    assert_eq!(shares.keys().copied().collect::<Vec<_>>(), [20, 40, 60, 80]);
    for (step, shares) in &shares {
        assert!(shares.values().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
        assert!(is_close(shares.values().sum(), 1.0, 1e-9), "step {step}: {shares:?}");
        // The times of the step itself are known when it is over.
        let phases = phases(&run, step.saturating_sub(20).max(1)..*step);
        assert!(shares.keys().eq(phases.keys()), "step {step}: {shares:?} of {phases:?}");
        let total: f64 = phases.values().sum();
        for (phase, seconds) in &phases {
            assert!((shares[phase] - seconds / total).abs() < 1e-9, "step {step}, {phase}: {shares:?} of {phases:?}");
        }
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
