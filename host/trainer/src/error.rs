//! What can go wrong in training, sorted by what a person can do about it.
//!
//! It does not word hints for the terminal: the program does.

use std::path::PathBuf;

use crate::device::NoDevice;

/// A run that could not be prepared or did not go on.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The task's settings contradict each other or the data.
    #[error("task setting `{key}`: {message}")]
    Setting {
        /// The key within `[task]`.
        key: &'static str,
        /// What is wrong and what is allowed.
        message: String,
    },
    /// The task kind does not exist.
    #[error("no task is called `{kind}`; there are {known}")]
    UnknownTask {
        /// What was written.
        kind: String,
        /// The kinds that exist.
        known: String,
    },
    /// The data cannot be read or breaks its format.
    #[error("data file {}: {message}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// Where in it and what is wrong.
        message: String,
    },
    /// Parameter groups do not fit the model.
    #[error("parameter groups: {0}")]
    Groups(String),
    /// The model and one step cannot fit into memory, by their sizes alone.
    #[error(
        "training needs at least {} of memory, {} of it for {samples} in a step, and {device} has {}; a smaller \
         `train.batch-size` with a larger `train.accumulation`, or a smaller model, help", gib(*needed), gib(*of_step),
        gib(*total)
    )]
    TooLarge {
        /// Bytes that are needed.
        needed: f64,
        /// Bytes of them that a pass keeps.
        of_step: f64,
        /// Samples of a pass, in words.
        samples: String,
        /// The device, in words.
        device: String,
        /// Bytes that it has.
        total: f64,
    },
    /// A checkpoint cannot be written, read or used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The device is not there.
    #[error(transparent)]
    Device(#[from] NoDevice),
    /// The loss is NaN or infinite and no callback handled it.
    #[error(
        "the loss of step {step} is {loss} and no callback skipped the update, restored a checkpoint or stopped; \
         a smaller learning rate, `train.clip-norm` or the plugin `nan-guard` help"
    )]
    NonFiniteLoss {
        /// The step that was being done, 0 for the first.
        step: u64,
        /// Its loss.
        loss: f64,
    },
    /// The device or the system has no memory left for a step, and no callback made the step smaller.
    #[error(
        "out of memory in step {step}: {message}; a smaller `train.batch-size` with a larger `train.accumulation`, or \
         the plugin `memory-guard`, which does that by itself, help"
    )]
    OutOfMemory {
        /// The step that was being done, 0 for the first.
        step: u64,
        /// What the backend said.
        message: String,
    },
    /// The task, its model or the backend panicked.
    #[error("the task or its backend panicked {place}: {message}")]
    Panic {
        /// Where: in which step, or outside of steps.
        place: String,
        /// The panic's words.
        message: String,
    },
    /// Another rank is gone, or does not do what it was told.
    #[error("rank {rank} is lost: {message}")]
    Rank {
        /// Which one.
        rank: usize,
        /// How.
        message: String,
    },
    /// Callbacks dropped every batch of a whole epoch.
    #[error(
        "callbacks left nothing of epoch {epoch} to train on; the last to skip a batch or to end the epoch was `{by}`"
    )]
    AllSkipped {
        /// The epoch, 0 for the first.
        epoch: u64,
        /// Who skipped a batch or ended the epoch last.
        by: String,
    },
}

impl TrainError {
    /// The kind of the error in one word: what `detail` begins with at the hook `failure`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OutOfMemory { .. } => "out-of-memory",
            Self::NonFiniteLoss { .. } => "non-finite-loss",
            Self::Panic { .. } => "panic",
            Self::Checkpoint(_) => "checkpoint",
            Self::AllSkipped { .. } => "all-skipped",
            Self::Rank { .. } => "rank",
            Self::Data { .. } => "data",
            Self::Setting { .. } | Self::UnknownTask { .. } | Self::Groups(_) | Self::TooLarge { .. } => "setting",
            Self::Device(_) => "device",
        }
    }
}

/// What is wrong with a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// Reading or writing failed.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The folder is not a whole checkpoint.
    #[error("checkpoint {} is damaged: {message}{}", path.display(), offer(older))]
    Damaged {
        /// The checkpoint's folder.
        path: PathBuf,
        /// Which file, and what is wrong with it.
        message: String,
        /// The newest whole checkpoint before it.
        older: Option<PathBuf>,
    },
    /// The checkpoint belongs to another model or configuration.
    #[error("checkpoint {} does not fit this run: {message}", path.display())]
    Mismatch {
        /// The checkpoint's folder.
        path: PathBuf,
        /// What differs.
        message: String,
    },
    /// There is no checkpoint where one was looked for.
    #[error("no checkpoint in {}: {message}", path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
        /// What was looked for.
        message: String,
    },
}

fn gib(bytes: f64) -> String {
    const GIB: f64 = (1 << 30) as f64;
    format!("{:.1} GiB", bytes / GIB)
}

fn offer(older: &Option<PathBuf>) -> String {
    match older {
        Some(path) => format!("; the one before it is whole: --resume {}", path.display()),
        None => String::new(),
    }
}
