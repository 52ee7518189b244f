//! The configurations that come with the program: they are valid, and `train.toml` names every key with its default.

use host_trainer::task::KINDS;
use serde_json::Value;

use super::{TASKS, render};
use crate::config::{parse, schema};

const QUICKSTART: &str = include_str!("../../../../../train.toml");
const TEXT: &str = include_str!("../../../../examples/text.toml");

#[test]
fn they_have_no_mistakes() {
    let read = |text: &str, path: &str| {
        parse(path.as_ref(), text.to_owned(), &[], KINDS).unwrap_or_else(|problems| panic!("{}", render(problems)))
    };
    let quickstart = read(QUICKSTART, "train.toml");
    assert_eq!((quickstart.settings.name.as_str(), quickstart.settings.groups.len()), ("digits", 2));
    let text = read(TEXT, "host/examples/text.toml");
    assert_eq!((text.settings.name.as_str(), text.settings.groups.len()), ("text", 2));
    assert_eq!(text.plugins.folder, std::path::Path::new("host/examples/../../plugins"));
}

#[test]
fn they_name_every_key_of_their_tasks() {
    for (kind, file) in [("classification", QUICKSTART), ("language-model", TEXT)] {
        let task = KINDS.iter().find(|task| task.name == kind).unwrap();
        for key in schema::keys(&schema::of_task(task)) {
            let begins = |line: &str| line.trim_start_matches("# ").starts_with(&format!("{key} = "));
            assert!(file.lines().any(begins), "{kind} {key}");
        }
    }
}

#[test]
fn the_quickstart_names_every_key() {
    fn check(schema: &Value, path: &str) {
        for (key, part) in schema["properties"].as_object().unwrap() {
            let below = format!("{path}{key}");
            let part = part.get("items").filter(|items| items.get("properties").is_some()).unwrap_or(part);
            let own_table = ["run", "task", "train", "optimizer", "plugins", "plugin", "plugins.limits"];
            let is_named = if own_table.contains(&below.as_str()) || below == "optimizer.group" {
                QUICKSTART.contains(&format!("\n[{below}]")) || QUICKSTART.contains(&format!("\n[[{below}]]"))
            } else {
                let begins = |line: &str| line.trim_start_matches("# ").starts_with(&format!("{key} = "));
                QUICKSTART.lines().any(begins) || QUICKSTART.contains(&format!("[{below}]"))
            };
            // Limits and grants of an instance are shown on one line.
            let is_inline = path.starts_with("plugin.limits") || path.starts_with("plugin.grant");
            assert!(is_named || is_inline, "{below}");
            if part.get("properties").is_some() {
                check(part, &format!("{below}."));
            }
        }
    }
    check(&schema::of_config(&TASKS), "");
}

#[test]
fn what_the_quickstart_calls_a_default_is_one() {
    // Lines that show something else say so: `an example`, or another file's default.
    let is_default = |line: &&str| line.starts_with("# ") && line.contains(" = ") && line.contains('#');
    let is_other = |line: &str| {
        ["example", "...", "only:", "sgd:", "that of [optimizer]", "base ="].iter().any(|w| line.contains(w))
    };
    let mut section = "";
    let mut text = String::from("[task]\nkind = \"classification\"\ntrain = \"a.csv\"\n");
    let mut count = 0;
    for line in QUICKSTART.lines() {
        if line.starts_with('[') {
            section = line.split('#').next().unwrap_or_default().trim();
            let is_used = ["[run]", "[train]", "[optimizer]", "[plugins]", "[plugins.limits]"].contains(&section);
            section = if is_used { section } else { "" };
            text.push_str(&format!("{section}\n"));
            if section == "[train]" {
                text.push_str("epochs = 60\n");
            }
        } else if !section.is_empty() && is_default(&line) && !is_other(line) {
            text.push_str(&format!("{}\n", line.trim_start_matches("# ")));
            count += 1;
        }
    }
    let plan = parse("train.toml".as_ref(), text, &[], &TASKS);
    let plan = plan.unwrap_or_else(|problems| panic!("{}", render(problems)));
    let bare = format!("{}[train]\nepochs = 60\n", "[task]\nkind = \"classification\"\ntrain = \"a.csv\"\n");
    let defaults = parse("train.toml".as_ref(), bare, &[], &TASKS).unwrap();
    assert_eq!(plan.document, defaults.document);
    assert!(count >= 20, "{count} defaults were compared");
}
