//! Events cost no allocation on the host's side, once their memory is there.
//!
//! A test program of its own: the allocator counts for all of it. Needs the built guests (`./test.sh`).

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use allocation_counter::measure;
use host_callback::{
    Callback, Callbacks as _, Catalog, Chain, Grant, Hook, Key, Knobs, MeasurementSpec, Measurements, Moment, Permit,
    Progress, RunInfo, Value,
};
use host_sandbox::{InstanceSettings, Sandbox, SandboxConfig};
use serde_json::json;

/// Plugins in the chain, and numbers that each reads at every step.
const CALLBACKS: usize = 10;
const SCALARS: usize = 8;
/// Events after which the memory of a chain is there: those between two states, twice.
const WARM_UP: u64 = 200;
const EVENTS: u64 = 320;
/// Events between two states of a callback; the state is bytes that are made anew.
const BETWEEN_STATES: u64 = 64;

/// Gives each measurement its own number.
struct Numbers;

impl Measurements for Numbers {
    fn read(&mut self, key: Key) -> Option<Value> {
        Some(Value::Scalar(f64::from(key)))
    }
}

fn chain() -> Chain {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), std::path::PathBuf::from);
    let file = root.join(target).join("guests/components/reader.wasm");
    assert!(file.is_file(), "{} is missing: run ./test.sh first", file.display());
    let plugin = Sandbox::new(SandboxConfig::default()).unwrap().load(&file).unwrap();
    let catalog = Catalog::new();
    let names: Vec<String> = (0..SCALARS).map(|at| format!("measurement/{at}")).collect();
    for name in &names {
        catalog.offer(MeasurementSpec::new(name.clone(), "1", "a test"));
    }
    let run = RunInfo { run: "test".into(), description: "{}".into(), world_size: 1, ..RunInfo::default() };
    let start = |at: usize| -> (Box<dyn Callback>, Permit) {
        let settings = InstanceSettings::new(format!("reader-{at}").parse().unwrap(), run.clone(), catalog.clone());
        let callback = plugin.start(InstanceSettings { config: json!({ "reads": names }), ..settings }).unwrap();
        (Box::new(callback), Permit::new(plugin.manifest(), &Grant::Observe))
    };
    Chain::new(catalog.clone(), (0..CALLBACKS).map(start).collect()).unwrap()
}

#[test]
fn an_event_allocates_nothing() {
    let (mut chain, knobs) = (chain(), Knobs::new());
    let mut step = |step: u64| {
        let progress = Progress { step, total_steps: Some(1000), ..Progress::default() };
        let moment = Moment { hook: Hook::StepEnd, occurrence: step, progress, detail: String::new() };
        let mut failures = 0;
        let counted = measure(|| failures = chain.handle(&moment, &mut Numbers, &knobs).failures.len());
        assert_eq!(failures, 0, "step {step}");
        counted.count_total
    };
    for at in 1..=WARM_UP {
        step(at);
    }
    let counts: Vec<u64> = (1..=EVENTS).map(|at| step(WARM_UP + at)).collect();
    let with_state = counts.iter().filter(|count| **count > 0).count() as u64;
    assert_eq!(with_state, EVENTS / BETWEEN_STATES, "only events at which states are taken allocate: {counts:?}");
    let most = counts.iter().max().unwrap();
    assert!(*most <= 10 * CALLBACKS as u64, "a state is a few allocations: {most} for {CALLBACKS}");
    let calls: u64 = chain.summaries().iter().map(|summary| summary.calls).sum();
    assert_eq!(calls, CALLBACKS as u64 * (WARM_UP + EVENTS), "each was called at each event");
}
