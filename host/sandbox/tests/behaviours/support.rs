//! Loads built guests and plays a run to them.
//!
//! It holds no tests. Main type: [`Rig`].

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use host_callback::{
    Callback as _, CallbackFailure, Catalog, Decision, Event, Hook, InstanceName, Moment, Progress, RunInfo,
};
use host_sandbox::{
    InstanceSettings, Limits, LogLevel, OnFailure, Plugin, Sandbox, SandboxConfig, SandboxedCallback, StartError,
};
use serde_json::Value;

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| Sandbox::new(SandboxConfig::default()).unwrap());
static PLUGINS: LazyLock<Mutex<HashMap<String, Arc<Plugin>>>> = LazyLock::new(Mutex::default);

/// The sandbox that all tests share.
pub(crate) fn sandbox() -> &'static Sandbox {
    &SANDBOX
}

/// Where the guests are built.
pub(crate) fn guests() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    root.join(target).join("guests")
}

/// The file of a built component.
pub(crate) fn component(name: &str) -> PathBuf {
    let file = guests().join("components").join(format!("{name}.wasm"));
    assert!(file.is_file(), "{} is missing: run ./test.sh first", file.display());
    file
}

/// A guest, compiled once for all tests.
pub(crate) fn plugin(name: &str) -> Arc<Plugin> {
    let mut plugins = PLUGINS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let load = || sandbox().load(&component(name)).unwrap();
    Arc::clone(plugins.entry(name.to_owned()).or_insert_with(load))
}

/// What a callback has logged.
pub(crate) type Lines = Arc<Mutex<Vec<(LogLevel, String)>>>;

/// A callback and the run that it is in.
pub(crate) struct Rig {
    pub(crate) callback: SandboxedCallback,
    pub(crate) lines: Lines,
    pub(crate) catalog: Catalog,
    step: u64,
}

/// How a callback is started, with defaults.
pub(crate) struct Setup {
    pub(crate) limits: Limits,
    pub(crate) on_failure: OnFailure,
    pub(crate) catalog: Catalog,
}

impl Default for Setup {
    fn default() -> Self {
        Self { limits: small(), on_failure: OnFailure::Restart, catalog: Catalog::new() }
    }
}

/// Limits that a Rust guest has enough of, so that attacks end soon; by the deadline none does, however busy the machine
/// is.
pub(crate) fn small() -> Limits {
    Limits { fuel: 50_000_000, deadline: Duration::from_secs(600), memory_bytes: 8 << 20, ..Limits::default() }
}

impl Setup {
    pub(crate) fn start(self, guest: &str, config: Value) -> Result<Rig, StartError> {
        let lines = Lines::default();
        let own = Arc::clone(&lines);
        let log = move |_: &InstanceName, level, text: &str| own.lock().unwrap().push((level, text.to_owned()));
        let callback = plugin(guest).start(InstanceSettings {
            name: "under-test".parse().unwrap(),
            config,
            order: None,
            limits: self.limits,
            on_failure: self.on_failure,
            run: RunInfo { run: "run".into(), description: "{}".into(), world_size: 1, ..RunInfo::default() },
            catalog: self.catalog.clone(),
            log: Arc::new(log),
        })?;
        Ok(Rig { callback, lines, catalog: self.catalog, step: 0 })
    }
}

impl Rig {
    /// Starts a guest under small limits.
    pub(crate) fn start(guest: &str, config: Value) -> Self {
        Setup::default().start(guest, config).unwrap()
    }

    /// The end of the next step, without measurements.
    pub(crate) fn step(&mut self) -> Result<Vec<Decision>, CallbackFailure> {
        self.step += 1;
        self.callback.handle(&event(Hook::StepEnd, self.step))
    }

    /// Steps until the callback answers again after a pause, and its answer.
    pub(crate) fn step_until_called(&mut self) -> Result<Vec<Decision>, CallbackFailure> {
        for _ in 0..1000 {
            let fuel = self.callback.usage().fuel;
            let answer = self.step();
            if self.callback.usage().fuel > fuel {
                return answer;
            }
        }
        panic!("it was never called");
    }
}

/// An event without measurements.
pub(crate) fn event(hook: Hook, step: u64) -> Event {
    let progress = Progress { step, total_steps: Some(1000), epoch: 0.5, samples: 8 * step, tokens: 0 };
    let moment = Moment { hook, occurrence: step, progress, detail: String::new() };
    Event { moment, scalars: Vec::new(), vectors: Vec::new(), texts: Vec::new() }
}

/// The count that `evil` reports with every answer.
pub(crate) fn seen(answer: &[Decision]) -> f64 {
    let found = answer.iter().find_map(|decision| match decision {
        Decision::Report { name, value } if name == "seen" => Some(*value),
        _ => None,
    });
    found.unwrap()
}

/// The most memory that this process ever had, in bytes; 0 where it is not known.
pub(crate) fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")).map_or(0, |kib| kib.trim().parse::<usize>().unwrap() << 10)
}
