//! `host plugin bench`: what plugins cost: size, compiling, starting, memory, and each event's time and fuel.
//!
//! It decides nothing about whether that is too much. Main function: [`run`].

use std::{
    fmt::Write as _,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use host_callback::{Callback as _, Event, Hook, Moment, Progress};
use host_sandbox::{CompileLimits, Plugin, Sandbox, SandboxConfig, SandboxedCallback, StartError};
use host_trainer::task::Course;
use serde::Serialize;
use serde_json::json;

use super::{load::refused, settings::settings};
use crate::{
    args::PluginBenchArgs,
    exit::Exit,
    problem::{Problem, Problems},
    program,
    rehearsal::{Play, Stage},
    terminal,
};

/// Epochs of 20 steps.
const EPOCHS: u64 = 50;
/// Instances that are started, whose memory is measured together.
const MANY: usize = 20;

/// What one plugin costs.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Cost {
    plugin: String,
    file: String,
    bytes: usize,
    compiled_seconds: f64,
    from_cache_seconds: f64,
    start_seconds: f64,
    memory_bytes_each: usize,
    events: Vec<EventCost>,
    /// Calls that failed; what they took is no event's cost.
    failures: usize,
    /// The first failure's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct EventCost {
    hook: Hook,
    calls: usize,
    median_seconds: f64,
    /// What 95 of 100 calls are below.
    high_seconds: f64,
    fuel: u64,
}

/// Measures and prints.
///
/// # Errors
///
/// A file that is no plugin, and settings that it does not take.
pub(super) fn run(args: &PluginBenchArgs) -> Result<Exit, Problems> {
    let costs = args.files.iter().map(|file| cost(file, args)).collect::<Result<Vec<_>, _>>()?;
    terminal::out(&if args.json { format!("{:#}\n", json!(costs)) } else { table(&costs) });
    Ok(Exit::Success)
}

fn cost(file: &Path, args: &PluginBenchArgs) -> Result<Cost, Problems> {
    let failed = |problem: Problem| Problems::from((Exit::Plugin, problem));
    let folder = tempfile::tempdir()
        .map_err(|error| failed(Problem::new("there is no folder for compiled code").caused_by(error)))?;
    let load = || -> Result<_, Problems> {
        let compiler = program::compiler(CompileLimits::default());
        let config = SandboxConfig { cache: Some(folder.path().into()), compiler, ..SandboxConfig::default() };
        let sandbox = Sandbox::new(config).map_err(|error| failed(Problem::new(error.to_string())))?;
        sandbox.load(file).map_err(|error| refused(&error))
    };
    let (_, compiled) = timed(load);
    let (plugin, from_cache) = timed(load);
    let plugin: Arc<Plugin> = plugin?;
    let manifest = plugin.manifest();
    let config = settings(manifest, args.tried.config.as_deref())?;
    let stage = Stage { file, name: &manifest.name, config, set: args.tried.set.clone(), epochs: EPOCHS };
    let (memory, started) = instances(&plugin, &stage)?;
    let play = stage.play(Course::Healthy, &[])?;
    let failures = || play.cues.iter().flat_map(|cue| &cue.failures);
    Ok(Cost {
        plugin: format!("{} {}", manifest.name, manifest.version),
        file: file.display().to_string(),
        bytes: plugin.size_bytes(),
        compiled_seconds: compiled.as_secs_f64(),
        from_cache_seconds: from_cache.as_secs_f64(),
        start_seconds: started.as_secs_f64() / MANY as f64,
        memory_bytes_each: memory,
        events: events(&play),
        failures: failures().count(),
        failure: failures().next().cloned(),
    })
}

/// Memory of an instance that has seen an event, and the time that its start took.
fn instances(plugin: &Arc<Plugin>, stage: &Stage<'_>) -> Result<(usize, Duration), Problems> {
    let started = |error: StartError| Problems::from((Exit::Plugin, Problem::new(error.to_string())));
    let settings = stage.instance(Course::Healthy)?;
    let start = || -> Result<SandboxedCallback, Problems> {
        let mut callback = plugin.start(settings.clone()).map_err(started)?;
        let hook = callback.subscriptions().first().map_or(Hook::StepEnd, |subscription| subscription.hook);
        let moment = Moment { hook, occurrence: 1, progress: Progress::default(), detail: String::new() };
        let event = Event { moment, scalars: Vec::new(), vectors: Vec::new(), texts: Vec::new() };
        // What it makes of an event without values is its own affair: its memory is in use after it.
        drop(callback.handle(&event));
        Ok(callback)
    };
    // The first one brings what all of them share.
    let first = start()?;
    let before = program::resident();
    let (others, took) = timed(|| (0..MANY).map(|_| start()).collect::<Result<Vec<_>, _>>());
    let memory = program::resident().saturating_sub(before) / others?.len();
    drop(first);
    Ok((memory, took))
}

fn events(play: &Play) -> Vec<EventCost> {
    let cost = |(&hook, calls): (&Hook, &crate::rehearsal::Calls)| {
        let mut seconds = calls.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        let at = |part: f64| seconds[((seconds.len() - 1) as f64 * part) as usize];
        let count = seconds.len();
        EventCost {
            hook,
            calls: count,
            median_seconds: at(0.5),
            high_seconds: at(0.95),
            fuel: calls.fuel / count as u64,
        }
    };
    play.calls.iter().map(cost).collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    (work(), began.elapsed())
}

fn table(costs: &[Cost]) -> String {
    let mut text = String::new();
    for cost in costs {
        let mib = cost.memory_bytes_each as f64 / f64::from(1 << 20);
        writeln!(
            text,
            "{} ({})\n  {} bytes; compiled in {:.2?}, from the cache in {:.2?}; an instance starts in {:.2?} and takes {mib:.2} MiB",
            cost.plugin,
            cost.file,
            cost.bytes,
            Duration::from_secs_f64(cost.compiled_seconds),
            Duration::from_secs_f64(cost.from_cache_seconds),
            Duration::from_secs_f64(cost.start_seconds),
        )
        .expect("a String takes everything");
        for EventCost { hook, calls, median_seconds, high_seconds, fuel } in &cost.events {
            let (median, high) = (median_seconds * 1e6, high_seconds * 1e6);
            writeln!(
                text,
                "  {:<14} {calls:>5} calls: median {median:8.2} us, 95 % below {high:8.2} us, {fuel:>8} fuel",
                hook.to_string()
            )
            .expect("a String takes everything");
        }
        if let Some(failure) = &cost.failure {
            writeln!(text, "  {} of these calls failed, so this is not what events cost: {failure}", cost.failures)
                .expect("a String takes everything");
        }
    }
    text
}
