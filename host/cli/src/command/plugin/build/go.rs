//! Builds a plugin in Go: `go build` for WASI, and the SDK's own answers to what Go's runtime asks of a system.
//!
//! It installs nothing. Main function: [`module`].

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::tool::{Tool, Wanted, run};
use crate::{
    command::toolchains::answer,
    exit::Exit,
    problem::{Problem, Problems},
};

const GO: Wanted = Wanted {
    name: "Go",
    least: (1, 24),
    ask: &["version"],
    install: "https://go.dev/dl, or on Debian apt-get install golang",
};

/// The SDK's module.
const SDK: &str = "github.com/train-host/host/sdk/go";

/// Runs `go build`, and gives the module's file and the adapter that the SDK has for it.
pub(super) fn module(folder: &Path, scratch: &Path) -> Result<(PathBuf, Vec<u8>), Problems> {
    let go = GO.find(folder, [Tool::new(["go"])])?;
    let adapter = adapter(answer(go.command(folder).args(["list", "-m", "-f", "{{.Dir}}", SDK])))?;
    let module = scratch.join("module.wasm");
    let mut command = go.command(folder);
    command.args(["build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o"]).arg(&module).arg(".");
    run(command.env("GOOS", "wasip1").env("GOARCH", "wasm"))?;
    Ok((module, adapter))
}

fn adapter(sdk: Option<String>) -> Result<Vec<u8>, Problems> {
    let file = sdk.map(|folder| Path::new(folder.trim()).join("cmd/component/adapter/adapter.module"));
    file.and_then(|file| fs::read(file).ok()).ok_or_else(|| {
        let problem = Problem::new(format!("go.mod does not lead to {SDK}, so this is no plugin"))
            .help(format!("go mod edit -require {SDK}@v0.0.0 -replace {SDK}=PATH, where PATH is host's sdk/go"));
        (Exit::Project, problem).into()
    })
}
