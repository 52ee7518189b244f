//! `guests setup|build|plugins`: the command line around [`host_tests::guests`].
//! Does nothing of its own; says what is done on standard error.

use std::io::Write;
use std::process::ExitCode;

use host_tests::guests::build::{build, ship};
use host_tests::guests::toolchain::{Toolchain, set_up};

const USAGE: &str = "usage: guests setup|build|plugins
  setup    find a Rust compiler that can build for WebAssembly, or install one
  build    build the plugins and the tests' guests below the target folder
  plugins  build, and put each plugin beside its sources with the hash of these";

fn main() -> ExitCode {
    match run(std::env::args().nth(1).as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(command: Option<&str>) -> Result<(), String> {
    match command {
        Some("setup") => set_up(say).map(|toolchain| say(&format!("guests are built with {}", toolchain.describe()))),
        Some("build") => build(&installed()?).map(|names| say(&format!("built {}", names.join(", ")))),
        Some("plugins") => ship(&installed()?).map(|names| say(&format!("shipped {}", names.join(", ")))),
        _ => Err(USAGE.into()),
    }
}

fn installed() -> Result<Toolchain, String> {
    Toolchain::find().ok_or_else(|| "no compiler for WebAssembly: run guests setup".into())
}

fn say(line: &str) {
    // Nobody may be listening, which is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{line}");
}
