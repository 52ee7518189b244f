//! What it takes until callbacks answer: compiling, starting from the cache, and memory, for one and for a hundred.
//!
//! `cargo bench --workspace --bench start`; `HOST_BENCH_COMPONENT=FILE.wasm` takes another plugin than a shipped one,
//! `HOST_BENCH_CONFIG` its configuration as JSON.

use std::{
    error::Error,
    io::{Write as _, stdout},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use host_callback::{Callback as _, Catalog, Event, Hook, Moment, Progress, RunInfo};
use host_sandbox::{InstanceSettings, Limits, Plugin, Sandbox, SandboxConfig, SandboxedCallback};
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failed = Box<dyn Error>;

/// Callbacks of a run that has very many.
const MANY: usize = 100;

fn start(plugin: &Arc<Plugin>, number: usize, config: &Value) -> Result<SandboxedCallback, Failed> {
    let run = RunInfo { run: "bench".into(), description: "{}".into(), world_size: 1, ..RunInfo::default() };
    let settings = InstanceSettings::new(format!("n-{number}").parse()?, run, Catalog::new());
    // A Python runtime takes more than the default leaves for its first event.
    let limits = Limits { memory_bytes: 256 << 20, ..Limits::default() };
    Ok(plugin.start(InstanceSettings { config: config.clone(), limits, ..settings })?)
}

/// An event of the first hook that it listens to.
fn event(callback: &SandboxedCallback) -> Event {
    let hook = callback.subscriptions().first().map_or(Hook::StepEnd, |subscription| subscription.hook);
    let moment = Moment { hook, occurrence: 1, progress: Progress::default(), detail: String::new() };
    Event { moment, scalars: Vec::new(), vectors: Vec::new(), texts: Vec::new() }
}

fn resident() -> usize {
    memory_stats::memory_stats().map_or(0, |stats| stats.physical_mem)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    (work(), began.elapsed())
}

fn main() -> Result<(), Failed> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/early-stopping/early-stopping.wasm");
    let file = std::env::var_os("HOST_BENCH_COMPONENT").map_or(shipped, PathBuf::from);
    let config = std::env::var("HOST_BENCH_CONFIG").map_or(Ok(Value::Null), |text| serde_json::from_str(&text))?;
    let folder = tempfile::tempdir()?;
    let sandbox = || Sandbox::new(SandboxConfig { cache: Some(folder.path().into()), ..SandboxConfig::default() });
    let mut out = stdout().lock();
    writeln!(out, "{}, {} bytes", file.display(), file.metadata()?.len())?;

    let (_, cold) = timed(|| sandbox()?.load(&file).map_err(Failed::from));
    writeln!(out, "  compiled and described           {cold:10.1?}")?;
    let fresh = sandbox()?;
    let (plugin, warm) = timed(|| fresh.load(&file));
    let plugin = plugin?;
    writeln!(out, "  loaded from the cache            {warm:10.1?}")?;

    let before = resident();
    let (first, one) = timed(|| -> Result<_, Failed> {
        let mut first = start(&plugin, 0, &config)?;
        first.handle(&event(&first))?;
        Ok(first)
    });
    let first = first?;
    let with_one = resident();
    let (others, many) = timed(|| -> Result<Vec<_>, Failed> {
        (1..MANY)
            .map(|number| {
                let mut callback = start(&plugin, number, &config)?;
                callback.handle(&event(&callback))?;
                Ok(callback)
            })
            .collect()
    });
    let others = others?;
    let each = (resident().saturating_sub(with_one)) as f64 / others.len() as f64 / f64::from(1 << 20);
    let first_mib = with_one.saturating_sub(before) as f64 / f64::from(1 << 20);
    writeln!(out, "  the first instance and its event {one:10.1?}, {first_mib:6.2} MiB")?;
    writeln!(out, "  {MANY} instances, from the cache    {:10.1?}; the target is under 1 s", warm + one + many)?;
    writeln!(out, "  each beyond the first            {each:9.3} MiB; the target is under 2 MiB")?;
    drop((first, others));
    Ok(())
}
