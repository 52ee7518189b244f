//! What ten sandboxed callbacks cost the runs of `train.toml` and `host/examples/text.toml`.
//!
//! The callbacks are the shipped plugins, each twice. They may only observe, so that all runs do the same work. The
//! cost of one event is measured by the sandbox's own bench. `cargo bench --bench overhead` prints ratios of whole runs in
//! turns, and of some steps each in turns within one run, which the machine's other work disturbs less; and the share of a
//! step in which callbacks were called. To each turn belong two without callbacks: how far these are apart is the noise.

use std::{
    error::Error,
    fs,
    io::{Write as _, stdout},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use host_callback::{
    Callback, Callbacks, Chain, Grant, Hook, InstanceName, Knobs, Measurements, Moment, Outcome, Permit, Saved, Summary,
};
use host_sandbox::{InstanceSettings, Limits, LogLevel, OnFailure, Plugin, Sandbox, SandboxConfig};
use host_trainer::{
    AnyRun, Ending, GroupSettings, Observer, OptimizerRule, RunEvent, Settings, Span, StopFlag, Store,
    device::{self, DeviceChoice},
};
use serde_json::{Value, json};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failed = Box<dyn Error + Send + Sync>;

/// Whole runs of each kind; more where there is time.
const RUNS: usize = 7;
const ENOUGH: Duration = Duration::from_secs(45);
/// Epochs of a whole run, and of the run whose steps take turns.
const EPOCHS: (u64, u64) = (6, 120);
/// Steps of the text run, which take turns.
const TEXT_STEPS: u64 = 1200;
/// Steps of a turn within a run, and how many of its first are not measured: callbacks that were not called for a while have
/// left the caches, and the step after them does not find its own code there.
const TURN: usize = 10;
const SETTLING: usize = 2;
/// The run's first steps, which are not measured: caches and the allocator warm up.
const WARM_UP: usize = 6 * TURN;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A run, without its callbacks.
struct Work {
    /// Where its task stands.
    file: &'static str,
    settings: Settings,
}

impl Work {
    /// What `train.toml` says, with another length.
    fn digits(epochs: u64) -> Self {
        let groups = vec![group("no-decay", "*.bias", 2e-3, 0.0), group("rest", "*", 2e-3, 0.01)];
        Self {
            file: "train.toml",
            settings: Settings { seed: 1, groups, ..Settings::new("bench", Span::Epochs(epochs)) },
        }
    }

    /// What `host/examples/text.toml` says, with another length and without evaluations.
    fn text(steps: u64) -> Self {
        let settings = Settings {
            batch_size: 12,
            evaluate_every: None,
            log_every: Span::Steps(50),
            clip_norm: 1.0,
            optimizer: OptimizerRule::Adamw { beta1: 0.9, beta2: 0.99, epsilon: 1e-8 },
            groups: vec![group("no-decay", "*norm*", 1e-3, 0.0), group("rest", "*", 1e-3, 0.1)],
            ..Settings::new("bench", Span::Steps(steps))
        };
        Self { file: "host/examples/text.toml", settings }
    }

    /// The kind of its task, and the task's settings.
    fn task(&self) -> Result<(String, Value), Failed> {
        let file: toml::Table = fs::read_to_string(root().join(self.file))?.parse()?;
        let mut task = serde_json::to_value(file.get("task").ok_or("there is no [task]")?)?;
        let kind = task.as_object_mut().and_then(|task| task.remove("kind")).ok_or("[task] has no kind")?;
        Ok((kind.as_str().unwrap_or_default().to_owned(), task))
    }
}

fn group(name: &str, pattern: &str, learning_rate: f64, weight_decay: f64) -> GroupSettings {
    GroupSettings { name: name.into(), parameters: vec![pattern.into()], learning_rate, weight_decay }
}

/// The shipped plugins with settings under which each has something to do.
fn plugins() -> Result<Vec<(Arc<Plugin>, Value)>, Failed> {
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let plugins = [
        ("checkpoint-policy", json!({ "monitor": "eval/loss", "every-steps": 10 })),
        ("early-stopping", json!({ "monitor": "eval/loss", "patience": 1 })),
        ("lr-plateau", json!({ "monitor": "eval/loss", "patience": 1 })),
        ("lr-schedule", json!({ "kind": "cosine", "warm-up": 20 })),
        ("nan-guard", json!({})),
    ];
    let load = |(name, config): (&str, Value)| {
        let plugin = sandbox.load(&root().join("plugins").join(name).join(format!("{name}.wasm")))?;
        Ok((plugin, config))
    };
    plugins.into_iter().map(load).collect()
}

/// Two instances of each plugin, in a run.
fn chain(plugins: &[(Arc<Plugin>, Value)], run: &dyn AnyRun) -> Result<Chain, Failed> {
    let mut started: Vec<(Box<dyn Callback>, Permit)> = Vec::new();
    for (plugin, config) in plugins {
        for copy in ["one", "two"] {
            let callback = plugin.start(InstanceSettings {
                name: format!("{}-{copy}", plugin.manifest().name).parse()?,
                config: config.clone(),
                order: None,
                limits: Limits::default(),
                on_failure: OnFailure::Restart,
                run: run.info(),
                catalog: run.catalog().clone(),
                log: Arc::new(|_: &InstanceName, _: LogLevel, _: &str| {}),
            })?;
            started.push((Box::new(callback), Permit::new(plugin.manifest(), &Grant::Observe)));
        }
    }
    Chain::new(run.catalog().clone(), started).map_err(|unknown| format!("{unknown:?}").into())
}

/// When the callbacks are called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Never,
    Always,
    EveryThirdTurn,
}

/// The callbacks, as far as they are called.
struct Sometimes {
    chain: Chain,
    when: When,
    on: bool,
    step: usize,
}

fn is_third(step: usize) -> bool {
    (step / TURN).is_multiple_of(3)
}

impl Callbacks for Sometimes {
    fn handle(&mut self, moment: &Moment, measurements: &mut dyn Measurements, knobs: &Knobs) -> Outcome {
        if moment.hook == Hook::StepBegin && self.when == When::EveryThirdTurn {
            self.on = is_third(self.step);
            self.step += 1;
        }
        if self.on { self.chain.handle(moment, measurements, knobs) } else { Outcome::default() }
    }

    fn save(&mut self) -> Saved {
        if self.on { self.chain.save() } else { Saved::default() }
    }

    fn summaries(&self) -> Vec<Summary> {
        self.chain.summaries()
    }
}

/// Notes how long each step took, and when the first and the last one ended.
#[derive(Default)]
struct Steps {
    seconds: Vec<f64>,
    first_and_last: Option<(Instant, Instant)>,
}

impl Observer for Steps {
    fn observe(&mut self, event: &RunEvent<'_>) {
        if let RunEvent::Stepped { seconds, .. } = event {
            let now = Instant::now();
            self.seconds.push(*seconds);
            let (first, _) = *self.first_and_last.get_or_insert((now, now));
            self.first_and_last = Some((first, now));
        }
    }
}

/// One run, and what each callback did; the last save, which is the disk's part, is left out of the run's time.
fn run(work: Work, plugins: &[(Arc<Plugin>, Value)], when: When) -> Result<(Steps, Vec<Summary>), Failed> {
    let (kind, task) = work.task()?;
    let device = device::find(DeviceChoice::Cpu)?;
    let mut run = host_trainer::prepare(&kind, &task, &root(), work.settings, &device, None)?;
    let mut callbacks = Sometimes { chain: chain(plugins, run.as_ref())?, when, on: when == When::Always, step: 0 };
    let folder = tempfile::tempdir()?;
    let mut steps = Steps::default();
    let mut store = Store::open(folder.path(), 1)?;
    let report = run.train(&mut store, &mut callbacks, &mut steps, &StopFlag::new());
    match report.ending {
        Ending::Completed => Ok((steps, report.callbacks)),
        other => Err(format!("a run ended early: {}", other.words()).into()),
    }
}

fn whole(plugins: &[(Arc<Plugin>, Value)], when: When) -> Result<f64, Failed> {
    let (steps, callbacks) = run(Work::digits(EPOCHS.0), plugins, when)?;
    let calls: u64 = callbacks.iter().map(|summary| summary.calls).sum();
    if (calls == 0) != (when == When::Never) {
        return Err(format!("{calls} calls of callbacks").into());
    }
    Ok(steps.first_and_last.map(|(first, last)| (last - first).as_secs_f64()).unwrap_or_default())
}

/// Steps with and without callbacks in turns, in lines: how they compare, the share of the calls, and each callback.
fn steps_in_turns(work: Work, plugins: &[(Arc<Plugin>, Value)]) -> Result<Vec<String>, Failed> {
    let (Steps { seconds: steps, .. }, callbacks) = run(work, plugins, When::EveryThirdTurn)?;
    let median = |turn: &[f64]| quartiles(&turn[SETTLING..])[1];
    let turns: Vec<f64> = steps[WARM_UP..].chunks_exact(TURN).map(median).collect();
    let [with, after, without] = [0, 1, 2].map(|at| turns.chunks_exact(3).map(|turn| turn[at]).collect::<Vec<f64>>());
    let called = (0..steps.len()).filter(|&step| is_third(step)).count() as f64;
    let seconds = callbacks.iter().map(|summary| summary.seconds).sum::<f64>() / called;
    let [_, step, _] = quartiles(&with);
    let mut lines = vec![line("steps in turns", &with, &without, &after)];
    lines.push(format!(
        "  calls of callbacks take {:.1} us a step, {:.2} % of it",
        seconds * 1e6,
        seconds / step * 100.0
    ));
    for Summary { by, calls, fuel, seconds, .. } in callbacks.iter().filter(|summary| summary.calls > 0) {
        let (a_step, time, fuel) = (*calls as f64 / called, seconds * 1e6 / *calls as f64, fuel / calls);
        lines.push(format!(
            "  {:22}  {a_step:.2} calls a step of {time:5.1} us and {fuel:6} fuel",
            by.instance.as_str()
        ));
    }
    Ok(lines)
}

/// Quartiles of numbers; the second is the median.
fn quartiles(numbers: &[f64]) -> [f64; 3] {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4])
}

/// Medians, their ratio, and the middle half of the ratios of neighbours; the same for what was measured twice.
fn line(what: &str, with: &[f64], without: &[f64], again: &[f64]) -> String {
    let ratio = |those: &[f64]| {
        let ratios: Vec<f64> = those.iter().zip(without).map(|(those, without)| those / without).collect();
        let ([low, _, high], [_, those, _], [_, without, _]) =
            (quartiles(&ratios), quartiles(those), quartiles(without));
        format!("{:.4} ({low:.4} to {high:.4})", those / without)
    };
    let [with_ms, without_ms] = [with, without].map(|those| quartiles(those)[1] * 1e3);
    format!(
        "  {what:14}  {with_ms:8.2} ms with, {without_ms:8.2} ms without: ratio {} of {}\n  {:14}  {:37}: ratio {}",
        ratio(with),
        with.len(),
        "",
        "two of those without, which is noise",
        ratio(again)
    )
}

fn main() -> Result<(), Failed> {
    // On one of the threads that compute, as in the program.
    rayon::scope(|_| measure())
}

fn measure() -> Result<(), Failed> {
    let plugins = plugins()?;
    let began = Instant::now();
    whole(&plugins, When::Always)?;
    let mut turns: Vec<[f64; 3]> = Vec::new();
    while turns.len() < RUNS || began.elapsed() < ENOUGH / 2 {
        // Each of the three is first as often as the others.
        let mut turn = [0.0; 3];
        for place in 0..3 {
            let at = (turns.len() + place) % 3;
            turn[at] = whole(&plugins, [When::Always, When::Never, When::Never][at])?;
        }
        turns.push(turn);
        if began.elapsed() > ENOUGH && turns.len() >= 5 {
            break;
        }
    }
    let [with, without, again] = [0, 1, 2].map(|at| turns.iter().map(|turn| turn[at]).collect::<Vec<f64>>());
    let digits = steps_in_turns(Work::digits(EPOCHS.1), &plugins)?;
    let text = steps_in_turns(Work::text(TEXT_STEPS), &plugins)?;

    let mut out = stdout().lock();
    writeln!(
        out,
        "runs on the CPU with ten callbacks in the sandbox and without; medians, the middle half of the ratios in"
    )?;
    writeln!(out, "brackets")?;
    writeln!(out, "train.toml")?;
    writeln!(out, "{}", line("whole runs", &with, &without, &again))?;
    digits.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out, "host/examples/text.toml")?;
    text.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(())
}
