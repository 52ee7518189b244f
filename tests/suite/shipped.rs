//! The plugins that come with the program: the files beside their sources are what the sources make, and their pages
//! say what they do. Checks no numbers: `traces` does.

use std::{collections::BTreeSet, fs, sync::Arc};

use host_callback::{Callback as _, Decision, Hook, Pattern};
use host_sandbox::Plugin;
use host_tests::guests;
use serde_json::{Value, json};

use crate::{
    tidy::HOMES,
    traces::stage::{Moment, Stage, plugin},
};

/// What makes the shipped files anew.
const REBUILD: &str = "cargo run --release --bin guests -- plugins";

/// A run that makes a plugin decide as much as it can.
struct Play {
    plugin: &'static str,
    config: Value,
    /// Hook, finished steps, and the numbers of the measurements in `reads`; fewer where some are not known.
    moments: &'static [(Hook, u64, &'static [f64])],
    reads: &'static [&'static str],
}

fn plays() -> [Play; 5] {
    const NAN: f64 = f64::NAN;
    use Hook::{EpochEnd, EvaluateEnd, Gradients, StepBegin, StepEnd, TrainEnd};
    [
        Play {
            plugin: "checkpoint-policy",
            config: json!({"every-steps": 2, "every-epochs": 1, "keep-best": 2, "keep-last": 2}),
            reads: &["eval/loss"],
            moments: &[
                (StepEnd, 1, &[]),
                (StepEnd, 2, &[]),
                (EvaluateEnd, 2, &[1.0]),
                (EpochEnd, 2, &[]),
                (EvaluateEnd, 3, &[0.5]),
                (StepEnd, 4, &[]),
                (EvaluateEnd, 4, &[NAN]),
                (EvaluateEnd, 5, &[0.75]),
                (StepEnd, 6, &[]),
                (EpochEnd, 7, &[]),
            ],
        },
        Play {
            plugin: "early-stopping",
            config: json!({"patience": 2, "min-delta": 0.125}),
            reads: &["eval/loss"],
            moments: &[
                (EvaluateEnd, 1, &[]),
                (EvaluateEnd, 2, &[1.0]),
                (EvaluateEnd, 3, &[0.5]),
                (EvaluateEnd, 4, &[NAN]),
                (EvaluateEnd, 5, &[0.4375]),
                (TrainEnd, 5, &[]),
            ],
        },
        Play {
            plugin: "lr-plateau",
            config: json!({"patience": 1, "factor": 0.3, "min-lr": {"body": 2e-3, "head": 0.0}}),
            reads: &["eval/loss", "learning-rate/body", "learning-rate/head"],
            moments: &[
                (EvaluateEnd, 1, &[]),
                (EvaluateEnd, 2, &[1.0, 0.01, 0.1]),
                (EvaluateEnd, 3, &[1.0, 0.01, 0.1]),
                (EvaluateEnd, 4, &[1.0, 0.01, 0.1]),
                (EvaluateEnd, 5, &[NAN]),
                (EvaluateEnd, 6, &[1.0]),
                (EvaluateEnd, 7, &[0.25, 0.005, 0.02]),
            ],
        },
        Play {
            plugin: "lr-schedule",
            config: json!({"kind": "cosine", "warm-up": 2, "total-steps": 7, "min-lr-ratio": 0.1}),
            reads: &[],
            moments: &[
                (StepBegin, 0, &[]),
                (StepBegin, 1, &[]),
                (StepBegin, 2, &[]),
                (StepBegin, 3, &[]),
                (StepBegin, 6, &[]),
                (StepBegin, 7, &[]),
                (StepBegin, 8, &[]),
            ],
        },
        Play {
            plugin: "nan-guard",
            config: json!({"skips": 1, "restores": 1, "lr-factor": 0.5, "forgive-after": 2}),
            reads: &["loss", "gradient-norm"],
            moments: &[
                (Gradients, 0, &[1.0, 2.0]),
                (Gradients, 1, &[NAN, 2.0]),
                (Gradients, 2, &[1.0, f64::INFINITY]),
                (Gradients, 3, &[1.0]),
                (Gradients, 4, &[f64::NEG_INFINITY]),
                (Gradients, 5, &[NAN]),
            ],
        },
    ]
}

fn play_of(name: &str) -> Play {
    let mut plays = plays().into_iter();
    plays.find(|play| play.plugin == name).unwrap_or_else(|| panic!("{name} is new: give it a run in `plays`"))
}

impl Play {
    fn start(&self, plugin: &Arc<Plugin>) -> Stage {
        let groups = json!([{"name": "body", "learning-rate": 0.01}, {"name": "head", "learning-rate": 0.1}]);
        let stage = Stage::start(plugin, &self.config, &json!({ "groups": groups }));
        stage.unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// The answer to each moment and the state after it, as text: NaN equals itself there.
    fn answers(&self, plugin: &Arc<Plugin>) -> Vec<(Vec<Decision>, String)> {
        let mut stage = self.start(plugin);
        let answer = |&(hook, step, values): &(Hook, u64, &[f64])| {
            let moment = self
                .reads
                .iter()
                .zip(values)
                .fold(Moment::at(hook, step), |moment, (name, value)| moment.scalar(name, *value));
            let decisions = stage.send(moment);
            let state = stage.callback.save().expect("the state");
            let state = state.map(|(version, bytes)| format!("{version}: {}", String::from_utf8_lossy(&bytes)));
            (decisions, state.unwrap_or_default())
        };
        self.moments.iter().map(answer).collect()
    }
}

fn shipped(name: &str) -> Arc<Plugin> {
    plugin(&guests::shipped(name))
}

fn names() -> Vec<String> {
    guests::plugins().expect("the folder of the plugins")
}

#[test]
fn shipped_plugins_are_made_of_the_sources_beside_them() {
    for name in names() {
        let made_of = fs::read_to_string(guests::shipped_source_hash(&name)).unwrap_or_default();
        let sources = guests::source_hash(&name).expect("the sources");
        assert_eq!(made_of.trim(), sources, "the sources of {name} have moved on: {REBUILD}");
    }
}

/// Compilers differ in bytes, so what is compared is what the two say and do.
#[test]
fn shipped_plugins_are_what_their_sources_make_now() {
    for name in names() {
        let (shipped, built) = (shipped(&name), plugin(&guests::component(&name)));
        assert_eq!(shipped.manifest(), built.manifest(), "{name}: {REBUILD}");
        let play = play_of(&name);
        let (ours, theirs) = (play.answers(&shipped), play.answers(&built));
        for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{name}, moment {at}: {REBUILD}");
        }
    }
}

/// Otherwise the comparison above would prove little.
#[test]
fn each_plugin_makes_in_its_play_all_that_it_asks_for() {
    for name in names() {
        let (plugin, play) = (shipped(&name), play_of(&name));
        let decisions: Vec<Decision> = play.answers(&plugin).into_iter().flat_map(|(decisions, _)| decisions).collect();
        let made: BTreeSet<_> = decisions.iter().filter_map(Decision::request).collect();
        let asked: BTreeSet<_> = plugin.manifest().requests.iter().copied().collect();
        assert_eq!(made, asked, "{name}: requests");
        let writes = decisions.iter().any(|it| matches!(it, Decision::Set { .. } | Decision::Scale { .. }));
        assert_eq!(writes, !plugin.manifest().knobs.is_empty(), "{name}: knobs");
    }
}

#[test]
fn each_plugin_has_a_page_with_its_settings_hooks_requests_and_knobs() {
    for name in names() {
        let plugin = shipped(&name);
        let path = guests::root().join("plugins").join(&name).join("README.md");
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let manifest = plugin.manifest();
        assert_eq!(page.lines().next(), Some(format!("# {name}").as_str()));
        assert_eq!(manifest.name, name);

        let schema: Value = serde_json::from_str(&manifest.config_schema).expect("a schema");
        let settings: BTreeSet<String> =
            schema["properties"].as_object().expect("settings").keys().map(|key| format!("`{key}`")).collect();
        let written: BTreeSet<String> = table(&page, "## Settings").map(|row| row[0].clone()).collect();
        assert_eq!(written, settings, "{name}: the table of settings, and the schema");

        let callback = play_of(&name).start(&plugin).callback;
        let hooks = callback.subscriptions().iter().map(|it| it.hook.name());
        let requests = manifest.requests.iter().map(|it| it.name());
        let knobs = manifest.knobs.iter().map(Pattern::as_str);
        for (row, words) in
            [("hooks", hooks.collect::<Vec<_>>()), ("requests", requests.collect()), ("knobs", knobs.collect())]
        {
            let says = table(&page, "# ").find(|cells| cells[0] == row).unwrap_or_default();
            let says = says.get(1).cloned().unwrap_or_else(|| panic!("{name}: no row about {row}"));
            for word in &words {
                assert!(says.contains(&format!("`{word}`")), "{name}, {row}: `{word}` is not in: {says}");
            }
            assert_eq!(words.is_empty(), says == "none", "{name}, {row}: {says}");
        }
    }
}

/// The rows of the tables in a section, heading lines left out.
fn table<'a>(page: &'a str, section: &str) -> impl Iterator<Item = Vec<String>> + use<'a> {
    let lines = page.lines().skip_while({
        let section = section.to_owned();
        move |line| !line.starts_with(&section)
    });
    let lines = lines.skip(1).take_while(|line| !line.starts_with('#'));
    let rows = lines.filter(|line| line.starts_with("| ") && !line.starts_with("| ---") && *line != "| | |");
    rows.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>())
        .filter(|cells| cells[0] != "key")
}

/// A panic message in a component names the source file; where that lay when it was built is nobody's business.
#[test]
fn no_path_of_a_machine_is_in_a_shipped_plugin() {
    let here = guests::root().display().to_string();
    let paths = [".cargo", "registry/src", "rustup", "/tmp/", &here];
    for name in names() {
        let bytes = fs::read(guests::shipped(&name)).expect("a shipped plugin");
        for path in HOMES.into_iter().chain(paths) {
            let found = bytes.windows(path.len()).any(|window| window == path.as_bytes());
            assert!(!found, "{name} contains `{path}`: {REBUILD}");
        }
    }
}
