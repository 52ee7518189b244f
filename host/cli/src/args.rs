//! The command line as it was typed.
//!
//! It reads no file and checks nothing that needs one. Main type: [`Args`].

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use host_trainer::Span;

use crate::exit::Exit;

/// Trains a model and asks sandboxed callbacks what to do.
///
/// A run is described by a TOML file. Callbacks are WebAssembly components in its plugins folder; they see
/// measurements, answer with decisions, and can do nothing else.
///
/// Example: host run train.toml --set train.epochs=3
#[derive(Debug, Parser)]
#[command(name = "host", version, propagate_version = true, after_long_help = Exit::list())]
pub(crate) struct Args {
    /// When to use colour; `auto` is for terminals, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// In a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Into files and pipes too.
    Always,
    /// Nowhere.
    Never,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train.
    ///
    /// Makes a new folder <run.folder>/<run.name>-<n> with the configuration, metrics, timeline, checkpoints
    /// and reports. Ctrl-C stops after the step and saves; a second one stops at once.
    ///
    /// Example: host run train.toml --set optimizer.learning-rate=3e-4 --until 200st
    Run(RunArgs),
    /// Say what a run would do, without training.
    ///
    /// Reads the configuration, the data and the plugins, reports every mistake, and lists what callbacks
    /// could measure and change.
    ///
    /// Example: host check train.toml --set task.kind=language-model
    Check(CheckArgs),
    /// Say what this machine has: CPU, GPU, cache folder, guest toolchains.
    ///
    /// Never fails: what is missing is said, with what it is needed for.
    ///
    /// Example: host doctor --json
    Doctor(DoctorArgs),
    /// Show what a plugin is: manifest, hooks, measurements, configuration.
    ///
    /// Loads the file into the sandbox, under its limits, and asks it to describe itself.
    ///
    /// Example: host inspect plugins/early-stopping/early-stopping.wasm
    Inspect(InspectArgs),
}

/// Arguments of `host run`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// Which run.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Go on with a run folder's newest checkpoint, or with the checkpoint folder that is given.
    #[arg(long, value_name = "RUN_OR_CHECKPOINT")]
    pub(crate) resume: Option<PathBuf>,
    /// Stop here, resumable; the planned length and all schedules stay (100st, 2ep, 5000sp, 10min).
    #[arg(long, value_name = "SPAN")]
    pub(crate) until: Option<Span>,
    /// Print errors and the closing report only.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Arguments of `host check`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// Which run.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A configuration file and what the command line changes in it.
#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigArgs {
    /// The configuration file.
    #[arg(value_name = "CONFIG")]
    pub(crate) file: PathBuf,
    /// Set a key over what the file says; may be given several times, the last one counts.
    ///
    /// The value is TOML; a bare word is a text. Entries of [[plugin]] and [[optimizer.group]] are
    /// addressed by name: plugin.early-stopping.config.patience=5
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Arguments of `host doctor`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `host inspect`.
#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// The plugin's file.
    #[arg(value_name = "FILE.wasm")]
    pub(crate) file: PathBuf,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_long_help_has_an_example() {
        let mut top = Args::command();
        let example = |command: &mut clap::Command| {
            let text = command.render_long_help().to_string();
            assert!(text.contains("Example: host "), "{text}");
        };
        example(&mut top);
        top.get_subcommands_mut().filter(|command| command.get_name() != "help").for_each(example);
        assert!(top.render_long_help().to_string().contains("130  a signal ended the run"));
    }

    #[test]
    fn a_run_takes_overlays_and_a_span() {
        let line = "host run train.toml --set a.b=1 --set c=2 --until 200st --color never -q --resume runs/a-1";
        let args = Args::try_parse_from(line.split(' ')).unwrap();
        let Command::Run(run) = args.command else { panic!("{:?}", args.command) };
        assert_eq!((args.color, run.quiet), (Color::Never, true));
        assert_eq!(run.config.set, ["a.b=1", "c=2"]);
        assert_eq!(run.until, Some(Span::Steps(200)));
        assert_eq!(run.resume, Some("runs/a-1".into()));
    }

    #[test]
    fn a_bad_span_is_a_mistake_on_the_command_line() {
        let error = Args::try_parse_from(["host", "run", "train.toml", "--until", "10"]).unwrap_err();
        assert_eq!(error.exit_code(), i32::from(Exit::Usage.code()));
        assert!(error.to_string().contains("such as \"100st\""), "{error}");
    }
}
