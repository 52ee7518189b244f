//! A plan as a configuration file: every default written out, `--set` applied.
//!
//! Reading it again gives the same plan, from whatever folder: `run.base` says where relative paths start. It
//! writes no file. Main function: [`write()`].

use std::{path::Path, time::Duration};

use host_callback::{Grant, KnobGrant};
use host_sandbox::{Limits, OnFailure};
use host_trainer::{GroupSettings, OptimizerRule, Settings, Span};
use toml::{Table, Value};

use super::{
    folders::user_cache,
    optimizer::name as optimizer_name,
    plan::{InstancePlan, Plan},
    raw::OptimizerKind,
};

/// The plan as text.
pub(super) fn write(plan: &Plan) -> String {
    let mut document = Table::new();
    document.insert("run".into(), Value::Table(run(plan)));
    document.insert("task".into(), Value::Table(task(plan)));
    document.insert("train".into(), Value::Table(train(&plan.settings)));
    document.insert("optimizer".into(), Value::Table(optimizer(&plan.settings)));
    document.insert("plugins".into(), Value::Table(plugins(plan)));
    let instances: Vec<Value> = plan.instances.iter().map(|one| Value::Table(instance(one, plan))).collect();
    if !instances.is_empty() {
        document.insert("plugin".into(), Value::Array(instances));
    }
    let head = format!("# {} as it was resolved: defaults are filled in, --set is applied.", one_line(&plan.file));
    format!("{head}\n\n{document}")
}

/// A path that cannot end a comment early.
fn one_line(path: &Path) -> String {
    path.display().to_string().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn run(plan: &Plan) -> Table {
    // Absolute, since the document is read from another folder than the file that it comes from.
    let base = std::path::absolute(&plan.base).unwrap_or_else(|_| plan.base.clone());
    table([
        ("name", plan.settings.name.as_str().into()),
        ("seed", whole(plan.settings.seed)),
        ("device", plan.device.to_string().into()),
        ("ranks", whole(plan.ranks as u64)),
        ("folder", path(&plan.runs, &plan.base)),
        ("base", base.to_string_lossy().as_ref().into()),
    ])
}

fn task(plan: &Plan) -> Table {
    let mut task = table([("kind", plan.task.kind.as_str().into())]);
    if let Value::Table(settings) = json(&plan.task.settings) {
        task.extend(settings);
    }
    task
}

fn train(settings: &Settings) -> Table {
    let every = |span: Option<Span>| span.map_or("end".to_owned(), |span| span.to_string()).into();
    let length = match settings.length {
        Span::Epochs(n) => ("epochs", whole(n)),
        Span::Steps(n) => ("steps", whole(n)),
        other => ("length", other.to_string().into()),
    };
    table([
        length,
        ("batch-size", whole(settings.batch_size as u64)),
        ("accumulation", whole(settings.accumulation as u64)),
        ("drop-last", settings.drop_last.into()),
        ("evaluate-every", every(settings.evaluate_every)),
        ("log-every", settings.log_every.to_string().into()),
        ("save-every", every(settings.save_every)),
        ("save-async", whole(settings.save_async)),
        ("keep", whole(settings.keep as u64)),
        ("clip-norm", settings.clip_norm.into()),
        ("clip-value", settings.clip_value.into()),
    ])
}

fn optimizer(settings: &Settings) -> Table {
    let mut optimizer = match settings.optimizer {
        OptimizerRule::Adamw { beta1, beta2, epsilon } => table([
            ("kind", optimizer_name(OptimizerKind::Adamw).into()),
            ("beta1", short(beta1)),
            ("beta2", short(beta2)),
            ("epsilon", short(epsilon)),
        ]),
        OptimizerRule::Sgd { momentum, dampening, nesterov } => table([
            ("kind", optimizer_name(OptimizerKind::Sgd).into()),
            ("momentum", momentum.into()),
            ("dampening", dampening.into()),
            ("nesterov", nesterov.into()),
        ]),
    };
    let Some((rest, groups)) = settings.groups.split_last() else { return optimizer };
    optimizer.insert("learning-rate".into(), rest.learning_rate.into());
    optimizer.insert("weight-decay".into(), rest.weight_decay.into());
    let groups: Vec<Value> = groups.iter().map(|one| Value::Table(group(one))).collect();
    if !groups.is_empty() {
        optimizer.insert("group".into(), Value::Array(groups));
    }
    optimizer
}

fn group(group: &GroupSettings) -> Table {
    let parameters: Vec<Value> = group.parameters.iter().map(|pattern| pattern.as_str().into()).collect();
    table([
        ("name", group.name.as_str().into()),
        ("parameters", Value::Array(parameters)),
        ("learning-rate", group.learning_rate.into()),
        ("weight-decay", group.weight_decay.into()),
    ])
}

fn plugins(plan: &Plan) -> Table {
    let mut plugins = table([("folder", path(&plan.plugins.folder, &plan.base))]);
    // Where a user's cache is belongs to the machine and not to the run.
    if plan.plugins.cache != user_cache(|name| std::env::var_os(name)) {
        plugins.insert("cache".into(), path(&plan.plugins.cache, &plan.base));
    }
    plugins.insert("watch".into(), plan.plugins.watch.into());
    let settle = u64::try_from(plan.plugins.settle.as_millis()).unwrap_or(u64::MAX);
    plugins.insert("settle-ms".into(), whole(settle));
    plugins.insert("file-mib".into(), whole(plan.plugins.file_bytes >> 20));
    plugins.insert("compile-seconds".into(), whole(plan.plugins.compile.seconds));
    plugins.insert("compile-mib".into(), whole(plan.plugins.compile.memory_bytes >> 20));
    plugins.insert("limits".into(), Value::Table(limits(&plan.plugins.limits)));
    plugins
}

fn instance(instance: &InstancePlan, plan: &Plan) -> Table {
    let on_failure = match instance.on_failure {
        OnFailure::Restart => "restart",
        OnFailure::Disable => "disable",
        OnFailure::StopRun => "stop-run",
    };
    let mut entry = table([
        ("name", instance.name.as_str().into()),
        ("file", path(&instance.file, &plan.plugins.folder)),
        ("enabled", instance.enabled.into()),
        ("on-failure", on_failure.into()),
    ]);
    if let Some(sha256) = &instance.sha256 {
        entry.insert("sha256".into(), sha256.as_str().into());
    }
    if let Some(order) = instance.order {
        entry.insert("order".into(), order.into());
    }
    if let Grant::Only { requests, knobs } = &instance.grant {
        let requests = requests.iter().map(|request| request.name().into()).collect();
        let knobs = Value::Table(knobs.iter().map(knob).collect());
        entry.insert("grant".into(), Value::Table(table([("requests", Value::Array(requests)), ("knobs", knobs)])));
    }
    let mut own = limits(&instance.limits);
    let common = limits(&plan.plugins.limits);
    own.retain(|key, value| common.get(key) != Some(value));
    if !own.is_empty() {
        entry.insert("limits".into(), Value::Table(own));
    }
    entry.insert("config".into(), json(&instance.config));
    entry
}

fn knob(grant: &KnobGrant) -> (String, Value) {
    let range = match grant.range {
        None => true.into(),
        Some((min, max)) => Value::Array(vec![min.into(), max.into()]),
    };
    (grant.knobs.to_string(), range)
}

/// The limits that a configuration can write.
pub(super) fn limits(limits: &Limits) -> Table {
    let mib = |bytes: usize| whole((bytes >> 20) as u64);
    let milliseconds = |time: Duration| whole(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    table([
        ("fuel", whole(limits.fuel)),
        ("deadline-ms", milliseconds(limits.deadline)),
        ("memory-mib", mib(limits.memory_bytes)),
        ("state-mib", mib(limits.state_bytes)),
        ("answer-mib", mib(limits.answer_bytes)),
        ("decisions", whole(limits.decisions as u64)),
        ("log-lines", whole(limits.log_lines.into())),
        ("log-kib", whole((limits.log_bytes >> 10) as u64)),
        ("table-elements", whole(limits.table_elements as u64)),
        ("instances", whole(limits.instances as u64)),
        ("memories", whole(limits.memories as u64)),
        ("tables", whole(limits.tables as u64)),
        ("handles", whole(limits.handles as u64)),
    ])
}

fn table<const N: usize>(pairs: [(&str, Value); N]) -> Table {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

// The schema keeps what is written below this bound; a limit of the sandbox may be above it.
fn whole(n: u64) -> Value {
    Value::Integer(i64::try_from(n).unwrap_or(i64::MAX))
}

/// A number with the few digits that tell it from its neighbours: 0.9 and not 0.8999999761581421.
fn short(number: f32) -> Value {
    number.to_string().parse().map_or(Value::Float(number.into()), Value::Float)
}

/// A path as it was written: relative to the folder that it starts from.
fn path(path: &Path, from: &Path) -> Value {
    let relative = if from == Path::new(".") { path } else { path.strip_prefix(from).unwrap_or(path) };
    let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    relative.to_string_lossy().as_ref().into()
}

/// What came from TOML as JSON goes back without loss: there is no null in it.
fn json(value: &serde_json::Value) -> Value {
    Value::try_from(value).unwrap_or_else(|_| Value::Table(Table::new()))
}
