//! Builds a plugin in Python: the SDK's own `host_sdk.build`, with the project's environment or the machine's Python.
//!
//! It installs nothing. Main function: [`component`].

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use toml::{Table, Value};

use super::{
    project::environment,
    tool::{Tool, run, version},
};
use crate::{
    command::toolchains::answer,
    exit::Exit,
    problem::{Problem, Problems},
};

const LEAST: (u32, u32) = (3, 11);
const LEAST_TOOL: (u32, u32) = (0, 25);

/// Three lines about a Python: its version, that of componentize-py, and whether the SDK can be imported.
const QUESTION: &str = "\
import sys, importlib.metadata as m, importlib.util as u
try: tool = m.version('componentize-py')
except m.PackageNotFoundError: tool = ''
print('%d.%d' % sys.version_info[:2], tool, bool(u.find_spec('host_sdk')), sep='\\n')";

/// Runs `python -m host_sdk.build` and gives the component's file.
pub(super) fn component(folder: &Path, scratch: &Path) -> Result<PathBuf, Problems> {
    let project = Project::read(folder)?;
    let source = project.source(folder)?;
    let python = find(folder, &project)?;
    let file = scratch.join("component.wasm");
    let mut command = project.with_sdk(python.command(folder));
    command.args(["-m", "host_sdk.build"]).arg(source).arg("--output").arg(&file);
    run(&mut command)?;
    Ok(file)
}

/// What `pyproject.toml` says.
struct Project {
    name: String,
    /// Where `[tool.uv.sources]` has the SDK: it is taken from there, installed or not.
    sdk: Option<PathBuf>,
}

impl Project {
    fn read(folder: &Path) -> Result<Self, Problems> {
        let text = fs::read_to_string(folder.join("pyproject.toml")).unwrap_or_default();
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            Problems::from((Exit::Project, Problem::new("pyproject.toml cannot be read").caused_by(error)))
        })?;
        let at = |path: &[&str]| {
            let mut keys = path.iter();
            let first = table.get(*keys.next()?)?;
            keys.try_fold(first, |value, key| value.get(key)).and_then(Value::as_str).map(str::to_owned)
        };
        let Some(name) = at(&["project", "name"]) else {
            let problem = Problem::new("pyproject.toml gives the project no name").help(
                "[project] name = \"loss-ceiling\" is the plugin in loss_ceiling.py, or in the package loss_ceiling",
            );
            return Err((Exit::Project, problem).into());
        };
        let sdk = at(&["tool", "uv", "sources", "host-sdk", "path"]).map(|path| folder.join(path).join("src"));
        Ok(Self { name, sdk: sdk.and_then(|sdk| std::path::absolute(sdk).ok()) })
    }

    /// The module or package with the project's name.
    fn source(&self, folder: &Path) -> Result<PathBuf, Problems> {
        let module = self.name.replace(['-', '.'], "_").to_lowercase();
        let names = [format!("{module}.py"), module.clone(), format!("src/{module}.py"), format!("src/{module}")];
        let is_source = |name: &&String| {
            let path = folder.join(name);
            path.join("__init__.py").is_file() || (name.ends_with(".py") && path.is_file())
        };
        names.iter().find(is_source).map(PathBuf::from).ok_or_else(|| {
            let problem = Problem::new(format!("there is no module of the project {}", self.name));
            (Exit::Project, problem.help(format!("looked for {}", names.join(", ")))).into()
        })
    }

    fn with_sdk(&self, mut command: Command) -> Command {
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let others = std::env::var_os("PYTHONPATH");
        let paths: Vec<PathBuf> =
            self.sdk.iter().cloned().chain(others.iter().flat_map(std::env::split_paths)).collect();
        if let Ok(paths) = std::env::join_paths(paths) {
            command.env("PYTHONPATH", paths);
        }
        command
    }
}

/// The project's own environment, the one that is active, or the machine's.
fn find(folder: &Path, project: &Project) -> Result<Tool, Problems> {
    let active = std::env::var_os("VIRTUAL_ENV").map(|venv| Path::new(&venv).join("bin/python"));
    let machine = ["python3".into(), "python".into()];
    let tool = answer(Command::new("componentize-py").arg("--version")).as_deref().and_then(version);
    let mut looked = Vec::new();
    for python in environment(folder).into_iter().chain(active).chain(machine) {
        let python = Tool::new([python]);
        let said = answer(project.with_sdk(python.command(folder)).args(["-c", QUESTION]));
        match what_is_missing(said.as_deref(), tool) {
            None => return Ok(python),
            Some(missing) => looked.push(format!("`{}` {missing}", python.shown())),
        }
    }
    let message =
        format!("Python 3.11 or newer with host-sdk and componentize-py 0.25 is needed: {}", looked.join(", "));
    let sdk = project.sdk.as_deref().and_then(Path::parent).map(|sdk| sdk.display().to_string());
    let help = format!(
        "in {}: python3 -m venv .venv && .venv/bin/pip install \"{}[build]\"",
        folder.display(),
        sdk.unwrap_or_else(|| "host-sdk".into())
    );
    Err((Exit::Toolchain, Problem::new(message).help(help)).into())
}

/// What keeps a Python from building a component, if anything does. `beside` is a componentize-py on the path.
fn what_is_missing(said: Option<&str>, beside: Option<(u32, u32)>) -> Option<String> {
    let Some(said) = said else { return Some("is not there".into()) };
    let mut lines = said.lines();
    let mut next = || lines.next().unwrap_or_default();
    let (own, tool, has_sdk) = (next(), next(), next());
    if version(own) < Some(LEAST) {
        return Some(format!("is {own}, too old"));
    }
    if has_sdk != "True" {
        return Some("has no host-sdk".into());
    }
    match version(tool).or(beside) {
        None => Some("has no componentize-py".into()),
        Some(found) if found < LEAST_TOOL => Some(format!("has componentize-py {}.{}, too old", found.0, found.1)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_python_lacks_is_said() {
        for (said, beside, expected) in [
            (Some("3.13\n0.25.1\nTrue\n"), None, None),
            (Some("3.13\n\nTrue\n"), Some((0, 26)), None),
            (Some("3.13\n\nTrue\n"), None, Some("has no componentize-py")),
            (Some("3.13\n0.17.0\nTrue\n"), None, Some("has componentize-py 0.17, too old")),
            (Some("3.13\n0.25.1\nFalse\n"), None, Some("has no host-sdk")),
            (Some("3.9\n0.25.1\nTrue\n"), None, Some("is 3.9, too old")),
            (None, Some((0, 25)), Some("is not there")),
        ] {
            assert_eq!(what_is_missing(said, beside).as_deref(), expected, "{said:?}");
        }
    }

    #[test]
    fn a_project_s_module_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("pyproject.toml", "[project]\nname = \"loss-ceiling\"\n");
        let project = Project::read(folder.path()).ok().unwrap();
        assert_eq!(project.source(folder.path()).unwrap_err().exit(), Exit::Project);
        fs::create_dir_all(folder.path().join("src/loss_ceiling")).unwrap();
        write("src/loss_ceiling/__init__.py", "");
        assert_eq!(project.source(folder.path()).ok(), Some("src/loss_ceiling".into()));
        write("loss_ceiling.py", "");
        assert_eq!(project.source(folder.path()).ok(), Some("loss_ceiling.py".into()));
        write("pyproject.toml", "[tool]\n");
        assert_eq!(Project::read(folder.path()).err().unwrap().exit(), Exit::Project);
    }
}
