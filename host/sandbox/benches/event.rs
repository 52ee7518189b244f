//! What a sandboxed callback costs a step, beside one that is part of the program.
//!
//! Needs the built guests (`./test.sh`). `cargo bench -p host-sandbox` prints medians, then the ratio.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use divan::{Bencher, black_box};
use host_callback::{
    Callback, CallbackFailure, Catalog, Decision, Event, Hook, Identity, InstanceName, Moment, Progress, RunInfo,
    Subscription, Usage,
};
use host_sandbox::{InstanceSettings, Limits, LogLevel, OnFailure, Plugin, Sandbox, SandboxConfig, SandboxedCallback};
use serde_json::{Value, json};

static PLUGIN: LazyLock<Arc<Plugin>> = LazyLock::new(|| {
    let sandbox = Sandbox::new(SandboxConfig::default()).expect("a sandbox");
    sandbox.load(&guest("evil")).expect("a plugin; ./test.sh builds it")
});

fn guest(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../target/guests/components/{name}.wasm"))
}

fn start(config: Value) -> SandboxedCallback {
    let settings = InstanceSettings {
        name: "bench".parse().expect("a name"),
        config,
        order: None,
        limits: Limits::default(),
        on_failure: OnFailure::Restart,
        run: RunInfo { run: "bench".into(), description: "{}".into(), world_size: 1, ..RunInfo::default() },
        catalog: Catalog::new(),
        log: Arc::new(|_: &InstanceName, _: LogLevel, _: &str| {}),
    };
    PLUGIN.start(settings).expect("it starts")
}

fn event(scalars: u32) -> Event {
    let progress = Progress { step: 1, total_steps: Some(1000), epoch: 0.5, samples: 8, tokens: 0 };
    let moment = Moment { hook: Hook::StepEnd, occurrence: 1, progress, detail: String::new() };
    let scalars = (0..scalars).map(|key| (key, f64::from(key))).collect();
    Event { moment, scalars, vectors: Vec::new(), texts: Vec::new() }
}

/// A callback of the program's own that does nothing but count and report.
struct Native {
    identity: Arc<Identity>,
    seen: u64,
}

impl Native {
    fn new() -> Self {
        let instance = "native".parse().expect("a name");
        let identity = Identity { instance, plugin: "native".into(), version: "1.0.0".into(), sha256: None };
        Self { identity: Arc::new(identity), seen: 0 }
    }
}

impl Callback for Native {
    fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    fn order(&self) -> i32 {
        0
    }

    fn subscriptions(&self) -> &[Subscription] {
        &[]
    }

    fn handle(&mut self, event: &Event) -> Result<Vec<Decision>, CallbackFailure> {
        self.seen += event.scalars.len() as u64;
        Ok(vec![Decision::Report { name: "seen".into(), value: self.seen as f64 }])
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

#[divan::bench(args = [0, 8, 64])]
fn native(bencher: Bencher<'_, '_>, scalars: u32) {
    let (mut callback, event) = (Native::new(), event(scalars));
    bencher.bench_local(|| callback.handle(black_box(&event)));
}

#[divan::bench(args = [0, 8, 64])]
fn sandboxed(bencher: Bencher<'_, '_>, scalars: u32) {
    let (mut callback, event) = (start(json!({"mode": "healthy"})), event(scalars));
    bencher.bench_local(|| callback.handle(black_box(&event)));
}

/// As in a run: the step goes on, so the state is asked for besides.
#[divan::bench]
fn sandboxed_with_state(bencher: Bencher<'_, '_>) {
    let (mut callback, mut event) = (start(json!({"mode": "healthy"})), event(8));
    bencher.bench_local(|| {
        event.moment.progress.step += 1;
        callback.handle(black_box(&event))
    });
}

/// A store, the guest in it, and the guest's own `start`: what a restart costs.
#[divan::bench]
fn new_instance(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| start(json!({"mode": "healthy"})));
}

#[divan::bench]
fn load_from_cache(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = SandboxConfig { cache: Some(folder.path().join("compiled")), ..SandboxConfig::default() };
    let sandbox = Sandbox::new(config).expect("a sandbox");
    sandbox.load(&guest("evil")).expect("it fills the cache");
    bencher.bench_local(|| sandbox.load(&guest("evil")));
}

#[divan::bench(sample_count = 10)]
fn load_and_compile(bencher: Bencher<'_, '_>) {
    let sandbox = Sandbox::new(SandboxConfig::default()).expect("a sandbox");
    bencher.bench_local(|| sandbox.load(&guest("evil")));
}

/// The fastest of many rounds, which other programs on the machine disturb least.
fn fastest(callback: &mut dyn Callback, event: &Event) -> Duration {
    const CALLS: u32 = 1000;
    let round = |_| {
        let began = Instant::now();
        for _ in 0..CALLS {
            let _ = black_box(callback.handle(black_box(event)));
        }
        began.elapsed() / CALLS
    };
    (0..200).map(round).min().unwrap_or_default()
}

fn main() {
    LazyLock::force(&PLUGIN);
    divan::main();
    let event = event(8);
    let native = fastest(&mut Native::new(), &event);
    let mut callback = start(json!({"mode": "healthy"}));
    let before = callback.usage();
    let _ = callback.handle(&event);
    let fuel = callback.usage().fuel - before.fuel;
    let sandboxed = fastest(&mut callback, &event);
    let ratio = sandboxed.as_secs_f64() / native.as_secs_f64();
    let _ = writeln!(
        std::io::stdout(),
        "an event with 8 scalars: {sandboxed:?} and {fuel} fuel in the sandbox, {native:?} without, {ratio:.0} times as much"
    );
}
