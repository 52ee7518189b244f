//! What a sandboxed callback costs a step, beside one that is part of the program, and with cold caches.
//!
//! Needs the built guests (`./test.sh`). `cargo bench -p host-sandbox` prints medians, then the ratios.

use std::{
    hint::black_box,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use divan::Bencher;
use host_callback::{
    Callback, CallbackFailure, Catalog, Decision, Event, Hook, Identity, InstanceName, MeasurementSpec, Moment,
    Progress, RunInfo, Subscription, Usage,
};
use host_sandbox::{InstanceSettings, Limits, LogLevel, OnFailure, Plugin, Sandbox, SandboxConfig, SandboxedCallback};
use rayon::prelude::*;
use serde_json::{Value, json};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Written against the contract itself: what the border costs.
static BARE: LazyLock<Arc<Plugin>> = LazyLock::new(|| load("evil"));
/// Written with the SDK, as plugins are: it finds every value by its name.
static READER: LazyLock<Arc<Plugin>> = LazyLock::new(|| load("reader"));

fn load(name: &str) -> Arc<Plugin> {
    let sandbox = Sandbox::new(SandboxConfig::default()).expect("a sandbox");
    sandbox.load(&guest(name)).expect("a plugin; ./test.sh builds it")
}

/// A built guest, where `CARGO_TARGET_DIR` puts it.
fn guest(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    root.join(target).join(format!("guests/components/{name}.wasm"))
}

/// The names of so many measurements; the catalog of the bench numbers them in this order.
fn names(count: u32) -> Vec<String> {
    (0..count).map(|at| format!("measurement/{at}")).collect()
}

fn start(plugin: &Arc<Plugin>, config: Value) -> SandboxedCallback {
    let catalog = Catalog::new();
    for name in names(64) {
        catalog.offer(MeasurementSpec::new(name, "1", "a benchmark"));
    }
    let settings = InstanceSettings {
        name: "bench".parse().expect("a name"),
        config,
        order: None,
        limits: Limits::default(),
        on_failure: OnFailure::Restart,
        run: RunInfo { run: "bench".into(), description: "{}".into(), world_size: 1, ..RunInfo::default() },
        catalog,
        log: Arc::new(|_: &InstanceName, _: LogLevel, _: &str| {}),
    };
    plugin.start(settings).expect("it starts")
}

/// Answers each event with a report.
fn bare() -> SandboxedCallback {
    start(&BARE, json!({"mode": "healthy"}))
}

/// Reads all values of an event by name, and answers with nothing, as a guard does when all is well.
fn reader(scalars: u32) -> SandboxedCallback {
    start(&READER, json!({ "reads": names(scalars) }))
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
    let (mut callback, event) = (bare(), event(scalars));
    bencher.bench_local(|| callback.handle(black_box(&event)));
}

#[divan::bench(args = [0, 8, 64])]
fn sandboxed_by_name(bencher: Bencher<'_, '_>, scalars: u32) {
    let (mut callback, event) = (reader(scalars), event(scalars));
    bencher.bench_local(|| callback.handle(black_box(&event)));
}

/// An event and a checkpoint, which asks for the state.
#[divan::bench]
fn sandboxed_and_saved(bencher: Bencher<'_, '_>) {
    let (mut callback, event) = (reader(8), event(8));
    bencher.bench_local(|| {
        let answer = callback.handle(black_box(&event));
        (answer, callback.save())
    });
}

/// A store, the guest in it, and the guest's own `start`: what a restart costs.
#[divan::bench]
fn new_instance(bencher: Bencher<'_, '_>) {
    bencher.bench_local(bare);
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

/// Medians of single calls, one after the other, each time after as much other work as a training step does.
fn after_a_step<const N: usize>(mut callbacks: [SandboxedCallback; N], event: &Event) -> [Duration; N] {
    const ROUNDS: usize = 301;
    /// More than the caches of all cores but the last level hold.
    const BYTES: usize = 32 << 20;
    let mut memory = vec![1_u64; BYTES / 8];
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        memory.par_iter_mut().for_each(|word| *word = word.wrapping_mul(3));
        for (callback, times) in callbacks.iter_mut().zip(&mut times) {
            let began = Instant::now();
            let _ = black_box(callback.handle(black_box(event)));
            times.push(began.elapsed());
        }
    }
    times.map(|mut times| *times.select_nth_unstable(ROUNDS / 2).1)
}

fn main() {
    LazyLock::force(&BARE);
    LazyLock::force(&READER);
    divan::main();
    let mut out = std::io::stdout().lock();
    let event = event(8);
    let native = fastest(&mut Native::new(), &event);
    for (what, mut callback) in [("bare, with a report", bare()), ("by name, without an answer", reader(8))] {
        // The first event is for names.
        let _ = callback.handle(&event);
        let before = callback.usage();
        let _ = callback.handle(&event);
        let fuel = callback.usage().fuel - before.fuel;
        let sandboxed = fastest(&mut callback, &event);
        let ratio = sandboxed.as_secs_f64() / native.as_secs_f64();
        let _ = writeln!(
            out,
            "an event with 8 scalars, {what}: {sandboxed:?} and {fuel} fuel in the sandbox, {native:?} without: \
             {ratio:.0} times as much"
        );
    }
    let warm = fastest(&mut reader(8), &event);
    let cold = after_a_step([reader(8), reader(8), reader(8), bare(), bare()], &event);
    let ratios = cold.map(|cold| format!("{cold:?} ({:.0} times)", cold.as_secs_f64() / warm.as_secs_f64()));
    let _ = writeln!(
        out,
        "after other work, against {warm:?} right after another call: the first {}, further instances of it {} and {}, \
         one of another plugin {}, a second of that {}",
        ratios[0], ratios[1], ratios[2], ratios[3], ratios[4]
    );
}
