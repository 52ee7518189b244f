//! From a device and a task's name to a run: here the backend and the task become types.
//!
//! It does not train. Main function: [`prepare`].

use std::path::Path;

use burn::{
    backend::{Autodiff, Cuda, Flex, cuda::CudaDevice, flex::FlexDevice},
    tensor::backend::AutodiffBackend,
};

use crate::{
    AnyRun, Checkpoint, Run, Settings, TrainError,
    device::{Device, DeviceKind, NoDevice},
    task::{self, Task},
};

/// Prepares a run of a task that is known by name, on a device that is known at run time.
///
/// `base` is the folder that paths in the task's settings are relative to; `task` holds the settings, checked
/// against the schema of its kind.
///
/// # Errors
///
/// When the task, its data, the parameter groups or the checkpoint do not fit; see [`TrainError`].
pub fn prepare(
    kind: &str,
    task: &serde_json::Value,
    base: &Path,
    settings: Settings,
    device: &Device,
    resume: Option<&Checkpoint>,
) -> Result<Box<dyn AnyRun>, TrainError> {
    let seed = settings.seed;
    match &device.kind {
        DeviceKind::Cpu => {
            let preparing = Preparing { settings, device: FlexDevice, kind: &device.kind, resume };
            task::open::<Autodiff<Flex>, _>(kind, task, base, seed, preparing)?
        }
        &DeviceKind::Cuda(number) => {
            let preparing = Preparing { settings, device: CudaDevice::new(number), kind: &device.kind, resume };
            task::open::<Autodiff<Cuda>, _>(kind, task, base, seed, preparing)?
        }
        DeviceKind::Other(words) => Err(NoDevice::foreign(words).into()),
    }
}

struct Preparing<'a, D> {
    settings: Settings,
    device: D,
    kind: &'a DeviceKind,
    resume: Option<&'a Checkpoint>,
}

impl<B: AutodiffBackend> task::Visitor<B> for Preparing<'_, B::Device> {
    type Output = Result<Box<dyn AnyRun>, TrainError>;

    fn visit<T: Task<B> + 'static>(self, task: T) -> Self::Output
    where
        T::Batch: 'static,
    {
        let run = Run::new(task, self.settings, self.device, self.kind, self.resume)?;
        Ok(Box::new(run))
    }
}
