//! The program `host`: trains models and lets sandboxed callbacks steer the run.
//!
//! Here the command line becomes a command; each lives in [`command`] and what they share beside it.

mod args;
mod bench;
mod command;
mod config;
mod environment;
mod exit;
mod problem;
mod program;
mod rehearsal;
mod report;
mod run_folder;
mod signal;
mod story;
mod telemetry;
mod terminal;
mod wire;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    args::{Args, Command},
    exit::Exit,
    problem::Problems,
    terminal::Look,
};

// It keeps freed pages, and a training step frees as much as it takes: 1.2 times faster than with glibc's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    let done: Result<Exit, Problems> = match &args.command {
        Command::Run(run) => command::run::run(run),
        Command::Check(check) => command::check::run(check),
        Command::Plugin(action) => command::plugin::run(action),
        Command::Bench(bench) => command::bench::run(bench),
        Command::Cache(cache) => command::cache::run(cache),
        Command::Doctor(doctor) => Ok(command::doctor::run(doctor)),
        Command::Plugins(plugins) => command::plugins::run(plugins),
        Command::Schema(schema) => command::schema::run(schema),
        Command::Completions(completions) => command::shell::completions(completions),
        Command::Man(man) => command::shell::man(man),
        Command::Compile => command::compile::run(),
        Command::Rank(rank) => command::rank::run(rank),
        Command::Show(show) => command::show::run(show, args.color),
    };
    let exit = done.unwrap_or_else(|problems| {
        terminal::err(&problems.render(Look::of_stderr(args.color)));
        problems.exit()
    });
    exit.into()
}
