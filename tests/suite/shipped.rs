//! The plugins that come with the program: the files beside their sources are what the sources make, and their pages
//! say what they do. Checks no numbers: `traces` does, and `catalogue` in real runs.

pub(crate) mod plays;

use std::{collections::BTreeSet, fs, sync::Arc};

use host_callback::{Callback as _, Decision, Hook, Pattern};
use host_sandbox::Plugin;
use host_tests::guests;
use serde_json::Value;

use crate::{tidy::HOMES, traces::stage::plugin};
use plays::plays_of;

/// What makes the shipped files anew.
const REBUILD: &str = "cargo run --release --bin guests -- plugins";

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
        for (number, play) in plays_of(&name).iter().enumerate() {
            let (ours, theirs) = (play.answers(&shipped), play.answers(&built));
            for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{name}, play {number}, moment {at}: {REBUILD}");
            }
        }
    }
}

/// Otherwise the comparison above would prove little.
#[test]
fn each_plugin_makes_in_its_play_all_that_it_asks_for() {
    for name in names() {
        let plugin = shipped(&name);
        let answers = plays_of(&name).into_iter().flat_map(|play| play.answers(&plugin));
        let decisions: Vec<Decision> = answers.flat_map(|(decisions, _)| decisions).collect();
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

        let nested = schema["$defs"].as_object().into_iter().flat_map(|defs| defs.values());
        for key in nested.filter_map(|it| it["properties"].as_object()).flat_map(|it| it.keys()) {
            assert!(page.contains(&format!("`{key}`")), "{name}: the setting {key} is not explained");
        }

        let hooks = hooks(&name, &plugin);
        let told = table(&page, "# ").find(|cells| cells[0] == "hooks").unwrap_or_default();
        let told: BTreeSet<&str> = told.get(1).map(|words| words.split('`').collect()).unwrap_or_default();
        let told: BTreeSet<&str> = told.into_iter().filter(|word| word.parse::<Hook>().is_ok()).collect();
        assert_eq!(told, hooks, "{name}: the hooks on its page, and those that it subscribes to");
        let requests = manifest.requests.iter().map(|it| it.name());
        let knobs = manifest.knobs.iter().map(Pattern::as_str);
        for (row, words) in [("requests", requests.collect::<Vec<_>>()), ("knobs", knobs.collect())] {
            let says = table(&page, "# ").find(|cells| cells[0] == row).unwrap_or_default();
            let says = says.get(1).cloned().unwrap_or_else(|| panic!("{name}: no row about {row}"));
            for word in &words {
                assert!(says.contains(&format!("`{word}`")), "{name}, {row}: `{word}` is not in: {says}");
            }
            assert_eq!(words.is_empty(), says == "none", "{name}, {row}: {says}");
        }
    }
}

/// The hooks that a plugin listens to in any of its plays.
fn hooks(name: &str, plugin: &Arc<Plugin>) -> BTreeSet<&'static str> {
    let callbacks = plays_of(name).into_iter().map(|play| play.start(plugin).callback);
    callbacks.flat_map(|it| it.subscriptions().iter().map(|it| it.hook.name()).collect::<Vec<_>>()).collect()
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
