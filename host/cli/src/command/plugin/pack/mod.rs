//! `host plugin pack`: a built plugin as one archive, with what whoever gets it wants to know.
//!
//! It does not build. Main function: [`run`].

mod archive;

use std::{
    fs,
    path::{Path, PathBuf},
};

use host_sandbox::Plugin;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::archive::{Entry, archive};
use super::{
    inspect::facts,
    load::{beside, refused, sandbox},
};
use crate::{
    args::PackArgs,
    config::folder_of,
    exit::Exit,
    problem::{Problem, Problems},
    run_folder::write_whole,
    terminal,
};

/// What a page about a plugin is called, and what a licence begins with.
const README: &str = "README.md";
const LICENSE: &str = "LICENSE";

/// Writes the archive and says what is in it.
///
/// # Errors
///
/// Everything that is missing, when the plugin does not load, or when the archive cannot be written.
pub(super) fn run(args: &PackArgs) -> Result<Exit, Problems> {
    let file = component_of(&args.plugin)?;
    let plugin = sandbox()?.load(&file).map_err(|error| refused(&error))?;
    let folder = folder_of(&file);
    let entries = contents(&plugin, &file, &folder)?;
    let manifest = plugin.manifest();
    let name = format!("{}-{}", manifest.name, manifest.version);
    let bytes = archive(&name, &entries).map_err(|error| cannot("the archive cannot be made", error))?;
    let out = args.out.clone().unwrap_or_else(|| beside(&folder, &format!("{name}.tar.gz")));
    write_whole(&folder_of(&out), &out, &bytes)
        .map_err(|error| cannot(&format!("{} cannot be written", out.display()), error))?;
    terminal::out(&told(args.json, &plugin, &out, &entries, &bytes));
    Ok(Exit::Success)
}

fn told(as_json: bool, plugin: &Plugin, out: &Path, entries: &[Entry], bytes: &[u8]) -> String {
    let (manifest, sha256) = (plugin.manifest(), hex(bytes));
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    if as_json {
        let out = out.display().to_string();
        let facts = json!({
            "archive": out, "bytes": bytes.len(), "sha256": sha256, "files": names,
            "name": manifest.name, "version": manifest.version, "component-sha256": plugin.sha256(),
        });
        return format!("{facts:#}\n");
    }
    format!(
        "plugin   {} {}\narchive  {} ({} bytes)\nsha256   {sha256}\nfiles    {}\n",
        manifest.name,
        manifest.version,
        out.display(),
        bytes.len(),
        names.join(", "),
    )
}

/// The component that is meant: a file itself, or the one in a folder.
fn component_of(plugin: &Path) -> Result<PathBuf, Problems> {
    if !plugin.is_dir() {
        return Ok(plugin.to_owned());
    }
    let entries =
        fs::read_dir(plugin).map_err(|error| cannot(&format!("{} cannot be read", plugin.display()), error))?;
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|it| it == "wasm") && path.is_file()).collect();
    files.sort();
    match <[PathBuf; 1]>::try_from(files) {
        Ok([file]) => Ok(file),
        Err(files) => {
            let (folder, count) = (plugin.display(), files.len());
            let problem = match count {
                0 => Problem::new(format!("there is no component in {folder}"))
                    .help(format!("`host plugin build {folder}` makes it")),
                _ => Problem::new(format!("there are {count} .wasm files in {folder}"))
                    .help(format!("name the one that is meant: host plugin pack {}", files[0].display())),
            };
            Err((Exit::Project, problem).into())
        }
    }
}

/// The archive's files in their order.
fn contents(plugin: &Plugin, file: &Path, folder: &Path) -> Result<Vec<Entry>, Problems> {
    let manifest = plugin.manifest();
    let mut missing = Vec::new();
    let readme = fs::read(folder.join(README)).unwrap_or_default();
    if readme.trim_ascii().is_empty() {
        missing.push(
            Problem::new(format!("{} is missing or empty", folder.join(README).display()))
                .help("it says what the plugin does, its settings, and when to use it"),
        );
    }
    if manifest.summary.trim().is_empty() {
        missing.push(Problem::new("the plugin's manifest has no summary").help("one sentence on what it does"));
    }
    let schema: Option<Value> = serde_json::from_str(&manifest.config_schema).ok();
    if schema.is_none() {
        missing.push(
            Problem::new("the plugin's manifest has no schema of its settings")
                .help("for none: {\"type\": \"object\", \"additionalProperties\": false, \"properties\": {}}"),
        );
    }
    if !missing.is_empty() {
        return Err(Problems::new(Exit::Project, missing));
    }
    let component = fs::read(file).map_err(|error| cannot(&format!("{} cannot be read", file.display()), error))?;
    // Read a second time: in between it may have become another one.
    if hex(&component) != plugin.sha256() {
        let problem = Problem::new(format!("{} changed while it was packed", file.display()));
        return Err((Exit::Project, problem.help("run the command again")).into());
    }
    let mut entries = vec![Entry::new(README, readme)];
    entries.extend(licences(folder));
    entries.push(Entry::new(format!("{}.wasm", manifest.name), component));
    entries.push(Entry::new("manifest.json", pretty(&about(plugin))));
    entries.push(Entry::new("settings.schema.json", pretty(&schema.unwrap_or_default())));
    let sums: String = entries.iter().map(|entry| format!("{}  {}\n", hex(&entry.bytes), entry.name)).collect();
    entries.push(Entry::new("SHA256SUMS", sums.into_bytes()));
    Ok(entries)
}

/// What `inspect` says, without where the file lay here.
fn about(plugin: &Plugin) -> Value {
    let mut facts = facts(plugin);
    facts["file"] = json!(format!("{}.wasm", plugin.manifest().name));
    facts
}

fn licences(folder: &Path) -> Vec<Entry> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(LICENSE)).collect();
    names.sort();
    names.into_iter().filter_map(|name| Some(Entry::new(name.clone(), fs::read(folder.join(name)).ok()?))).collect()
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn cannot(what: &str, error: std::io::Error) -> Problems {
    (Exit::Project, Problem::new(what).caused_by(error)).into()
}
