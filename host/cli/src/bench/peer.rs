//! The same training in PyTorch, in a process of its own that takes its turns when it is told to.
//!
//! What it does is in `peer.py` beside this file. Main type: [`Peer`].

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use host_trainer::{AnyBare, AnyRun, device::DeviceKind};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::in_words;
use crate::{
    config::Plan,
    exit::Exit,
    problem::{Problem, Problems},
};

const PROGRAM: &str = include_str!("peer.py");
const VALIDATION: &str = "validation.safetensors";

/// Batches that PyTorch is to be given.
///
/// # Errors
///
/// When the task shows none.
pub(crate) fn shown(plan: &Plan, batches: Option<Vec<u8>>) -> Result<Vec<u8>, Problems> {
    batches.ok_or_else(|| {
        let message = format!("the task \"{}\" has no batches that PyTorch could be given", plan.task.kind);
        Problems::from((Exit::Usage, Problem::new(message).help("leave --peer out")))
    })
}

/// How PyTorch is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The Python that has it.
    pub(crate) python: &'a Path,
    /// Whether it compiles the model first.
    pub(crate) compiled: bool,
}

/// A process with PyTorch in it.
pub(crate) struct Peer {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// What it is, such as `PyTorch 2.15.0`.
    pub(crate) name: String,
    /// What it is given.
    folder: TempDir,
}

/// What it says first.
#[derive(Deserialize)]
#[serde(untagged)]
enum Hello {
    Failed { error: String },
    Ready { version: String, threads: usize, parameters: usize },
}

/// The learning rate and the weight decay of each group.
pub(crate) type Rates = Vec<[f64; 2]>;

/// What it is told to do.
#[derive(Serialize)]
#[serde(untagged)]
enum Order<'a> {
    Batches { batches: &'a Path },
    Steps { steps: usize, rates: Option<&'a [Rates]> },
    Evaluate { evaluate: &'a Path },
}

/// An evaluation of it.
#[derive(Deserialize)]
pub(crate) struct Evaluated {
    /// The time that it took.
    pub(crate) seconds: f64,
    /// The mean loss; `None` where it is no number.
    pub(crate) loss: Option<f64>,
}

/// Some steps of it.
#[derive(Deserialize)]
pub(crate) struct Steps {
    /// The time of each.
    pub(crate) seconds: Vec<f64>,
    /// The loss of each; `None` where it is no number.
    pub(crate) losses: Vec<Option<f64>>,
}

impl Peer {
    /// Starts it with the weights that the bare loop has now.
    ///
    /// # Errors
    ///
    /// When Python or PyTorch is not there, its model is not ours, or it cannot train in the same way.
    pub(crate) fn start(
        wanted: Wanted<'_>,
        plan: &Plan,
        device: &DeviceKind,
        run: &dyn AnyRun,
        bare: &dyn AnyBare,
    ) -> Result<Self, Problems> {
        let python = wanted.python.display();
        let failed = |message: String, help: &str| {
            let help =
                if help.is_empty() { "`--peer` takes a Python 3 with torch, such as venv/bin/python" } else { help };
            Problems::from((Exit::Usage, Problem::new(message).help(help)))
        };
        let words = spec(plan, device, run, wanted.compiled).map_err(|why| failed(why, "leave --peer out"))?;
        let folder = (|| -> io::Result<TempDir> {
            let folder = tempfile::tempdir()?;
            fs::write(folder.path().join("peer.py"), PROGRAM)?;
            fs::write(folder.path().join("spec.json"), words.to_string())?;
            fs::write(folder.path().join("weights.safetensors"), bare.weights())?;
            Ok(folder)
        })();
        let folder = folder.map_err(|error| failed(format!("there is no folder for PyTorch's data: {error}"), ""))?;
        let mut command = Command::new(wanted.python);
        command.arg(folder.path().join("peer.py")).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = command.spawn().map_err(|error| failed(format!("{python} cannot be started: {error}"), ""));
        let mut child = started?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for");
        };
        let mut peer = Self { child, to, from: BufReader::new(from), name: String::new(), folder };
        let ours: usize = run.parameters().iter().map(|(_, shape, _)| shape.iter().product::<usize>()).sum();
        match peer.read::<Hello>().map_err(|why| failed(format!("{python}: {why}"), ""))? {
            Hello::Failed { error } => Err(failed(format!("{python}: {error}"), "")),
            Hello::Ready { parameters, .. } if parameters != ours => {
                Err(failed(format!("PyTorch's model has {parameters} parameters, ours {ours}"), "this is our fault"))
            }
            Hello::Ready { version, threads, .. } => {
                let how = if wanted.compiled { ", compiled" } else { "" };
                peer.name = format!("PyTorch {version}, {}{how}", in_words(threads));
                Ok(peer)
            }
        }
    }

    /// Gives it the batches of its next steps. Where it does more, it begins with the first one again.
    ///
    /// # Errors
    ///
    /// Why they could not be given.
    pub(crate) fn take(&mut self, batches: &[u8]) -> Result<(), String> {
        // Whoever read the last ones has answered since.
        let path = self.write("batches.safetensors", batches)?;
        self.tell(&Order::Batches { batches: &path })
    }

    /// Does some steps, with the rates of each or with those at the start.
    ///
    /// # Errors
    ///
    /// Why it did not.
    pub(crate) fn steps(&mut self, steps: usize, rates: Option<&[Rates]>) -> Result<Steps, String> {
        self.tell(&Order::Steps { steps, rates })?;
        self.read()
    }

    /// Keeps the validation data for it.
    ///
    /// # Errors
    ///
    /// Why it could not be written.
    pub(crate) fn keep(&self, validation: &[u8]) -> Result<(), String> {
        self.write(VALIDATION, validation).map(drop)
    }

    /// Evaluates on the data that was kept.
    ///
    /// # Errors
    ///
    /// Why it did not.
    pub(crate) fn evaluate(&mut self) -> Result<Evaluated, String> {
        let path = self.folder.path().join(VALIDATION);
        self.tell(&Order::Evaluate { evaluate: &path })?;
        self.read()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        Ok(path)
    }

    fn tell(&mut self, order: &Order<'_>) -> Result<(), String> {
        let line = serde_json::to_string(order).map_err(|error| error.to_string())?;
        writeln!(self.to, "{line}").and_then(|()| self.to.flush()).map_err(|error| error.to_string())
    }

    fn read<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let mut line = String::new();
        match self.from.read_line(&mut line) {
            Ok(0) => Err("PyTorch's process ended; what it said stands above".into()),
            Ok(_) => serde_json::from_str(&line).map_err(|error| format!("it said {}: {error}", line.trim_end())),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It holds nothing that could be lost.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What PyTorch is told of the training.
fn spec(plan: &Plan, device: &DeviceKind, run: &dyn AnyRun, compiled: bool) -> Result<Value, String> {
    let knobs = run.knobs();
    let knob = |name: &str| knobs.id(name).map_or(0.0, |id| knobs.value(id));
    if knob("dropout") > 0.0 {
        return Err("PyTorch drops other activations than we: --set task.dropout=0 makes both train the same".into());
    }
    let device = match device {
        DeviceKind::Cpu => "cpu".to_owned(),
        DeviceKind::Cuda(number) => format!("cuda:{number}"),
        DeviceKind::Other(words) => return Err(format!("PyTorch is not asked to train on {words}")),
    };
    if plan.settings.accumulation > 1 || plan.settings.clip_value > 0.0 {
        return Err("accumulation and clipping by value are not done in PyTorch here".into());
    }
    let mut task = plan.task.settings.clone();
    task["kind"] = plan.task.kind.as_str().into();
    let groups: Vec<Value> = plan
        .settings
        .groups
        .iter()
        .map(|group| json!({ "learning-rate": group.learning_rate, "weight-decay": group.weight_decay }))
        .collect();
    let place = |name: &str| plan.settings.groups.iter().position(|group| group.name == name);
    let members: serde_json::Map<String, Value> =
        run.parameters().into_iter().map(|(name, _, group)| (name, place(&group).into())).collect();
    Ok(json!({
        "task": task,
        "device": device,
        "threads": rayon::current_num_threads(),
        "compile": compiled,
        "optimizer": plan.settings.optimizer,
        "groups": groups,
        "members": members,
        "clip-norm": plan.settings.clip_norm,
        "label-smoothing": knob("label-smoothing"),
    }))
}
