//! A model and data of one's own, trained by the host's loop and steered by its plugins.
//!
//! `cargo run --release -p own-model` fits a chirp with a network of sines, until a plugin stops it.

use std::{error::Error, io::Write as _, path::Path};

use burn::{
    backend::{Autodiff, Flex, flex::FlexDevice},
    module::Module,
    nn::{Linear, LinearConfig},
    tensor::{Tensor, backend::AutodiffBackend, backend::Backend},
};
use host_callback::{Callback, Chain, Grant, MeasurementSpec, Permit, Value};
use host_sandbox::{InstanceSettings, Sandbox, SandboxConfig};
use host_trainer::{
    AnyRun, NoObserver, Run, Settings, Span, StopFlag, Store,
    device::DeviceKind,
    task::{Asked, Description, Size, Step, Task},
};
use serde_json::json;

/// Two layers with sines between them.
#[derive(Module, Debug)]
struct Sines<B: Backend> {
    inner: Linear<B>,
    outer: Linear<B>,
}

/// So many points of a sine whose frequency rises.
struct Chirp(usize);

impl Chirp {
    /// Mean squared error of the model at points `[batch, 1]`.
    fn error<B: Backend>(&self, model: &Sines<B>, points: Tensor<B, 2>) -> Tensor<B, 1> {
        let wanted = (points.clone().square() * 12.0).sin();
        let error = model.outer.forward((model.inner.forward(points) * 20.0).sin()) - wanted;
        error.square().mean()
    }

    fn points<B: Backend>(&self, numbers: &[usize], device: &B::Device) -> Tensor<B, 2> {
        let points: Vec<f32> = numbers.iter().map(|&number| number as f32 / self.0 as f32).collect();
        Tensor::<B, 1>::from_data(points.as_slice(), device).unsqueeze_dim(1)
    }
}

impl<B: AutodiffBackend> Task<B> for Chirp {
    type Model = Sines<B>;
    type Batch = Tensor<B, 2>;

    fn description(&self) -> Description {
        let evaluated = vec![MeasurementSpec::new("eval/loss", "1", "mean squared error at all points")];
        Description { evaluated, ..Description::new("chirp", "two layers of sines") }
    }

    fn model(&self, device: &B::Device) -> Sines<B> {
        Sines { inner: LinearConfig::new(1, 64).init(device), outer: LinearConfig::new(64, 1).init(device) }
    }

    fn samples(&self) -> usize {
        self.0
    }

    fn batch(&self, _epoch: u64, samples: &[usize], device: &B::Device) -> (Tensor<B, 2>, Size) {
        (self.points(samples, device), Size::of_samples(samples.len()))
    }

    fn step(&self, model: &Sines<B>, batch: Tensor<B, 2>, _asked: Asked<'_>) -> Step<B> {
        Step::of_loss(self.error(model, batch))
    }

    fn evaluate(&self, model: &Sines<B::InnerBackend>, device: &B::Device) -> Vec<(String, Value)> {
        let all: Vec<usize> = (0..self.0).collect();
        let loss = self.error(model, self.points(&all, device)).into_data().iter::<f64>().sum::<f64>();
        vec![("eval/loss".into(), loss.into())]
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::new("chirp", Span::Epochs(400));
    let mut run = Run::<Autodiff<Flex>, _>::new(Chirp(400), settings, FlexDevice, &DeviceKind::Cpu, None)?;

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../plugins/early-stopping/early-stopping.wasm");
    let plugin = Sandbox::new(SandboxConfig::default())?.load(&file)?;
    let instance = InstanceSettings::new("early-stopping".parse()?, run.info(), run.catalog().clone());
    let config = json!({ "monitor": "eval/loss", "patience": 50, "stopping-threshold": 0.001 });
    let callback: Box<dyn Callback> = Box::new(plugin.start(InstanceSettings { config, ..instance })?);
    let permit = Permit::new(plugin.manifest(), &Grant::Declared);
    let mut callbacks =
        Chain::new(run.catalog().clone(), vec![(callback, permit)]).map_err(|unknown| unknown[0].clone())?;

    let folder = tempfile::tempdir()?;
    let mut checkpoints = Store::open(folder.path(), 2)?;
    let report = run.train(&mut checkpoints, &mut callbacks, &mut NoObserver, &StopFlag::new());
    writeln!(std::io::stdout(), "{}; {:?}", report.ending.words(), report.evaluation)?;
    Ok(())
}
