//! `host plugins`: how it stands with the plugins of a run.
//!
//! It reads the table that the run keeps in its folder, and asks no process. Main function: [`run`].

use std::{fs, io, path::Path};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    args::PluginsArgs,
    exit::Exit,
    problem::{Problem, Problems},
    telemetry::words,
    terminal,
    wire::TABLE,
};

/// Shows the table.
///
/// # Errors
///
/// When the folder has none.
pub(crate) fn run(args: &PluginsArgs) -> Result<Exit, Problems> {
    let text = read(&args.run)?;
    if args.json {
        terminal::out(&text);
        return Ok(Exit::Success);
    }
    let file = args.run.join(TABLE);
    let table: Table = serde_json::from_str(&text).map_err(|error| {
        let problem = Problem::new(format!("{} is no table of plugins", file.display())).caused_by(error);
        Problems::from((Exit::RunFolder, problem))
    })?;
    terminal::out(&table.show());
    Ok(Exit::Success)
}

fn read(run: &Path) -> Result<String, Problems> {
    let file = run.join(TABLE);
    fs::read_to_string(&file).map_err(|error| {
        let problem = match error.kind() {
            io::ErrorKind::NotFound if run.is_dir() => Problem::new(format!("{} has no {TABLE}", run.display()))
                .help("a run writes it at its first step; is this a run's folder, such as runs/digits-1?"),
            _ => Problem::new(format!("{} cannot be read", file.display())).caused_by(error),
        };
        Problems::from((Exit::RunFolder, problem))
    })
}

#[derive(Deserialize)]
struct Table {
    running: bool,
    step: u64,
    updated: String,
    plugins: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    instance: String,
    plugin: String,
    version: String,
    #[serde(default)]
    sha256: Option<String>,
    state: String,
    calls: u64,
    failures: u64,
    fuel: u64,
    seconds: f64,
    /// What a later version of this program adds is not shown, and no error.
    #[serde(flatten)]
    _more: Value,
}

const HEADS: [&str; 9] = ["instance", "plugin", "version", "sha256", "state", "calls", "failures", "fuel", "time"];
/// Columns from here on are numbers, and end at one place.
const NUMBERS_FROM: usize = 5;

impl Row {
    fn cells(&self) -> [String; HEADS.len()] {
        let sha256: String = self.sha256.as_deref().unwrap_or("-").chars().take(12).collect();
        let texts = [&self.instance, &self.plugin, &self.version, &sha256, &self.state].map(|text| words::short(text));
        let [instance, plugin, version, sha256, state] = texts;
        let [calls, failures, fuel] = [self.calls, self.failures, self.fuel].map(words::count);
        [instance, plugin, version, sha256, state, calls, failures, fuel, words::seconds(self.seconds)]
    }
}

impl Table {
    fn show(&self) -> String {
        let rows: Vec<[String; HEADS.len()]> =
            std::iter::once(HEADS.map(str::to_owned)).chain(self.plugins.iter().map(Row::cells)).collect();
        let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
        let mut text = String::new();
        for row in &rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at >= NUMBERS_FROM {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        let (step, updated) = (words::count(self.step), words::printable(&self.updated));
        let how = if self.running { "as of" } else { "the run ended;" };
        text.push_str(&format!("{how} step {step}, {updated}\n"));
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_is_aligned_and_cannot_steer_the_terminal() {
        let row = |instance: &str, fuel: u64| {
            json!({ "instance": instance, "plugin": "\u{1b}c", "version": "1.0.0", "sha256": "ab".repeat(32),
                "state": "running", "calls": 1200, "decisions": 3, "failures": 0, "fuel": fuel, "seconds": 0.25 })
        };
        let table = json!({ "running": true, "step": 1200, "updated": "2026-01-02T03:04:05.000Z",
            "plugins": [row("a", 7), row("early-stopping", 1_000_000)] });
        let table: Table = serde_json::from_value(table).unwrap();
        let text = table.show();
        assert!(!text.contains('\u{1b}'), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("a               "), "{text}");
        assert_eq!(lines[1].find("running"), lines[2].find("running"));
        assert!(lines[2].contains("1,000,000") && lines[3] == "as of step 1,200, 2026-01-02T03:04:05.000Z", "{text}");
    }
}
