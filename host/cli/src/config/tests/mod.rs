//! Tests of the whole way from text to plan or problems.
//!
//! Rules of single files are tested there; here stands what only all passes together give.

mod defaults;
mod examples;
mod mistakes;
mod overlays;

use std::path::Path;

use host_trainer::task::TaskKind;
use schemars::JsonSchema;

use super::{Plan, parse};
use crate::{
    exit::Exit,
    problem::{Problem, Problems},
    terminal::Look,
};

/// Settings of a small task; only their schema is used.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only the schema is used")]
struct ToySettings {
    /// CSV file of the training data.
    train: String,
    /// Units of each hidden layer.
    #[schemars(length(min = 1), inner(range(min = 1, max = 4096)))]
    hidden: Option<Vec<u32>>,
    /// Share of units that a step leaves out.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    dropout: Option<f64>,
}

const TASKS: [TaskKind; 2] = [
    TaskKind { name: "classification", summary: "labels of rows", schema: || schemars::schema_for!(ToySettings) },
    TaskKind { name: "language-model", summary: "next characters", schema: || schemars::schema_for!(ToySettings) },
];

/// A configuration with nothing but what has to be there.
const SMALL: &str = "[task]\nkind = \"classification\"\ntrain = \"a.csv\"\n[train]\nepochs = 2\n";

fn read(text: &str, sets: &[&str]) -> Result<Plan, Vec<Problem>> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    parse(Path::new("train.toml"), text.to_owned(), &sets, &TASKS)
}

/// The plan of a configuration that has no mistakes.
fn plan(text: &str, sets: &[&str]) -> Plan {
    read(text, sets).unwrap_or_else(|problems| panic!("{}", render(problems)))
}

/// What a person reads of a configuration that has mistakes.
fn mistakes(text: &str, sets: &[&str]) -> String {
    render(read(text, sets).expect_err("the configuration has mistakes"))
}

fn render(problems: Vec<Problem>) -> String {
    Problems::new(Exit::Configuration, problems).render(Look::PLAIN)
}
