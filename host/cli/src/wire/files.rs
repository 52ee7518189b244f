//! Which plugin files a run has: those that the configuration lists, and those that lie in the folder.
//!
//! It starts none of them. Main function: [`found`].

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use host_callback::{Grant, InstanceName};
use host_sandbox::{LoadError, Plugin, Sandbox, SandboxConfig, plugin_files};

use crate::{
    config::{InstancePlan, Plan},
    exit::Exit,
    problem::{Problem, Problems},
    program,
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
    /// Files of the folder that were looked at, and became nothing.
    pub(super) left_out: Vec<PathBuf>,
}

/// The sandbox with a configuration's cache.
///
/// # Errors
///
/// When the engine or the cache's folder cannot be used.
pub(crate) fn sandbox(plan: &Plan) -> Result<Sandbox, Problems> {
    let config = SandboxConfig {
        cache: Some(plan.plugins.cache.clone()),
        file_bytes: plan.plugins.file_bytes,
        compiler: program::compiler(plan.plugins.compile),
    };
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
    // None where there is no folder; one that comes later is watched.
    for file in plugin_files(&plan.plugins.folder).unwrap_or_default() {
        if file.canonicalize().is_ok_and(|file| listed.contains(&file)) {
            continue;
        }
        match unlisted(&file, plan, sandbox) {
            Ok(found) => findings.found.push(found),
            Err(warning) => {
                findings.warnings.push(warning);
                findings.left_out.push(file);
            }
        }
    }
    findings
}

fn listed<'a>(plan: &'a Plan, entry: &'a InstancePlan, sandbox: &Sandbox) -> Result<Found<'a>, Vec<Problem>> {
    let name = entry.name.as_str();
    let plugin = sandbox.load(&entry.file).map_err(|error| {
        let help = "`file` is relative to `plugins.folder`; `host plugin inspect FILE` shows what a file is";
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
    let name = name_of(file, plan).map_err(|why| format!("plugin {} is left out: {why}", file.display()))?;
    Ok(Found { plugin, entry: None, name, grant: Grant::Observe })
}

/// The instance that a file without an entry makes.
///
/// # Errors
///
/// Why it can make none.
pub(super) fn name_of(file: &Path, plan: &Plan) -> Result<InstanceName, String> {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name: InstanceName = stem
        .to_ascii_lowercase()
        .replace(['_', '.', ' '], "-")
        .parse()
        .map_err(|error| format!("{error}; rename the file"))?;
    if plan.instances.iter().any(|entry| entry.name == name) {
        return Err(format!("[[plugin]] `{name}` is another file; rename this one"));
    }
    Ok(name)
}
