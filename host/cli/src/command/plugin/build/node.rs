//! Builds a plugin in JavaScript or TypeScript: the script `build` of its `package.json`.
//!
//! It installs nothing, and does not run a bundler itself. Main function: [`component`].

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::tool::{Tool, Wanted, run};
use crate::{
    exit::Exit,
    problem::{Problem, Problems},
};

const NODE: Wanted = Wanted {
    name: "Node.js",
    least: (20, 6),
    ask: &["--version"],
    install: "https://nodejs.org, or on Debian apt-get install nodejs npm",
};
const NPM: Wanted = Wanted { name: "npm", least: (7, 0), ..NODE };

/// Runs `npm run build -- --out FILE` and gives the file.
pub(super) fn component(folder: &Path, scratch: &Path) -> Result<PathBuf, Problems> {
    let manifest = fs::read_to_string(folder.join("package.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_str(&manifest).map_err(|error| {
        Problems::from((Exit::Project, Problem::new("package.json cannot be read").caused_by(error)))
    })?;
    if !manifest["scripts"]["build"].is_string() {
        let problem = Problem::new("package.json has no script `build`").help(
            "\"build\": \"host-sdk build src/index.js --out plugin.wasm\" makes a component; the last --out counts",
        );
        return Err((Exit::Project, problem).into());
    }
    NODE.find(folder, [Tool::new(["node"])])?;
    // On Windows it is a script, which only its whole name finds.
    let npm = NPM.find(folder, [Tool::new([if cfg!(windows) { "npm.cmd" } else { "npm" }])])?;
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    if !absolute.ancestors().any(|above| above.join("node_modules").is_dir()) {
        let problem = Problem::new("what package.json asks for is not installed");
        return Err((Exit::Toolchain, problem.help(format!("run `npm install` in {}", folder.display()))).into());
    }
    let file = scratch.join("component.wasm");
    run(npm.command(folder).args(["run", "build", "--silent", "--", "--out"]).arg(&file))?;
    if file.is_file() {
        return Ok(file);
    }
    let problem = Problem::new("`npm run build -- --out FILE` did not write FILE")
        .help("the last command of the script `build` has to be `host-sdk build ...`, which takes --out");
    Err((Exit::Project, problem).into())
}
