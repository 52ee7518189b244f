//! What ten sandboxed callbacks cost an event, beside ten Python callbacks of a well-known trainer that do the same.
//!
//! Each reads eight measurements by name and keeps a count. The Python side is `python/callbacks.py`, which runs before
//! and after ours, in a Python that has what `python/requirements.txt` names: `HOST_BENCH_PYTHON=.../bin/python cargo
//! bench --workspace --bench python`. Without one, ours alone is printed, and that the comparison is missing.

use std::{
    error::Error,
    hint::black_box,
    io::{Write as _, stdout},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use host_callback::{
    Callbacks as _, Catalog, Chain, Grant, Hook, Key, Knobs, MeasurementSpec, Measurements, Moment, Permit, Progress,
    RunInfo, Value,
};
use host_sandbox::{InstanceSettings, Sandbox, SandboxConfig};
use serde_json::json;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CALLBACKS: usize = 10;
const READS: usize = 8;
const CALLS: u32 = 1000;
const ROUNDS: u32 = 50;

/// The loop's side: every value is there.
struct Known;

impl Measurements for Known {
    fn read(&mut self, key: Key) -> Option<Value> {
        Some(Value::Scalar(f64::from(key)))
    }
}

fn chain() -> Result<Chain, Box<dyn Error>> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let plugin =
        Sandbox::new(SandboxConfig::default())?.load(&root.join(target).join("guests/components/reader.wasm"))?;
    let catalog = Catalog::new();
    let names: Vec<String> = (0..READS).map(|at| format!("measurement-{at}")).collect();
    for name in &names {
        catalog.offer(MeasurementSpec::new(name.clone(), "1", "a benchmark"));
    }
    let mut callbacks = Vec::new();
    for at in 0..CALLBACKS {
        let run = RunInfo { run: "bench".into(), description: "{}".into(), world_size: 1, ..RunInfo::default() };
        let settings = InstanceSettings::new(format!("reader-{at}").parse()?, run, catalog.clone());
        let callback = plugin.start(InstanceSettings { config: json!({ "reads": names }), ..settings })?;
        callbacks.push((callback.in_its_lane(), Permit::new(plugin.manifest(), &Grant::Declared)));
    }
    Chain::new(catalog, callbacks).map_err(|unknown| unknown[0].clone().into())
}

/// The fastest of many rounds, as on the Python side: an event, the values that it shows, ten calls, one outcome.
fn ours() -> Result<Duration, Box<dyn Error>> {
    let (mut chain, knobs) = (chain()?, Knobs::new());
    let mut moment =
        Moment { hook: Hook::StepEnd, occurrence: 0, progress: Progress::default(), detail: String::new() };
    let mut fastest = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..CALLS {
            moment.occurrence += 1;
            moment.progress.step += 1;
            let outcome = black_box(chain.handle(black_box(&moment), &mut Known, &knobs));
            assert!(outcome.is_quiet(), "{outcome:?}");
        }
        fastest = fastest.min(began.elapsed() / CALLS);
    }
    let summaries = chain.summaries();
    assert!(summaries.len() == CALLBACKS && summaries.iter().all(|one| one.calls == u64::from(CALLS * ROUNDS)));
    Ok(fastest)
}

/// The same in Python.
///
/// # Errors
///
/// When there is no Python with the trainer, in words.
fn theirs(python: &Path) -> Result<Duration, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/python/callbacks.py");
    let output = Command::new(python).arg(script).output().map_err(|error| format!("{}: {error}", python.display()))?;
    let told = String::from_utf8_lossy(&output.stdout);
    let number = told.lines().last().and_then(|line| line.trim().parse().ok()).filter(|_| output.status.success());
    number.map(Duration::from_nanos).ok_or_else(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn main() -> Result<(), Box<dyn Error>> {
    let python = std::env::var_os("HOST_BENCH_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let before = theirs(&python);
    let ours = ours()?;
    let theirs = before.and_then(|before| Ok(before.min(theirs(&python)?)));
    let mut out = stdout().lock();
    writeln!(out, "an event for ten callbacks that each read eight values, the state asked for besides: {ours:.2?}")?;
    match theirs {
        Ok(theirs) => {
            let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
            writeln!(out, "ten Python callbacks of Transformers' trainer: {theirs:.2?}; ours take {ratio:.2} of that")?;
        }
        Err(why) => writeln!(out, "no comparison with Python (see the top of benches/python.rs): {why}")?,
    }
    Ok(())
}
