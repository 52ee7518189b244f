//! `plugins/README.md`: made of what the plugins say of themselves, and true as long as this test passes.
//!
//! `HOST_WRITE_CATALOGUE=1 cargo test --release --workspace --test suite catalogue::page` writes it anew. A plugin that was
//! not built on this machine keeps what is written there.

use std::{fmt::Write as _, fs, path::PathBuf};

use host_tests::guests;
use serde_json::Value;

use crate::{plugin_tool::rehearse::settings_of, project};

const HEAD: &str = "# The catalogue

Made from the plugins themselves by a test; each has a page of its own with what its settings mean. Fuel is the mean of an
event in a healthy made-up training (`host plugin bench`), with the least settings that the plugin takes; 1,000 units take
about a microsecond. Those that are not written in Rust are built with their language's tools, as their pages say.
";

/// The folders of the catalogue, with the language that each is written in.
fn folders() -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(guests::root().join("plugins")).expect("the plugins") {
        let path = entry.expect("an entry").path();
        let has = |file: &str| path.join(file).is_file();
        let language = match () {
            () if has("Cargo.toml") && has("README.md") => "Rust",
            () if has("pyproject.toml") => "Python",
            () if has("package.json") => "TypeScript",
            () => continue,
        };
        found.push((path.file_name().expect("a name").to_string_lossy().into_owned(), language));
    }
    found.sort();
    found
}

fn component(name: &str, language: &str) -> Option<PathBuf> {
    if language == "Rust" { Some(guests::shipped(name)) } else { guests::built(name) }
}

/// A row of the table and a section of the page.
struct Entry {
    row: String,
    section: String,
}

fn entry(name: &str, language: &str) -> Option<Entry> {
    let file = component(name, language)?.display().to_string();
    let project = project();
    project.write("settings.toml", settings_of(name));
    let json = |arguments: String| -> Value {
        serde_json::from_str(&project.host(&arguments).expect(0).stdout).expect("JSON")
    };
    let check = json(format!("plugin check {file} --config settings.toml --json"));
    let bench = json(format!("plugin bench {file} --config settings.toml --json"));
    let manifest = &check["plugin"]["manifest"];
    let events = bench[0]["events"].as_array().expect("events");
    let number = |event: &Value, key: &str| event[key].as_u64().expect("a number");
    let calls: u64 = events.iter().map(|event| number(event, "calls")).sum();
    let fuel: u64 = events.iter().map(|event| number(event, "calls") * number(event, "fuel")).sum();
    let summary = manifest["summary"].as_str().expect("a summary");
    let size = manifest_size(&check);
    let row = format!(
        "| [{name}]({name}/README.md) | {summary} | {language} | {size} | {} |\n",
        fuel.checked_div(calls).map_or_else(|| "none".to_owned(), |fuel| format!("{} fuel", rounded(fuel)))
    );
    let list = |value: &Value| -> String {
        let words = value.as_array().into_iter().flatten().filter_map(Value::as_str).map(|word| format!("`{word}`"));
        let words: Vec<String> = words.collect();
        if words.is_empty() { "none".into() } else { words.join(", ") }
    };
    let mut section = format!("## {name}\n\n| | |\n| --- | --- |\n");
    for (title, value) in
        [("listens, and reads", &check["listens"]), ("requests", &manifest["requests"]), ("knobs", &manifest["knobs"])]
    {
        writeln!(section, "| {title} | {} |", list(value)).expect("a String");
    }
    let schema: Value =
        serde_json::from_str(manifest["config-schema"].as_str().unwrap_or_default()).unwrap_or_default();
    let settings = schema["properties"].as_object().into_iter().flatten().map(|(key, about)| match &about["default"] {
        Value::Null => format!("`{key}`"),
        default => format!("`{key} = {default}`"),
    });
    let settings: Vec<String> = settings.collect();
    writeln!(section, "| settings | {} |", settings.join(", ")).expect("a String");
    Some(Entry { row, section })
}

fn manifest_size(check: &Value) -> String {
    let bytes = check["plugin"]["bytes"].as_u64().expect("a size");
    if bytes < 1_000_000 { format!("{} KB", bytes.div_ceil(1000)) } else { format!("{:.1} MB", bytes as f64 / 1e6) }
}

/// Two digits are as much as is true of another machine.
fn rounded(number: u64) -> u64 {
    let unit = 10_u64.pow(number.max(1).ilog10().saturating_sub(1));
    (number + unit / 2) / unit * unit
}

/// What stands there of a plugin.
fn written(page: &str, name: &str) -> Option<Entry> {
    let row = page.lines().find(|line| line.starts_with(&format!("| [{name}]")))?;
    let section = page.split("\n## ").find(|section| section.starts_with(&format!("{name}\n")))?;
    Some(Entry { row: format!("{row}\n"), section: format!("## {}\n", section.trim_end()) })
}

/// Sizes and fuel differ with the compiler.
fn without_numbers(text: &str) -> String {
    let is_figure = |cell: &str| [" KB", " MB", " fuel"].iter().any(|unit| cell.trim_end().ends_with(unit));
    text.split('|').filter(|cell| !is_figure(cell)).collect()
}

#[test]
fn the_catalogue_says_what_the_plugins_say() {
    let path = guests::root().join("plugins/README.md");
    let page = fs::read_to_string(&path).unwrap_or_default();
    let entries = folders().into_iter().map(|(name, language)| {
        let made = entry(&name, language).or_else(|| written(&page, &name));
        made.unwrap_or_else(|| panic!("{name} was not built, and nothing is written of it"))
    });
    let entries: Vec<Entry> = entries.collect();
    let rows: String = entries.iter().map(|entry| entry.row.as_str()).collect();
    let sections: Vec<&str> = entries.iter().map(|entry| entry.section.as_str()).collect();
    let table =
        format!("| plugin | what it does | language | size | an event |\n| --- | --- | --- | ---: | ---: |\n{rows}");
    let made = format!("{HEAD}\n{table}\n{}", sections.join("\n"));
    if std::env::var_os("HOST_WRITE_CATALOGUE").is_some() {
        fs::write(&path, &made).expect("the page is written");
    } else {
        assert_eq!(without_numbers(&page), without_numbers(&made), "HOST_WRITE_CATALOGUE=1 writes it anew");
    }
}
