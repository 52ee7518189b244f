//! A program that is killed while a plugin is compiled, tried out or handed over: the next start works, and goes on from
//! what was durable.

use std::fs;

use host_tests::{Project, Run};

use super::running::{Running, marked, put, slow};
use crate::project;

/// A project whose run counts its steps and saves often, with a cache of its own.
fn counting() -> Project {
    let project = project();
    project.plugin("evil", "one", "", "mode = \"healthy\"");
    project.with_own_cache();
    let text = fs::read_to_string(project.path("train.toml")).expect("the configuration");
    project.write("train.toml", &text.replace("keep = 3", "keep = 3\nsave-every = \"5st\""));
    project
}

/// Goes on with a run that was killed, for a few steps; the count is that of the steps.
fn goes_on(project: &Project, n: usize) {
    let killed = Run::at(project.path(&format!("runs/iris-{n}")));
    let numbers = killed.checkpoints().into_iter().filter_map(|name| name.strip_prefix("step-")?.parse::<u64>().ok());
    let saved = numbers.max().expect("a checkpoint");
    let until = saved + 10;
    let outcome = project.host(&format!(
        "run train.toml --set train.epochs=1000000 --set train.evaluate-every=end --until {until}st --resume runs/iris-{n}"
    ));
    outcome.expect(0);
    let run = outcome.run(n + 1);
    let counts: Vec<f64> =
        run.decisions("one").iter().filter_map(|line| line["decision"]["report"]["value"].as_f64()).collect();
    assert_eq!(counts.last().copied(), Some(until as f64), "the state is that of step {saved}, and goes on");
}

#[test]
fn a_kill_at_any_moment_of_a_swap_loses_nothing_durable() {
    let mut project = counting();
    for kill in 0..8 {
        let mut running = Running::with(project, "1st");
        while running.told.iter().filter(|line| line.contains("saved")).count() < 2 {
            running.step();
        }
        put(&running.plugin("one"), &marked("evil", &kill.to_string()));
        // The file has to be still for a while, is compiled, tried out, handed over and watched.
        for _ in 0..60 * kill {
            running.step();
        }
        project = running.kill();
        goes_on(&project, 2 * kill + 1);
    }
}

#[test]
fn a_kill_while_a_plugin_is_compiled_leaves_a_cache_that_works() {
    let mut running = Running::with(counting(), "1st");
    while running.told.iter().filter(|line| line.contains("saved")).count() < 2 {
        running.step();
    }
    put(&running.plugin("one"), &slow("evil", 3_000));
    let mut steps = 0;
    while fs::read_dir(running.project.path("cache")).unwrap().count() < 3 && steps < 400 {
        // Until it has a lock, at least: then it compiles.
        running.step();
        steps += 1;
    }
    let project = running.kill();
    goes_on(&project, 1);
    project.host("cache --folder cache").expect(0).prints(&["cache: 2 compiled plugins"]);
}

#[cfg(unix)]
#[test]
fn a_plugins_folder_that_cannot_be_written_is_as_good() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = counting();
    fs::set_permissions(project.path("plugins"), fs::Permissions::from_mode(0o555)).unwrap();
    let run = project.train("").run(1);
    assert_eq!(run.callback("one")["calls"], 96);
    fs::set_permissions(project.path("plugins"), fs::Permissions::from_mode(0o755)).unwrap();
}
