//! `host plugin build`: from a folder of sources to a component that loads.
//!
//! It leaves compiling to each language's own tools, and installs none of them. Main function: [`run`].

mod component;
mod go;
mod node;
mod project;
mod python;
mod report;
mod rust;
mod tool;
mod zig;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use host_sandbox::LoadError;

use super::load::{beside, sandbox};
use crate::{
    args::{BuildArgs, Language},
    config::folder_of,
    exit::Exit,
    problem::{Problem, Problems},
    run_folder::write_whole,
    terminal,
};

/// Builds a component, loads it, puts it in place, and says what it is.
///
/// # Errors
///
/// When the folder is no plugin's, a tool is missing, the sources do not compile, or the component does not load. An
/// earlier component is then as it was.
pub(super) fn run(args: &BuildArgs) -> Result<Exit, Problems> {
    let language = args.lang.map_or_else(|| project::language(&args.folder), Ok)?;
    let scratch = tempfile::tempdir().map_err(|error| cannot("a temporary folder cannot be made", error))?;
    let built = compiled(language, &args.folder, scratch.path())?;
    let bytes = fs::read(&built.file).map_err(|error| cannot("what was built cannot be read", error))?;
    let name = PathBuf::from(format!("built in {}", args.folder.display()));
    let whole = component::component(bytes, built.adapter.as_deref())
        .map_err(|kind| not_put(&LoadError { file: name.clone(), kind }))?;
    let stripped = if args.keep_names { None } else { component::without_names(&whole) };
    let component = stripped.as_deref().unwrap_or(&whole);
    let plugin = sandbox()?.load_bytes(name, component).map_err(|error| not_put(&error))?;
    let out = args.out.clone().unwrap_or_else(|| beside(&args.folder, &format!("{}.wasm", plugin.manifest().name)));
    put(&out, component)?;
    let report = report::Report::new(&plugin, &out, whole.len() - component.len());
    terminal::out(&if args.json { report.json() } else { report.text() });
    Ok(Exit::Success)
}

/// What a compiler left.
struct Built {
    file: PathBuf,
    /// What answers to WASI preview 1, where the SDK brings it along.
    adapter: Option<Vec<u8>>,
}

fn compiled(language: Language, folder: &Path, scratch: &Path) -> Result<Built, Problems> {
    let file = match language {
        Language::Go => {
            let (file, adapter) = go::module(folder, scratch)?;
            return Ok(Built { file, adapter: Some(adapter) });
        }
        Language::Rust => rust::module(folder)?,
        Language::Python => python::component(folder, scratch)?,
        Language::Javascript | Language::Typescript => node::component(folder, scratch)?,
        Language::C | Language::Cpp => zig::module_by_make(folder, scratch)?,
        Language::Zig => zig::module(folder, scratch)?,
    };
    Ok(Built { file, adapter: None })
}

fn put(out: &Path, component: &[u8]) -> Result<(), Problems> {
    let written = write_whole(&folder_of(out), out, component);
    written.map_err(|error| cannot(&format!("{} cannot be written", out.display()), error))
}

/// What compiles and does not load.
fn not_put(error: &LoadError) -> Problems {
    let help = "it was not put in place, and an earlier component was left as it is";
    (Exit::Plugin, Problem::new(format!("the plugin {error}")).help(help)).into()
}

fn cannot(what: &str, error: io::Error) -> Problems {
    (Exit::Project, Problem::new(what).caused_by(error)).into()
}
