//! From `train.toml` and `--set` to a [`Plan`], or to everything that is wrong, each at its place.
//!
//! The passes, in order: the file is read ([`source`]) and parsed into a tree that knows where everything
//! stands ([`written`]); `--set` is put over it ([`overlay`]); the tree is checked against the schema of
//! [`raw`] and of the task ([`check`]); what passed is completed and checked as a whole ([`resolve`]). It does
//! not look whether data, plugins or devices are there: that is the wiring's part. Main function: [`load`].

mod check;
mod document;
mod findings;
mod folders;
mod instances;
mod optimizer;
mod overlay;
mod path;
mod plan;
mod raw;
mod resolve;
mod schema;
mod source;
mod tree;
mod words;
mod written;

#[cfg(test)]
mod tests;

use std::path::Path as FilePath;

use host_trainer::task::TaskKind;
use serde_json::Value;

use self::{
    check::{Checker, Violation},
    findings::Findings,
    path::{Path, Step},
    raw::RawConfig,
    schema::Sections,
    written::Written,
};
pub(crate) use self::{
    folders::{folder_of, user_cache},
    plan::{InstancePlan, Plan},
};
use crate::{
    exit::Exit,
    problem::{Problem, Problems},
};

/// Reads, checks and completes a configuration.
///
/// `sets` are `--set` arguments, applied in their order; `tasks` are the kinds that `task.kind` may name.
///
/// # Errors
///
/// Everything that is wrong, in the order of the file. Syntax errors hide all others.
pub(crate) fn load(file: &FilePath, sets: &[String], tasks: &[TaskKind]) -> Result<Plan, Problems> {
    let text = source::read(file).map_err(|problem| Problems::from((Exit::Configuration, problem)))?;
    of_text(file, text, sets, tasks)
}

/// A JSON Schema of a whole configuration, with the keys of `[task]` for each kind of task: for editors.
pub(crate) fn schema(tasks: &[TaskKind]) -> Value {
    schema::for_editors(tasks)
}

/// Checks and completes the text of a configuration, which stands in `file` or would.
///
/// # Errors
///
/// As [`load`].
pub(crate) fn of_text(file: &FilePath, text: String, sets: &[String], tasks: &[TaskKind]) -> Result<Plan, Problems> {
    parse(file, text, sets, tasks).map_err(|problems| Problems::new(Exit::Configuration, problems))
}

fn parse(file: &FilePath, text: String, sets: &[String], tasks: &[TaskKind]) -> Result<Plan, Vec<Problem>> {
    let (mut written, mut problems) = Written::parse(&file.display().to_string(), text)?;
    problems.extend(overlay::apply(&mut written, sets));
    let mut value = written.root.to_json();
    for violation in violations(&written, &value, tasks) {
        prune(&mut value, &violation.path);
        problems.push(violation.problem);
    }
    // What is wrong is left out by now, so this cannot fail; if it does, it is said and not hidden.
    let raw = serde_json::from_value(value).unwrap_or_else(|error| {
        problems.push(Problem::new("the configuration cannot be read").caused_by(error));
        RawConfig::default()
    });
    let mut findings = Findings { written: &written, problems };
    let plan = resolve::resolve(raw, file, &mut findings);
    let mut problems = findings.problems;
    if problems.is_empty() {
        return Ok(plan);
    }
    written.sort(&mut problems);
    Err(problems)
}

/// What breaks the schema of the file, and of the task if its kind is known.
fn violations(written: &Written, value: &Value, tasks: &[TaskKind]) -> Vec<Violation> {
    let config = schema::of_config(tasks);
    let sections = Sections::new(&config, tasks);
    let checker = Checker { written, sections: &sections };
    let broken = |why: String| {
        let problem = Problem::new(format!("a schema of this program cannot be used: {why}"));
        vec![Violation { path: Path::default(), problem }]
    };
    let mut violations = checker.check(&Path::default(), &config, value).unwrap_or_else(broken);
    let kind = value.pointer("/task/kind").and_then(Value::as_str);
    if let Some(kind) = tasks.iter().find(|task| Some(task.name) == kind)
        && let Some(Value::Object(mut settings)) = value.get("task").cloned()
    {
        settings.remove("kind");
        let settings = Value::Object(settings);
        let task = checker.check(&Path::of(["task"]), &schema::of_task(kind), &settings);
        violations.extend(task.unwrap_or_else(broken));
    }
    violations
}

/// Leaves out what is wrong, so that the rest can be checked as a whole.
fn prune(value: &mut Value, path: &Path) {
    let Some((above, key)) = path.split_at_last_key() else { return };
    let table = above.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(at) => value.get_mut(at),
    });
    if let Some(table) = table.and_then(Value::as_object_mut) {
        table.remove(key);
    }
}
