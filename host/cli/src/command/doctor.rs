//! `host doctor`: what this machine has, and what is missing for what.
//!
//! It never fails and changes nothing, except for a file in the cache folder that it removes again. Main
//! function: [`run`].

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    path::{Path, PathBuf},
    thread,
};

use host_trainer::device::probe_cuda;
use serde::Serialize;

use super::toolchains::{self, Toolchain};
use crate::{args::DoctorArgs, config::user_cache, exit::Exit, terminal};

/// Prints what this machine has.
pub(crate) fn run(args: &DoctorArgs) -> Exit {
    let health = examine();
    if args.json {
        terminal::out(&format!("{:#}\n", serde_json::json!(health)));
    } else {
        terminal::out(&health.to_string());
    }
    Exit::Success
}

/// What was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Health {
    version: &'static str,
    platform: String,
    cpu: Cpu,
    backends: [Backend; 2],
    cache: Cache,
    toolchains: Vec<Toolchain>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Cpu {
    cores: usize,
    /// Instruction sets that the backend has kernels for, with whether the CPU has them.
    features: BTreeMap<&'static str, bool>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Backend {
    name: &'static str,
    /// Devices that can be used.
    devices: Vec<String>,
    /// Why there is none.
    missing: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Cache {
    folder: PathBuf,
    /// Why nothing can be written there.
    missing: Option<String>,
}

fn examine() -> Health {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // The slow parts side by side: a GPU's driver and other people's programs take their time.
    let (cuda, toolchains) = thread::scope(|scope| {
        let cuda = scope.spawn(probe_cuda);
        let toolchains = toolchains::find();
        (cuda.join().unwrap_or_else(|_| Err("looking for it failed".into())), toolchains)
    });
    let (devices, missing) = match cuda {
        Ok(devices) => (devices, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let folder = user_cache(|name| std::env::var_os(name));
    Health {
        version: env!("CARGO_PKG_VERSION"),
        platform: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        cpu: Cpu { cores, features: cpu_features() },
        backends: [
            Backend { name: "flex", devices: vec![format!("CPU with {cores} cores")], missing: None },
            Backend { name: "cuda", devices, missing },
        ],
        cache: Cache { missing: why_not_writable(&folder), folder },
        toolchains,
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn cpu_features() -> BTreeMap<&'static str, bool> {
    BTreeMap::from([
        ("AVX2", std::is_x86_feature_detected!("avx2")),
        ("AVX-512", std::is_x86_feature_detected!("avx512f")),
    ])
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn cpu_features() -> BTreeMap<&'static str, bool> {
    BTreeMap::new()
}

/// Tries it: permissions say little on network file systems and in containers.
fn why_not_writable(folder: &Path) -> Option<String> {
    // The nearest folder that exists: doctor leaves nothing behind, and the rest can be made if this can be written.
    let existing = folder.ancestors().find(|ancestor| ancestor.is_dir())?;
    match tempfile::tempfile_in(existing) {
        Ok(_) => None,
        Err(error) => Some(format!("{} cannot be written: {error}", existing.display())),
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, text: &str| writeln!(f, "{name:<16}{text}");
        line("host", &format!("{} on {}", self.version, self.platform))?;
        line("cpu", &self.cpu.to_string())?;
        for backend in &self.backends {
            let found = match &backend.missing {
                Some(why) => format!("not usable: {why}"),
                None => backend.devices.join(", "),
            };
            line(&format!("backend {}", backend.name), &found)?;
        }
        let folder = self.cache.folder.display();
        line(
            "cache",
            &match &self.cache.missing {
                Some(why) => format!("{folder}, not writable: {why}; `plugins.cache` names another folder"),
                None => format!("{folder}, writable"),
            },
        )?;
        writeln!(f, "\nToolchains for writing callbacks; none is needed to run them:")?;
        self.toolchains.iter().try_for_each(|toolchain| writeln!(f, "  {toolchain}"))
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{} cores", self.cores);
        for (feature, there) in &self.features {
            write!(text, ", {} {feature}", if *there { "has" } else { "no" })?;
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Health {
        Health {
            version: "1.2.3",
            platform: "x86_64-linux".into(),
            cpu: Cpu { cores: 4, features: BTreeMap::from([("AVX2", true), ("AVX-512", false)]) },
            backends: [
                Backend { name: "flex", devices: vec!["CPU with 4 cores".into()], missing: None },
                Backend { name: "cuda", devices: Vec::new(), missing: Some("the driver is not there".into()) },
            ],
            cache: Cache { folder: "/c/train-host".into(), missing: None },
            toolchains: vec![Toolchain::sample()],
        }
    }

    #[test]
    fn a_report_says_what_is_there_and_what_is_missing() {
        let expected = "\
host            1.2.3 on x86_64-linux
cpu             4 cores, no AVX-512, has AVX2
backend flex    CPU with 4 cores
backend cuda    not usable: the driver is not there
cache           /c/train-host, writable

Toolchains for writing callbacks; none is needed to run them:
  Go: not found
";
        assert_eq!(sample().to_string(), expected);
    }

    #[test]
    fn json_has_the_same() {
        let json = serde_json::json!(sample());
        assert_eq!(json["backends"][1]["missing"], "the driver is not there");
        assert_eq!(json["cpu"]["features"]["AVX2"], true);
    }

    #[test]
    fn this_machine_can_be_examined() {
        let health = examine();
        assert!(health.cpu.cores >= 1);
        assert!(health.to_string().lines().count() >= 8);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_writable_if_it_can_be_made() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(why_not_writable(&folder.path().join("a/b")), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
