//! Finds a Rust compiler that can build for WebAssembly, or installs one.
//! Does not build; says each thing that it does to the system, and stops where it would need more than it has.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::root;

/// What guests are compiled for: a bare module without any system interface.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's packages for a compiler that is recent enough, and the linker that goes with it.
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
const DEBIAN_LINKER: &str = "lld-22";

/// A download of 30 MB over a slow line is fine, a server that never answers is not.
const RUSTUP_DEADLINE: Duration = Duration::from_secs(120);

/// Compilers that can build guests.
#[derive(Debug)]
pub struct Toolchain {
    cargo: PathBuf,
    rustc: PathBuf,
    linker: Option<PathBuf>,
    /// The standard library comes as sources and is built along.
    build_std: bool,
}

impl Toolchain {
    /// Looks for one that is installed: on the path first, then where Debian puts it. One with the target's library is
    /// preferred to one that has to build it.
    #[must_use]
    pub fn find() -> Option<Self> {
        let minimum = minimum_version();
        let usable: Vec<_> = compilers().into_iter().filter(|(_, rustc)| version_of(rustc) >= Some(minimum)).collect();
        let with = |build_std| usable.iter().find_map(|(cargo, rustc)| Self::new(cargo, rustc, build_std));
        with(false).or_else(|| with(true))
    }

    fn new(cargo: &Path, rustc: &Path, build_std: bool) -> Option<Self> {
        let sysroot = sysroot_of(rustc)?;
        let library = if build_std { "src/rust/library/std/Cargo.toml" } else { "wasm32-unknown-unknown/lib" };
        if !sysroot.join("lib/rustlib").join(library).exists() {
            return None;
        }
        let linker = find_linker();
        if build_std && linker.is_none() {
            return None;
        }
        Some(Self { cargo: cargo.into(), rustc: rustc.into(), linker, build_std })
    }

    /// One line on what it is.
    #[must_use]
    pub fn describe(&self) -> String {
        let version = output(Command::new(&self.rustc).arg("--version")).unwrap_or_default();
        let library = if self.build_std { "standard library built from source" } else { "target installed" };
        format!("{version} ({}, {library})", self.rustc.display())
    }

    /// A `cargo build` for [`TARGET`], without what the surrounding cargo has set for the program itself.
    #[must_use]
    pub fn cargo_build(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        for name in ["RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_TARGET_DIR"] {
            command.env_remove(name);
        }
        command.args(["build", "--target", TARGET]).env("RUSTC", &self.rustc);
        if let Some(linker) = &self.linker {
            command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
        if self.build_std {
            command.arg("-Zbuild-std=std,panic_abort").env("RUSTC_BOOTSTRAP", "1");
        }
        // Panics carry the place in the source: it should read the same wherever a component was built.
        command.env("CARGO_ENCODED_RUSTFLAGS", self.remapped_paths().join("\x1f"));
        command
    }

    fn remapped_paths(&self) -> Vec<String> {
        let mut places = vec![(root(), "train-host")];
        places.extend(sysroot_of(&self.rustc).map(|sysroot| (sysroot.join("lib/rustlib/src/rust"), "rust")));
        let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let cargo_home = cargo_home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
        // Below this folder there is one a registry, with a name that depends on how the registry is reached.
        let registries = cargo_home.and_then(|home| std::fs::read_dir(home.join("registry/src")).ok());
        places.extend(registries.into_iter().flatten().flatten().map(|registry| (registry.path(), "crates")));
        places.into_iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).collect()
    }
}

/// Finds a toolchain, or installs one. `say` gets a line for each thing that is done or tried.
///
/// # Errors
///
/// There is none, and none can be installed from here; the words say what to install.
pub fn set_up(mut say: impl FnMut(&str)) -> Result<Toolchain, String> {
    if let Some(toolchain) = Toolchain::find() {
        return Ok(toolchain);
    }
    if output(Command::new("rustup").arg("--version")).is_some() {
        say(&format!("rustup target add {TARGET}"));
        if !rustup_target_add() {
            say("  did not work: its servers can't be reached from here");
        }
        if let Some(toolchain) = Toolchain::find() {
            return Ok(toolchain);
        }
    }
    apt_install(&mut say);
    Toolchain::find().ok_or_else(|| {
        format!(
            "no Rust compiler here can build for {TARGET}. Install one of\n  \
             rustup target add {TARGET}\n  \
             apt-get install {} {DEBIAN_LINKER}    (Debian 12, as root)",
            DEBIAN_PACKAGES.join(" ")
        )
    })
}

/// Quietly, and given up after [`RUSTUP_DEADLINE`].
fn rustup_target_add() -> bool {
    let mut command = Command::new("rustup");
    command.args(["target", "add", TARGET]).env("RUSTUP_MAX_RETRIES", "0");
    let Ok(mut child) = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
        return false;
    };
    let deadline = Instant::now() + RUSTUP_DEADLINE;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => thread::sleep(Duration::from_millis(100)),
            Err(_) => break,
        }
    }
    // It may have ended in between, which is as good.
    let _ = child.kill();
    let _ = child.wait();
    false
}

fn apt_install(say: &mut impl FnMut(&str)) {
    let Some(prefix) = root_prefix() else { return };
    let mut packages = DEBIAN_PACKAGES.to_vec();
    if find_linker().is_none() {
        packages.push(DEBIAN_LINKER);
    }
    let known = || output(Command::new("apt-cache").arg("show").args(&packages)).is_some();
    if !known() {
        apt_get(&prefix, &["update"], say);
    }
    if known() {
        // Debian's own `rustc` conflicts with these packages: what somebody installed is not taken away.
        let mut arguments = vec!["install", "--yes", "--no-remove", "--no-install-recommends"];
        arguments.extend(&packages);
        apt_get(&prefix, &arguments, say);
    } else {
        say(&format!("  this system has no packages {}", packages.join(", ")));
    }
}

fn apt_get(prefix: &[&str], arguments: &[&str], say: &mut impl FnMut(&str)) {
    let words: Vec<&str> = prefix.iter().copied().chain(["apt-get"]).chain(arguments.iter().copied()).collect();
    say(&words.join(" "));
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null());
    if !command.status().is_ok_and(|status| status.success()) {
        say("  did not work");
    }
}

/// What to put before a command that needs root: nothing, or a `sudo` that does not ask. `None` without `apt-get` or
/// without either.
fn root_prefix() -> Option<Vec<&'static str>> {
    output(Command::new("apt-get").arg("--version"))?;
    if output(Command::new("id").arg("-u")).as_deref() == Some("0") {
        return Some(Vec::new());
    }
    output(Command::new("sudo").args(["-n", "true"])).map(|_| vec!["sudo", "-n"])
}

/// Cargo and compiler: those on the path, and those where Debian puts them.
fn compilers() -> Vec<(PathBuf, PathBuf)> {
    vec![("cargo".into(), "rustc".into()), ("/usr/bin/cargo".into(), "/usr/bin/rustc".into())]
}

/// The oldest compiler that the guests' workspace accepts, as (major, minor).
fn minimum_version() -> (u32, u32) {
    // Cargo has checked it for the package that this file is part of, and both workspaces ask for the same.
    parse_version(env!("CARGO_PKG_RUST_VERSION")).unwrap_or((1, 0))
}

fn version_of(rustc: &Path) -> Option<(u32, u32)> {
    let words = output(Command::new(rustc).arg("--version"))?;
    parse_version(words.split_whitespace().nth(1)?)
}

fn parse_version(words: &str) -> Option<(u32, u32)> {
    let mut numbers = words.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn sysroot_of(rustc: &Path) -> Option<PathBuf> {
    output(Command::new(rustc).args(["--print", "sysroot"])).map(PathBuf::from)
}

/// A linker for WebAssembly: the one inside of a rustup toolchain, or LLVM's with or without a version in its name.
fn find_linker() -> Option<PathBuf> {
    for (_, rustc) in compilers() {
        let Some(rustlib) = sysroot_of(&rustc).map(|sysroot| sysroot.join("lib/rustlib")) else { continue };
        let hosts = std::fs::read_dir(rustlib).into_iter().flatten().flatten();
        if let Some(linker) = hosts.map(|host| host.path().join("bin/rust-lld")).find(|path| path.is_file()) {
            return Some(linker);
        }
    }
    let names =
        std::iter::once("wasm-ld".to_owned()).chain((17..=30).rev().map(|version| format!("wasm-ld-{version}")));
    names.map(PathBuf::from).find(|name| output(Command::new(name).arg("--version")).is_some())
}

/// What a command says, if it can be run and succeeds.
fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert_eq!(parse_version("1.96.0"), Some((1, 96)));
        assert_eq!(parse_version("1.95"), Some((1, 95)));
        assert!(parse_version("1.100.0-nightly") > parse_version("1.95.0"));
        assert_eq!(parse_version("nightly"), None);
    }
}
