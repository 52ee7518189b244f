//! What is done with every file, and what has to hold whatever it is: it is refused with one clear error, or it runs and
//! stays within its limits. It makes up no files. Main function: [`probe`].

use std::sync::{Arc, LazyLock};

use host_callback::{
    Answer, Callback as _, CallbackFailure, Catalog, Decision, Event, FailureKind, Grant, Hook, InstanceName, KnobSpec,
    Knobs, MAX_DECISIONS, MeasurementSpec, Moment, Permit, Progress, RunInfo, resolve,
};
use host_sandbox::{
    InstanceSettings, Limits, LoadError, LoadErrorKind, LogLevel, OnFailure, Plugin, Sandbox, SandboxConfig,
    SandboxedCallback, StartErrorKind,
};
use serde_json::Value;

use crate::random::Random;

/// The longest error in bytes, and the longest line of a log.
const ONE_ERROR_BYTES: usize = 16 << 10;

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| Sandbox::new(SandboxConfig::default()).unwrap());

/// A file, and the configuration that it is started with if it gets so far.
pub(crate) struct Input {
    pub(crate) bytes: Vec<u8>,
    pub(crate) config: Value,
}

/// How far a file got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Refused,
    NotStarted,
    Ran,
}

/// So little that the worst ends soon, and enough for a healthy guest.
fn limits() -> Limits {
    Limits {
        fuel: 2_000_000,
        memory_bytes: 4 << 20,
        table_elements: 10_000,
        answer_bytes: 64 << 10,
        state_bytes: 64 << 10,
        decisions: 1_000,
        text_bytes: 256,
        log_lines: 5,
        log_line_bytes: 128,
        log_bytes: 4 << 10,
        ..Limits::default()
    }
}

/// Loads a file; starts it, shows it events, saves and loads its state.
pub(crate) fn probe(input: &Input, random: &mut Random) -> Fate {
    let plugin = match SANDBOX.load_bytes("fuzzed.wasm", &input.bytes) {
        Ok(plugin) => plugin,
        Err(error) => {
            is_a_refusal(&error);
            return Fate::Refused;
        }
    };
    assert!(plugin.manifest().version.len() <= 64 && plugin.manifest().name.len() <= 64, "{:?}", plugin.manifest());
    let catalog = Catalog::new();
    for name in ["loss", "gradient-norm", "sample", "load"] {
        catalog.offer(MeasurementSpec::new(name, "1", "a test"));
    }
    let Some(mut callback) = start(&plugin, &input.config, catalog) else { return Fate::NotStarted };
    for step in 0..8 {
        match random.below(6) {
            0 => is_within_limits(&callback.save().map(|state| {
                assert!(state.is_none_or(|(_, bytes)| bytes.len() <= limits().state_bytes));
            })),
            1 => {
                let state = random.bytes(40);
                is_within_limits(&callback.load(u32::try_from(step).unwrap(), &state));
            }
            _ => show(&mut callback, &event(step, random)),
        }
    }
    Fate::Ran
}

fn is_a_refusal(error: &LoadError) {
    is_clean(&error.to_string(), ONE_ERROR_BYTES);
    assert!(!matches!(error.kind, LoadErrorKind::Host(_)), "{error}");
    if let LoadErrorKind::Guest { failure, .. } = &error.kind {
        assert_ne!(failure.kind, FailureKind::Host, "{error}");
    }
}

fn start(plugin: &Arc<Plugin>, config: &Value, catalog: Catalog) -> Option<SandboxedCallback> {
    let started = plugin.start(InstanceSettings {
        name: "fuzzed".parse().unwrap(),
        config: config.clone(),
        order: None,
        limits: limits(),
        on_failure: OnFailure::Restart,
        run: RunInfo { run: "run".into(), description: "{}".into(), world_size: 1, ..RunInfo::default() },
        catalog,
        // A panic here would be a fault of the host, and those are looked for.
        log: Arc::new(|_: &InstanceName, _: LogLevel, line: &str| is_clean(line, ONE_ERROR_BYTES)),
    });
    match started {
        Ok(callback) => Some(callback),
        Err(error) => {
            is_clean(&error.to_string(), ONE_ERROR_BYTES);
            if let StartErrorKind::Failed(failure) = error.kind {
                is_within_limits::<()>(&Err(failure));
            }
            None
        }
    }
}

fn show(callback: &mut SandboxedCallback, event: &Event) {
    let answer = callback.handle(event);
    is_within_limits(&answer);
    let Ok(decisions) = answer else { return };
    assert!(decisions.len() <= limits().decisions);
    decisions.iter().for_each(is_short);
    let permit = Permit::new(callback.plugin().manifest(), &Grant::Declared);
    let by = Arc::clone(callback.identity());
    let outcome = resolve(event.moment.hook, vec![Answer { by, permit: &permit, decisions }], &knobs());
    assert!(outcome.records.len() <= MAX_DECISIONS + 1);
    assert!(outcome.controls.writes.iter().all(|(_, value)| (0.0..=1.0).contains(value)), "{outcome:?}");
}

/// Escapes make a text longer, by at most eight times.
fn is_short(decision: &Decision) {
    let text = match decision {
        Decision::Stop(text) | Decision::EndEpoch(text) | Decision::Save(text) | Decision::Skip(text) => text,
        Decision::Restore(text) | Decision::Mute(text) | Decision::Note(text) => text,
        Decision::Set { knob: text, .. } | Decision::Scale { knob: text, .. } => text,
        Decision::Report { name, .. } => name,
        Decision::Evaluate | Decision::Log => return,
    };
    assert!(text.len() <= 8 * limits().text_bytes, "{} bytes", text.len());
}

/// A failure is the guest's own, told in a few words, and paid with no more than a call may cost: making an instance,
/// starting it, giving it its state and repeating events are calls too.
fn is_within_limits<T>(result: &Result<T, CallbackFailure>) {
    let Err(failure) = result else { return };
    assert_ne!(failure.kind, FailureKind::Host, "{failure}");
    is_clean(&failure.message, ONE_ERROR_BYTES);
    // A fresh unit of the host's own work may be paid up to as much again.
    assert!(failure.fuel <= 2 * limits().fuel, "{failure}");
}

/// One error that can be shown: some words, not too many, and nothing that steers a terminal.
fn is_clean(text: &str, max_bytes: usize) {
    assert!(!text.trim().is_empty() || max_bytes == ONE_ERROR_BYTES && text.is_empty(), "no words");
    assert!(text.len() <= max_bytes, "{} bytes: {}", text.len(), text.chars().take(300).collect::<String>());
    assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
}

fn knobs() -> Knobs {
    let mut knobs = Knobs::new();
    for name in ["learning-rate/all", "dropout"] {
        let (name, unit, meaning) = (name.into(), "1".into(), String::new());
        let spec = KnobSpec { name, unit, min: 0.0, max: 1.0, whole: false, effective: Hook::Gradients, meaning };
        knobs.offer(spec, 0.5);
    }
    knobs
}

/// Any hook, with a few measurements of every kind.
fn event(step: u64, random: &mut Random) -> Event {
    let progress = Progress { step, total_steps: Some(8), epoch: random.float(), samples: random.next(), tokens: 0 };
    let hook = if random.once_in(2) { Hook::StepEnd } else { *random.pick(&Hook::ALL) };
    let moment = Moment { hook, occurrence: step + 1, progress, detail: "x".repeat(random.below(40)) };
    Event {
        moment,
        scalars: (0..2).take(random.below(3)).map(|key| (key, random.float())).collect(),
        vectors: vec![(3, vec![0.5; random.below(100)])],
        texts: vec![(2, "ü".repeat(random.below(100)))],
    }
}
