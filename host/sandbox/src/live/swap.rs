//! Carries out between two steps what the thread that watches has prepared, and takes it back where it fails.
//!
//! It neither looks at files nor tries anything out. Main type: [`Live`].

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use host_callback::{
    Callback, Callbacks, Catalog, Chain, Consequence, FailureRecord, Hook, Identity, InstanceName, Key, Knobs,
    Measurements, Moment, Outcome, Permit, Progress, RunInfo, Saved, Summary,
};

use super::{
    candidate::Surroundings,
    mail::{Mail, Order, Rehearsed, Signal},
    news::{LiveNews, LiveSink},
    roster::{Loaded, Roster},
    worker::Worker,
};
use crate::{LogSink, Sandbox};

/// Events that a new version answers before the old one is given up. Three: what fails at its first event of some
/// hook has met the hooks of a step by then.
const PROBATION_CALLS: u64 = 3;

/// Stack of the thread that watches: guests run on it, and translation has threads of its own.
const WORKER_STACK_BYTES: usize = 4 << 20;

/// How long the thread that watches waits for what.
#[derive(Clone, Copy, Debug)]
pub struct LiveTimes {
    /// How long a file must stay as it is before it counts. Default 300 ms.
    pub quiet: Duration,
    /// How long until the next look where the system tells of no change. Default 2 s.
    pub rescan: Duration,
    /// How long until the next table where nothing has changed. Default 3 s.
    pub table: Duration,
}

impl Default for LiveTimes {
    fn default() -> Self {
        Self { quiet: Duration::from_millis(300), rescan: Duration::from_secs(2), table: Duration::from_secs(3) }
    }
}

/// What a run begins with.
pub struct LiveSetup {
    /// Loads new files.
    pub sandbox: Sandbox,
    /// The callbacks of the run.
    pub chain: Chain,
    /// Those of them that came from files.
    pub members: Vec<Loaded>,
    /// Files that were looked at and are no member's: they count when they change.
    pub seen: Vec<PathBuf>,
    /// Which instances there should be; `None` watches nothing.
    pub roster: Option<Box<dyn Roster>>,
    /// Is told what happens.
    pub sink: Arc<dyn LiveSink>,
    /// The run that instances join.
    pub run: RunInfo,
    /// The run's measurements.
    pub catalog: Catalog,
    /// Where log lines of instances go.
    pub log: Arc<dyn LogSink>,
    /// How long to wait.
    pub times: LiveTimes,
}

/// The callbacks of a run whose plugins may change. The thread that watches ends with it.
pub struct Live {
    chain: Chain,
    mail: Arc<Mail>,
    worker: Sender<Signal>,
    sink: Arc<dyn LiveSink>,
    probation: Vec<Probation>,
}

/// A new version that has not proven itself, and what was in its place.
struct Probation {
    name: InstanceName,
    /// The number of the swap.
    swap: u64,
    old: Box<dyn Callback>,
    permit: Permit,
    /// The count of calls at which it has.
    proven_at: u64,
}

impl Live {
    /// Stands between a loop and its callbacks, and starts the thread that watches.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn start(setup: LiveSetup) -> io::Result<Self> {
        let LiveSetup { sandbox, chain, members, seen, roster, sink, run, catalog, log, times } = setup;
        let mail = Arc::new(Mail::default());
        let (wake, signals) = mpsc::channel();
        let around = Surroundings { run, catalog, log };
        let worker =
            Worker::new(sandbox, members, roster, around, Arc::clone(&mail), signals, Arc::clone(&sink), times);
        let own = wake.clone();
        thread::Builder::new()
            .name("plugins-watch".into())
            .stack_size(WORKER_STACK_BYTES)
            .spawn(move || worker.run(&seen, own))?;
        Ok(Self { chain, mail, worker: wake, sink, probation: Vec::new() })
    }

    /// How it stands with every instance now.
    pub fn table(&self) -> Vec<Summary> {
        self.chain.standings()
    }

    /// Carries out what waits. Failures of callbacks that come up are the hook's.
    fn at_boundary(&mut self, progress: &Progress, failures: &mut Vec<FailureRecord>) {
        for order in self.mail.take() {
            // Whoever asked may be gone; what was done is done.
            match order {
                Order::Rehearse { name, reply } => {
                    let rehearsal = self.chain.rehearsal(&name);
                    if let Some(Err(failure)) = &rehearsal
                        && let Some(by) = self.identity(&name)
                    {
                        failures.push(FailureRecord { by, failure: failure.clone() });
                    }
                    drop(reply.send(Rehearsed { step: progress.step, rehearsal }));
                }
                Order::Replace { callback, permit, settings, swap, reply } => {
                    drop(reply.send(self.replace(callback, permit, settings, swap)));
                }
                Order::Join { callback, permit, file, manifest, grant, reply } => {
                    let by = Arc::clone(callback.identity());
                    let joined = self.chain.join(callback, permit.clone()).map_err(|error| error.to_string());
                    if joined.is_ok() {
                        self.sink.told(&LiveNews::Joined { by, file, permit, manifest: *manifest, grant });
                    }
                    drop(reply.send(joined));
                }
                Order::Allow { name, permit, reply } => {
                    if let Some(by) = self.identity(&name) {
                        self.chain.allow(&name, permit.clone());
                        self.sink.told(&LiveNews::Granted { by, permit });
                    }
                    drop(reply.send(Ok(())));
                }
                Order::Retire { name, why, reply } => {
                    self.give_up(&name);
                    if let Some(callback) = self.chain.retire(&name) {
                        self.sink.told(&LiveNews::Retired { by: Arc::clone(callback.identity()), why });
                        self.discard(callback);
                    }
                    drop(reply.send(Ok(())));
                }
                Order::Table { reply } => drop(reply.send((progress.step, self.table()))),
            }
        }
    }

    fn replace(
        &mut self,
        callback: Box<dyn Callback + Send>,
        permit: Permit,
        settings: Vec<&'static str>,
        swap: u64,
    ) -> Result<(), String> {
        let to = Arc::clone(callback.identity());
        let name = to.instance.clone();
        let began = Instant::now();
        let (old, old_permit) = self.chain.replace(callback, permit.clone()).map_err(|error| error.to_string())?;
        let hand_over = began.elapsed();
        let from = Arc::clone(old.identity());
        // What was on probation has had its time: the one before it is given up.
        self.give_up(&name);
        let proven_at = self.chain.calls(&name).unwrap_or_default() + PROBATION_CALLS;
        self.probation.push(Probation { name, swap, old, permit: old_permit, proven_at });
        self.sink.told(&LiveNews::Swapped { from, to, permit, settings, hand_over });
        Ok(())
    }

    /// Ends what was kept for a name, if anything was.
    fn give_up(&mut self, name: &InstanceName) {
        if let Some(at) = self.probation.iter().position(|probation| probation.name == *name) {
            let probation = self.probation.remove(at);
            self.discard(probation.old);
        }
    }

    /// Ends a callback where nobody waits for it.
    fn discard(&self, callback: Box<dyn Callback>) {
        // With the thread gone it comes back in the error, and ends here.
        drop(self.worker.send(Signal::Unneeded(callback)));
    }

    fn identity(&self, name: &InstanceName) -> Option<Arc<Identity>> {
        let found = self.chain.members().find(|(identity, _)| identity.instance == *name);
        found.map(|(identity, _)| Arc::clone(identity))
    }

    /// Takes back new versions that failed, and gives up old ones whose successors did not. What the old one comes
    /// back for is no reason to end the run.
    fn judge(&mut self, failures: &mut [FailureRecord]) {
        for probation in std::mem::take(&mut self.probation) {
            let failed = failures.iter_mut().find(|record| record.by.instance == probation.name);
            if let Some(record) = failed {
                record.failure.consequence = Consequence::Restart;
                self.roll_back(probation, record);
            } else if self.chain.calls(&probation.name).is_none_or(|calls| calls >= probation.proven_at) {
                drop(self.worker.send(Signal::Proven(probation.name, probation.swap)));
                self.discard(probation.old);
            } else {
                self.probation.push(probation);
            }
        }
    }

    fn roll_back(&mut self, probation: Probation, record: &FailureRecord) {
        let Probation { name, swap, old, permit, .. } = probation;
        let to = Arc::clone(old.identity());
        // It was in the chain before, so it reads nothing that is not offered.
        if let Ok(failed) = self.chain.put_back(old, permit) {
            self.discard(failed);
            let why = record.failure.to_string();
            self.sink.told(&LiveNews::RolledBack { from: Arc::clone(&record.by), to, why });
            drop(self.worker.send(Signal::RolledBack(name, swap)));
        }
    }
}

impl Callbacks for Live {
    fn handle(&mut self, moment: &Moment, measurements: &mut dyn Measurements, knobs: &Knobs) -> Outcome {
        let has_orders = moment.hook == Hook::StepBegin && self.mail.is_waiting();
        if !has_orders && self.probation.is_empty() {
            return self.chain.handle(moment, measurements, knobs);
        }
        let mut failures = Vec::new();
        if has_orders {
            self.at_boundary(&moment.progress, &mut failures);
        }
        let mut outcome = self.chain.handle(moment, measurements, knobs);
        outcome.failures.append(&mut failures);
        if !self.probation.is_empty() {
            self.judge(&mut outcome.failures);
        }
        outcome
    }

    fn reads(&mut self, hook: Hook, occurrence: u64) -> &[Key] {
        self.chain.reads(hook, occurrence)
    }

    fn finish(&mut self, knobs: &Knobs) -> Outcome {
        self.chain.finish(knobs)
    }

    fn save(&mut self) -> Saved {
        let mut saved = self.chain.save();
        let on_probation =
            |record: &FailureRecord| self.probation.iter().any(|probation| probation.name == record.by.instance);
        if saved.failures.iter().any(on_probation) {
            self.judge(&mut saved.failures);
            let mut failures = std::mem::take(&mut saved.failures);
            saved = self.chain.save();
            saved.failures.append(&mut failures);
        }
        saved
    }

    fn summaries(&self) -> Vec<Summary> {
        self.chain.summaries()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.mail.close();
        // The thread may be compiling; whoever ends the run does not wait for that.
        drop(self.worker.send(Signal::Stop));
    }
}
