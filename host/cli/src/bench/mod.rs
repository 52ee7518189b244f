//! A run's steps beside those of other loops around the same model, in turns, or a whole run beside PyTorch's.
//!
//! A turn is some steps of ours, as many of a bare loop and as many of PyTorch's where that is asked for, so that whatever
//! else the machine does disturbs all alike. It prints nothing. Main functions: [`compare`], [`whole`].

mod peer;
mod spread;
mod turns;
mod whole;

use std::time::{Duration, Instant};

use host_callback::{Callbacks as _, Chain, Summary};
use host_trainer::{AnyBare, AnyRun, StopFlag, Store, device::Device};
use tempfile::TempDir;

pub(crate) use self::{
    peer::Wanted,
    spread::Spread,
    whole::{Evaluation, Whole, whole},
};
use self::{
    peer::{Peer, shown},
    turns::Turns,
};
use crate::{
    config::Plan,
    exit::Exit,
    problem::{Problem, Problems},
    program,
    run_folder::RunFolder,
    telemetry::{Display, Telemetry},
    wire::{self, GuestLog, Prepared},
};

/// How long to compare: until one of both is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// Steps of each loop that are measured.
    pub(crate) steps: usize,
    /// Time that all loops take together.
    pub(crate) time: Duration,
}

/// What is trained, and where.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The task and its model, in words.
    pub(crate) model: String,
    /// The device, in words.
    pub(crate) device: String,
    /// Threads that compute on the CPU.
    pub(crate) threads: usize,
    /// Samples a step.
    pub(crate) batch: usize,
}

impl Subject {
    /// All of it, in words.
    pub(crate) fn words(&self) -> String {
        format!("{}; batch {}, {}, {}", self.model, self.batch, self.device, in_words(self.threads))
    }
}

/// A number of threads.
fn in_words(threads: usize) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

/// What a step takes in each loop.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// What was trained.
    pub(crate) subject: Subject,
    /// Tokens a step; 0 where the task has none.
    pub(crate) tokens: u64,
    /// From the configuration to the end of the first step.
    pub(crate) first_step: Duration,
    /// Resident memory after the last step, the bare loop's included; in bytes.
    pub(crate) memory: usize,
    /// Seconds a step, of turns.
    pub(crate) ours: Spread,
    pub(crate) bare: Spread,
    /// How ours compares with the bare loop, turn by turn: below 1 is faster.
    pub(crate) over_bare: Spread,
    pub(crate) peer: Option<PeerComparison>,
    /// What each callback that was called did.
    pub(crate) callbacks: Vec<Summary>,
    /// Steps of ours in which they did it.
    pub(crate) steps: u64,
}

impl Comparison {
    /// Seconds a step that all callbacks took.
    pub(crate) fn callback_seconds(&self) -> f64 {
        self.callbacks.iter().fold(0.0, |sum, summary| sum + summary.seconds) / self.steps as f64
    }
}

/// PyTorch's part.
#[derive(Debug)]
pub(crate) struct PeerComparison {
    /// What it is.
    pub(crate) name: String,
    /// Seconds a step, of turns.
    pub(crate) seconds: Spread,
    /// How ours compares with it, turn by turn: below 1 is faster.
    pub(crate) ours_over: Spread,
    /// The largest difference of a step's loss from the bare loop's, which was given the same weights and batches.
    pub(crate) loss_difference: f64,
    /// Steps whose losses were compared.
    pub(crate) losses: usize,
}

/// A run that is ready, and what others begin with.
struct Stage {
    run: Box<dyn AnyRun>,
    device: Device,
    chain: Chain,
    bare: Box<dyn AnyBare>,
    telemetry: Telemetry,
    store: Store,
    /// How long it took to prepare the run.
    prepared: Duration,
    _folder: TempDir,
}

impl Stage {
    fn of(plan: &Plan) -> Result<Self, Problems> {
        let files = |error: std::io::Error| {
            Problems::from((Exit::RunFolder, Problem::new("there is no folder for the run").caused_by(error)))
        };
        let began = Instant::now();
        let Prepared { run, device, .. } = wire::prepare(plan, None)?;
        let chain = wire::callbacks(plan, run.as_ref(), &GuestLog::default(), None)?.chain;
        let prepared = began.elapsed();
        let bare = wire::bare(plan, &device)?;
        let folder = tempfile::tempdir().map_err(files)?;
        let run_folder = RunFolder::create(folder.path(), "bench").map_err(files)?;
        let telemetry = Telemetry::create(&run_folder, Display::Quiet).map_err(files)?;
        let store = Store::open(&run_folder.checkpoints(), plan.settings.keep)
            .map_err(|error| failed(Problem::new("there is no room for checkpoints").caused_by(error)))?;
        Ok(Self { run, device, chain, bare, telemetry, store, prepared, _folder: folder })
    }

    fn peer(&self, wanted: Wanted<'_>, plan: &Plan) -> Result<Peer, Problems> {
        Peer::start(wanted, plan, &self.device.kind, self.run.as_ref(), self.bare.as_ref())
    }

    fn subject(&self, plan: &Plan) -> Subject {
        Subject {
            model: format!("{}, {}", self.run.task().task, self.run.task().model),
            device: self.device.kind.to_string(),
            threads: rayon::current_num_threads(),
            batch: plan.settings.batch_size * plan.settings.accumulation,
        }
    }
}

fn failed(problem: Problem) -> Problems {
    (Exit::RunFailed, problem).into()
}

/// What broke a comparison off.
fn broke_off(why: &str) -> Problems {
    failed(Problem::new(format!("the comparison broke off: {why}")))
}

/// Compares.
///
/// # Errors
///
/// What keeps the run or PyTorch from beginning or going on.
pub(crate) fn compare(plan: &Plan, peer: Option<Wanted<'_>>, length: Length) -> Result<Comparison, Problems> {
    let mut stage = Stage::of(plan)?;
    let begin = |wanted| {
        // Where it does more steps, it begins with the first batch again; losses are not compared so far.
        let steps = (length.steps + turns::STEPS).clamp(turns::COMPARED, turns::BATCHES);
        let batches = shown(plan, stage.bare.batches(0..steps))?;
        let mut peer = stage.peer(wanted, plan)?;
        peer.take(&batches).map_err(|why| broke_off(&why))?;
        Ok::<_, Problems>(peer)
    };
    let peer = peer.map(begin).transpose()?;
    let subject = stage.subject(plan);
    let Stage { mut run, mut chain, mut bare, telemetry, mut store, prepared, _folder, .. } = stage;
    let stop = StopFlag::new();
    let mut turns = Turns::new(telemetry, bare.as_mut(), peer, stop.clone(), length.steps, length.time);
    let started = chain.summaries();
    let report = run.train(&mut store, &mut chain, &mut turns, &stop);
    let memory = program::resident();
    let done = turns.finish().map_err(|why| broke_off(&why))?;
    if done.ours.is_empty() {
        let ending = report.ending.words();
        let message = format!("the run ended before {} steps were done: {ending}", 2 * turns::STEPS);
        return Err(failed(Problem::new(message).help("a longer run can be measured: --set train.steps=100000")));
    }
    let pairs = |others: &[f64]| done.ours.iter().zip(others).map(|(ours, other)| ours / other).collect();
    Ok(Comparison {
        subject,
        tokens: report.processed.tokens.checked_div(report.progress.step).unwrap_or(0),
        first_step: prepared + done.first_step.unwrap_or_default(),
        memory,
        over_bare: Spread::of(pairs(&done.bare)),
        peer: done.peer_name.map(|name| PeerComparison {
            name,
            ours_over: Spread::of(pairs(&done.peer)),
            seconds: Spread::of(done.peer),
            loss_difference: done.difference,
            losses: done.losses,
        }),
        steps: report.progress.step,
        callbacks: since(&started, report.callbacks),
        ours: Spread::of(done.ours),
        bare: Spread::of(done.bare),
    })
}

/// What callbacks did after they were started, as far as they were called: a start is paid once a run.
fn since(started: &[Summary], now: Vec<Summary>) -> Vec<Summary> {
    let called = now.into_iter().filter(|summary| summary.calls > 0);
    let less = |mut summary: Summary| {
        if let Some(before) = started.iter().find(|before| before.by == summary.by) {
            summary.seconds -= before.seconds;
            summary.fuel -= before.fuel;
        }
        summary
    };
    called.map(less).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::samples::summary;

    #[test]
    fn callbacks_are_counted_a_step_and_without_their_starts() {
        let started = [Summary { calls: 0, fuel: 20_000, ..summary("steers", 0.5) }];
        let silent = Summary { calls: 0, ..summary("silent", 0.5) };
        let callbacks = since(&started, vec![summary("steers", 4.5), silent, summary("joined", 1.0)]);
        let counted: Vec<_> =
            callbacks.iter().map(|summary| (summary.by.instance.as_str(), summary.seconds, summary.fuel)).collect();
        assert_eq!(counted, [("steers", 4.0, 40_000), ("joined", 1.0, 60_000)]);
        let comparison = Comparison {
            subject: Subject { model: "mlp".into(), device: "cpu".into(), threads: 1, batch: 5 },
            tokens: 0,
            first_step: Duration::ZERO,
            memory: 0,
            ours: Spread::of(vec![0.01]),
            bare: Spread::of(vec![0.01]),
            over_bare: Spread::of(vec![1.0]),
            peer: None,
            callbacks,
            steps: 1000,
        };
        assert_eq!(comparison.callback_seconds(), 0.005);
    }
}
