//! One instance of a plugin in the real sandbox, and a run that exists only as events.
//! Knows no plugin, and judges no answer. An event reaches the instance as a chain would send it: at the hooks that it
//! subscribed to, when they are due, with what it reads there.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::Duration,
};

use host_callback::{Callback as _, Catalog, Decision, Event, Hook, InstanceName, MeasurementSpec, Progress, RunInfo};
use host_sandbox::{
    InstanceSettings, Limits, LogLevel, OnFailure, Plugin, Sandbox, SandboxConfig, SandboxedCallback, StartError,
};
use host_tests::guests;
use serde_json::Value;

/// Compiled once for all tests, and kept for the next run of the tests.
static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    let cache = Some(guests::target_dir().join("cache"));
    Sandbox::new(SandboxConfig { cache, ..SandboxConfig::default() }).expect("a sandbox")
});
static PLUGINS: LazyLock<Mutex<HashMap<PathBuf, Arc<Plugin>>>> = LazyLock::new(Mutex::default);

/// The plugin in a file, loaded once.
pub(crate) fn plugin(file: &Path) -> Arc<Plugin> {
    let mut plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
    let load = || SANDBOX.load(file).unwrap_or_else(|error| panic!("{error:?}"));
    Arc::clone(plugins.entry(file.to_owned()).or_insert_with(load))
}

/// An instance of a plugin, in a run.
pub(crate) struct Stage {
    pub(crate) callback: SandboxedCallback,
    config: Value,
    description: Value,
    catalog: Catalog,
    /// How often each hook has come.
    occurrences: [u64; Hook::ALL.len()],
}

impl Stage {
    /// An instance at the beginning of a run of this description.
    pub(crate) fn start(plugin: &Arc<Plugin>, config: &Value, description: &Value) -> Result<Self, StartError> {
        Self::start_at(0, plugin, config, description)
    }

    fn start_at(step: u64, plugin: &Arc<Plugin>, config: &Value, description: &Value) -> Result<Self, StartError> {
        let catalog = Catalog::new();
        let callback = plugin.start(InstanceSettings {
            name: "under-test".parse().expect("a good name"),
            config: config.clone(),
            order: None,
            // A call may wait for its turn for long where the machine is busy.
            limits: Limits { deadline: Duration::from_secs(600), ..Limits::default() },
            on_failure: OnFailure::Restart,
            run: RunInfo {
                run: "run".into(),
                step,
                world_size: 1,
                description: description.to_string(),
                ..RunInfo::default()
            },
            catalog: catalog.clone(),
            log: Arc::new(|_: &InstanceName, _: LogLevel, _: &str| {}),
        })?;
        let (config, description) = (config.clone(), description.clone());
        Ok(Self { callback, config, description, catalog, occurrences: [0; Hook::ALL.len()] })
    }

    /// What a resume makes of it: a new instance with the same configuration, which is given the saved state. This
    /// instance stays as it is.
    pub(crate) fn resumed(&mut self, step: u64) -> Self {
        let state = self.callback.save().expect("the state");
        let plugin = Arc::clone(self.callback.plugin());
        let resumed = Self::start_at(step, &plugin, &self.config, &self.description);
        let mut resumed = resumed.unwrap_or_else(|error| panic!("{error:?}"));
        if let Some((version, bytes)) = state {
            resumed.callback.load(version, &bytes).expect("its own state is taken back");
        }
        resumed.occurrences = self.occurrences;
        resumed
    }

    /// Lets a moment of the run happen. Empty where the instance is not called for it.
    pub(crate) fn send(&mut self, moment: Moment) -> Vec<Decision> {
        let occurrence = &mut self.occurrences[moment.hook.index()];
        *occurrence += 1;
        let due = self.callback.subscriptions().iter();
        let due = due.filter(|it| it.hook == moment.hook && it.is_due(*occurrence)).collect::<Vec<_>>();
        if due.is_empty() {
            return Vec::new();
        }
        let is_read = |name: &str| due.iter().flat_map(|it| &it.reads).any(|read| read.matches(name));
        let key = |name: &str| self.catalog.offer(MeasurementSpec::new(name, "1", ""));
        let scalars = moment.scalars.iter().filter(|(name, _)| is_read(name));
        let event = Event {
            scalars: scalars.map(|(name, value)| (key(name), *value)).collect(),
            vectors: Vec::new(),
            texts: Vec::new(),
            moment: host_callback::Moment {
                hook: moment.hook,
                occurrence: *occurrence,
                progress: moment.progress,
                detail: moment.detail,
            },
        };
        let place = (moment.hook, moment.progress.step);
        self.callback.handle(&event).unwrap_or_else(|failure| panic!("{place:?}: {failure}"))
    }
}

/// A moment of a run, with the numbers that can be observed then.
pub(crate) struct Moment {
    hook: Hook,
    progress: Progress,
    detail: String,
    scalars: Vec<(String, f64)>,
}

impl Moment {
    /// A hook after so many finished steps.
    pub(crate) fn at(hook: Hook, step: u64) -> Self {
        let progress = Progress { step, ..Progress::default() };
        Self { hook, progress, detail: String::new(), scalars: Vec::new() }
    }

    pub(crate) fn detail(mut self, detail: &str) -> Self {
        self.detail = detail.to_owned();
        self
    }

    pub(crate) fn epoch(mut self, epoch: f64) -> Self {
        self.progress.epoch = epoch;
        self
    }

    pub(crate) fn total_steps(mut self, steps: Option<u64>) -> Self {
        self.progress.total_steps = steps;
        self
    }

    pub(crate) fn scalar(mut self, name: &str, value: f64) -> Self {
        self.scalars.push((name.to_owned(), value));
        self
    }
}
