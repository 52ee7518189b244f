//! What a callback finds outside of itself, in the whole program: time and chance that are the run's, and nothing to
//! wait for. Single functions are tested in `host-sandbox`.

use host_tests::{Project, Run};
use serde_json::Value;

use crate::project;

/// The decisions of a run without the times at which they were made.
fn decisions(run: &Run, instance: &str) -> Vec<(Value, Value)> {
    let lines = run.decisions(instance).into_iter();
    lines.map(|line| (line["step"].clone(), line["decision"].clone())).collect()
}

fn worldly(mode: &str) -> Project {
    let project = project();
    project.plugin("wasi", "worldly", "", &format!("mode = \"{mode}\""));
    project
}

#[test]
fn a20_two_runs_with_one_seed_see_the_same_time_and_draw_the_same_numbers() {
    for mode in ["clock", "random"] {
        let project = worldly(mode);
        let first = decisions(&project.train("").run(1), "worldly");
        let second = decisions(&project.train("").run(2), "worldly");
        assert_eq!(first.len(), 96 * 4, "{mode}");
        assert_eq!(first, second, "{mode}");
        let other = decisions(&project.train("--set run.seed=8").run(3), "worldly");
        assert_eq!(first == other, mode == "clock", "chance goes by the seed, time does not");
    }
}

#[test]
fn a20_a_resumed_run_goes_on_with_the_same_time_and_the_same_numbers() {
    for mode in ["clock", "random"] {
        let project = worldly(mode);
        let whole = decisions(&project.train("").run(1), "worldly");
        project.train("--until 50st");
        let resumed = decisions(&project.train("--resume runs/iris-2").run(3), "worldly");
        assert_eq!(resumed.len(), whole.len(), "{mode}");
        for (resumed, whole) in resumed.iter().zip(&whole) {
            assert_eq!(resumed, whole, "{mode}");
        }
    }
}

#[test]
fn what_a_callback_prints_has_the_step_of_its_event() {
    let project = worldly("print");
    let run = project.train("").run(1);
    let lines = run.lines("timeline.jsonl").into_iter();
    let steps: Vec<u64> = lines
        .filter(|line| line["topic"] == "log" && line["text"] == "two")
        .filter_map(|line| line["step"].as_u64())
        .collect();
    assert_eq!(steps, (1..=96).collect::<Vec<_>>());
}

#[test]
fn a3_a_callback_that_waits_for_an_hour_costs_nothing() {
    let project = worldly("rest");
    let run = project.train("").run(1);
    assert_eq!(run.callback("worldly")["calls"], 96);
    assert_eq!(run.callback("worldly")["failures"], 0);
    assert!(decisions(&run, "worldly").iter().all(|(_, decision)| decision["report"]["value"] == 1.0));
}
