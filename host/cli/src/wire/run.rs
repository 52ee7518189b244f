//! The trainer's side of the wiring: device, checkpoint, run.
//!
//! It starts no plugin. Main function: [`prepare`].

use std::path::{Path, PathBuf};

use host_trainer::{
    AnyBare, AnyRun, Checkpoint, CheckpointError, Store, TrainError,
    device::{self, Device},
};

use crate::{
    config::Plan,
    exit::Exit,
    problem::{Problem, Problems},
};

/// A run that is ready to train.
pub(crate) struct Prepared {
    /// The run.
    pub(crate) run: Box<dyn AnyRun>,
    /// Its device.
    pub(crate) device: Device,
    /// Where it goes on.
    pub(crate) resume: Option<Resume>,
}

/// The checkpoint that a run goes on from.
pub(crate) struct Resume {
    /// The checkpoint.
    pub(crate) checkpoint: Checkpoint,
    /// The folder of the run that wrote it.
    pub(crate) run: PathBuf,
}

/// Opens what `--resume` names: a checkpoint's folder, or a run's, which stands for its newest checkpoint.
fn find(path: &Path) -> Result<Resume, Problems> {
    let failed = |error: CheckpointError| {
        let help = "give a run folder, or a folder of its `checkpoints`";
        Problems::from((Exit::Checkpoint, Problem::new(error.to_string()).help(help)))
    };
    let folder = path.join("checkpoints");
    let checkpoint = if folder.is_dir() { Store::newest(&folder) } else { Checkpoint::open(path) };
    let checkpoint = checkpoint.map_err(failed)?;
    let run = checkpoint.path().parent().and_then(Path::parent).unwrap_or(Path::new(".")).to_owned();
    Ok(Resume { checkpoint, run })
}

/// Finds the device, reads the data, makes the model.
pub(crate) fn prepare(plan: &Plan, resume: Option<&Path>) -> Result<Prepared, Problems> {
    let device = device::find(plan.device)
        .map_err(|error| Problems::from((Exit::Device, plan.problem_at(&["run", "device"], error.to_string(), ""))))?;
    let resume = resume.map(find).transpose()?;
    let checkpoint = resume.as_ref().map(|resume| &resume.checkpoint);
    let (task, settings) = (&plan.task, plan.settings.clone());
    let run = host_trainer::prepare(&task.kind, &task.settings, &plan.base, settings, &device, checkpoint)
        .map_err(|error| problem(plan, &error))?;
    Ok(Prepared { run, device, resume })
}

/// A bare loop around the task of a run.
pub(crate) fn bare(plan: &Plan, device: &Device) -> Result<Box<dyn AnyBare>, Problems> {
    let (task, settings) = (&plan.task, plan.settings.clone());
    host_trainer::prepare_bare(&task.kind, &task.settings, &plan.base, settings, device)
        .map_err(|error| problem(plan, &error))
}

/// Shows an error of the trainer where the configuration causes it.
fn problem(plan: &Plan, error: &TrainError) -> Problems {
    let at = |exit, path: &[&str]| Problems::from((exit, plan.problem_at(path, error.to_string(), "")));
    match error {
        TrainError::Setting { key, .. } => at(Exit::Configuration, &["task", key]),
        TrainError::UnknownTask { .. } => at(Exit::Configuration, &["task", "kind"]),
        TrainError::Data { .. } => at(Exit::Data, &["task", "data"]),
        TrainError::TooLarge { .. } => at(Exit::Configuration, &["train", "batch-size"]),
        TrainError::Groups(_) => at(Exit::Configuration, &["optimizer", "group"]),
        TrainError::Device(_) => at(Exit::Device, &["run", "device"]),
        TrainError::Checkpoint(_) => (Exit::Checkpoint, Problem::new(error.to_string())).into(),
        TrainError::NonFiniteLoss { .. }
        | TrainError::OutOfMemory { .. }
        | TrainError::Panic { .. }
        | TrainError::AllSkipped { .. }
        | TrainError::Rank { .. } => (Exit::RunFailed, Problem::new(error.to_string())).into(),
    }
}
