//! `host completions` and `host man`: what shells and `man` want to know of the command line, made from it.
//!
//! Main functions: [`completions`], [`man`].

use std::{fs, io, path::Path};

use clap::CommandFactory as _;

use crate::{
    args::{Args, CompletionsArgs, ManArgs},
    exit::Exit,
    problem::{Problem, Problems},
    run_folder::write_whole,
    terminal,
};

/// What the program is called, wherever it lies.
const NAME: &str = "host";

/// Prints a shell's completions.
///
/// # Errors
///
/// None so far.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Problems> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), NAME, &mut script);
    terminal::out(&String::from_utf8_lossy(&script));
    Ok(Exit::Success)
}

/// Prints the manual page, or writes one for each command.
///
/// # Errors
///
/// When the folder cannot be written.
pub(crate) fn man(args: &ManArgs) -> Result<Exit, Problems> {
    let failed = |error: io::Error| {
        let folder = args.folder.as_deref().unwrap_or(Path::new(".")).display().to_string();
        let problem = Problem::new(format!("manual pages cannot be written to {folder}")).caused_by(error);
        Problems::from((Exit::RunFolder, problem))
    };
    let mut command = Args::command();
    command.build();
    let Some(folder) = &args.folder else {
        terminal::out(&String::from_utf8_lossy(&page(command).map_err(failed)?));
        return Ok(Exit::Success);
    };
    fs::create_dir_all(folder).map_err(failed)?;
    let mut names = Vec::new();
    write(command, folder, &mut names).map_err(failed)?;
    terminal::out(&format!("{}\n", names.join("\n")));
    Ok(Exit::Success)
}

fn page(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}

/// A command's page and those of its own commands, each under the name that `man` looks for.
fn write(command: clap::Command, folder: &Path, names: &mut Vec<String>) -> io::Result<()> {
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    let inner: Vec<clap::Command> = shown.cloned().collect();
    let path = folder.join(format!("{}.1", command.get_display_name().unwrap_or(command.get_name())));
    write_whole(folder, &path, &page(command)?)?;
    names.push(path.display().to_string());
    inner.into_iter().try_for_each(|command| write(command, folder, names))
}
