//! In which surroundings a run took place: program, machine, device, plugin files, command line.
//!
//! What cannot be found out is left out; nothing here is a reason not to train. Main type: [`Environment`].

use std::{
    fs, io,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::SystemTime,
};

use host_trainer::device::{Device, DeviceKind};
use serde::Serialize;

use crate::{run_folder::RunFolder, telemetry::words};

/// What `environment.json` says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Environment {
    /// Version of the program.
    pub(crate) version: String,
    /// Architecture, system and ABI that the program was built for.
    pub(crate) target: String,
    /// Commit that the working directory is at, where that is in a git repository.
    pub(crate) git_commit: Option<String>,
    /// The device in words.
    pub(crate) device: String,
    /// Why that one.
    pub(crate) device_reason: String,
    /// How many processes share each batch.
    pub(crate) ranks: usize,
    /// What computes.
    pub(crate) backend: String,
    /// The processor's model, where the system tells.
    pub(crate) cpu: Option<String>,
    /// Threads that the system lets this process use at once.
    pub(crate) threads: usize,
    /// The files that callbacks came from at the start; later ones are in the timeline.
    pub(crate) plugins: Vec<PluginFile>,
    /// The command line.
    pub(crate) command: Vec<String>,
    /// When the process began, RFC 3339.
    pub(crate) started: String,
    /// The checkpoint that it goes on from.
    pub(crate) resumed_from: Option<String>,
}

/// The file of a callback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PluginFile {
    /// The instance that it is loaded as.
    pub(crate) instance: String,
    /// Where it was.
    pub(crate) file: String,
    /// SHA-256 of its bytes in hexadecimal.
    pub(crate) sha256: String,
}

impl Environment {
    /// Looks around.
    pub(crate) fn gather(
        device: &Device,
        ranks: usize,
        plugins: Vec<PluginFile>,
        resumed_from: Option<&Path>,
        started: SystemTime,
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            target: target(),
            git_commit: git_commit(),
            device: device.kind.to_string(),
            device_reason: device.reason.clone(),
            ranks,
            backend: match &device.kind {
                DeviceKind::Cpu => "burn Flex".to_owned(),
                DeviceKind::Cuda(_) => "burn CUDA".to_owned(),
                DeviceKind::Other(words) => words.clone(),
            },
            cpu: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| cpu_model(&text)),
            threads: thread::available_parallelism().map_or(1, usize::from),
            plugins,
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            started: words::moment(started),
            resumed_from: resumed_from.map(|path| path.display().to_string()),
        }
    }

    /// Writes `environment.json`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(crate) fn write(&self, folder: &RunFolder) -> io::Result<()> {
        folder.write_json("environment.json", self)
    }
}

fn target() -> String {
    let abi = match () {
        () if cfg!(target_env = "gnu") => "-gnu",
        () if cfg!(target_env = "musl") => "-musl",
        () if cfg!(target_env = "msvc") => "-msvc",
        () => "",
    };
    format!("{}-{}{abi}", std::env::consts::ARCH, std::env::consts::OS)
}

fn git_commit() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["rev-parse", "HEAD"]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    commit_id(&String::from_utf8(output.stdout).ok()?)
}

/// A commit is 40 or 64 hexadecimal digits; in a repository without commits git answers `HEAD`.
fn commit_id(text: &str) -> Option<String> {
    let id = text.trim();
    let fits = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then(|| id.to_owned())
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    let (_, model) = line.split_once(':')?;
    Some(model.trim().to_owned()).filter(|model| !model.is_empty())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Surroundings that are the same on every machine.
    pub(crate) fn sample() -> Environment {
        Environment {
            version: "0.1.0".into(),
            target: "x86_64-linux-gnu".into(),
            git_commit: None,
            device: "cpu (Flex)".into(),
            device_reason: "asked for".into(),
            ranks: 1,
            backend: "burn Flex".into(),
            cpu: Some("A | B".into()),
            threads: 2,
            plugins: vec![PluginFile { instance: "a".into(), file: "a.wasm".into(), sha256: "ab".repeat(32) }],
            command: vec!["host".into(), "run".into(), "train.toml".into()],
            started: "1970-01-01T00:00:00.000Z".into(),
            resumed_from: None,
        }
    }

    #[test]
    fn what_is_not_there_is_left_out() {
        assert_eq!(
            cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\n").as_deref(),
            Some("Some CPU @ 2.0GHz")
        );
        assert_eq!(cpu_model("processor\t: 0\nBogoMIPS\t: 50\n"), None);
        assert_eq!(cpu_model("model name\t: \n"), None);
        assert_eq!(commit_id("HEAD\n"), None);
        assert_eq!(commit_id(&format!("{}\n", "0f".repeat(20))), Some("0f".repeat(20)));
    }

    #[test]
    fn the_file_has_what_was_gathered() {
        let runs = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(runs.path(), "run").unwrap();
        let device = Device { kind: DeviceKind::Cuda(1), reason: "the first one that is free".into() };
        let parent = Path::new("runs/run-1/checkpoints/step-10");
        let environment = Environment::gather(&device, 1, Vec::new(), Some(parent), SystemTime::UNIX_EPOCH);
        environment.write(&folder).unwrap();
        let text = fs::read(folder.file("environment.json")).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(json["device"], "cuda:1");
        assert_eq!(json["started"], "1970-01-01T00:00:00.000Z");
        assert_eq!(json["resumed_from"], "runs/run-1/checkpoints/step-10");
        assert!(json["threads"].as_u64().unwrap() >= 1);
    }
}
