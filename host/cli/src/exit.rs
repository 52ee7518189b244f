//! The program's exit codes, each with its meaning.
//!
//! It does not print: [`problem`](crate::problem) does. Main type: [`Exit`].

use std::{fmt::Write as _, process::ExitCode};

use host_trainer::Ending;

/// How the program ends, as scripts see it. A code keeps its meaning in all later versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// It did what it was asked.
    Success = 0,
    /// The loop failed: device out of memory, a loss that is not finite, a fault of the host.
    RunFailed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The configuration is wrong.
    Configuration = 3,
    /// Training or evaluation data is missing or wrong.
    Data = 4,
    /// A checkpoint cannot be read or does not fit the run.
    Checkpoint = 5,
    /// A plugin cannot be loaded.
    Plugin = 6,
    /// A plugin with `on-failure = "stop-run"` was lost.
    GuardLost = 7,
    /// The device that was asked for cannot be used.
    Device = 8,
    /// The folder of a run, or of compiled plugins, cannot be read or written.
    RunFolder = 9,
    /// The folder is no plugin's project, something in it is missing, or there is one already where one should be made.
    Project = 10,
    /// What builds a plugin is not on this machine, or is too old.
    Toolchain = 11,
    /// A plugin's sources do not compile.
    Build = 12,
    /// What a plugin decides in `host plugin test` is not right.
    PluginTest = 13,
    /// A signal ended the run; it can be resumed. 130 is 128 and the number of SIGINT, as shells have it.
    Interrupted = 130,
}

impl Exit {
    /// Every exit, in the order of the codes.
    pub(crate) const ALL: [Self; 15] = [
        Self::Success,
        Self::RunFailed,
        Self::Usage,
        Self::Configuration,
        Self::Data,
        Self::Checkpoint,
        Self::Plugin,
        Self::GuardLost,
        Self::Device,
        Self::RunFolder,
        Self::Project,
        Self::Toolchain,
        Self::Build,
        Self::PluginTest,
        Self::Interrupted,
    ];

    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// What it means, in a few words.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::RunFailed => "the run failed",
            Self::Usage => "the command line is wrong",
            Self::Configuration => "the configuration is wrong",
            Self::Data => "training or evaluation data is missing or wrong",
            Self::Checkpoint => "a checkpoint cannot be read or does not fit the run",
            Self::Plugin => "a plugin cannot be loaded",
            Self::GuardLost => "a plugin with on-failure = \"stop-run\" was lost",
            Self::Device => "the device that was asked for cannot be used",
            Self::RunFolder => "the folder of a run, or of compiled plugins, cannot be read or written",
            Self::Project => "a folder is no plugin's project, or lacks something, or is there already",
            Self::Toolchain => "what builds a plugin is missing or too old",
            Self::Build => "a plugin's sources do not compile",
            Self::PluginTest => "what a plugin decides in `host plugin test` is not right",
            Self::Interrupted => "a signal ended the run; it can be resumed",
        }
    }

    /// The exit for the way in which a run ended.
    ///
    /// A part of a run that `--until` asked for is [`Ending::Interrupted`] as well, and a success: only the
    /// caller knows whether a signal was the cause.
    pub(crate) fn of(ending: &Ending, by_signal: bool) -> Self {
        match ending {
            Ending::Completed | Ending::Stopped { .. } => Self::Success,
            Ending::Interrupted { .. } if by_signal => Self::Interrupted,
            Ending::Interrupted { .. } => Self::Success,
            Ending::GuardLost { .. } => Self::GuardLost,
            Ending::Failed { .. } => Self::RunFailed,
        }
    }

    /// All codes and meanings, one a line, for the end of `host --help`.
    pub(crate) fn list() -> String {
        let mut text = String::from("Exit codes:\n");
        for exit in Self::ALL {
            writeln!(text, "  {:>3}  {}", exit.code(), exit.meaning()).expect("a String takes everything");
        }
        text
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_what_scripts_rely_on() {
        let codes = Exit::ALL.map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 130]);
        assert!(Exit::list().contains("\n    3  the configuration is wrong\n"), "{}", Exit::list());
    }

    #[test]
    fn a_run_that_ends_as_planned_is_a_success() {
        let stopped = Ending::Stopped { by: "a".into(), reasons: vec!["b".into()] };
        let interrupted = Ending::Interrupted { by: "SIGINT".into() };
        let lost = Ending::GuardLost { instance: "a".into(), error: "b".into() };
        for (ending, by_signal, exit) in [
            (Ending::Completed, false, Exit::Success),
            (stopped, false, Exit::Success),
            (interrupted.clone(), true, Exit::Interrupted),
            (interrupted, false, Exit::Success),
            (lost, false, Exit::GuardLost),
            (Ending::Failed { error: "a".into() }, false, Exit::RunFailed),
        ] {
            assert_eq!(Exit::of(&ending, by_signal), exit, "{ending:?}");
        }
    }
}
