//! Which toolchains for guests are on PATH, by asking each for its version.
//!
//! It neither installs nor builds anything. Main function: [`find`].

use std::{
    fmt,
    io::Read,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;

/// How long a program may take to say its version; a Node program takes about a second, and far more on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A way to build guests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Toolchain {
    /// The guests' language.
    language: &'static str,
    /// What was looked for.
    tool: &'static str,
    /// What it said of itself; `None` where it was not found.
    version: Option<String>,
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { language, tool, version } = self;
        match version {
            Some(version) => write!(f, "{language}: {tool}, {version}"),
            None if language == tool => write!(f, "{language}: not found"),
            None => write!(f, "{language}: {tool} not found"),
        }
    }
}

/// A program to ask, and how its answer is read.
struct Question {
    language: &'static str,
    tool: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    read: fn(&str) -> Option<String>,
}

const QUESTIONS: [Question; 8] = [
    Question {
        language: "Rust",
        tool: "rustup target wasm32-unknown-unknown",
        program: "rustup",
        arguments: &["target", "list", "--installed"],
        read: |answer| answer.lines().any(|line| line == "wasm32-unknown-unknown").then(|| "installed".into()),
    },
    Question {
        language: "Rust",
        tool: "Debian's rustc-web",
        // The package and not its rustc, which looks like any other distribution's.
        program: "dpkg-query",
        arguments: &["--show", "--showformat", "${Version}", "rustc-web"],
        read: first_line,
    },
    Question {
        language: "Python",
        tool: "componentize-py",
        program: "componentize-py",
        arguments: &["--version"],
        read: first_line,
    },
    Question {
        language: "JavaScript",
        tool: "componentize-qjs",
        program: "componentize-qjs",
        arguments: &["--version"],
        read: first_line,
    },
    Question { language: "JavaScript", tool: "jco", program: "jco", arguments: &["--version"], read: first_line },
    Question {
        language: "C, C++, Zig",
        tool: "ziglang of PyPI",
        program: "python3",
        arguments: &["-m", "ziglang", "version"],
        read: first_line,
    },
    Question { language: "C, C++, Zig", tool: "zig", program: "zig", arguments: &["version"], read: first_line },
    Question { language: "Go", tool: "go", program: "go", arguments: &["version"], read: first_line },
];

/// Asks all of them side by side, in the order of languages.
pub(super) fn find() -> Vec<Toolchain> {
    thread::scope(|scope| {
        let asked: Vec<_> = QUESTIONS.iter().map(|question| scope.spawn(|| ask(question))).collect();
        let answers = asked.into_iter().map(|answer| answer.join().unwrap_or(None));
        let found = QUESTIONS.iter().zip(answers);
        found.map(|(q, version)| Toolchain { language: q.language, tool: q.tool, version }).collect()
    })
}

fn ask(question: &Question) -> Option<String> {
    let mut command = Command::new(question.program);
    (question.read)(&answer(command.args(question.arguments))?)
}

/// What a program says on stdout; `None` where it is not there, fails, or takes longer than anybody waits.
pub(super) fn answer(command: &mut Command) -> Option<String> {
    let mut child = command
        // A look must not download a toolchain that some project's file names.
        .env("RUSTUP_AUTO_INSTALL", "0")
        .env("GOTOOLCHAIN", "local")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(10)),
            _ => {
                // It may have ended in between; either way it is waited for and counts as not found.
                drop(child.kill());
                drop(child.wait());
                return None;
            }
        }
    };
    // Answers are a few lines, far below what a pipe holds, so reading can wait for the end.
    let mut answer = String::new();
    child.stdout.take()?.read_to_string(&mut answer).ok()?;
    status.success().then_some(answer)
}

fn first_line(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(80).collect())
}

#[cfg(test)]
impl Toolchain {
    /// One that was not found.
    pub(super) fn sample() -> Self {
        Self { language: "Go", tool: "Go", version: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(program: &'static str, arguments: &'static [&'static str]) -> Question {
        Question { language: "x", tool: "y", program, arguments, read: first_line }
    }

    #[test]
    fn a_program_that_is_not_there_or_fails_is_not_found() {
        assert_eq!(ask(&question("no-such-program-here", &[])), None);
        // Of this test binary, since it is there on every system.
        let program = std::env::current_exe().unwrap().display().to_string().leak();
        assert_eq!(ask(&question(program, &["--no-such-option"])), None);
        assert_eq!(ask(&question(program, &["--list", "no-test-has-this-name"])), Some("0 tests, 0 benchmarks".into()));
    }

    #[test]
    fn an_answer_is_its_first_line() {
        assert_eq!(first_line("\n go version go1.26 \nmore"), Some("go version go1.26".into()));
        assert_eq!(first_line(" \n"), None);
        let target = QUESTIONS[0].read;
        assert_eq!(target("wasm32-unknown-unknown\nx86_64-unknown-linux-gnu\n"), Some("installed".into()));
        assert_eq!(target("x86_64-unknown-linux-gnu\n"), None);
    }
}
