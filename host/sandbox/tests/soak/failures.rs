//! Calls that fail, in every way in which a call can, on callbacks that are restarted until they are not any more. What
//! each failure is called is tested in `behaviours`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use host_callback::{Callback as _, Catalog, Consequence, Event, FailureKind, Hook, Moment, Progress, RunInfo};
use host_sandbox::{InstanceSettings, Limits, Plugin, Sandbox, SandboxConfig, SandboxedCallback};
use serde_json::{Value, json};

use crate::{
    process::{Memory, SLACK, held, is_given_back, round_count, turn},
    stage::component,
};

const CALLS_A_ROUND: u64 = 5_000;

/// Calls until a callback that always fails is quarantined: two that fail, eight that are passed over, one that fails.
const CALLS: u64 = 11;
const FAILING: u64 = 3;

/// So small that a loop ends within a millisecond, and enough for a guest that takes all of its memory or stack. The
/// deadline never comes, however busy the machine is.
fn limits(kind: FailureKind) -> Limits {
    let fuel = if kind == FailureKind::Fuel { 500_000 } else { 50_000_000 };
    Limits { fuel, deadline: Duration::from_secs(600), memory_bytes: 4 << 20, ..Limits::default() }
}

/// Every way to fail, with what it is called.
fn attacks() -> Vec<(&'static str, Value, FailureKind)> {
    let evil = ["trap", "panic", "error", "loop", "memory", "recursion", "bad-words"];
    let evil = evil.map(|mode| ("evil", json!({ "mode": mode }), kind(mode)));
    let abi = ["huge-list", "outside", "misaligned", "unknown-decision", "unknown-result", "realloc-outside"];
    let abi = abi.map(|attack| ("evil-abi", json!(attack), FailureKind::BadValue));
    evil.into_iter().chain(abi).collect()
}

fn kind(mode: &str) -> FailureKind {
    match mode {
        "error" => FailureKind::Error,
        "loop" => FailureKind::Fuel,
        "memory" => FailureKind::Memory,
        "bad-words" => FailureKind::BadValue,
        _ => FailureKind::Trap,
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "how many calls it were is for whoever asks")]
fn failing_calls_leave_nothing_behind() {
    let _turn = turn();
    let (before, began) = (held(), Instant::now());
    let mut memory = Memory::default();
    let (mut failed, wanted) = (0, CALLS_A_ROUND * round_count());
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let plugins = ["evil", "evil-abi"].map(|name| sandbox.load(&component(name)).unwrap());
    let attacks = attacks();
    for (at, (guest, config, kind)) in attacks.iter().cycle().enumerate() {
        let plugin = &plugins[usize::from(*guest == "evil-abi")];
        failed += fail(start(plugin, config, *kind), *kind);
        // Everything has been there twice before memory is looked at.
        if at >= 2 * attacks.len() {
            memory.note();
        }
        if failed >= wanted {
            break;
        }
    }
    drop((sandbox, plugins));
    is_given_back(before);
    println!("{failed} failing calls in {:.1?}", began.elapsed());
    memory.is_flat("failing calls", SLACK);
}

fn start(plugin: &Arc<Plugin>, config: &Value, kind: FailureKind) -> SandboxedCallback {
    let settings = InstanceSettings::new("fails".parse().unwrap(), RunInfo::default(), Catalog::new());
    plugin.start(InstanceSettings { config: config.clone(), limits: limits(kind), ..settings }).unwrap()
}

/// Calls a callback until it is quarantined, and says how many of the calls failed.
fn fail(mut callback: SandboxedCallback, kind: FailureKind) -> u64 {
    let mut consequences = Vec::new();
    for step in 0..CALLS {
        let progress = Progress { step, ..Progress::default() };
        let moment = Moment { hook: Hook::StepEnd, occurrence: step + 1, progress, detail: String::new() };
        let event = Event { moment, scalars: Vec::new(), vectors: Vec::new(), texts: Vec::new() };
        if let Err(failure) = callback.handle(&event) {
            assert_eq!(failure.kind, kind, "{failure}");
            consequences.push(failure.consequence);
        }
    }
    assert_eq!(consequences, [Consequence::Restart, Consequence::Restart, Consequence::Disabled]);
    FAILING
}
