//! `host plugin test`, `check` and `bench`: a plugin in made-up trainings, and what is wrong with one.

use host_tests::{Outcome, Project, guests};
use serde_json::Value;

use crate::project;

fn component(name: &str) -> String {
    guests::component(name).display().to_string()
}

/// A project in which what the right plugin decides was saved.
fn with_answers() -> Project {
    let project = project();
    project.host(&format!("plugin test {} --save answers.json", component("faulty"))).expect(0);
    project
}

fn with_fault(project: &Project, fault: &str, more: &str) -> Outcome {
    project.host(&format!("plugin test {} --set fault={fault} {more}", component("faulty")))
}

#[test]
fn each_planted_fault_is_found() {
    let project = with_answers();
    with_fault(&project, "none", "--expect answers.json").expect(0).prints(&["8 scenarios, nothing wrong"]);
    for (fault, words) in [
        (
            "never-stops",
            &["does not decide what is expected: nothing more; and not `stop", "asks for `stop`, and no scenario"][..],
        ),
        ("stops-early", &["does not decide what is expected: `stop (no improvement in 2 checks)`"]),
        ("loses-state", &["does not go on after a resume as it would have without"]),
        ("nan-best", &["does not decide what is expected"]),
        ("undeclared", &["`evaluate` is refused: "]),
        ("traps", &["it fails in evaluate-end at step", "as asked for"]),
    ] {
        let outcome = with_fault(&project, fault, "--expect answers.json");
        outcome.expect(13).prints(words);
    }
    // These are faults of any plugin.
    for fault in ["loses-state", "undeclared", "traps"] {
        with_fault(&project, fault, "").expect(13).prints(&[" fault"]);
    }
}

#[test]
fn a_rehearsal_shows_each_scenario_with_what_was_decided() {
    let outcome = project().host(&format!("plugin test {} --scenario plateau --scenario healthy", component("faulty")));
    outcome.expect(0).prints(&[
        "faulty 0.1.0\n\nhealthy: 200 steps, ",
        "\nplateau: 120 steps, 12 calls; faulty: no improvement in 3 checks\n    eval/loss   ",
        "S stop",
        "    120  evaluate-end    stop (no improvement in 3 checks)\n",
        "2 scenarios, nothing wrong",
    ]);
    let json = project().host(&format!("plugin test {} --scenario plateau --json", component("faulty")));
    let json: Value = serde_json::from_str(&json.expect(0).stdout).unwrap();
    assert_eq!(json["passed"], true);
    let cue = &json["answers"]["scenarios"]["plateau"]["decided"][0];
    assert_eq!((&cue["step"], &cue["hook"]), (&120.into(), &"evaluate-end".into()), "{json:#}");
}

/// What a plugin of the catalogue needs to start in a made-up training.
pub(crate) fn settings_of(plugin: &str) -> &'static str {
    match plugin {
        "batch-ramp" => "from = 4\nto = 8\nover-steps = 50\n",
        "branch-balance" => {
            "[a]\nparameters = \"encoder\"\ngroups = [\"encoder\"]\n[b]\nparameters = \"head\"\ngroups = [\"rest\"]\n"
        }
        "goal-watch" => "[[goals]]\nwhen = \"eval/loss < 0.1\"\ndo = \"stop\"\n",
        "layer-freeze" => {
            "[[stages]]\nparameters = [\"head\"]\n[[stages]]\nparameters = [\"encoder\"]\nfrom = { step = 50 }\n"
        }
        _ => "",
    }
}

/// Each behaves in all scenarios, as it was built; some do not start without settings.
#[test]
fn no_shipped_plugin_has_a_fault() {
    let project = project();
    for name in guests::plugins().unwrap() {
        let file = guests::shipped(&name).display().to_string();
        project.write("settings.toml", settings_of(&name));
        let settings = "--config settings.toml";
        project.host(&format!("plugin test {file} {settings}")).expect(0).prints(&["8 scenarios, nothing wrong"]);
        let check = project.host(&format!("plugin check {file} {settings}"));
        check.expect(0).prints(&["in a made-up run, within its limits", "[[plugin]]"]);
    }
}

#[test]
fn what_cannot_be_tried_is_told() {
    let project = project();
    let file = component("faulty");
    project.write("bad.toml", "patience = [");
    project.write("answers.json", "{}");
    for (arguments, code, words) in [
        ("plugin test none.wasm".to_owned(), 6, &["none.wasm cannot be read"][..]),
        (format!("plugin test {file} --set patience=x"), 6, &["patience"]),
        (format!("plugin test {file} --set pateince=2"), 6, &["pateince", "patience"]),
        (format!("plugin test {file} --config bad.toml"), 3, &["bad.toml are no TOML"]),
        (format!("plugin test {file} --config none.toml"), 3, &["none.toml cannot be read"]),
        (format!("plugin test {file} --expect answers.json"), 9, &["answers.json are no answers"]),
        (format!("plugin test {file} --scenario plato"), 2, &["plateau"]),
        (format!("plugin check {}", component("evil-describe-loop")), 6, &["fails in `describe`"]),
    ] {
        project.host(&arguments).expect(code).says(words);
    }
    project.write("settings.toml", "patience = 1\n");
    project
        .host(&format!("plugin test {file} --config settings.toml --scenario plateau"))
        .expect(0)
        .prints(&["in 1 checks"]);
}

#[test]
fn costs_are_measured_for_each_hook() {
    let files = format!("{} {}", component("faulty"), component("observer"));
    let json = project().host(&format!("plugin bench {files} --json"));
    let costs: Value = serde_json::from_str(&json.expect(0).stdout).unwrap();
    assert_eq!((&costs[0]["plugin"], &costs[1]["plugin"]), (&"faulty 0.1.0".into(), &"observer 0.1.0".into()));
    let event = &costs[0]["events"][0];
    assert_eq!((&event["hook"], &event["calls"]), (&"evaluate-end".into(), &100.into()));
    assert!(event["fuel"].as_u64().unwrap() > 100 && event["median-seconds"].as_f64().unwrap() > 0.0, "{event}");
    let hooks: Vec<&str> =
        costs[1]["events"].as_array().unwrap().iter().map(|it| it["hook"].as_str().unwrap()).collect();
    assert!(hooks.contains(&"step-end") && hooks.contains(&"gradients"), "{hooks:?}");
    project()
        .host(&format!("plugin bench {}", component("faulty")))
        .expect(0)
        .prints(&["bytes; compiled in", "evaluate-end"]);
    // A call that fails is no event's cost.
    let outcome = project().host(&format!("plugin bench {} --set mode=panic --set hook=step-end", component("evil")));
    outcome.expect(0).prints(&["of these calls failed, so this is not what events cost: trap: "]);
}
