//! From a device and a task's name to something around that task: here the backend and the task become types.
//!
//! It does not train. Main functions: [`prepare`], [`prepare_bare`].

use std::path::Path;

use burn::{
    backend::{Autodiff, Cuda, Flex, cuda::CudaDevice, flex::FlexDevice},
    tensor::backend::AutodiffBackend,
};
use serde_json::Value;

use crate::{
    AnyRun, Bare, Checkpoint, Run, Settings, TrainError,
    bare::AnyBare,
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
    task: &Value,
    base: &Path,
    settings: Settings,
    device: &Device,
    resume: Option<&Checkpoint>,
) -> Result<Box<dyn AnyRun>, TrainError> {
    struct Runs<'a>(Settings, &'a Device, Option<&'a Checkpoint>);
    impl Make for Runs<'_> {
        type Made = Box<dyn AnyRun>;

        fn make<B: AutodiffBackend, T: Task<B> + 'static>(
            self,
            task: T,
            device: B::Device,
        ) -> Result<Self::Made, TrainError> {
            Ok(Box::new(Run::<B, T>::new(task, self.0, device, &self.1.kind, self.2)?))
        }
    }
    open(kind, task, base, settings.seed, device, Runs(settings, device, resume))
}

/// Prepares a bare loop of a task that is known by name, on a device that is known at run time; see [`Bare`].
///
/// # Errors
///
/// As [`prepare`]'s.
pub fn prepare_bare(
    kind: &str,
    task: &Value,
    base: &Path,
    settings: Settings,
    device: &Device,
) -> Result<Box<dyn AnyBare>, TrainError> {
    struct Bares(Settings);
    impl Make for Bares {
        type Made = Box<dyn AnyBare>;

        fn make<B: AutodiffBackend, T: Task<B> + 'static>(
            self,
            task: T,
            device: B::Device,
        ) -> Result<Self::Made, TrainError> {
            Ok(Box::new(Bare::<B, T>::new(task, self.0, device)?))
        }
    }
    open(kind, task, base, settings.seed, device, Bares(settings))
}

/// What is made around a task.
trait Make {
    type Made;

    fn make<B: AutodiffBackend, T: Task<B> + 'static>(
        self,
        task: T,
        device: B::Device,
    ) -> Result<Self::Made, TrainError>;
}

fn open<M: Make>(
    kind: &str,
    task: &Value,
    base: &Path,
    seed: u64,
    device: &Device,
    make: M,
) -> Result<M::Made, TrainError> {
    match &device.kind {
        DeviceKind::Cpu => {
            let opening = Opening { make, device: FlexDevice };
            task::open::<Autodiff<Flex>, _>(kind, task, base, seed, opening)?
        }
        &DeviceKind::Cuda(number) => {
            let opening = Opening { make, device: CudaDevice::new(number) };
            task::open::<Autodiff<Cuda>, _>(kind, task, base, seed, opening)?
        }
        DeviceKind::Other(words) => Err(NoDevice::foreign(words).into()),
    }
}

struct Opening<M, D> {
    make: M,
    device: D,
}

impl<B: AutodiffBackend, M: Make> task::Visitor<B> for Opening<M, B::Device> {
    type Output = Result<M::Made, TrainError>;

    fn visit<T: Task<B> + 'static>(self, task: T) -> Self::Output {
        self.make.make::<B, T>(task, self.device)
    }
}
