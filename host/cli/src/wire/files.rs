//! Which plugin files a run has: those that the configuration lists, and those that lie in the folder.
//!
//! It starts none of them. Main function: [`found`].

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use host_callback::{Grant, InstanceName};
use host_sandbox::{LoadError, Plugin, Sandbox, SandboxConfig};

use crate::{
    config::{InstancePlan, Plan},
    exit::Exit,
    problem::{Problem, Problems},
};

/// A plugin of the run, and how it is to be started.
pub(super) struct Found<'a> {
    /// The loaded file.
    pub(super) plugin: Arc<Plugin>,
    /// The entry that lists it; `None` for a file that only lies in the folder.
    pub(super) entry: Option<&'a InstancePlan>,
    /// The instance's name.
    pub(super) name: InstanceName,
    /// What it is granted.
    pub(super) grant: Grant,
}

/// What was found, what is wrong with listed files, and what is to be said about others.
#[derive(Default)]
pub(super) struct Findings<'a> {
    pub(super) found: Vec<Found<'a>>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<String>,
}

/// The sandbox with a configuration's cache.
///
/// # Errors
///
/// When the engine or the cache's folder cannot be used.
pub(crate) fn sandbox(plan: &Plan) -> Result<Sandbox, Problems> {
    let config = SandboxConfig { cache: Some(plan.plugins.cache.clone()), ..SandboxConfig::default() };
    Sandbox::new(config).map_err(|error| {
        let help = "`plugins.cache` names the folder";
        Problems::from((Exit::Plugin, plan.problem_at(&["plugins", "cache"], error.to_string(), help)))
    })
}

/// Loads every plugin: listed ones must load, others that do not are left out with a warning.
pub(super) fn found<'a>(plan: &'a Plan, sandbox: &Sandbox) -> Findings<'a> {
    let mut findings = Findings::default();
    for entry in plan.instances.iter().filter(|entry| entry.enabled) {
        match listed(plan, entry, sandbox) {
            Ok(found) => findings.found.push(found),
            Err(mut problems) => findings.problems.append(&mut problems),
        }
    }
    let listed: BTreeSet<PathBuf> = plan.instances.iter().filter_map(|entry| entry.file.canonicalize().ok()).collect();
    for file in wasm_files(&plan.plugins.folder) {
        if file.canonicalize().is_ok_and(|file| listed.contains(&file)) {
            continue;
        }
        match unlisted(&file, plan, sandbox) {
            Ok(found) => findings.found.push(found),
            Err(warning) => findings.warnings.push(warning),
        }
    }
    findings
}

fn listed<'a>(plan: &'a Plan, entry: &'a InstancePlan, sandbox: &Sandbox) -> Result<Found<'a>, Vec<Problem>> {
    let name = entry.name.as_str();
    let plugin = sandbox.load(&entry.file).map_err(|error| {
        let help = "`file` is relative to `plugins.folder`; `host inspect FILE` shows what a file is";
        vec![plan.problem_at(&["plugin", name, "file"], load_words(&error), help)]
    })?;
    if let Some(pin) = entry.sha256.as_ref().filter(|pin| *pin != plugin.sha256()) {
        let message = format!("{} has the SHA-256 {} and not {pin}", entry.file.display(), plugin.sha256());
        let help = "if the new file is wanted, look at it and change `sha256`";
        return Err(vec![plan.problem_at(&["plugin", name, "sha256"], message, help)]);
    }
    let problems = plan.check_config(entry, &plugin.manifest().config_schema);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Found { plugin, entry: Some(entry), name: entry.name.clone(), grant: entry.grant.clone() })
}

fn load_words(error: &LoadError) -> String {
    format!("plugin {error}")
}

fn unlisted<'a>(file: &Path, plan: &Plan, sandbox: &Sandbox) -> Result<Found<'a>, String> {
    let plugin = sandbox.load(file).map_err(|error| format!("{} and is left out", load_words(&error)))?;
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name: InstanceName = stem
        .to_ascii_lowercase()
        .replace(['_', '.', ' '], "-")
        .parse()
        .map_err(|error| format!("plugin {} is left out: {error}; rename the file", file.display()))?;
    if plan.instances.iter().any(|entry| entry.name == name) {
        let file = file.display();
        return Err(format!("plugin {file} is left out: [[plugin]] `{name}` is another file; rename this one"));
    }
    Ok(Found { plugin, entry: None, name, grant: Grant::Observe })
}

/// The `.wasm` files of a folder in the order of their names; none where there is no folder.
fn wasm_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_wasm = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm") && path.is_file();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_wasm).collect();
    files.sort();
    files
}
