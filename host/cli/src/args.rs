//! The command line as it was typed.
//!
//! It reads no file and checks nothing that needs one. Main type: [`Args`].

mod plugin;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use host_callback::Pattern;
use host_trainer::Span;

pub(crate) use self::plugin::{
    BuildArgs, InspectArgs, Language, NewArgs, PackArgs, PluginAction, PluginBenchArgs, PluginCheckArgs, PluginTestArgs,
};
use crate::{exit::Exit, story::Steps};

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
    /// Makes a new folder `<run.folder>/<run.name>-<n>` with the configuration, metrics, timeline, checkpoints
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
    /// Tell a run as a story: what was decided, by whom, why, and what followed.
    ///
    /// Reads a run's folder, also of a run that goes on or was killed. What happened again and again is told in
    /// one line. A step counts finished steps, as in timeline.jsonl: what a knob is set to at step 1,199 is first
    /// seen in the metrics of step 1,200. With a filter, only the lines that fit are printed.
    ///
    /// Example: host show runs/digits-1 --knob learning-rate --steps 1000..1300
    Show(ShowArgs),
    /// Show the plugins of a run: version, state, calls, failures, fuel, time.
    ///
    /// Reads plugins.json in the run's folder, which a running run writes anew every few seconds and after each change.
    ///
    /// Example: host plugins runs/digits-1
    Plugins(PluginsArgs),
    /// Measure what a step takes: of a run, of a bare loop around its model, and of PyTorch.
    ///
    /// The loops take turns in one process (PyTorch in one of its own), so that whatever else the machine does disturbs all
    /// alike. Plugins are called as in a run; nothing is kept. A Python with torch is given with --peer: it is handed the
    /// same weights and batches, and the losses of both are compared.
    ///
    /// Example: host bench host/examples/text.toml --peer venv/bin/python
    Bench(BenchArgs),
    /// Say what this machine has: CPU, GPU, cache folder, guest toolchains.
    ///
    /// Never fails: what is missing is said, with what it is needed for.
    ///
    /// Example: host doctor --json
    Doctor(DoctorArgs),
    /// Begin, build, pack and look at plugins.
    ///
    /// Example: host plugin new loss-ceiling --lang rust
    #[command(subcommand)]
    Plugin(PluginAction),
    /// Show the compiled plugins on this machine, or delete them.
    ///
    /// A plugin is compiled when it is loaded for the first time, and its code is kept in the user's cache folder, or
    /// the one that `plugins.cache` names. What is deleted is compiled again at the next start.
    ///
    /// Example: host cache --clear
    Cache(CacheArgs),
    /// Print a JSON Schema, for editors: of train.toml, or of a plugin's settings.
    ///
    /// Editors that know TOML (through Taplo, say) complete keys and check values when the first line of train.toml is
    /// `#:schema ./train.schema.json`.
    ///
    /// Example: host schema > train.schema.json
    Schema(SchemaArgs),
    /// Print what a shell needs to complete the words of this command line.
    ///
    /// Example: host completions bash > ~/.local/share/bash-completion/completions/host
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command into a folder.
    ///
    /// Example: host man --folder ~/.local/share/man/man1
    Man(ManArgs),
    /// Another rank of a run, which its first rank starts and speaks to over stdin and stdout.
    ///
    /// Example: host run train.toml --set run.ranks=2
    #[command(hide = true)]
    Rank(RankArgs),
    /// Compile a plugin for the process that started this one, under limits that it was sent over stdin.
    ///
    /// Example: host run train.toml --set plugins.compile-seconds=600
    #[command(hide = true)]
    Compile,
}

/// Arguments of `host schema`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// A plugin, whose settings are wanted.
    #[arg(value_name = "FILE.wasm")]
    pub(crate) plugin: Option<PathBuf>,
}

/// Arguments of `host completions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `host man`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// The folder; without one, the page of `host` itself goes to stdout.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

/// Arguments of `host rank`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RankArgs {
    /// Which run.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Which rank, 1 or above.
    #[arg(long, value_name = "RANK")]
    pub(crate) rank: usize,
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

/// Arguments of `host bench`.
#[derive(Debug, ClapArgs)]
pub(crate) struct BenchArgs {
    /// The configuration files; one after the other is measured.
    #[arg(required = true, value_name = "CONFIG")]
    pub(crate) files: Vec<PathBuf>,
    /// Set a key over what the files say, as for `host run`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// A Python 3 with torch, which trains the same model in turns with us.
    #[arg(long, value_name = "PYTHON")]
    pub(crate) peer: Option<PathBuf>,
    /// Let PyTorch compile the model (torch.compile) before it begins.
    #[arg(long, requires = "peer")]
    pub(crate) compile: bool,
    /// Train the whole run and the same one in PyTorch, and compare time and validation losses.
    #[arg(long, requires = "peer", conflicts_with_all = ["steps", "seconds"])]
    pub(crate) whole: bool,
    /// Steps of each loop that are measured.
    #[arg(long, default_value_t = 210, value_parser = clap::value_parser!(u32).range(1..=1_000_000), value_name = "COUNT")]
    pub(crate) steps: u32,
    /// Seconds for all loops of one file; what was measured by then counts.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400), value_name = "SECONDS")]
    pub(crate) seconds: u64,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
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
    /// The value is TOML; a bare word is a text. Entries of `[[plugin]]` and `[[optimizer.group]]` are
    /// addressed by name: plugin.early-stopping.config.patience=5
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Arguments of `host show`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// The run's folder.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Only what was done to these knobs; `learning-rate` and `learning-rate/*` are all of that name.
    #[arg(long, value_name = "KNOB")]
    pub(crate) knob: Option<Pattern>,
    /// Only what this callback had a part in; `*` stands for any characters.
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) by: Option<Pattern>,
    /// Only these steps, both ends included: 1200, 1000..1300, 1000.. or ..1300.
    #[arg(long, value_name = "STEPS")]
    pub(crate) steps: Option<Steps>,
    /// Print each line by itself, also those that are told in one or left out, such as reports.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print lines of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `host plugins`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PluginsArgs {
    /// The run's folder.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `host doctor`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `host cache`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CacheArgs {
    /// The folder; by default that of the user.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Delete all compiled plugins there. Other files stay.
    #[arg(long)]
    pub(crate) clear: bool,
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
        for command in top.get_subcommands_mut().filter(|command| command.get_name() != "help") {
            example(command);
            command.get_subcommands_mut().filter(|command| command.get_name() != "help").for_each(example);
        }
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
    fn a_story_takes_filters() {
        let line = "host show runs/a-1 --knob learning-rate* --by lr-plateau --steps 1000..1300 --all --json";
        let Command::Show(show) = Args::try_parse_from(line.split(' ')).unwrap().command else { panic!() };
        assert_eq!(show.knob, Some("learning-rate*".into()));
        assert_eq!(show.steps, Some("1000..1300".parse().unwrap()));
        assert!(show.all && show.json && show.by.is_some());
        let error = Args::try_parse_from(["host", "show", "runs/a-1", "--steps", "9..3"]).unwrap_err();
        assert!(error.to_string().contains("1000..1300"), "{error}");
    }

    #[test]
    fn a_bad_span_is_a_mistake_on_the_command_line() {
        let error = Args::try_parse_from(["host", "run", "train.toml", "--until", "10"]).unwrap_err();
        assert_eq!(error.exit_code(), i32::from(Exit::Usage.code()));
        assert!(error.to_string().contains("such as \"100st\""), "{error}");
    }
}
