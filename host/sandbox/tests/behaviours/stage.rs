//! A run whose plugins may change, with the test as its loop.
//!
//! It holds no tests. Main type: [`Stage`].

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use host_callback::{
    Callback, Callbacks as _, Catalog, Chain, Grant, Hook, Knobs, Moment, NoMeasurements, Outcome, Permit, Progress,
    RunInfo, Summary,
};
use host_sandbox::{
    InstanceSettings, Limits, Live, LiveNews, LiveSetup, LiveSink, LiveTimes, Loaded, OnFailure, Roster, Wanted,
};
use serde_json::{Value, json};

use crate::support::{component, sandbox};

/// Longer than any change takes to be told on a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(600);

/// What should be there, as a test says it.
#[derive(Clone, Default)]
pub(crate) struct Wishes(pub(crate) Arc<Mutex<Inner>>);

#[derive(Default)]
pub(crate) struct Inner {
    folder: PathBuf,
    configuration: PathBuf,
    listed: BTreeMap<String, Wanted>,
    /// Takes the place of `listed` when the configuration file is read again.
    pub(crate) next: Option<Result<BTreeMap<String, Wanted>, String>>,
}

impl Roster for Wishes {
    fn folder(&self) -> PathBuf {
        self.0.lock().unwrap().folder.clone()
    }

    fn configuration(&self) -> Option<PathBuf> {
        Some(self.0.lock().unwrap().configuration.clone())
    }

    fn reread(&mut self) -> Result<Vec<String>, String> {
        let mut inner = self.0.lock().unwrap();
        if let Some(next) = inner.next.take() {
            inner.listed = next?;
        }
        Ok(Vec::new())
    }

    fn listed(&self) -> Vec<Wanted> {
        self.0.lock().unwrap().listed.values().cloned().collect()
    }

    fn unlisted(&self, file: &Path) -> Result<Option<Wanted>, String> {
        if self.0.lock().unwrap().listed.values().any(|wanted| wanted.file == file) {
            return Ok(None);
        }
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        Ok(Some(Wanted { grant: Grant::Observe, ..wanted(&name, file, json!({"mode": "healthy"})) }))
    }
}

#[derive(Default)]
pub(crate) struct Told(Mutex<Vec<LiveNews>>);

impl LiveSink for Told {
    fn told(&self, news: &LiveNews) {
        self.0.lock().unwrap().push(news.clone());
    }

    fn table(&self, _step: u64, _rows: &[Summary]) {}
}

fn wanted(name: &str, file: &Path, config: Value) -> Wanted {
    Wanted {
        name: name.parse().unwrap(),
        file: file.to_owned(),
        sha256: None,
        grant: Grant::Declared,
        config,
        order: None,
        // A call may wait for its turn for long where the machine is busy.
        limits: Limits { deadline: Duration::from_secs(600), ..Limits::default() },
        on_failure: OnFailure::Restart,
    }
}

/// A component of another content that does the same: a custom section with a mark at its end.
pub(crate) fn marked(guest: &str, mark: &str) -> Vec<u8> {
    let mut bytes = fs::read(component(guest)).unwrap();
    let body = [&[4], b"mark".as_slice(), mark.as_bytes()].concat();
    bytes.extend([0, u8::try_from(body.len()).unwrap()]);
    bytes.extend(body);
    bytes
}

/// By rename, as careful programs write.
pub(crate) fn put(file: &Path, bytes: &[u8]) {
    let beside = file.with_extension("beside");
    fs::write(&beside, bytes).unwrap();
    fs::rename(&beside, file).unwrap();
}

/// A run whose loop is the test.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) wishes: Wishes,
    pub(crate) told: Arc<Told>,
    pub(crate) live: Live,
    pub(crate) step: u64,
    /// How far the run is, where it is not a matter of `step`.
    pub(crate) at: Option<u64>,
    /// What `evil` reported last: how many events it has seen.
    pub(crate) seen: Option<f64>,
    /// Those with failures.
    pub(crate) outcomes: Vec<Outcome>,
}

impl Stage {
    /// Begins with one instance of a guest, called `one`.
    pub(crate) fn new(guest: &str, config: Value) -> Self {
        Self::with(guest, config, |_| {})
    }

    pub(crate) fn with(guest: &str, config: Value, change: impl FnOnce(&mut Wanted)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plugins = folder.path().join("plugins");
        fs::create_dir(&plugins).unwrap();
        let file = plugins.join("one.wasm");
        fs::write(&file, marked(guest, "0")).unwrap();
        let mut one = wanted("one", &file, config);
        change(&mut one);
        let plugin = sandbox().load(&file).unwrap();
        let catalog = Catalog::new();
        let permit = Permit::new(plugin.manifest(), &one.grant);
        let settings = InstanceSettings::new(one.name.clone(), RunInfo::default(), catalog.clone());
        let settings =
            InstanceSettings { config: one.config.clone(), limits: one.limits, on_failure: one.on_failure, ..settings };
        let callback: Box<dyn Callback> = Box::new(plugin.start(settings).unwrap());
        let chain = Chain::new(catalog.clone(), vec![(callback, permit.clone())]).unwrap();
        let configuration = folder.path().join("train.toml");
        fs::write(&configuration, "0").unwrap();
        let listed = BTreeMap::from([("one".to_owned(), one.clone())]);
        let wishes = Wishes(Arc::new(Mutex::new(Inner { folder: plugins, configuration, listed, next: None })));
        let told = Arc::new(Told::default());
        let live = Live::start(LiveSetup {
            sandbox: sandbox().clone(),
            chain,
            members: vec![Loaded { wanted: one, plugin, permit }],
            seen: Vec::new(),
            roster: Some(Box::new(wishes.clone())),
            sink: Arc::clone(&told) as Arc<dyn LiveSink>,
            run: RunInfo::default(),
            catalog,
            log: Arc::new(|_: &host_callback::InstanceName, _: host_sandbox::LogLevel, _: &str| {}),
            times: LiveTimes {
                quiet: Duration::from_millis(20),
                rescan: Duration::from_millis(100),
                ..Default::default()
            },
        })
        .unwrap();
        Self { folder, wishes, told, live, step: 0, at: None, seen: None, outcomes: Vec::new() }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("plugins").join(name)
    }

    /// One step: its beginning and its end.
    pub(crate) fn step(&mut self) {
        self.step += 1;
        for hook in [Hook::StepBegin, Hook::StepEnd] {
            let progress = Progress { step: self.at.unwrap_or(self.step - 1), ..Progress::default() };
            let moment = Moment { hook, occurrence: self.step, progress, detail: String::new() };
            let outcome = self.live.handle(&moment, &mut NoMeasurements, &Knobs::new());
            self.seen = outcome.controls.reports.iter().map(|(_, value)| *value).next_back().or(self.seen);
            if !outcome.failures.is_empty() {
                self.outcomes.push(outcome);
            }
        }
    }

    /// Steps until something is told, which is taken out.
    pub(crate) fn until(&mut self, what: &str, is: impl Fn(&LiveNews) -> bool) -> LiveNews {
        let began = Instant::now();
        loop {
            self.step();
            let mut told = self.told.0.lock().unwrap();
            if let Some(at) = told.iter().position(&is) {
                return told.remove(at);
            }
            assert!(began.elapsed() < HANGS_AFTER, "{what} was not told, but {told:#?}");
            drop(told);
            std::thread::yield_now();
        }
    }

    pub(crate) fn swapped(&mut self) -> LiveNews {
        self.until("a swap", |news| matches!(news, LiveNews::Swapped { .. }))
    }

    pub(crate) fn refused(&mut self) -> String {
        match self.until("a refusal", |news| matches!(news, LiveNews::Refused { .. })) {
            LiveNews::Refused { why, stays, .. } => {
                assert!(stays);
                why
            }
            other => panic!("{other:?}"),
        }
    }

    /// Changes the entry of `one`, as a new configuration file would.
    pub(crate) fn configure(&self, change: impl FnOnce(&mut Wanted)) {
        let mut inner = self.wishes.0.lock().unwrap();
        let mut next = inner.listed.clone();
        change(next.get_mut("one").unwrap());
        inner.next = Some(Ok(next));
        let configuration = inner.configuration.clone();
        drop(inner);
        static VERSIONS: AtomicU64 = AtomicU64::new(1);
        put(&configuration, VERSIONS.fetch_add(1, Ordering::Relaxed).to_string().as_bytes());
    }

    /// Nothing was told that the test has not taken.
    pub(crate) fn is_quiet(&self) {
        let told = self.told.0.lock().unwrap();
        assert!(told.is_empty(), "{told:#?}");
    }
}
