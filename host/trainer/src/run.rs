//! A run that is ready to train: task, model, optimizer, knobs, measurements, checkpoints.
//!
//! It does not loop: `session` does. Main types: [`Run`], and [`AnyRun`] where task and backend are known only
//! at run time.

use std::{collections::BTreeMap, time::Duration};

use burn::tensor::backend::AutodiffBackend;
use host_callback::{Callbacks, Catalog, Knobs, Progress, RunInfo, Summary, Value};
use serde_json::json;

use crate::{
    Artifact, Ending, Observer, Settings, Span, StopFlag, TrainError,
    ahead::Ahead,
    awake::Awake,
    checkpoint::{self, Checkpoint, DataIdentity, RunState, Store},
    device::DeviceKind,
    error::CheckpointError,
    knobs::LoopKnobs,
    measure::Sources,
    memory,
    optimizer::Optimizer,
    parameters::Parameters,
    ranks::{Link, Others},
    session::Session,
    state::{LoopState, ResumePoint},
    task::{Description, Least, Task},
};

/// A run that is ready to train.
pub struct Run<B: AutodiffBackend, T: Task<B>> {
    pub(crate) task: T,
    /// What fetches batches before they are needed, where the task has something for that.
    pub(crate) ahead: Option<Ahead<T::Batch>>,
    pub(crate) description: Description,
    pub(crate) settings: Settings,
    pub(crate) device: B::Device,
    /// What the device is.
    pub(crate) device_kind: DeviceKind,
    pub(crate) awake: Awake,
    /// Whether reading a value from the device costs nothing.
    pub(crate) reads_are_free: bool,
    /// `None` while the optimizer has it, and for good where it panicked.
    pub(crate) model: Option<T::Model>,
    pub(crate) optimizer: Optimizer<B>,
    pub(crate) parameters: Parameters,
    /// Which parameters the model has gradients for, in their order; empty where that is not known.
    learning: Vec<bool>,
    pub(crate) catalog: Catalog,
    pub(crate) sources: Sources,
    pub(crate) knobs: Knobs,
    pub(crate) loop_knobs: LoopKnobs,
    pub(crate) state: LoopState,
    pub(crate) resume: ResumePoint,
    /// The folder name of the checkpoint that it goes on from.
    pub(crate) resumed_from: Option<String>,
    /// Which rank this is; 0 has the loop.
    pub(crate) rank: usize,
    /// The other ranks, where this is the first.
    pub(crate) others: Others,
}

/// What a finished run has to tell.
#[derive(Debug)]
pub struct RunReport {
    /// How it ended.
    pub ending: Ending,
    /// The error, where it failed.
    pub error: Option<TrainError>,
    /// How far it came.
    pub progress: Progress,
    /// Time spent training, resumed parts included.
    pub elapsed: Duration,
    /// Samples and tokens that this process trained on, and the time that it took.
    pub processed: Processed,
    /// Results of the last evaluation, by name.
    pub evaluation: BTreeMap<String, Value>,
    /// What each callback did.
    pub callbacks: Vec<Summary>,
    /// Checkpoints with their tags, oldest first.
    pub checkpoints: Vec<(String, Vec<String>)>,
    /// What the task shows of the finished model; empty for a failed run.
    pub artifacts: Vec<Artifact>,
}

/// What one process trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Processed {
    /// Samples.
    pub samples: u64,
    /// Tokens; 0 where the task has none.
    pub tokens: u64,
    /// Seconds, evaluations and checkpoints included.
    pub seconds: f64,
}

/// A run whose task and backend are hidden.
pub trait AnyRun {
    /// Every measurement that the run offers.
    fn catalog(&self) -> &Catalog;

    /// Every knob with its value now.
    fn knobs(&self) -> &Knobs;

    /// What callbacks are told about the run.
    fn info(&self) -> RunInfo;

    /// What the task is.
    fn task(&self) -> &Description;

    /// The model's parameters: name, shape, group.
    fn parameters(&self) -> Vec<(String, Vec<usize>, String)>;

    /// How far the run is: 0 steps unless resumed.
    fn progress(&self) -> Progress;

    /// How the run ended before, if it came to an end of its own and there is nothing left to train.
    fn over(&self) -> Option<Ending>;

    /// Trains until the run ends, one way or another. Checkpoints go into `store`.
    ///
    /// On the CPU a step is a tenth faster where this is called on one of the threads that compute, which are rayon's
    /// (`rayon::scope(|_| run.train(...))`): from another thread each operation is handed over and waited for.
    fn train(
        &mut self,
        store: &mut Store,
        callbacks: &mut dyn Callbacks,
        observer: &mut dyn Observer,
        stop: &StopFlag,
    ) -> RunReport;

    /// The weights as they stand, as the bytes of a safetensors file.
    fn export(&self) -> Vec<u8>;

    /// Makes this the first of several ranks, each of which takes a part of every batch. At the other end of each link is
    /// a run that was prepared in the same way and [`follows`](Self::follow): rank 1 behind the first link, and so on.
    ///
    /// Batches stay what they are with one rank: so many samples all in all.
    ///
    /// # Errors
    ///
    /// One of them is gone, or has another model.
    fn lead(&mut self, others: Vec<Box<dyn Link>>) -> Result<(), TrainError>;

    /// Does the part of rank `rank` (1 or above) of a run that another one leads, until that is over. Writes no file and
    /// has no callbacks. When `stop` is raised here, the whole run stops.
    ///
    /// # Errors
    ///
    /// The first rank is gone, or the update failed here.
    fn follow(&mut self, rank: usize, first: &mut dyn Link, stop: &StopFlag) -> Result<(), TrainError>;
}

impl<B: AutodiffBackend, T: Task<B>> Run<B, T> {
    /// Prepares a run, from its beginning or from a checkpoint. `kind` says what `device` is.
    ///
    /// # Errors
    ///
    /// When parameter groups do not fit the model, or the checkpoint belongs to another task, data set, seed or
    /// model.
    pub fn new(
        task: T,
        settings: Settings,
        device: B::Device,
        kind: &DeviceKind,
        resume: Option<&Checkpoint>,
    ) -> Result<Self, TrainError> {
        let optimizer = Optimizer::new(settings.optimizer);
        check_memory(&task.least(), optimizer.slot_names().len(), &settings, kind)?;
        B::seed(&device, settings.seed);
        let model = task.model(&device);
        let parameters = Parameters::of::<B, _>(&model, &settings.groups)?;
        let description = task.description();
        let mut knobs = Knobs::new();
        let loop_knobs = LoopKnobs::offer(&mut knobs, &settings, &parameters, &description);
        let catalog = Catalog::new();
        let sources = Sources::offer(&catalog, &description, &parameters, &settings.groups, &knobs);
        let mut run = Self {
            ahead: task.fetcher().and_then(|fetcher| Ahead::start(fetcher, device.clone())),
            description,
            device,
            device_kind: kind.clone(),
            awake: Awake::of::<B>(),
            reads_are_free: kind.reads_are_free(),
            model: Some(model),
            optimizer,
            parameters,
            learning: Vec::new(),
            catalog,
            sources,
            knobs,
            loop_knobs,
            state: LoopState::default(),
            resume: ResumePoint::default(),
            resumed_from: None,
            rank: 0,
            others: Others::default(),
            settings,
            task,
        };
        if let Some(checkpoint) = resume {
            run.load(checkpoint)?;
        }
        Ok(run)
    }

    fn load(&mut self, checkpoint: &Checkpoint) -> Result<(), TrainError> {
        let RunState { run, resume, knobs, data, .. } = checkpoint.state()?;
        let own = self.data_identity();
        if data != own {
            let message = format!("it was saved with {}; this run has {}", words(&data), words(&own));
            return Err(CheckpointError::Mismatch { path: checkpoint.path().to_owned(), message }.into());
        }
        self.load_weights(checkpoint)?;
        for (name, value) in knobs {
            // A knob of a group that is not there any more has nothing to set.
            if let Some(id) = self.knobs.id(&name) {
                self.knobs.set(id, value);
            }
        }
        self.state = run;
        self.resume = resume;
        self.resumed_from = checkpoint.path().file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(())
    }

    /// Puts weights and optimizer state back, nothing else.
    pub(crate) fn load_weights(&mut self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        let mismatch = |message| CheckpointError::Mismatch { path: checkpoint.path().to_owned(), message };
        self.take(&checkpoint.model()?, &checkpoint.optimizer()?).map_err(mismatch)
    }

    /// Takes weights and optimizer state, as checkpoints hold them.
    ///
    /// # Errors
    ///
    /// What does not fit; then nothing has changed.
    pub(crate) fn take(&mut self, model: &[u8], optimizer: &[u8]) -> Result<(), String> {
        if self.model.is_none() {
            return Err("the model was lost when its update failed".into());
        }
        let loaded = checkpoint::load_model::<B, _>(self.model().clone(), &self.parameters, model)?;
        // Nothing is taken over before all of it was found to fit.
        checkpoint::load_optimizer(&loaded, &mut self.optimizer, &self.parameters, optimizer)?;
        self.model = Some(loaded);
        self.learning.clear();
        Ok(())
    }

    /// The model. Steps, evaluations and checkpoints have it: a run whose optimizer panicked does none of them.
    pub(crate) fn model(&self) -> &T::Model {
        self.model.as_ref().expect("the optimizer gives the model back")
    }

    /// Lets parameters learn, or not, as the knobs say.
    pub(crate) fn freeze(&mut self) {
        if self.learning.iter().copied().eq(self.loop_knobs.trainable(&self.knobs)) {
            return;
        }
        self.learning = self.loop_knobs.trainable(&self.knobs).collect();
        if let Some(model) = self.model.take() {
            self.model = Some(self.parameters.freeze::<B, _>(model, &self.learning));
        }
    }

    pub(crate) fn data_identity(&self) -> DataIdentity {
        DataIdentity {
            task: format!("{} ({})", self.description.task, self.description.model),
            samples: self.task.samples(),
            seed: self.settings.seed,
        }
    }

    /// Steps of the whole run, where its length tells them: exact unless `batch-size` or `accumulation` are
    /// changed on the way, from when on it is a forecast with the new values.
    pub(crate) fn total_steps(&self) -> Option<u64> {
        let a_step = (self.loop_knobs.batch_size(&self.knobs) * self.loop_knobs.accumulation(&self.knobs)) as u64;
        let samples = self.task.samples() as u64;
        let left = |samples_left: u64| samples_left.div_ceil(a_step);
        let done = self.state.step + self.state.in_flight;
        match self.settings.length {
            Span::Steps(steps) => Some(steps),
            Span::Samples(total) => Some(done + left(total.saturating_sub(self.state.samples))),
            Span::Epochs(epochs) => {
                let usable = if self.settings.drop_last { samples - samples % a_step.min(samples) } else { samples };
                let begun = self.state.epoch + 1;
                let none_runs = self.state.epoch_over || begun > epochs;
                let running = if none_runs { 0 } else { left(usable.saturating_sub(self.state.position as u64)) };
                Some(done + running + epochs.saturating_sub(begun) * left(usable))
            }
            Span::Time(_) => None,
        }
    }

    pub(crate) fn current_progress(&self) -> Progress {
        self.state.progress(self.total_steps(), self.task.samples())
    }
}

impl<B: AutodiffBackend, T: Task<B>> Run<B, T> {
    /// The run as JSON, as the contract says.
    fn words(&self) -> String {
        let groups: Vec<_> = (0..)
            .zip(&self.settings.groups)
            .map(|(at, group)| {
                let members = self.parameters.iter().filter(|parameter| parameter.group == at);
                json!({
                    "name": group.name,
                    "learning-rate": group.learning_rate,
                    "weight-decay": group.weight_decay,
                    "parameters": members.map(|parameter| parameter.name.clone()).collect::<Vec<_>>(),
                })
            })
            .collect();
        let knobs: serde_json::Map<String, _> = self
            .knobs
            .iter()
            .map(|(_, knob)| {
                let spec = &knob.spec;
                (spec.name.clone(), json!({ "min": spec.min, "max": spec.max, "unit": spec.unit, "value": knob.value }))
            })
            .collect();
        json!({
            "task": self.description.task,
            "model": self.description.model,
            "parameters": self.parameters.elements(),
            "groups": groups,
            "knobs": knobs,
        })
        .to_string()
    }
}

/// Whether the model with its gradient and what the optimizer keeps, and one pass, can fit into memory.
fn check_memory(least: &Least, slots: usize, settings: &Settings, device: &DeviceKind) -> Result<(), TrainError> {
    const BYTES: f64 = size_of::<f32>() as f64;
    let Some(memory) = memory::device(device) else { return Ok(()) };
    // On a GPU a step that is too large is an error that callbacks answer with a smaller one; here the system ends the
    // process.
    let samples = if *device == DeviceKind::Cpu { settings.batch_size } else { 1 };
    let of_step = BYTES * least.of_sample as f64 * samples as f64;
    let needed = BYTES * least.weights as f64 * (2 + slots) as f64 + of_step;
    if needed <= memory.total {
        return Ok(());
    }
    let samples = if samples == 1 { "1 sample".to_owned() } else { format!("{samples} samples") };
    Err(TrainError::TooLarge { needed, of_step, samples, device: device.to_string(), total: memory.total })
}

fn words(data: &DataIdentity) -> String {
    format!("task {}, {} training samples, seed {}", data.task, data.samples, data.seed)
}

impl<B: AutodiffBackend, T: Task<B>> AnyRun for Run<B, T> {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn knobs(&self) -> &Knobs {
        &self.knobs
    }

    fn info(&self) -> RunInfo {
        RunInfo {
            run: self.settings.name.clone(),
            seed: self.settings.seed,
            rank: 0,
            world_size: u32::try_from(self.others.world_size()).unwrap_or(u32::MAX),
            step: self.state.step,
            description: self.words(),
        }
    }

    fn task(&self) -> &Description {
        &self.description
    }

    fn parameters(&self) -> Vec<(String, Vec<usize>, String)> {
        let group = |at: usize| self.settings.groups[at].name.clone();
        self.parameters.iter().map(|one| (one.name.clone(), one.shape.clone(), group(one.group))).collect()
    }

    fn progress(&self) -> Progress {
        self.current_progress()
    }

    fn over(&self) -> Option<Ending> {
        // What is still to be sent after a save in mid-step belongs to the run.
        if self.state.step == 0 || self.state.epoch_over && self.state.pending.stop.is_empty() {
            return None;
        }
        self.state.ending(&self.settings).filter(Ending::is_final)
    }

    fn train(
        &mut self,
        store: &mut Store,
        callbacks: &mut dyn Callbacks,
        observer: &mut dyn Observer,
        stop: &StopFlag,
    ) -> RunReport {
        Session::new(self, store, callbacks, observer, stop).run()
    }

    fn export(&self) -> Vec<u8> {
        checkpoint::model_bytes::<B, _>(self.model(), &self.parameters)
    }

    fn lead(&mut self, others: Vec<Box<dyn Link>>) -> Result<(), TrainError> {
        self.others = Others::join(others, &self.shapes())?;
        Ok(())
    }

    fn follow(&mut self, rank: usize, first: &mut dyn Link, stop: &StopFlag) -> Result<(), TrainError> {
        self.serve(rank, first, stop)
    }
}
