//! What editors, shells, `man` and readers are told: schemas, completions, manual pages, the contract's page.

use std::fs;

use host_tests::{contract, guests};
use serde_json::{Value, json};

use crate::project;

fn schema(arguments: &str) -> jsonschema::Validator {
    let outcome = project().host(arguments);
    let schema: Value = serde_json::from_str(&outcome.expect(0).stdout).expect("a schema is JSON");
    jsonschema::validator_for(&schema).expect("a schema")
}

fn of_file(path: &str) -> Value {
    let text = fs::read_to_string(guests::root().join(path)).expect("a configuration of the repository");
    serde_json::to_value(text.parse::<toml::Table>().expect("TOML")).expect("TOML without dates")
}

#[test]
fn the_schema_takes_what_the_program_takes() {
    let schema = schema("schema");
    for path in ["train.toml", "host/examples/text.toml"] {
        let errors: Vec<String> =
            schema.iter_errors(&of_file(path)).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{path}: {errors:#?}");
    }
    for (what, change) in [
        ("a key that is not there", json!({ "train": { "epoch": 3 } })),
        ("a number that is too small", json!({ "train": { "epochs": 0 } })),
        ("a key of another task", json!({ "task": { "kind": "classification", "data": "a.csv", "context": 64 } })),
        ("no kind of task", json!({ "task": { "data": "a.csv" } })),
        ("another kind of task", json!({ "task": { "kind": "regression" } })),
    ] {
        let mut file = of_file("train.toml");
        for (key, value) in change.as_object().unwrap() {
            file[key] = value.clone();
        }
        assert!(!schema.is_valid(&file), "{what}");
    }
}

#[test]
fn a_plugin_has_a_schema_of_its_settings() {
    let file = guests::shipped("early-stopping").display().to_string();
    let schema = schema(&format!("schema {file}"));
    assert!(schema.is_valid(&json!({ "patience": 3 })));
    assert!(!schema.is_valid(&json!({ "patience": -1 })) && !schema.is_valid(&json!({ "pateince": 3 })));
    project().host("schema none.wasm").expect(6).says(&["none.wasm cannot be read"]);
}

#[test]
fn shells_and_man_know_every_command() {
    let project = project();
    let commands = ["run", "check", "show", "plugins", "doctor", "plugin", "cache", "schema", "completions", "man"];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let outcome = project.host(&format!("completions {shell}"));
        outcome.expect(0).prints(&commands).prints(&["host"]);
    }
    project.host("man").expect(0).prints(&[".TH host 1", "Exit codes"]);
    let outcome = project.host("man --folder pages");
    outcome.expect(0);
    for page in
        commands.iter().map(|command| format!("host-{command}.1")).chain(["host.1".into(), "host-plugin-test.1".into()])
    {
        assert!(project.path(&format!("pages/{page}")).is_file(), "{page}: {}", outcome.stdout);
    }
    assert!(!project.path("pages/host-rank.1").exists(), "what is not for people has no page");
}

/// `HOST_WRITE_CONTRACT=1 cargo test --release --workspace --test suite editor::the_page` writes it anew.
#[test]
fn the_page_of_the_contract_is_made_from_it() {
    let wit = fs::read_to_string(guests::root().join("wit/0.1.0/callback.wit")).unwrap();
    let (path, made) = (guests::root().join("docs/contract.md"), contract::page(&wit));
    if std::env::var_os("HOST_WRITE_CONTRACT").is_some() {
        fs::write(&path, &made).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap_or_default(), made, "HOST_WRITE_CONTRACT=1 writes it anew");
    for item in ["### enum `hook`", "| `train-begin` |", "## World `plugin`", "describe: func() -> manifest"] {
        assert!(made.contains(item), "{item}");
    }
}
