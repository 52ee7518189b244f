//! A configuration that was checked and completed: what the program does what with.
//!
//! It does not know whether files exist: the wiring finds out, and says it with [`Plan::problem_at`]. Main
//! type: [`Plan`].

use std::{path::PathBuf, time::Duration};

use host_callback::{Grant, InstanceName};
use host_sandbox::{CompileLimits, Limits, OnFailure};
use host_trainer::{Settings, device::DeviceChoice};
use serde_json::Value;

use super::{
    check::Checker,
    schema::{self, Sections},
    written::Written,
};
use crate::problem::Problem;

/// Everything that a configuration says, with every default filled in.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The configuration file, as it was named on the command line.
    pub(crate) file: PathBuf,
    /// The folder that relative paths of the file start from; all other paths here are below it already.
    pub(crate) base: PathBuf,
    /// What the loop is told. `until` is `None`: the command line may fill it in.
    pub(crate) settings: Settings,
    /// The device that was asked for.
    pub(crate) device: DeviceChoice,
    /// How many processes share each batch; at least 1.
    pub(crate) ranks: usize,
    /// The folder of all runs.
    pub(crate) runs: PathBuf,
    /// What is trained.
    pub(crate) task: TaskPlan,
    /// What holds for all plugins.
    pub(crate) plugins: PluginsPlan,
    /// The configured instances, disabled ones too, in the order of the file.
    pub(crate) instances: Vec<InstancePlan>,
    /// All of this as a configuration file: defaults and `--set` are in it, and reading it gives this plan again.
    pub(crate) document: String,
    /// For errors that are found later.
    pub(super) written: Written,
}

/// `[task]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TaskPlan {
    /// Which task.
    pub(crate) kind: String,
    /// The other keys; they fit the task's schema. Defaults are the task's own affair.
    pub(crate) settings: Value,
}

/// `[plugins]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PluginsPlan {
    /// The folder whose `*.wasm` files are loaded.
    pub(crate) folder: PathBuf,
    /// The folder for compiled plugins.
    pub(crate) cache: PathBuf,
    /// Whether changes of the folder and of `[[plugin]]` entries are taken up while a run goes on.
    pub(crate) watch: bool,
    /// How long a changed file must stay as it is before it is taken up.
    pub(crate) settle: Duration,
    /// The largest plugin file in bytes.
    pub(crate) file_bytes: u64,
    /// What compiling one file may take.
    pub(crate) compile: CompileLimits,
    /// What an instance without an entry may use.
    pub(crate) limits: Limits,
}

/// One `[[plugin]]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InstancePlan {
    /// The instance's name; unique.
    pub(crate) name: InstanceName,
    /// The component's file.
    pub(crate) file: PathBuf,
    /// Whether it takes part. The file of a disabled one is not loaded without an entry either.
    pub(crate) enabled: bool,
    /// The only SHA-256 that the file may have, in 64 lower-case hex digits.
    pub(crate) sha256: Option<String>,
    /// Its place among callbacks; `None` for the manifest's.
    pub(crate) order: Option<i32>,
    /// What a failure means.
    pub(crate) on_failure: OnFailure,
    /// What it may do.
    pub(crate) grant: Grant,
    /// What it may use.
    pub(crate) limits: Limits,
    /// Its own settings, an object; see [`Plan::check_config`].
    pub(crate) config: Value,
}

impl Plan {
    /// A problem with what the configuration says at a path, shown there.
    ///
    /// Elements of lists go by name: `["plugin", "early-stopping", "file"]`. Where the path was not written,
    /// the nearest place above it is shown. `help` may be empty.
    pub(crate) fn problem_at(&self, path: &[&str], message: impl Into<String>, help: impl Into<String>) -> Problem {
        let path = self.written.path(path);
        let place = self.written.value_origin(&path).map(|origin| self.written.spot(origin, ""));
        Problem::new(message).at(place).help(help)
    }

    /// Every problem in an instance's configuration by the JSON Schema of its plugin's manifest.
    ///
    /// A plugin without a schema gets the configuration as it is, and checks it when it starts.
    pub(crate) fn check_config(&self, instance: &InstancePlan, schema: &str) -> Vec<Problem> {
        if schema.trim().is_empty() {
            return Vec::new();
        }
        let path = ["plugin", instance.name.as_str(), "config"];
        let sections = Sections::none();
        let checker = Checker { written: &self.written, sections: &sections };
        let violations = serde_json::from_str(schema).map_err(|error| error.to_string()).and_then(|mut schema| {
            schema::tidy(&mut schema);
            checker.check(&self.written.path(&path), &schema, &instance.config)
        });
        match violations {
            Ok(violations) => violations.into_iter().map(|violation| violation.problem).collect(),
            Err(why) => vec![self.problem_at(&path, format!("the plugin's schema cannot be used: {why}"), "")],
        }
    }
}
