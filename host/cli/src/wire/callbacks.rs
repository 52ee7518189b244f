//! The sandbox's side of the wiring: plugins are started, get their state back, and become a chain.
//!
//! It does not load files (`files` does). Main function: [`callbacks`].

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use host_callback::{Callback, Chain, Grant, InstanceName, Permit, RunInfo, SavedState};
use host_sandbox::{InstanceSettings, Loaded, OnFailure, Sandbox, StartError, Wanted};
use host_trainer::AnyRun;
use serde_json::{Value, json};

use super::{
    GuestLog, Resume,
    files::{Found, found, sandbox},
};
use crate::{
    config::{InstancePlan, Plan},
    environment::PluginFile,
    exit::Exit,
    problem::{Problem, Problems},
    telemetry::Story,
};

/// The callbacks of a run.
pub(crate) struct Callbacks {
    /// In the order in which they are called.
    pub(crate) chain: Chain,
    /// The files that they came from.
    pub(crate) files: Vec<PluginFile>,
    /// What the timeline should say about them.
    pub(crate) stories: Vec<Story>,
    /// What a watch begins with.
    pub(super) sandbox: Sandbox,
    pub(super) members: Vec<Loaded>,
    pub(super) left_out: Vec<PathBuf>,
}

/// Starts every plugin of a run and gives each the state that the checkpoint has for it.
///
/// # Errors
///
/// Everything that is wrong with listed plugins. A file that only lies in the folder and does not start is left
/// out with a warning.
pub(crate) fn callbacks(
    plan: &Plan,
    run: &dyn AnyRun,
    log: &GuestLog,
    resume: Option<&Resume>,
) -> Result<Callbacks, Problems> {
    let sandbox = sandbox(plan)?;
    let findings = found(plan, &sandbox);
    let mut problems = findings.problems;
    let mut stories: Vec<Story> =
        findings.warnings.into_iter().map(|text| Story::new("left-out", text).warning()).collect();
    let info = run.info();
    let (mut members, mut left_out) = (Vec::new(), findings.left_out);
    let (mut started, mut files): (Vec<(Box<dyn Callback>, Permit)>, _) = (Vec::new(), Vec::new());
    for found in findings.found {
        match start(plan, run, &info, log, &found) {
            Ok(callback) => {
                let permit = Permit::new(found.plugin.manifest(), &found.grant);
                stories.push(loaded(&found, &permit));
                files.push(file(&found));
                members.push(member(plan, found, permit.clone()));
                started.push((callback, permit));
            }
            Err(error) if found.entry.is_some() => {
                problems.push(plan.problem_at(&["plugin", found.name.as_str()], error.to_string(), ""));
            }
            Err(error) => {
                stories.push(Story::new("left-out", format!("{error}; it is left out")).warning());
                left_out.push(found.plugin.file().to_owned());
            }
        }
    }
    if !problems.is_empty() {
        return Err(Problems::new(Exit::Plugin, problems));
    }
    let mut chain = Chain::new(run.catalog().clone(), started).map_err(|unknown| {
        let problem = |one: &host_callback::UnknownMeasurement| {
            let help = "`host check` lists every measurement of this run";
            plan.problem_at(&["plugin", one.instance.as_str(), "config"], one.to_string(), help)
        };
        Problems::new(Exit::Plugin, unknown.iter().map(problem).collect())
    })?;
    stories.extend(shared_knobs(&chain, run));
    stories.push(order(&chain));
    if let Some(resume) = resume {
        stories.extend(give_states_back(&mut chain, resume)?);
    }
    Ok(Callbacks { chain, files, stories, sandbox, members, left_out })
}

fn start(
    plan: &Plan,
    run: &dyn AnyRun,
    info: &RunInfo,
    log: &GuestLog,
    found: &Found<'_>,
) -> Result<Box<dyn Callback>, StartError> {
    let wanted = how(plan, found);
    let callback = found.plugin.start(InstanceSettings {
        name: wanted.name,
        config: wanted.config,
        order: wanted.order,
        limits: wanted.limits,
        on_failure: wanted.on_failure,
        run: info.clone(),
        catalog: run.catalog().clone(),
        log: Arc::new(log.clone()),
    })?;
    Ok(callback.in_its_lane())
}

fn member(plan: &Plan, found: Found<'_>, permit: Permit) -> Loaded {
    Loaded { wanted: how(plan, &found), plugin: found.plugin, permit }
}

fn how(plan: &Plan, found: &Found<'_>) -> Wanted {
    match found.entry {
        Some(entry) => listed(entry),
        None => unlisted(plan, found.name.clone(), found.plugin.file()),
    }
}

/// How an instance with an entry runs.
pub(super) fn listed(entry: &InstancePlan) -> Wanted {
    Wanted {
        name: entry.name.clone(),
        file: entry.file.clone(),
        sha256: entry.sha256.clone(),
        grant: entry.grant.clone(),
        config: entry.config.clone(),
        order: entry.order,
        limits: entry.limits,
        on_failure: entry.on_failure,
    }
}

/// How an instance without one runs.
pub(super) fn unlisted(plan: &Plan, name: InstanceName, file: &Path) -> Wanted {
    Wanted {
        name,
        file: file.to_owned(),
        sha256: None,
        grant: Grant::Observe,
        config: Value::Null,
        order: None,
        limits: plan.plugins.limits,
        on_failure: OnFailure::default(),
    }
}

fn file(found: &Found<'_>) -> PluginFile {
    PluginFile {
        instance: found.name.to_string(),
        file: found.plugin.file().display().to_string(),
        sha256: found.plugin.sha256().to_owned(),
    }
}

fn loaded(found: &Found<'_>, permit: &Permit) -> Story {
    let manifest = found.plugin.manifest();
    let (plugin, version) = (&manifest.name, &manifest.version);
    let mut text = format!("{plugin} {version} may {}", may(permit));
    if found.entry.is_none() && (!manifest.requests.is_empty() || !manifest.knobs.is_empty()) {
        text = format!("{text}; it asks for more, which this entry would give it: {}", entry_to_paste(found));
    }
    Story::new("loaded", text).about(&found.name).with("sha256", found.plugin.sha256()).with("permit", json!(permit))
}

/// What a callback may do, in words.
pub(crate) fn may(permit: &Permit) -> String {
    let mut words = vec!["read, report and note".to_owned()];
    words.extend(permit.requests().iter().map(|request| request.name().to_owned()));
    words.extend(permit.knobs().into_iter().map(|knobs| format!("write {knobs}")));
    words.join(", ")
}

fn entry_to_paste(found: &Found<'_>) -> String {
    paste(&found.name, found.plugin.file(), found.plugin.sha256())
}

/// An entry in one line, for whoever wants to give an instance more.
pub(super) fn paste(name: &InstanceName, file: &Path, sha256: &str) -> String {
    let file = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("[[plugin]] name = \"{name}\" file = \"{file}\" sha256 = \"{sha256}\"")
}

/// Who runs when.
fn order(chain: &Chain) -> Story {
    let names: Vec<&str> = chain.members().map(|(identity, _)| identity.instance.as_str()).collect();
    let text = if names.is_empty() { "no callbacks".to_owned() } else { names.join(", ") };
    Story::new("order", format!("callbacks run in this order: {text}")).with("order", json!(names))
}

/// Knobs that several callbacks may write: the last one's value counts. Knobs with the same writers are one line.
fn shared_knobs(chain: &Chain, run: &dyn AnyRun) -> Vec<Story> {
    let writers = |name: &str| -> Vec<String> {
        let may = chain.members().filter(|(_, permit)| permit.knob(name).is_some());
        may.map(|(identity, _)| identity.instance.to_string()).collect()
    };
    let mut shared: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for (_, knob) in run.knobs().iter() {
        let writers = writers(&knob.spec.name);
        match shared.iter_mut().find(|(known, _)| *known == writers) {
            _ if writers.len() < 2 => {}
            Some((_, knobs)) => knobs.push(knob.spec.name.clone()),
            None => shared.push((writers, vec![knob.spec.name.clone()])),
        }
    }
    let line = |(writers, knobs): (Vec<String>, Vec<String>)| {
        let named: Vec<String> = knobs.iter().take(NAMED_KNOBS).map(|knob| format!("`{knob}`")).collect();
        let more = knobs.len() - named.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let knob = if knobs.len() == 1 { "knob" } else { "knobs" };
        let (named, by) = (named.join(", "), writers.join(" and "));
        let text = format!("{knob} {named}{more} may be written by {by}, in this order");
        Story::new("shared-knob", text).warning().with("knobs", json!(knobs)).with("writers", json!(writers))
    };
    shared.into_iter().map(line).collect()
}

/// Knobs that a line names before it counts the rest.
const NAMED_KNOBS: usize = 6;

fn give_states_back(chain: &mut Chain, resume: &Resume) -> Result<Vec<Story>, Problems> {
    let failed = |message: String, help: &str| Problems::from((Exit::Checkpoint, Problem::new(message).help(help)));
    let states: Vec<SavedState> = resume.checkpoint.callbacks().map_err(|error| failed(error.to_string(), ""))?;
    let reports = resume.checkpoint.reports().map_err(|error| failed(error.to_string(), ""))?;
    chain.load_reports(&reports);
    let disabled = resume.checkpoint.disabled().map_err(|error| failed(error.to_string(), ""))?;
    chain.load_disabled(&disabled);
    let mut stories = Vec::new();
    for state in &states {
        let instance = &state.instance;
        match chain.load(state) {
            Ok(true) => {}
            Ok(false) => {
                let text = format!("the checkpoint has a state of `{instance}`, which is not in this run");
                stories.push(Story::new("state-left-out", text).warning());
            }
            Err(failure) => {
                let message = format!("callback `{instance}` does not take its state back: {failure}");
                let wrote = format!(
                    "{} {} wrote it; use that version, or give the instance another name",
                    state.plugin, state.version
                );
                return Err(failed(message, &wrote));
            }
        }
    }
    Ok(stories)
}
