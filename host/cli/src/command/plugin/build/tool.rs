//! Programs that builds need: found by asking for their version, named exactly where one is missing, and run.
//!
//! It installs nothing. Main types: [`Wanted`], [`Tool`].

use std::{
    ffi::{OsStr, OsString},
    io,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    command::toolchains::answer,
    exit::Exit,
    problem::{Problem, Problems},
};

/// Major and minor.
pub(super) type Version = (u32, u32);

/// A program that was found: its name, and what always stands before its arguments.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    words: Vec<OsString>,
}

impl Tool {
    /// A program by its words.
    pub(super) fn new<Word: AsRef<OsStr>>(words: impl IntoIterator<Item = Word>) -> Self {
        Self { words: words.into_iter().map(|word| word.as_ref().to_owned()).collect() }
    }

    /// A command that runs it in a folder.
    pub(super) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(folder);
        command
    }

    /// As it is typed.
    pub(super) fn shown(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// What is looked for.
pub(super) struct Wanted {
    /// Its name: `Zig`.
    pub(super) name: &'static str,
    /// The oldest version that will do.
    pub(super) least: Version,
    /// What asks for the version, behind the program's words.
    pub(super) ask: &'static [&'static str],
    /// How to get it.
    pub(super) install: &'static str,
}

impl Wanted {
    /// The first of some programs that is there and new enough, asked in a project's folder.
    ///
    /// # Errors
    ///
    /// None is; the words say what was found in their place.
    pub(super) fn find(&self, folder: &Path, places: impl IntoIterator<Item = Tool>) -> Result<Tool, Problems> {
        let mut looked = Vec::new();
        for tool in places {
            let said = answer(tool.command(folder).args(self.ask));
            match said.as_deref().and_then(version) {
                Some(found) if found >= self.least => return Ok(tool),
                Some((major, minor)) => looked.push(format!("`{}` is {major}.{minor}, too old", tool.shown())),
                None => looked.push(format!("`{}` is not there", tool.shown())),
            }
        }
        Err(self.missing(&looked))
    }

    /// The problem that it is not there.
    pub(super) fn missing(&self, looked: &[String]) -> Problems {
        let (major, minor) = self.least;
        let message = format!("{} {major}.{minor} or newer is needed: {}", self.name, looked.join(", "));
        (Exit::Toolchain, Problem::new(message).help(format!("install it: {}", self.install))).into()
    }
}

/// The first version in an answer: `go version go1.26.8 linux/amd64`, `v20.20.2`, `0.17.1`.
pub(super) fn version(answer: &str) -> Option<Version> {
    answer.split_whitespace().find_map(|word| {
        let digits = word.find(|c: char| c.is_ascii_digit())?;
        let mut numbers = word[digits..].split(|c: char| !c.is_ascii_digit()).map(str::parse);
        // `wasm32` has digits too; a version has a point.
        word[digits..].contains('.').then_some(())?;
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    })
}

/// Runs a compiler. What it says goes to stderr: stdout is for what this program was asked.
///
/// # Errors
///
/// It cannot be started, or ends with another status than success.
pub(super) fn run(command: &mut Command) -> Result<(), Problems> {
    let shown = shown(command);
    let status = command.stdin(Stdio::null()).stdout(io::stderr()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(&shown, &format!("ended with {status}"))),
        Err(error) => Err(failed(&shown, &format!("cannot be started: {error}"))),
    }
}

/// A build that failed, whose messages were shown.
pub(super) fn failed(command: &str, how: &str) -> Problems {
    let help = "what is wrong stands above; an earlier component was left as it is";
    (Exit::Build, Problem::new(format!("the plugin was not built: `{command}` {how}")).help(help)).into()
}

/// A command as people know it, without what only this program puts behind it.
pub(super) fn shown(command: &Command) -> String {
    let arguments = command.get_args().map(|word| word.to_string_lossy());
    let known = arguments.take(3).take_while(|word| !word.starts_with("--") && !word.contains('/'));
    std::iter::once(command.get_program().to_string_lossy()).chain(known).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, expected) in [
            ("go version go1.26.8 linux/amd64", Some((1, 26))),
            ("v20.20.2\n", Some((20, 20))),
            ("0.17.1\n", Some((0, 17))),
            ("rustc 1.96.0 (abc 2026-01-01)", Some((1, 96))),
            ("GNU Make 4.3\nBuilt for x86_64", Some((4, 3))),
            ("componentize-py 0.25.1", Some((0, 25))),
            ("wasm32", None),
            ("", None),
        ] {
            assert_eq!(version(said), expected, "{said}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_what_was_found_and_what_to_do() {
        let wanted = Wanted { name: "Zig", least: (0, 17), ask: &["version"], install: "pip install ziglang" };
        let here = Path::new(".");
        let problems = wanted.find(here, [Tool::new(["no-such-program-here"])]).unwrap_err();
        assert_eq!(problems.exit(), Exit::Toolchain);
        assert_eq!(problems.first(), "Zig 0.17 or newer is needed: `no-such-program-here` is not there");
    }
}
