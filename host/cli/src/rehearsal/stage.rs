//! A plugin on its way into rehearsals: its file, its settings, and the configuration of a scenario around it.
//!
//! Main type: [`Stage`].

use std::{collections::VecDeque, path::Path};

use host_callback::{Chain, Pattern, Subscription};
use host_sandbox::InstanceSettings;
use host_trainer::{StopFlag, Store, task::Course};
use serde_json::Value;
use tempfile::TempDir;

use super::{Play, Tape, spy::Spy};
use crate::{
    config::{self, Plan},
    exit::Exit,
    problem::{Problem, Problems},
    wire::{self, GuestLog},
};

/// Length and rhythm of a scenario: 200 steps, an evaluation every tenth, a checkpoint every fiftieth.
const TRAINING: &str = r#"
[train]
batch-size = 4
evaluate-every = "10st"
log-every = "10st"
save-every = "50st"

[optimizer]
learning-rate = 0.01

[[optimizer.group]]
name = "encoder"
parameters = ["encoder"]
"#;

/// Epochs of a scenario that the command line does not make longer.
pub(crate) const EPOCHS: u64 = 10;

/// A folder for the checkpoints of a rehearsal, which nobody needs after it: in memory, where the system has that.
fn place() -> Result<TempDir, Problems> {
    let in_memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    in_memory
        .map_err(|error| (Exit::RunFolder, Problem::new("there is no room for a rehearsal").caused_by(error)).into())
}

/// A plugin with its settings.
pub(crate) struct Stage<'a> {
    /// Its file.
    pub(crate) file: &'a Path,
    /// Its name, which is the instance's too.
    pub(crate) name: &'a str,
    /// Its settings, an object.
    pub(crate) config: Value,
    /// `--set`, below the plugin's settings.
    pub(crate) set: Vec<String>,
    /// Epochs of 20 steps.
    pub(crate) epochs: u64,
}

impl Stage<'_> {
    /// The configuration of a scenario, checked like any other.
    ///
    /// # Errors
    ///
    /// What is wrong with the plugin's settings.
    pub(crate) fn plan(&self, course: Course, folder: &Path) -> Result<Plan, Problems> {
        let failed = |problem: Problem| Problems::from((Exit::Configuration, problem));
        let file = std::path::absolute(self.file).unwrap_or_else(|_| self.file.to_owned());
        let text = |value: &Path| toml::Value::String(value.display().to_string());
        let course = serde_json::to_value(course).unwrap_or_default();
        let mut entry = toml::Table::new();
        entry.insert("name".into(), self.name.into());
        entry.insert("file".into(), text(&file));
        let config = toml::Value::try_from(&self.config)
            .map_err(|error| failed(Problem::new("the settings cannot be written as TOML").caused_by(error)))?;
        entry.insert("config".into(), config);
        let mut plugin = toml::Table::new();
        plugin.insert("plugin".into(), toml::Value::Array(vec![toml::Value::Table(entry)]));
        let epochs = self.epochs;
        let document = format!(
            "[run]\nname = \"rehearsal\"\nseed = 1\ndevice = \"cpu\"\n\n[task]\nkind = \"scenario\"\ncourse = {course}\n\
             epochs = {epochs}\n{}\n[plugins]\nfolder = {}\nwatch = false\n\n{plugin}",
            TRAINING.replace("[train]", &format!("[train]\nepochs = {epochs}")),
            text(folder),
        );
        let set: Vec<String> = self.set.iter().map(|set| format!("plugin.{}.config.{set}", self.name)).collect();
        config::of_text(Path::new("rehearsal.toml"), document, &set, host_trainer::task::KINDS)
    }

    /// Starts the plugin and trains nothing: what it listens to, in words.
    ///
    /// # Errors
    ///
    /// What keeps the plugin from starting.
    pub(crate) fn start(&self, course: Course) -> Result<Vec<String>, Problems> {
        let folder = place()?;
        let plan = self.plan(course, folder.path())?;
        let run = wire::prepare(&plan, None)?.run;
        let chain = wire::callbacks(&plan, run.as_ref(), &GuestLog::default(), None)?.chain;
        let words = |Subscription { hook, every, reads }: &Subscription| {
            let rhythm = if *every > 1 { format!(", every {every}th time") } else { String::new() };
            let reads: Vec<&str> = reads.iter().map(Pattern::as_str).collect();
            let reads = if reads.is_empty() { String::new() } else { format!(": {}", reads.join(", ")) };
            format!("{hook}{rhythm}{reads}")
        };
        Ok(chain.subscriptions().flat_map(|(_, all)| all).map(words).collect())
    }

    /// How its instances are started in a scenario.
    ///
    /// # Errors
    ///
    /// What is wrong with the plugin's settings.
    pub(crate) fn instance(&self, course: Course) -> Result<InstanceSettings, Problems> {
        let folder = place()?;
        let plan = self.plan(course, folder.path())?;
        let run = wire::prepare(&plan, None)?.run;
        let settings =
            plan.instances.first().map(|instance| (instance.name.clone(), instance.config.clone(), instance.limits));
        let (name, config, limits) = settings.expect("the configuration of a scenario has the plugin");
        Ok(InstanceSettings { config, limits, ..InstanceSettings::new(name, run.info(), run.catalog().clone()) })
    }

    /// Plays a scenario. The plugin's instance is changed for a new one with its state after each of these numbers of
    /// steps.
    ///
    /// # Errors
    ///
    /// What keeps the plugin from starting.
    pub(crate) fn play(&self, course: Course, changes: &[u64]) -> Result<Play, Problems> {
        let folder = place()?;
        let plan = self.plan(course, folder.path())?;
        let mut run = wire::prepare(&plan, None)?.run;
        let log = GuestLog::default();
        let start = || wire::callbacks(&plan, run.as_ref(), &log, None).map(|callbacks| callbacks.chain);
        let chain = start()?;
        let understudies = changes.iter().map(|&step| Ok((step, start()?)));
        let understudies = understudies.collect::<Result<VecDeque<(u64, Chain)>, Problems>>()?;
        let tape = Tape::default();
        let mut spy = Spy { chain, catalog: run.catalog().clone(), understudies, tape: tape.clone() };
        let failed =
            |error: host_trainer::CheckpointError| Problems::from((Exit::Checkpoint, Problem::new(error.to_string())));
        let mut store = Store::open(&folder.path().join("checkpoints"), plan.settings.keep).map_err(failed)?;
        run.train(&mut store, &mut spy, &mut tape.clone(), &StopFlag::new());
        drop(spy);
        Ok(tape.finish())
    }
}
