//! What a run of the program left: exit code, what it printed, and its folder.
//! Starts nothing: [`Project`](crate::Project) does.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::Value;

/// How the program ended and what it printed.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it said beside that.
    pub stderr: String,
    project: PathBuf,
}

impl Outcome {
    /// What a program left that was started in a project's folder.
    #[must_use]
    pub fn new(output: Output, project: &Path) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            project: project.to_owned(),
        }
    }

    /// Expects an exit code.
    ///
    /// # Panics
    ///
    /// When it is another one; shows what was printed.
    pub fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Expects words on stderr, in any order.
    ///
    /// # Panics
    ///
    /// When some are not there.
    pub fn says(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in stderr:\n{}", self.stderr);
        }
        self
    }

    /// Expects these words in what it prints to stdout.
    ///
    /// # Panics
    ///
    /// When one is missing.
    pub fn prints(&self, words: &[&str]) -> &Self {
        for words in words {
            assert!(self.stdout.contains(words), "`{words}` is not in stdout:\n{}", self.stdout);
        }
        self
    }

    /// The folder of run number `n`.
    #[must_use]
    pub fn run(&self, n: usize) -> Run {
        Run { path: self.project.join(format!("runs/iris-{n}")) }
    }
}

/// A run folder.
#[derive(Clone, Debug)]
pub struct Run {
    path: PathBuf,
}

impl Run {
    /// The folder of a run by its path.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// A path in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A file of the folder as text.
    ///
    /// # Panics
    ///
    /// When it cannot be read.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A JSON file of the folder.
    ///
    /// # Panics
    ///
    /// When it is not JSON.
    #[must_use]
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).expect("JSON")
    }

    /// The lines of a JSON-lines file.
    ///
    /// # Panics
    ///
    /// When a line is not JSON.
    #[must_use]
    pub fn lines(&self, name: &str) -> Vec<Value> {
        self.text(name).lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// The decisions of an instance in the timeline.
    #[must_use]
    pub fn decisions(&self, instance: &str) -> Vec<Value> {
        let is_one = |line: &Value| line["event"] == "decided" && line["instance"] == instance;
        self.lines("timeline.jsonl").into_iter().filter(is_one).collect()
    }

    /// What the report says of an instance.
    ///
    /// # Panics
    ///
    /// When it says nothing.
    #[must_use]
    pub fn callback(&self, instance: &str) -> Value {
        let report = self.json("report.json");
        let callbacks = report["callbacks"].as_array().expect("callbacks");
        callbacks.iter().find(|callback| callback["instance"] == instance).expect("the instance").clone()
    }

    /// The names of the checkpoints, sorted as text.
    ///
    /// # Panics
    ///
    /// When the folder cannot be read.
    #[must_use]
    pub fn checkpoints(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("checkpoints")).expect("checkpoints");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("step-")).collect();
        names.sort();
        names
    }

    /// The notes of an instance, read as JSON.
    ///
    /// # Panics
    ///
    /// When one is not JSON.
    #[must_use]
    pub fn notes(&self, instance: &str) -> Vec<Value> {
        let notes = self
            .decisions(instance)
            .into_iter()
            .filter_map(|line| line["decision"]["note"].as_str().map(str::to_owned));
        notes.map(|note| serde_json::from_str(&note).expect("a note in JSON")).collect()
    }
}
