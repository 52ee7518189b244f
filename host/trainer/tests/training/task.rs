//! A linear regression: the smallest task on which the loop can be seen at work.
//!
//! It draws nothing at random, and writes down what the loop asks of it. Main types: [`Regression`], [`Probe`].

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{Arc, Mutex},
};

use burn::{
    module::{Module, Param},
    tensor::{
        Tensor, TensorData,
        backend::{AutodiffBackend, Backend},
    },
};
use host_callback::{Hook, Knob, KnobSpec, MeasurementSpec, Value};
use host_trainer::task::{Asked, Derived, Description, Fetcher, Size, Step, Task};

/// Numbers in rows of equal length.
pub(crate) type Rows = Vec<Vec<f32>>;

/// `x W + b`.
#[derive(Module, Debug)]
pub(crate) struct Linear<B: Backend> {
    weight: Param<Tensor<B, 2>>,
    bias: Param<Tensor<B, 1>>,
}

impl<B: Backend> Linear<B> {
    fn forward(&self, inputs: Tensor<B, 2>) -> Tensor<B, 2> {
        inputs.matmul(self.weight.val()) + self.bias.val().unsqueeze()
    }

    /// `W` row after row, then `b`.
    fn flat(&self) -> Vec<f32> {
        let (weight, bias) = (self.weight.val().into_data(), self.bias.val().into_data());
        weight.iter::<f32>().chain(bias.iter::<f32>()).collect()
    }
}

/// What the loop asked of a task.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    /// Epoch and samples of each batch.
    pub(crate) batches: RefCell<Vec<(u64, Vec<usize>)>>,
    /// The weights at each evaluation.
    pub(crate) evaluated: RefCell<Vec<Vec<f32>>>,
    /// How often a batch's `absolute-error` was computed.
    pub(crate) measured: Cell<usize>,
    /// How often a batch's `errors` were computed.
    pub(crate) vectors: Cell<usize>,
    /// The task's knob in each forward pass.
    pub(crate) weights: RefCell<Vec<f64>>,
}

impl Probe {
    /// The samples of an epoch, in the order in which they were asked for.
    pub(crate) fn samples(&self, epoch: u64) -> Vec<usize> {
        let batches = self.batches.borrow();
        batches.iter().filter(|(at, _)| *at == epoch).flat_map(|(_, samples)| samples.clone()).collect()
    }
}

/// The task: the mean of `(x W + b - y)^2` over the targets that count.
#[derive(Clone, Debug)]
pub(crate) struct Regression {
    pub(crate) inputs: Rows,
    pub(crate) targets: Rows,
    /// 1 for a target that counts, 0 for one that does not; at least one of a sample does.
    pub(crate) counts: Rows,
    pub(crate) weight: Rows,
    pub(crate) bias: Vec<f32>,
    /// An epoch and a sample: where they meet, the loss is not a number.
    pub(crate) poison: Option<(u64, usize)>,
    /// The most samples of a forward pass for which there is memory.
    pub(crate) fits: usize,
    /// What the task panics with when the next evaluations begin, one after the other.
    pub(crate) evaluation_panics: Rc<RefCell<Vec<&'static str>>>,
    pub(crate) probe: Rc<Probe>,
    /// Epoch and samples of each batch that another thread fetched; without it there is no such thread.
    pub(crate) fetched: Option<Fetched>,
}

/// What another thread writes down.
pub(crate) type Fetched = Arc<Mutex<Vec<(u64, Vec<usize>)>>>;

/// Some samples.
pub(crate) struct Samples<B: Backend> {
    inputs: Tensor<B, 2>,
    targets: Tensor<B, 2>,
    counts: Tensor<B, 2>,
    poisoned: bool,
}

impl Regression {
    /// So many samples with two inputs and two targets; not all targets count.
    pub(crate) fn of(samples: usize) -> Self {
        let row = |sample: usize, shift: usize| {
            let number = |at: usize| ((sample * 7 + at * 5 + shift) % 13) as f32 / 8.0 - 0.75;
            vec![number(0), number(1)]
        };
        Self {
            inputs: (0..samples).map(|sample| row(sample, 0)).collect(),
            targets: (0..samples).map(|sample| row(sample * 3, 4)).collect(),
            counts: (0..samples).map(|sample| vec![1.0, if sample % 3 == 0 { 0.0 } else { 1.0 }]).collect(),
            weight: vec![vec![0.5, -0.25], vec![0.125, 1.0]],
            bias: vec![0.25, -0.5],
            poison: None,
            fits: usize::MAX,
            evaluation_panics: Rc::default(),
            probe: Rc::default(),
            fetched: None,
        }
    }

    /// The same task for another thread, with a probe of its own.
    pub(crate) fn elsewhere(&self) -> impl FnOnce() -> Self + Send + use<> {
        let Self { inputs, targets, counts, weight, bias, poison, fits, .. } = self.clone();
        move || Self { inputs, targets, counts, weight, bias, poison, fits, ..Self::of(1) }
    }

    fn rows(&self) -> [&Rows; 3] {
        [&self.inputs, &self.targets, &self.counts]
    }
}

fn gather<B: Backend>(rows: [&Rows; 3], samples: &[usize], device: &B::Device) -> (Samples<B>, Size) {
    let counting = samples.iter().flat_map(|&at| &rows[2][at]).sum::<f32>();
    let pick = |rows: &Rows| tensor(&samples.iter().map(|&at| rows[at].clone()).collect(), device);
    let [inputs, targets, counts] = rows.map(pick);
    let count = samples.len() as u64;
    let size = Size { samples: count, tokens: 2 * count, targets: counting as u64 };
    (Samples { inputs, targets, counts, poisoned: false }, size)
}

fn tensor<B: Backend>(rows: &Rows, device: &B::Device) -> Tensor<B, 2> {
    Tensor::from_data(TensorData::new(rows.concat(), [rows.len(), rows[0].len()]), device)
}

/// The mean over the targets that count of what `part` makes of the error of each.
fn mean<B: Backend>(model: &Linear<B>, samples: &Samples<B>, part: fn(Tensor<B, 2>) -> Tensor<B, 2>) -> Tensor<B, 1> {
    let error = model.forward(samples.inputs.clone()) - samples.targets.clone();
    (part(error) * samples.counts.clone()).sum() / samples.counts.clone().sum()
}

fn number<B: Backend>(tensor: Tensor<B, 1>) -> f64 {
    tensor.into_data().iter::<f64>().next().unwrap()
}

impl<B: AutodiffBackend> Task<B> for Regression {
    type Model = Linear<B>;
    type Batch = Samples<B>;

    fn description(&self) -> Description {
        let spec = MeasurementSpec::new;
        Description {
            task: "regression".into(),
            model: "linear".into(),
            has_tokens: true,
            measured: vec![spec("absolute-error", "1", "mean absolute error of the batch")],
            vectors: vec![spec("errors", "1", "squared error of each sample")],
            derived: vec![Derived { spec: spec("root", "1", "root of the loss"), of_loss: f64::sqrt }],
            evaluated: vec![spec("eval/loss", "1", "mean squared error of all samples")],
            knobs: vec![Knob {
                spec: KnobSpec {
                    name: "error-weight".into(),
                    unit: "1".into(),
                    min: 0.0,
                    max: 10.0,
                    whole: false,
                    effective: Hook::StepBegin,
                    meaning: "the loss is multiplied by it".into(),
                },
                value: 1.0,
            }],
        }
    }

    fn model(&self, device: &B::Device) -> Linear<B> {
        Linear {
            weight: Param::from_tensor(tensor(&self.weight, device)),
            bias: Param::from_tensor(Tensor::from_data(self.bias.as_slice(), device)),
        }
    }

    fn samples(&self) -> usize {
        self.inputs.len()
    }

    fn batch(&self, epoch: u64, samples: &[usize], device: &B::Device) -> (Samples<B>, Size) {
        self.probe.batches.borrow_mut().push((epoch, samples.to_vec()));
        let poisoned = self.poison.is_some_and(|(at, sample)| at == epoch && samples.contains(&sample));
        let (batch, size) = gather(self.rows(), samples, device);
        (Samples { poisoned, ..batch }, size)
    }

    fn fetcher(&self) -> Option<Fetcher<Samples<B>, B::Device>> {
        let (fetched, rows) = (self.fetched.clone()?, self.rows().map(Rows::clone));
        Some(Box::new(move |epoch, samples, device| {
            fetched.lock().unwrap().push((epoch, samples.to_vec()));
            gather(rows.each_ref(), samples, device)
        }))
    }

    fn step(&self, model: &Linear<B>, batch: Samples<B>, asked: Asked<'_>) -> Step<B> {
        let samples = batch.inputs.dims()[0];
        assert!(samples <= self.fits, "out of memory: {samples} samples do not fit");
        self.probe.weights.borrow_mut().push(asked.knobs[0]);
        let loss = mean(model, &batch, Tensor::square);
        let loss = if asked.knobs[0] == 1.0 { loss } else { loss.mul_scalar(asked.knobs[0]) };
        let loss = if batch.poisoned { loss.mul_scalar(f64::NAN) } else { loss };
        let (error, probe) = (mean(model, &batch, Tensor::abs).inner(), Rc::clone(&self.probe));
        let measured = move || {
            probe.measured.set(probe.measured.get() + 1);
            number(error)
        };
        let mut vectors: Vec<Box<dyn FnOnce() -> Vec<f32>>> = Vec::new();
        if asked.vectors {
            let errors = (model.forward(batch.inputs) - batch.targets).square().sum_dim(1).inner();
            let probe = Rc::clone(&self.probe);
            vectors.push(Box::new(move || {
                probe.vectors.set(probe.vectors.get() + 1);
                errors.into_data().iter::<f32>().collect()
            }));
        }
        Step { loss, measured: vec![Box::new(measured)], vectors }
    }

    fn evaluate(&self, model: &Linear<B::InnerBackend>, device: &B::Device) -> Vec<(String, Value)> {
        if let Some(words) = self.evaluation_panics.borrow_mut().pop() {
            panic!("{words}");
        }
        self.probe.evaluated.borrow_mut().push(model.flat());
        let all: Vec<usize> = (0..self.inputs.len()).collect();
        let loss = number(mean(model, &gather(self.rows(), &all, device).0, Tensor::square));
        vec![("eval/loss".into(), loss.into())]
    }
}
