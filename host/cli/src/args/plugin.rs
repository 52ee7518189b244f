//! The command line of `host plugin`.
//!
//! It reads no file. Main type: [`PluginAction`].

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use host_trainer::task::Course;

/// What can be done with a plugin.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginAction {
    /// Make a new folder with a first callback, which builds and passes its test as it is.
    ///
    /// The SDK comes along in the folder `host`, so nothing has to be fetched but what the language itself needs;
    /// `--sdk` refers to a checkout of the repository instead. A folder that exists is left alone.
    ///
    /// Example: host plugin new loss-ceiling --lang rust
    New(NewArgs),
    /// Build a plugin's sources into a component, and load it once to see that it works.
    ///
    /// The language is told by the folder's own files: Cargo.toml, pyproject.toml, package.json, build.zig, go.mod, or a
    /// Makefile for C and C++, of which `make OUT=FILE` writes the module. The language's own compiler does the work, and
    /// says what is wrong. A core module is made a component; names and debug information are left out. The file is put
    /// in place whole: when anything fails, an earlier one stays.
    ///
    /// Example: host plugin build plugins/loss-ceiling --out plugins/loss-ceiling.wasm
    Build(BuildArgs),
    /// Check a plugin without a run: contract, manifest, settings, imports, and a dry start.
    ///
    /// The plugin is started with the least settings that its schema takes, or with yours, in a made-up run; nothing is
    /// trained.
    ///
    /// Example: host plugin check plugins/early-stopping/early-stopping.wasm
    Check(PluginCheckArgs),
    /// Play made-up trainings to a plugin, and show what it decides.
    ///
    /// The loop, the sandbox and the rules are the real ones, the losses are made up: healthy, plateau, divergence, nan,
    /// spike, noisy, overfitting, out-of-memory; 200 steps each. Each is played three times: twice to see that the plugin
    /// decides the same, and once with a new instance that takes its state now and then, as after a resume. Refused
    /// decisions and failures are faults. `--save` keeps what it decided, and `--expect` compares with that.
    ///
    /// Example: host plugin test early-stopping.wasm --set patience=3 --scenario plateau --expect answers.json
    Test(PluginTestArgs),
    /// Measure plugins: size, compiling, start, memory, and time and fuel of an event.
    ///
    /// Events are those of a made-up, healthy training of 1,000 steps. Several files are measured one after another.
    ///
    /// Example: host plugin bench plugins/early-stopping/early-stopping.wasm
    Bench(PluginBenchArgs),
    /// Put a built plugin into an archive: component, manifest, schema of its settings, README, hashes.
    ///
    /// The archive is called after the plugin and its version, and equal contents give equal bytes. What is missing is
    /// said, and nothing is written then.
    ///
    /// Example: host plugin pack plugins/early-stopping
    Pack(PackArgs),
    /// Show what a plugin is: manifest, imports, configuration.
    ///
    /// Loads the file into the sandbox, under its limits, and asks it to describe itself. Of each interface that it
    /// imports it says whether it is real here, stubbed (nothing is behind it) or refused.
    ///
    /// Example: host plugin inspect plugins/early-stopping/early-stopping.wasm
    Inspect(InspectArgs),
}

/// A language that has an SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Rust.
    Rust,
    /// Python.
    Python,
    /// JavaScript.
    #[value(alias = "js")]
    Javascript,
    /// TypeScript.
    #[value(alias = "ts")]
    Typescript,
    /// C.
    C,
    /// C++.
    #[value(alias = "c++")]
    Cpp,
    /// Zig.
    Zig,
    /// Go.
    Go,
}

/// Arguments of `host plugin new`.
#[derive(Debug, ClapArgs)]
pub(crate) struct NewArgs {
    /// The plugin's name: 1 to 32 of a-z, 0-9 and `-`, beginning with a letter and not ending with `-`.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The language.
    #[arg(long, short, value_enum)]
    pub(crate) lang: Language,
    /// The folder to make; by default one with the plugin's name, here.
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// A checkout of host's repository, whose SDK the project refers to instead of bringing a copy.
    #[arg(long, value_name = "PATH")]
    pub(crate) sdk: Option<PathBuf>,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `host plugin build`.
#[derive(Debug, ClapArgs)]
pub(crate) struct BuildArgs {
    /// The plugin's folder.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// The component's file; by default `<name>.wasm` in the plugin's folder.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The language, for a folder with the files of several.
    #[arg(long, short, value_enum)]
    pub(crate) lang: Option<Language>,
    /// Keep names of functions and debug information, which a backtrace shows.
    #[arg(long)]
    pub(crate) keep_names: bool,
    /// Print JSON to stdout; the compiler's messages go to stderr in any case.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The settings that a plugin is tried with.
#[derive(Debug, ClapArgs)]
pub(crate) struct TriedArgs {
    /// A TOML file with the plugin's settings, as they stand below [plugin.config].
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Set one of the plugin's settings, over the file; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Arguments of `host plugin check`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PluginCheckArgs {
    /// The plugin's file.
    #[arg(value_name = "FILE.wasm")]
    pub(crate) file: PathBuf,
    /// What it is tried with.
    #[command(flatten)]
    pub(crate) tried: TriedArgs,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `host plugin test`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PluginTestArgs {
    /// The plugin's file.
    #[arg(value_name = "FILE.wasm")]
    pub(crate) file: PathBuf,
    /// What it is tried with.
    #[command(flatten)]
    pub(crate) tried: TriedArgs,
    /// Play only this scenario; may be given several times.
    #[arg(long, value_name = "NAME", value_parser = course)]
    pub(crate) scenario: Vec<Course>,
    /// Compare with what `--save` wrote: other decisions, or others at other steps, are faults.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) expect: Option<PathBuf>,
    /// Write what the plugin decided.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) save: Option<PathBuf>,
    /// Show every decision, reports too, with what the plugin had been shown.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A scenario by its name.
fn course(name: &str) -> Result<Course, String> {
    serde_json::from_value(name.into()).map_err(|error| error.to_string())
}

/// Arguments of `host plugin bench`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PluginBenchArgs {
    /// The plugins' files.
    #[arg(value_name = "FILE.wasm", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// What it is tried with.
    #[command(flatten)]
    pub(crate) tried: TriedArgs,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `host plugin pack`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PackArgs {
    /// A component, or the folder that it and its README lie in.
    #[arg(value_name = "DIR|FILE.wasm", default_value = ".")]
    pub(crate) plugin: PathBuf,
    /// The archive; by default `<name>-<version>.tar.gz` beside the component.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `host plugin inspect`.
#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// The plugin's file.
    #[arg(value_name = "FILE.wasm")]
    pub(crate) file: PathBuf,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
}
