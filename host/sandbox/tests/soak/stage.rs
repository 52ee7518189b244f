//! A run whose plugins may change: a folder, what should be in it, and a loop that the test turns; and the same run when
//! nobody disturbs it, with which every step is compared. It holds no tests. Main type: [`Stage`].

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use host_callback::{
    Callback, Callbacks, Catalog, Chain, Grant, Hook, InstanceName, Moment, NoMeasurements, Outcome, Permit, Progress,
    RunInfo, Summary,
};
use host_sandbox::{
    InstanceSettings, Limits, Live, LiveNews, LiveSetup, LiveSink, LiveTimes, LogLevel, OnFailure, Roster, Sandbox,
    SandboxConfig, Wanted,
};
use serde_json::{Value, json};

use crate::training::{Training, crash};

/// The file of a built component.
pub(crate) fn component(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let file = root.join(target).join("guests/components").join(format!("{name}.wasm"));
    assert!(file.is_file(), "{} is missing: run ./test.sh first", file.display());
    file
}

/// Another content that does the same: a component with a custom section at its end.
pub(crate) fn marked(component: &[u8], mark: u8) -> Vec<u8> {
    [component, &[0, 6, 4, b'm', b'a', b'r', b'k', mark]].concat()
}

/// By rename, as careful programs write.
pub(crate) fn put(file: &Path, bytes: &[u8]) {
    let beside = file.with_extension("beside");
    fs::write(&beside, bytes).unwrap();
    fs::rename(&beside, file).unwrap();
}

/// A call may wait for its turn for long where the machine is busy.
fn limits() -> Limits {
    Limits { deadline: Duration::from_secs(600), ..Limits::default() }
}

/// Steers: the learning rate follows the loss.
fn pilot() -> Value {
    let above =
        json!({"hook": "step-end", "when": ["loss", "above", 0.001], "decide": [{"scale": ["learning-rate", 1.05]}]});
    let below =
        json!({"hook": "step-end", "when": ["loss", "below", 0.001], "decide": [{"scale": ["learning-rate", 0.9]}]});
    json!({"reads": ["loss"], "decisions": [above, below]})
}

/// Observes, would steer if it were let, and crashes when it is told to.
fn observer(name: &str) -> Value {
    let decide = json!([{"report": ["here", 1.0]}, {"scale": ["learning-rate", 0.5]}, {"stop": "as I say"}]);
    json!({"reads": ["loss"], "decisions": [
        {"hook": "step-end", "decide": decide},
        {"hook": "step-end", "when": [crash(name), "above", 0.5], "decide": [{"panic": "on purpose"}]},
    ]})
}

/// What should be there: every file of the folder, in these places of the order.
#[derive(Clone)]
struct Wishes {
    folder: PathBuf,
    configuration: PathBuf,
    orders: Arc<Mutex<BTreeMap<String, i32>>>,
}

impl Roster for Wishes {
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    fn configuration(&self) -> Option<PathBuf> {
        Some(self.configuration.clone())
    }

    fn reread(&mut self) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    fn listed(&self) -> Vec<Wanted> {
        Vec::new()
    }

    fn unlisted(&self, file: &Path) -> Result<Option<Wanted>, String> {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        Ok(Some(Wanted {
            name: name.parse().unwrap(),
            file: file.to_owned(),
            sha256: None,
            grant: Grant::Observe,
            config: observer(&name),
            order: self.orders.lock().unwrap().get(&name).copied(),
            limits: limits(),
            on_failure: OnFailure::Restart,
        }))
    }
}

#[derive(Default)]
struct Told(Mutex<Vec<LiveNews>>);

impl LiveSink for Told {
    fn told(&self, news: &LiveNews) {
        self.0.lock().unwrap().push(news.clone());
    }

    fn table(&self, _step: u64, _rows: &[Summary]) {}
}

/// A sandbox whose compiled code is kept in a folder, so that a file that was there before costs little.
pub(crate) fn sandbox(cache: &Path) -> Sandbox {
    Sandbox::new(SandboxConfig { cache: Some(cache.to_owned()), ..SandboxConfig::default() }).unwrap()
}

/// The callbacks of a run that nobody disturbs: the pilot alone.
fn chain(sandbox: &Sandbox, catalog: &Catalog) -> Chain {
    let plugin = sandbox.load(&component("script")).unwrap();
    let permit = Permit::new(plugin.manifest(), &Grant::Declared);
    let settings = InstanceSettings::new("pilot".parse().unwrap(), RunInfo::default(), catalog.clone());
    let callback = plugin.start(InstanceSettings { config: pilot(), limits: limits(), ..settings }).unwrap();
    let callback: Box<dyn Callback> = Box::new(callback);
    Chain::new(catalog.clone(), vec![(callback, permit)]).unwrap()
}

/// One step of a training, in two halves: plugins change in the first one.
fn begin(training: &Training, callbacks: &mut dyn Callbacks) -> Outcome {
    callbacks.handle(&moment(training, Hook::StepBegin), &mut NoMeasurements, &training.knobs)
}

fn end(training: &mut Training, callbacks: &mut dyn Callbacks) -> Outcome {
    training.update();
    let outcome = callbacks.handle(&moment(training, Hook::StepEnd), &mut training.readings(), &training.knobs);
    training.apply(&outcome);
    outcome
}

fn moment(training: &Training, hook: Hook) -> Moment {
    let step = training.steps();
    Moment { hook, occurrence: step + 1, progress: Progress { step, ..Progress::default() }, detail: String::new() }
}

/// A run with the pilot, and a folder from which observers come.
pub(crate) struct Stage {
    wishes: Wishes,
    told: Arc<Told>,
    pub(crate) live: Live,
    pub(crate) training: Training,
    /// The same run as it is when nobody disturbs it, which takes the same steps.
    undisturbed: (Training, Chain),
    /// How often the configuration was changed.
    configured: u64,
}

impl Stage {
    pub(crate) fn new(folder: &Path, sandbox: &Sandbox) -> Self {
        let plugins = folder.join("plugins");
        fs::create_dir(&plugins).unwrap();
        let configuration = folder.join("train.toml");
        fs::write(&configuration, "0").unwrap();
        let catalog = Catalog::new();
        let training = Training::new(&catalog);
        let wishes = Wishes { folder: plugins, configuration, orders: Arc::default() };
        let told = Arc::new(Told::default());
        let live = Live::start(LiveSetup {
            sandbox: sandbox.clone(),
            chain: chain(sandbox, &catalog),
            members: Vec::new(),
            seen: Vec::new(),
            roster: Some(Box::new(wishes.clone())),
            sink: Arc::clone(&told) as Arc<dyn LiveSink>,
            run: RunInfo::default(),
            catalog,
            log: Arc::new(|_: &InstanceName, _: LogLevel, _: &str| {}),
            // Files are put in their places whole, so that the next look can be at once.
            times: LiveTimes { quiet: Duration::ZERO, rescan: Duration::from_millis(100), ..Default::default() },
        });
        let catalog = Catalog::new();
        let undisturbed = (Training::new(&catalog), chain(sandbox, &catalog));
        Self { wishes, told, live: live.unwrap(), training, undisturbed, configured: 0 }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.wishes.folder.join(name).with_extension("wasm")
    }

    /// Gives an instance another place.
    pub(crate) fn reorder(&mut self, name: &str, order: i32) {
        self.wishes.orders.lock().unwrap().insert(name.to_owned(), order);
        self.configured += 1;
        put(&self.wishes.configuration, self.configured.to_string().as_bytes());
    }

    pub(crate) fn begin(&mut self) -> Outcome {
        begin(&self.training, &mut self.live)
    }

    /// What is measured is what it is when nobody disturbs the run.
    pub(crate) fn end(&mut self) -> Outcome {
        let outcome = end(&mut self.training, &mut self.live);
        let (training, chain) = &mut self.undisturbed;
        begin(training, chain);
        end(training, chain);
        let now = |training: &Training| (training.steps(), training.measured);
        assert_eq!(now(&self.training), now(training), "a step measures something else");
        outcome
    }

    /// What the pilot's state is, here and where nobody disturbs the run.
    pub(crate) fn pilots(&mut self) -> [Vec<u8>; 2] {
        [state(&mut self.live, "pilot"), state(&mut self.undisturbed.1, "pilot")]
    }

    /// What was told since the last time.
    pub(crate) fn news(&self) -> Vec<LiveNews> {
        std::mem::take(&mut *self.told.0.lock().unwrap())
    }
}

/// The state of an instance; empty where it has none.
pub(crate) fn state(callbacks: &mut dyn Callbacks, name: &str) -> Vec<u8> {
    let states = callbacks.save().states;
    states.into_iter().find(|state| state.instance.as_str() == name).map(|state| state.bytes).unwrap_or_default()
}
