//! Runs the tiny task with scripts, in one piece or in parts, and keeps everything that was seen.
//!
//! It holds no tests. Main types: [`Rig`], [`Part`].

use std::{
    cell::Cell,
    io,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    rc::Rc,
    thread::{Scope, ScopedJoinHandle},
};

use burn::backend::{Autodiff, Flex, flex::FlexDevice};
use host_callback::{Chain, Hook, SavedState};
use host_trainer::{
    AnyRun, Checkpoint, Ending, GroupSettings, Link, Observer, OptimizerRule, Run, RunEvent, RunReport, Settings, Span,
    StopFlag, Store, StreamLink, TrainError, device::DeviceKind,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    script::{Log, Script, Seen},
    task::{Probe, Regression},
};

type TinyRun = Run<Autodiff<Flex>, Regression>;

/// A run that can be started, or gone on with, any number of times.
pub(crate) struct Rig {
    folder: Rc<TempDir>,
    pub(crate) task: Regression,
    pub(crate) settings: Settings,
    /// Whether the loop may look at the loss of each step, as on the CPU.
    pub(crate) reads_are_free: bool,
    pub(crate) stop: StopFlag,
    /// What the other ranks do, and when.
    pub(crate) others: Vec<Other>,
    parts: Cell<usize>,
}

/// Another rank than the first.
#[derive(Clone)]
pub(crate) struct Other {
    pub(crate) task: Regression,
    pub(crate) stop: StopFlag,
    /// How many messages it gets before it is gone.
    pub(crate) lives: usize,
}

/// What another rank leaves.
pub(crate) struct Followed {
    pub(crate) result: Result<(), TrainError>,
    pub(crate) weights: Vec<u8>,
    /// Samples of each batch that it was given.
    pub(crate) batches: Vec<Vec<usize>>,
}

/// One process's part of a run.
pub(crate) struct Part {
    pub(crate) report: RunReport,
    /// What the observer was told, earlier parts included, as JSON without times.
    pub(crate) events: Vec<Value>,
    /// What each script saw, in the order in which they were given.
    pub(crate) logs: Vec<Log>,
    /// The weights that the run leaves.
    pub(crate) weights: Vec<u8>,
    pub(crate) probe: Rc<Probe>,
    /// The folder of checkpoints.
    pub(crate) folder: PathBuf,
    /// What the other ranks leave, from rank 1 on.
    pub(crate) followed: Vec<Followed>,
    _keeps: Rc<TempDir>,
}

impl Rig {
    /// A run of the given number of epochs: 8 samples, 2 steps an epoch of 2 micro-batches of 2.
    pub(crate) fn new(epochs: u64) -> Self {
        let group = |name: &str, pattern: &str, rate| GroupSettings {
            name: name.into(),
            parameters: vec![pattern.into()],
            learning_rate: rate,
            weight_decay: 0.0,
        };
        let settings = Settings {
            name: "tiny".into(),
            seed: 3,
            length: Span::Epochs(epochs),
            until: None,
            batch_size: 2,
            accumulation: 2,
            drop_last: false,
            evaluate_every: None,
            log_every: Span::Steps(1000),
            save_every: None,
            save_async: 0,
            keep: 2,
            clip_norm: 0.0,
            clip_value: 0.0,
            optimizer: OptimizerRule::Adamw { beta1: 0.9, beta2: 0.99, epsilon: 1e-8 },
            groups: vec![group("biases", "bias", 0.125), group("rest", "*", 0.0625)],
        };
        Self {
            folder: Rc::new(tempfile::tempdir().unwrap()),
            task: Regression::of(8),
            settings,
            reads_are_free: true,
            stop: StopFlag::new(),
            others: Vec::new(),
            parts: Cell::new(0),
        }
    }

    /// The same with so many ranks.
    pub(crate) fn with_ranks(mut self, ranks: usize) -> Self {
        let other = || Other { task: self.task.clone(), stop: StopFlag::new(), lives: usize::MAX };
        self.others = (1..ranks).map(|_| other()).collect();
        self
    }

    /// The folder in which the next part will have its checkpoints.
    pub(crate) fn next_folder(&self) -> PathBuf {
        self.folder.path().join(format!("part-{}", self.parts.get()))
    }

    /// The whole run, or its first part.
    pub(crate) fn run(&self, scripts: impl Into<Vec<Script>>) -> Part {
        self.part(None, scripts.into()).unwrap()
    }

    /// The same where it may not begin.
    pub(crate) fn try_run(&self, scripts: impl Into<Vec<Script>>) -> Result<Part, TrainError> {
        self.part(None, scripts.into())
    }

    /// Goes on from a checkpoint of an earlier part, in a folder of its own.
    pub(crate) fn resume(&self, earlier: &Part, name: &str, scripts: impl Into<Vec<Script>>) -> Part {
        self.part(Some((earlier, name)), scripts.into()).unwrap()
    }

    /// A run that goes on from a checkpoint, before it trains.
    pub(crate) fn open(&self, checkpoint: Option<&Checkpoint>) -> Result<TinyRun, TrainError> {
        let task = Regression { probe: Rc::default(), ..self.task.clone() };
        self.open_task(task, checkpoint)
    }

    fn open_task(&self, task: Regression, checkpoint: Option<&Checkpoint>) -> Result<TinyRun, TrainError> {
        // On another device than the CPU, reading waits.
        let kind = if self.reads_are_free { DeviceKind::Cpu } else { DeviceKind::Other("late".into()) };
        Run::new(task, self.settings.clone(), FlexDevice, &kind, checkpoint)
    }

    fn part(&self, earlier: Option<(&Part, &str)>, scripts: Vec<Script>) -> Result<Part, TrainError> {
        let folder = self.next_folder();
        self.parts.set(self.parts.get() + 1);
        let mut store = Store::open(&folder, self.settings.keep)?;
        let checkpoint = earlier.map(|(part, name)| part.checkpoint(name));
        let probe = Rc::new(Probe::default());
        let task = Regression { probe: Rc::clone(&probe), ..self.task.clone() };
        let mut run = self.open_task(task, checkpoint.as_ref())?;
        let logs = scripts.iter().map(Script::log).collect();
        let catalog = run.catalog().clone();
        let links = scripts.into_iter().map(|script| script.join(&catalog)).collect();
        let mut chain = Chain::new(catalog, links).unwrap();
        let mut recorder = Recorder { events: Vec::new(), resumed: checkpoint.is_some() };
        if let Some(checkpoint) = &checkpoint {
            assert_eq!(store.adopt(checkpoint)?, Vec::<String>::new());
            chain.load_reports(&checkpoint.reports()?);
            for state in checkpoint.callbacks()? {
                chain.load(&state).unwrap();
            }
            let told = checkpoint.mark()?.as_u64().unwrap() as usize;
            recorder.events = earlier.unwrap().0.events[..told].to_vec();
        }
        let (report, followed) = std::thread::scope(|scope| -> Result<_, TrainError> {
            let (links, followers) = self.follow(scope);
            run.lead(links)?;
            let report = run.train(&mut store, &mut chain, &mut recorder, &self.stop);
            Ok((report, followers.into_iter().map(|thread| thread.join().unwrap()).collect()))
        })?;
        let (events, weights, keeps) = (recorder.events, run.export(), Rc::clone(&self.folder));
        Ok(Part { report, events, logs, weights, probe, folder, followed, _keeps: keeps })
    }

    /// The other ranks, each in a thread, and the links to them.
    fn follow<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
    ) -> (Vec<Box<dyn Link>>, Vec<ScopedJoinHandle<'scope, Followed>>) {
        let start = |(rank, other): (usize, &Other)| {
            let (near, far) = UnixStream::pair().unwrap();
            let link = |end: UnixStream| StreamLink::new(end.try_clone().unwrap(), end);
            let (task, settings, stop) = (other.task.elsewhere(), self.settings.clone(), other.stop.clone());
            let mut far = Mortal { link: link(far), lives: other.lives };
            let thread = scope.spawn(move || {
                let task = task();
                let probe = Rc::clone(&task.probe);
                let mut run =
                    TinyRun::new(task, settings, FlexDevice, &DeviceKind::Cpu, None).expect("it fits the first rank");
                let result = run.follow(rank, &mut far, &stop);
                let batches = probe.batches.borrow().iter().map(|(_, samples)| samples.clone()).collect();
                Followed { result, weights: run.export(), batches }
            });
            (Box::new(link(near)) as Box<dyn Link>, thread)
        };
        (1..).zip(&self.others).map(start).unzip()
    }
}

impl Part {
    /// A checkpoint by its folder's name.
    pub(crate) fn checkpoint(&self, name: &str) -> Checkpoint {
        Checkpoint::open(&self.folder.join(name)).unwrap()
    }

    /// The names of the checkpoints that are there, oldest first.
    pub(crate) fn checkpoints(&self) -> Vec<&str> {
        self.report.checkpoints.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// What the first script saw.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.logs[0].borrow().clone()
    }

    /// The hooks that the first script was called at, each as `hook@finished steps`.
    pub(crate) fn hooks(&self) -> Vec<String> {
        self.seen().iter().map(|seen| format!("{}@{}", seen.hook, seen.step())).collect()
    }

    /// How often a hook fired.
    pub(crate) fn count(&self, hook: Hook) -> usize {
        self.seen().iter().filter(|seen| seen.hook == hook).count()
    }

    /// Events of a kind, such as `saved`.
    pub(crate) fn told(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["event"] == kind).collect()
    }

    /// Why decisions were refused.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let why = |event: &&Value| event["record"]["why"].as_str().map(str::to_owned);
        self.told("decided").iter().filter(|event| event["record"]["outcome"] == "refused").filter_map(why).collect()
    }

    /// How the run ended, in words.
    pub(crate) fn ending(&self) -> String {
        self.report.ending.words()
    }

    /// Expects the run to have come to its planned end.
    pub(crate) fn completed(self) -> Self {
        assert_eq!(self.report.ending, Ending::Completed, "{:?}", self.report.error);
        self
    }
}

/// The state of a callback in a checkpoint.
pub(crate) fn saved_state(checkpoint: &Checkpoint, instance: &str) -> Vec<Seen> {
    let states = checkpoint.callbacks().unwrap();
    let state: &SavedState = states.iter().find(|state| state.instance.as_str() == instance).unwrap();
    serde_json::from_slice(&state.bytes).unwrap()
}

/// Weights as a checkpoint or a run's export holds them: `bias`, then `weight`.
pub(crate) fn numbers(file: &[u8]) -> Vec<f32> {
    let tensors = safetensors::SafeTensors::deserialize(file).unwrap();
    let floats = |name: &str| {
        let bytes = tensors.tensor(name).unwrap().data().to_vec();
        bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect::<Vec<_>>()
    };
    [floats("bias"), floats("weight")].concat()
}

/// The weights in a checkpoint.
pub(crate) fn model(checkpoint: &Checkpoint) -> Vec<u8> {
    std::fs::read(checkpoint.path().join("model.safetensors")).unwrap()
}

/// Sorted names of what lies in a folder.
pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Keeps what an observer is told; its mark is how much that was.
struct Recorder {
    events: Vec<Value>,
    /// A resumed part says once more that it begins.
    resumed: bool,
}

impl Observer for Recorder {
    fn observe(&mut self, event: &RunEvent<'_>) {
        let mut event = serde_json::to_value(event).unwrap();
        for of_this_process in ["seconds", "performance", "callbacks"] {
            event.as_object_mut().unwrap().remove(of_this_process);
        }
        if !(self.resumed && event["event"] == "started") {
            self.events.push(event);
        }
    }

    fn mark(&mut self) -> Value {
        self.events.len().into()
    }
}

/// A link that breaks after some messages.
struct Mortal<L> {
    link: L,
    lives: usize,
}

impl<L: Link> Link for Mortal<L> {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.link.send(message)
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        self.lives = self.lives.checked_sub(1).ok_or(io::ErrorKind::ConnectionReset)?;
        self.link.receive()
    }
}
