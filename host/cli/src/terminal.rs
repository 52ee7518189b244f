//! The only place that writes to stdout and stderr, and how text may look there.
//!
//! It does not decide what is said. Main items: [`out`], [`err`], [`Look`].

use std::io::{self, ErrorKind, IsTerminal, Write};

use crate::args::Color;

/// Writes what a command was asked for to stdout.
///
/// A reader that went away (`host check ... | head`) is no error: it has what it wanted. Anything else, such
/// as a full disk, is said on stderr.
pub(crate) fn out(text: &str) {
    if let Err(error) = write(io::stdout().lock(), text) {
        err(&format!("error: stdout cannot be written: {error}\n"));
    }
}

/// Writes what accompanies a command, such as errors and progress, to stderr.
///
/// Failures are ignored: there is no other place left to say so.
pub(crate) fn err(text: &str) {
    drop(write(io::stderr().lock(), text));
}

fn write(mut to: impl Write, text: &str) -> io::Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// How text for people may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Whether ANSI colours are allowed.
    pub(crate) color: bool,
    /// Whether it goes to a terminal: lines are then wrapped at its width and drawn with more than ASCII.
    pub(crate) terminal: bool,
}

impl Look {
    /// ASCII without colour and without wrapping, as in files and pipes: tests compare texts that look so.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { color: false, terminal: false };

    /// For stderr as it is now.
    pub(crate) fn of_stderr(color: Color) -> Self {
        Self::new(color, io::stderr().is_terminal(), |name| std::env::var(name).ok())
    }

    /// For stdout as it is now.
    pub(crate) fn of_stdout(color: Color) -> Self {
        Self::new(color, io::stdout().is_terminal(), |name| std::env::var(name).ok())
    }

    fn new(color: Color, terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Self {
        // A set but empty NO_COLOR means nothing, as <https://no-color.org> says.
        let unwanted = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = variable("TERM").is_some_and(|value| value == "dumb");
        let color = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !unwanted && !dumb,
        };
        Self { color, terminal: terminal && !dumb }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_is_for_terminals_unless_somebody_says_otherwise() {
        for (color, terminal, variables, expected) in [
            (Color::Auto, true, &[][..], true),
            (Color::Auto, false, &[], false),
            (Color::Auto, true, &[("NO_COLOR", "1")], false),
            (Color::Auto, true, &[("NO_COLOR", "")], true),
            (Color::Auto, true, &[("TERM", "dumb")], false),
            (Color::Always, false, &[("NO_COLOR", "1")], true),
            (Color::Never, true, &[], false),
        ] {
            let variable = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned());
            assert_eq!(Look::new(color, terminal, variable).color, expected, "{color:?} {terminal} {variables:?}");
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        struct Gone(ErrorKind);
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(write(Gone(ErrorKind::BrokenPipe), "x").is_ok());
        assert!(write(Gone(ErrorKind::StorageFull), "x").is_err());
    }
}
