//! What a watch costs a step in which nothing changes.
//! Needs no built guests: the callback is the program's own.

use std::{hint::black_box, path::Path, sync::Arc};

use divan::Bencher;
use host_callback::{
    Callback, CallbackFailure, Callbacks, Catalog, Chain, Decision, Event, Hook, Identity, Knobs, Moment,
    NoMeasurements, Permit, Progress, RunInfo, Subscription, Summary, Usage,
};
use host_sandbox::{Live, LiveNews, LiveSetup, LiveSink, LiveTimes, LogLevel, Roster, Sandbox, SandboxConfig, Wanted};

/// Steps of one sample: a single one is too short for the timer.
const STEPS: u32 = 10_000;

fn main() {
    divan::main();
}

struct Native(Arc<Identity>, Vec<Subscription>);

impl Callback for Native {
    fn identity(&self) -> &Arc<Identity> {
        &self.0
    }
    fn order(&self) -> i32 {
        0
    }
    fn subscriptions(&self) -> &[Subscription] {
        &self.1
    }
    fn handle(&mut self, _event: &Event) -> Result<Vec<Decision>, CallbackFailure> {
        Ok(Vec::new())
    }
    fn save(&mut self) -> Result<Option<(u32, Vec<u8>)>, CallbackFailure> {
        Ok(None)
    }
    fn load(&mut self, _version: u32, _state: &[u8]) -> Result<(), CallbackFailure> {
        Ok(())
    }
    fn usage(&self) -> Usage {
        Usage::default()
    }
}

fn chain(catalog: &Catalog) -> Chain {
    let identity =
        Identity { instance: "a".parse().expect("a name"), plugin: "a".into(), version: "1.0.0".into(), sha256: None };
    let subscription = Subscription { hook: Hook::StepEnd, every: 1, reads: Vec::new() };
    let native: Box<dyn Callback> = Box::new(Native(Arc::new(identity), vec![subscription]));
    Chain::new(catalog.clone(), vec![(native, Permit::default())]).unwrap_or_else(|_| unreachable!("it reads nothing"))
}

/// Both hooks of a step that callbacks listen to most.
fn step(callbacks: &mut dyn Callbacks, knobs: &Knobs) {
    for hook in [Hook::StepBegin, Hook::StepEnd] {
        let moment = Moment { hook, occurrence: 1, progress: Progress::default(), detail: String::new() };
        black_box(callbacks.handle(black_box(&moment), &mut NoMeasurements, knobs));
    }
}

struct Nobody;

impl LiveSink for Nobody {
    fn told(&self, _news: &LiveNews) {}
    fn table(&self, _step: u64, _rows: &[Summary]) {}
}

struct Nothing(tempfile::TempDir);

impl Roster for Nothing {
    fn folder(&self) -> std::path::PathBuf {
        self.0.path().to_owned()
    }
    fn configuration(&self) -> Option<std::path::PathBuf> {
        None
    }
    fn reread(&mut self) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }
    fn listed(&self) -> Vec<Wanted> {
        Vec::new()
    }
    fn unlisted(&self, _file: &Path) -> Result<Option<Wanted>, String> {
        Ok(None)
    }
}

#[divan::bench]
fn step_without_a_watch(bencher: Bencher<'_, '_>) {
    let (mut chain, knobs) = (chain(&Catalog::new()), Knobs::new());
    bencher.counter(STEPS).bench_local(|| (0..STEPS).for_each(|_| step(&mut chain, &knobs)));
}

#[divan::bench]
fn step_under_watch(bencher: Bencher<'_, '_>) {
    let catalog = Catalog::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let setup = LiveSetup {
        sandbox: Sandbox::new(SandboxConfig::default()).expect("a sandbox"),
        chain: chain(&catalog),
        members: Vec::new(),
        seen: Vec::new(),
        roster: Some(Box::new(Nothing(folder))),
        sink: Arc::new(Nobody),
        run: RunInfo::default(),
        catalog,
        log: Arc::new(|_: &host_callback::InstanceName, _: LogLevel, _: &str| {}),
        times: LiveTimes::default(),
    };
    let (mut live, knobs) = (Live::start(setup).expect("a thread"), Knobs::new());
    bencher.counter(STEPS).bench_local(|| (0..STEPS).for_each(|_| step(&mut live, &knobs)));
}
