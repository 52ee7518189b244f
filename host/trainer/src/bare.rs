//! A training loop as a program without this one would write it, around the same task: fetch, forward, backward, clip,
//! update, and nothing else. It is what ours is compared with.
//!
//! It knows no callbacks, no measurements and no checkpoints. Main types: [`Bare`], and [`AnyBare`] where task and backend
//! are known only at run time.

use std::ops::Range;

use burn::{optim::GradientsParams, tensor::backend::AutodiffBackend};

use crate::{
    Settings, TrainError,
    awake::Awake,
    checkpoint,
    gradients::Clip,
    optimizer::{Optimizer, Rates},
    parameters::Parameters,
    random, scalar,
    statistics::Statistics,
    task::{Asked, Task},
};

/// A bare loop around a task. Of the settings, those of seed, batch size, optimizer and clipping of the norm hold;
/// micro-batches are not accumulated. Its steps have the samples of a run's steps, as long as no callback of the run drops
/// some or changes their number.
pub struct Bare<B: AutodiffBackend, T: Task<B>> {
    task: T,
    settings: Settings,
    device: B::Device,
    /// `None` while the optimizer has it.
    model: Option<T::Model>,
    parameters: Parameters,
    optimizer: Optimizer<B>,
    rates: Vec<Rates>,
    knobs: Vec<f64>,
    /// The order of an epoch's samples.
    order: (u64, Vec<usize>),
    steps: usize,
    loss: f64,
    awake: Awake,
}

/// A bare loop whose task and backend are hidden.
pub trait AnyBare {
    /// One step, up to its loss as a number.
    fn step(&mut self);

    /// The mean loss of the last step; NaN before the first one.
    fn loss(&self) -> f64;

    /// The weights as they stand, as the bytes of a safetensors file.
    fn weights(&self) -> Vec<u8>;

    /// The tensors of some steps' batches (the first step is 0), named `<n>.<name>` with `n` from 0, as the bytes of a
    /// safetensors file; `None` where the task does not show them.
    fn batches(&mut self, steps: Range<usize>) -> Option<Vec<u8>>;

    /// The tensors of the validation data in the same form; `None` where the task does not show them.
    fn validation(&self) -> Option<Vec<u8>>;
}

impl<B: AutodiffBackend, T: Task<B>> Bare<B, T> {
    /// Prepares a loop, with the weights that a run of the same settings begins with.
    ///
    /// # Errors
    ///
    /// When parameter groups do not fit the model.
    pub fn new(task: T, settings: Settings, device: B::Device) -> Result<Self, TrainError> {
        B::seed(&device, settings.seed);
        let model = task.model(&device);
        let parameters = Parameters::of::<B, _>(&model, &settings.groups)?;
        Ok(Self {
            rates: settings.groups.iter().map(Rates::of).collect(),
            knobs: task.description().knobs.iter().map(|knob| knob.value).collect(),
            order: (0, random::order(settings.seed, 0, task.samples())),
            model: Some(model),
            optimizer: Optimizer::new(settings.optimizer),
            steps: 0,
            loss: f64::NAN,
            awake: Awake::of::<B>(),
            task,
            settings,
            device,
            parameters,
        })
    }

    fn model(&self) -> &T::Model {
        self.model.as_ref().expect("the optimizer gives the model back")
    }

    /// The samples of a step.
    fn batch(&mut self, step: usize) -> T::Batch {
        let all = self.task.samples();
        let size = self.settings.batch_size.min(all);
        let steps = if self.settings.drop_last { all / size } else { all.div_ceil(size) };
        let (epoch, begin) = ((step / steps) as u64, step % steps * size);
        if self.order.0 != epoch {
            self.order = (epoch, random::order(self.settings.seed, epoch, all));
        }
        self.task.batch(epoch, &self.order.1[begin..(begin + size).min(all)], &self.device).0
    }

    /// The tensors of batches, each with its place among them.
    fn bytes(&self, batches: impl IntoIterator<Item = T::Batch>) -> Option<Vec<u8>> {
        let numbered = batches.into_iter().enumerate();
        let tensors = numbered.flat_map(|(at, batch)| {
            let named = self.task.tensors(&batch);
            named.into_iter().map(move |(name, data)| (format!("{at}.{name}"), data))
        });
        let tensors: Vec<_> = tensors.collect();
        (!tensors.is_empty()).then(|| checkpoint::data_bytes(tensors))
    }
}

impl<B: AutodiffBackend, T: Task<B>> AnyBare for Bare<B, T> {
    fn step(&mut self) {
        // Not what a program without this one would do. But with a run in the same process, its threads are awake or not as
        // that left them.
        self.awake.keep();
        let batch = self.batch(self.steps);
        let model = self.model.take().expect("the last update gave the model back");
        let loss = self.task.step(&model, batch, Asked { knobs: &self.knobs, vectors: false }).loss;
        self.loss = scalar(loss.clone().inner());
        let mut gradients = GradientsParams::from_grads(loss.backward(), &model);
        let limit = self.settings.clip_norm;
        if limit > 0.0 {
            let norm = Statistics::default().gradient_norm::<B, _>(&model, &gradients, &self.parameters);
            Clip { value: 0.0, factor: Clip::factor(norm, limit) }.apply::<B, _>(&model, &mut gradients);
        }
        self.model = Some(self.optimizer.step(model, gradients, &self.parameters, &self.rates));
        self.steps += 1;
    }

    fn loss(&self) -> f64 {
        self.loss
    }

    fn weights(&self) -> Vec<u8> {
        checkpoint::model_bytes::<B, _>(self.model(), &self.parameters)
    }

    fn batches(&mut self, steps: Range<usize>) -> Option<Vec<u8>> {
        let batches: Vec<_> = steps.map(|step| self.batch(step)).collect();
        self.bytes(batches)
    }

    fn validation(&self) -> Option<Vec<u8>> {
        self.bytes(self.task.validation(&self.device))
    }
}
