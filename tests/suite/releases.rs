//! Plugins that were built against a released contract, kept as they were: whatever the contract becomes, they run, and
//! do what they did then (A14).
//!
//! `tests/releases/<version>/` holds the components and, beside each, what it was shown and what it answered. A release
//! is recorded once: `HOST_RECORD_RELEASE=0.1.0 cargo test --release --workspace --test suite a14_`.

use std::{fs, path::PathBuf};

use host_callback::{Decision, Hook};
use host_tests::guests;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    shipped::plays::{answers, plays_of},
    traces::stage::plugin,
};

/// A number, or `"NaN"`, `"Infinity"`, `"-Infinity"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Number(#[serde(with = "host_callback::number")] f64);

/// What a plugin was shown, and what came of it.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    config: Value,
    reads: Vec<String>,
    /// Hook, finished steps, and the numbers of the measurements in `reads`.
    moments: Vec<(String, u64, Vec<Number>)>,
    /// The decisions at each moment, and the state after it.
    answers: Vec<(Vec<Value>, String)>,
}

fn releases() -> PathBuf {
    guests::root().join("tests/releases")
}

/// Decisions as the timeline has them.
fn written(answers: Vec<(Vec<Decision>, String)>) -> Vec<(Vec<Value>, String)> {
    let written = |decisions: Vec<Decision>| {
        let values = decisions.iter().map(|decision| serde_json::to_value(decision).expect("a decision"));
        values.collect()
    };
    answers.into_iter().map(|(decisions, state)| (written(decisions), state)).collect()
}

/// Keeps the shipped plugins as those of a release.
fn record(version: &str) {
    let folder = releases().join(version);
    fs::create_dir(&folder).expect("a folder for a release that was not recorded before");
    for name in guests::plugins().expect("the folder of the plugins") {
        let file = guests::shipped(&name);
        let records: Vec<Record> = plays_of(&name)
            .iter()
            .map(|play| {
                let moment = |&(hook, step, values): &(Hook, u64, &[f64])| {
                    (hook.name().to_owned(), step, values.iter().copied().map(Number).collect())
                };
                let answers = written(play.answers(&plugin(&file)));
                Record {
                    config: play.config.clone(),
                    reads: play.reads.iter().map(|name| (*name).to_owned()).collect(),
                    moments: play.moments.iter().map(moment).collect(),
                    answers,
                }
            })
            .collect();
        let text = serde_json::to_string_pretty(&records).expect("plain data");
        fs::write(folder.join(format!("{name}.json")), text + "\n").expect("a record");
        fs::copy(&file, folder.join(format!("{name}.wasm"))).expect("a copy of the component");
    }
}

#[test]
fn a14_plugins_of_every_release_run_and_do_what_they_did_then() {
    if let Ok(version) = std::env::var("HOST_RECORD_RELEASE") {
        record(&version);
    }
    let mut plugins = 0;
    for release in fs::read_dir(releases()).expect("the folder of the releases") {
        let files = fs::read_dir(release.expect("a release").path()).expect("the folder of a release");
        let files = files.map(|file| file.expect("a file of a release").path());
        for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
            let text = fs::read_to_string(&file).expect("a record");
            let records: Vec<Record> = serde_json::from_str(&text).expect("a record");
            let plugin = plugin(&file.with_extension("wasm"));
            for Record { config, reads, moments, answers: recorded } in records {
                let moments: Vec<(Hook, u64, Vec<f64>)> = moments
                    .into_iter()
                    .map(|(hook, step, values)| {
                        let hook = hook.parse().unwrap_or_else(|_| panic!("{hook} is a hook of that release"));
                        (hook, step, values.into_iter().map(|Number(value)| value).collect())
                    })
                    .collect();
                let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
                let moments = moments.iter().map(|(hook, step, values)| (*hook, *step, values.as_slice()));
                assert_eq!(written(answers(&plugin, &config, &reads, moments)), recorded, "{}", file.display());
            }
            plugins += 1;
        }
    }
    assert!(plugins > 10, "only {plugins} plugins were kept");
}
