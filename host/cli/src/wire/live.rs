//! The sandbox's side of the wiring while a run goes on: which plugins there should be by now, and what became of them.
//!
//! It loads and swaps nothing: the sandbox's [`Live`] does. Main function: [`live`].

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use host_callback::{InstanceName, Lane, Permit, Summary};
use host_sandbox::{Live, LiveNews, LiveSetup, LiveSink, LiveTimes, Roster, Wanted};
use host_trainer::AnyRun;
use serde_json::{Value, json};

use super::{
    Callbacks, GuestLog,
    callbacks::{listed, may, paste, unlisted},
    files::name_of,
};
use crate::{
    config::{self, Plan},
    run_folder::RunFolder,
    telemetry::{Story, Telemetry, words},
};

/// The file of a run's folder that tells how it stands with its plugins.
pub(crate) const TABLE: &str = "plugins.json";

/// Puts the callbacks of a run under watch.
///
/// # Errors
///
/// When the thread that watches cannot be started.
pub(crate) fn live(
    plan: &Plan,
    sets: &[String],
    run: &dyn AnyRun,
    callbacks: Callbacks,
    log: &GuestLog,
    stories: &Arc<Stories>,
) -> io::Result<Live> {
    let roster = || Box::new(Configured::new(plan, sets)) as Box<dyn Roster>;
    Live::start(LiveSetup {
        sandbox: callbacks.sandbox,
        chain: callbacks.chain,
        members: callbacks.members,
        seen: callbacks.left_out,
        roster: plan.plugins.watch.then(roster),
        sink: Arc::clone(stories) as Arc<dyn LiveSink>,
        run: run.info(),
        catalog: run.catalog().clone(),
        log: Arc::new(log.clone()),
        times: LiveTimes { quiet: plan.plugins.settle, ..LiveTimes::default() },
    })
}

/// What the configuration says by now.
struct Configured {
    plan: Plan,
    sets: Vec<String>,
    /// What the run began with: only `plugin` and `plugins.limits` can change.
    began: toml::Table,
}

impl Configured {
    fn new(plan: &Plan, sets: &[String]) -> Self {
        Self { plan: plan.clone(), sets: sets.to_owned(), began: fixed(plan) }
    }
}

impl Roster for Configured {
    fn folder(&self) -> PathBuf {
        self.plan.plugins.folder.clone()
    }

    fn configuration(&self) -> Option<PathBuf> {
        // What came through a pipe cannot be read again.
        self.plan.file.is_file().then(|| self.plan.file.clone())
    }

    fn reread(&mut self) -> Result<Vec<String>, String> {
        let plan = config::load(&self.plan.file, &self.sets, host_trainer::task::KINDS).map_err(|bad| bad.first())?;
        if plan.plugins.folder != self.plan.plugins.folder {
            return Err("`plugins.folder` cannot change in a run".to_owned());
        }
        let mut keys = Vec::new();
        differences("", &self.began, &fixed(&plan), &mut keys);
        self.plan = plan;
        Ok(keys)
    }

    fn listed(&self) -> Vec<Wanted> {
        self.plan.instances.iter().filter(|entry| entry.enabled).map(listed).collect()
    }

    fn unlisted(&self, file: &Path) -> Result<Option<Wanted>, String> {
        let same = |other: &Path| match (file.canonicalize(), other.canonicalize()) {
            (Ok(file), Ok(other)) => file == other,
            _ => file == other,
        };
        if self.plan.instances.iter().any(|entry| same(&entry.file)) {
            return Ok(None);
        }
        name_of(file, &self.plan).map(|name| Some(unlisted(&self.plan, name, file)))
    }
}

/// What cannot change in a run.
fn fixed(plan: &Plan) -> toml::Table {
    // The document was written by this program, so it can be read.
    let mut table: toml::Table = plan.document.parse().unwrap_or_default();
    table.remove("plugin");
    if let Some(toml::Value::Table(plugins)) = table.get_mut("plugins") {
        plugins.remove("limits");
    }
    table
}

/// The keys whose values differ.
fn differences(above: &str, before: &toml::Table, after: &toml::Table, keys: &mut Vec<String>) {
    let new = after.iter().filter(|(key, _)| !before.contains_key(*key)).map(|(key, _)| key);
    for key in before.keys().chain(new) {
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match (before.get(key), after.get(key)) {
            (Some(toml::Value::Table(before)), Some(toml::Value::Table(after))) => {
                differences(&path, before, after, keys);
            }
            (before, after) if before != after => keys.push(path),
            _ => {}
        }
    }
}

/// Tells the timeline what became of plugins, and keeps the table in the run's folder.
pub(crate) struct Stories {
    telemetry: Telemetry,
    folder: RunFolder,
    /// The run is over: what comes now is of nobody's interest.
    over: AtomicBool,
    /// Whether it was said that the table cannot be written. Held while it is, so that the last one stays; the loop
    /// never waits for it.
    complained: Mutex<bool>,
}

impl Stories {
    /// Tells them to this telemetry, and writes into this folder.
    pub(crate) fn new(telemetry: &Telemetry, folder: &RunFolder) -> Arc<Self> {
        let (telemetry, folder) = (telemetry.clone(), folder.clone());
        Arc::new(Self { telemetry, folder, over: AtomicBool::new(false), complained: Mutex::new(false) })
    }

    /// The run is over, and this is how it stood.
    pub(crate) fn finish(&self, step: u64, rows: &[Summary]) {
        self.over.store(true, Ordering::Release);
        self.write(false, step, rows);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    fn write(&self, running: bool, step: u64, rows: &[Summary]) {
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        if running && self.is_over() {
            return;
        }
        let updated = words::moment(SystemTime::now());
        let table = json!({ "running": running, "step": step, "updated": updated, "plugins": rows });
        if let Err(error) = self.folder.write_json(TABLE, &table)
            && !std::mem::replace(&mut *complained, true)
        {
            self.telemetry.tell(Story::new("plugins-table", error.to_string()).warning());
        }
    }
}

impl LiveSink for Stories {
    fn told(&self, news: &LiveNews) {
        if !self.is_over() {
            self.telemetry.tell(story(news));
        }
    }

    fn table(&self, step: u64, rows: &[Summary]) {
        self.write(true, step, rows);
    }
}

/// The one line that a change becomes.
fn story(news: &LiveNews) -> Story {
    match news {
        LiveNews::Swapped { from, to, permit, settings, hand_over } => {
            let what = match (from.sha256 == to.sha256, settings.as_slice()) {
                (true, keys) => format!("{} {} has a new {}", to.plugin, to.version, keys.join(", ")),
                (false, []) => format!("{} {} took over from {}", to.plugin, to.version, from.version),
                (false, keys) => {
                    format!(
                        "{} {} took over from {}, with a new {}",
                        to.plugin,
                        to.version,
                        from.version,
                        keys.join(", ")
                    )
                }
            };
            Story::new("swapped", format!("{what}; its state goes on; it may {}", may(permit)))
                .about(&to.instance)
                .with("from", json!({ "version": from.version, "sha256": from.sha256 }))
                .with("to", json!({ "version": to.version, "sha256": to.sha256 }))
                .with("settings", json!(settings))
                .with("permit", json!(permit))
                .with("seconds", hand_over.as_secs_f64())
        }
        LiveNews::Granted { by, permit } => Story::new("granted", format!("it may {} from now on", may(permit)))
            .about(&by.instance)
            .with("permit", json!(permit)),
        LiveNews::Joined { by, file, permit, manifest, grant } => {
            let sha256 = by.sha256.as_deref().unwrap_or_default();
            let mut text = format!("{} {} joined; it may {}", by.plugin, by.version, may(permit));
            let asks = !manifest.requests.is_empty() || !manifest.knobs.is_empty();
            let has_less = *permit != Permit::new(manifest, &host_callback::Grant::Declared);
            if asks && has_less && manifest.lane == Lane::Inline && *grant == host_callback::Grant::Observe {
                let entry = paste(&by.instance, file, sha256);
                text = format!("{text}; it asks for more, which this entry would give it: {entry}");
            }
            Story::new("joined", text).about(&by.instance).with("sha256", sha256).with("permit", json!(permit))
        }
        LiveNews::Retired { by, why } => Story::new("retired", format!("it takes no part any more: {why}"))
            .about(&by.instance)
            .with("sha256", json!(by.sha256)),
        LiveNews::Refused { instance, file, sha256, why, stays } => {
            refused(instance.as_ref(), file, sha256, why, *stays)
        }
        LiveNews::RolledBack { from, to, why } => {
            let text = format!(
                "{} {} failed in its first calls, and {} is back with the state that it had: {why}",
                from.plugin, from.version, to.version
            );
            Story::new("rolled-back", text)
                .about(&to.instance)
                .warning()
                .with("from", json!({ "version": from.version, "sha256": from.sha256 }))
                .with("to", json!({ "version": to.version, "sha256": to.sha256 }))
        }
        LiveNews::FolderGone { folder, why } => {
            let folder = folder.display();
            let text = format!("the folder {folder} cannot be read: {why}; the plugins that are loaded go on");
            Story::new("folder-gone", text).warning()
        }
        LiveNews::FolderBack { folder } => {
            Story::new("folder-back", format!("the folder {} is there", folder.display()))
        }
        LiveNews::Ignored { keys } => {
            let text = format!("the configuration changed in what cannot change in a run: {}", keys.join(", "));
            Story::new("configuration-ignored", text).warning().with("keys", json!(keys))
        }
        LiveNews::Invalid { why } => {
            let text = format!("the configuration changed and is not taken up: {why}");
            Story::new("configuration-invalid", text).warning()
        }
    }
}

fn refused(instance: Option<&InstanceName>, file: &Path, sha256: &str, why: &str, stays: bool) -> Story {
    let goes_on = if stays { "; what was there goes on" } else { "" };
    let text = format!("{} is not taken: {why}{goes_on}", file.display());
    let story = Story::new("refused", text).warning().with("sha256", sha256).with("why", Value::from(why));
    match instance {
        Some(instance) => story.about(instance),
        None => story,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_are_named_wherever_they_are() {
        let table = |text: &str| text.parse::<toml::Table>().unwrap();
        let before = table("[run]\nseed = 1\nname = 'a'\n[train]\nepochs = 2\n[plugins]\nfolder = 'p'");
        let after = table("[run]\nseed = 2\nname = 'a'\n[train]\nsteps = 9\n[plugins]\nfolder = 'p'");
        let mut keys = Vec::new();
        differences("", &before, &after, &mut keys);
        assert_eq!(keys, ["run.seed", "train.epochs", "train.steps"]);
        keys.clear();
        differences("", &before, &before, &mut keys);
        assert!(keys.is_empty(), "{keys:?}");
    }
}
