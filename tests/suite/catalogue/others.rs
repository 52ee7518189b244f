//! The plugins of the catalogue that are not written in Rust, in real runs. Those whose language this machine has no tools
//! for were not built, and are left out: `./test.sh` says which.

use std::{collections::BTreeSet, fs};

use host_tests::{Project, guests};
use serde_json::Value;

use super::{changes, decided, notes, steps};
use crate::{project, traces::stage::plugin};

/// A project, if the plugin was built.
fn with(name: &str) -> Option<Project> {
    guests::built(name).map(|_| project())
}

/// The page has the settings that the component's schema has.
fn has_its_page(name: &str) {
    let plugin = plugin(&guests::component(name));
    let manifest = plugin.manifest();
    assert_eq!(manifest.name, name);
    let page = fs::read_to_string(guests::root().join("plugins").join(name).join("README.md")).expect("a page");
    assert_eq!(page.lines().next(), Some(format!("# {name}").as_str()));
    let schema: Value = serde_json::from_str(&manifest.config_schema).expect("a schema");
    let settings: BTreeSet<String> = schema["properties"].as_object().expect("settings").keys().cloned().collect();
    let table = page.split("## Settings").nth(1).expect("its settings").split("\n#").next().unwrap_or_default();
    let written: BTreeSet<String> =
        table.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned())).collect();
    assert_eq!(written, settings);
    for request in &manifest.requests {
        assert!(page.contains(&format!("`{request}`")), "{request}");
    }
}

#[test]
fn goal_watch_decides_when_its_goals_hold_and_not_before() {
    let Some(project) = with("goal-watch") else { return };
    has_its_page("goal-watch");
    let goals = r#"
        [[plugin.config.goals]]
        when = "step == 7"
        do = "scale"
        knob = "learning-rate"
        factor = 0.5
        [[plugin.config.goals]]
        when = "eval/loss < 1e-9"
        do = "stop"
        [[plugin.config.goals]]
        when = "epoch >= 2 && eval/loss < 10"
        do = "stop"
        because = "far enough"
    "#;
    project.drop_in("goal-watch", "goal-watch");
    project.configure(&format!("[[plugin]]\nname = \"goal-watch\"\n{goals}"));
    let run = project.train("").run(1);
    let report = run.json("report.json");
    assert_eq!(report["steps"], 48);
    assert!(report["stop_reason"].as_str().expect("a reason").starts_with("goal-watch: far enough ("), "{report}");
    assert_eq!(steps(&run, "goal-watch", "stop"), [48]);
    let changed = changes(&run, "goal-watch");
    assert!(
        changed.iter().all(|(step, knob, before, after)| *step == 7
            && knob.starts_with("learning-rate/")
            && *after == before / 2.0)
    );
    assert_eq!(changed.len(), 2, "one for each group");
    // A run in two parts decides the same.
    let part = project.train("--until 30st").run(2);
    assert!(steps(&part, "goal-watch", "stop").is_empty());
    let rest = project.train("--resume runs/iris-2").run(3);
    assert_eq!(rest.text("metrics.jsonl"), run.text("metrics.jsonl"));
}

#[test]
fn goal_watch_says_where_an_expression_is_wrong() {
    let Some(project) = with("goal-watch") else { return };
    project.drop_in("goal-watch", "goal-watch");
    project.configure(
        "[[plugin]]\nname = \"goal-watch\"\n[[plugin.config.goals]]\nwhen = \"loss < mena(loss, 3)\"\ndo = \"stop\"",
    );
    project.host("check train.toml").expect(6).says(&["column 8", "`mena`", "`mean`"]);
}

#[test]
fn run_advisor_names_what_is_wrong_and_nothing_where_nothing_is() {
    let Some(project) = with("run-advisor") else { return };
    has_its_page("run-advisor");
    project.plugin("run-advisor", "run-advisor", "", "every = 2\njudge-every = 4");
    let told = |arguments: &str, number: usize| -> Vec<String> {
        let run = project.train(&format!("--set train.epochs=30 {arguments}")).run(number);
        assert_eq!(run.callback("run-advisor")["failures"], 0);
        assert!(decided(&run, "run-advisor", "set").is_empty() && decided(&run, "run-advisor", "stop").is_empty());
        notes(&run, "run-advisor").into_iter().map(|(_, note)| note).collect()
    };
    let wild = told("--set optimizer.learning-rate=30 --set train.clip-norm=0", 1);
    assert!(wild.iter().any(|note| note.contains("learning-rate-too-high")), "{wild:#?}");
    let slow = told("--set optimizer.learning-rate=1e-7", 2);
    assert!(slow.iter().any(|note| note.contains("learning-rate-too-low")), "{slow:#?}");
    let healthy = told("", 3);
    assert!(!healthy.iter().any(|note| note.contains("learning-rate")), "{healthy:#?}");
}
