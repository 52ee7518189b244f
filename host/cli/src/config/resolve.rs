//! From what was written to what is meant: defaults, and rules that are about more than one key.
//!
//! It reads no files. Optimizer and plugins have files of their own; main function: [`resolve`].

use std::{path::PathBuf, str::FromStr};

use host_callback::InstanceName;
use host_trainer::{Settings, Span, device::DeviceChoice};
use serde_json::Value;

use super::{
    document,
    findings::Findings,
    folders::{default_name, folder_of, under},
    instances,
    optimizer::{self, Optimizer},
    path::Path,
    plan::{Plan, TaskPlan},
    raw::{RawConfig, RawRun, RawTrain},
};

/// What every name has to be, as a label under one that is not.
pub(super) const NAME_RULE: &str = "must be 1 to 64 of a-z, 0-9 and `-`, and not begin with `-`";

/// Completes a configuration. Problems go to `findings`; the plan is good only if there are none.
pub(super) fn resolve(raw: RawConfig, file: &std::path::Path, findings: &mut Findings<'_>) -> Plan {
    let run = resolve_run(raw.run.unwrap_or_default(), file, findings);
    let train = resolve_train(raw.train.unwrap_or_default(), findings);
    let Optimizer { rule, groups } = optimizer::resolve(raw.optimizer.unwrap_or_default(), findings);
    let plugins = instances::resolve_plugins(raw.plugins.unwrap_or_default(), &run.base);
    let instances = instances::resolve(raw.plugin.unwrap_or_default(), &plugins, findings);
    let settings = Settings { name: run.name, seed: run.seed, optimizer: rule, groups, ..train };
    let mut plan = Plan {
        file: file.to_owned(),
        base: run.base,
        settings,
        device: run.device,
        ranks: run.ranks,
        runs: run.folder,
        task: resolve_task(raw.task.unwrap_or_default()),
        plugins,
        instances,
        document: String::new(),
        written: findings.written.clone(),
    };
    plan.document = document::write(&plan);
    plan
}

struct Run {
    name: String,
    seed: u64,
    device: DeviceChoice,
    ranks: usize,
    folder: PathBuf,
    base: PathBuf,
}

fn resolve_run(raw: RawRun, file: &std::path::Path, findings: &mut Findings<'_>) -> Run {
    let section = Path::of(["run"]);
    let name = raw.name.unwrap_or_else(|| default_name(file));
    if !is_name(&name) {
        findings.wrong(&section.key("name"), NAME_RULE, "");
    }
    let base = under(&folder_of(file), raw.base.as_deref().unwrap_or("."));
    Run {
        name,
        seed: raw.seed.unwrap_or(0),
        device: findings.read(&section.key("device"), raw.device, DeviceChoice::Auto),
        ranks: raw.ranks.unwrap_or(1),
        folder: under(&base, raw.folder.as_deref().unwrap_or("runs")),
        base,
    }
}

/// Whether a text can be the name of a run, a group or an instance.
pub(super) fn is_name(text: &str) -> bool {
    text.parse::<InstanceName>().is_ok()
}

fn resolve_task(mut raw: serde_json::Map<String, Value>) -> TaskPlan {
    let kind = raw.remove("kind").and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
    TaskPlan { kind, settings: Value::Object(raw) }
}

/// What `[train]` says; the parts of other sections are placeholders.
fn resolve_train(raw: RawTrain, findings: &mut Findings<'_>) -> Settings {
    let at = |key| Path::of(["train", key]);
    let length = resolve_length(&raw, findings);
    // Name, seed and groups are told elsewhere.
    let defaults = Settings::new("", length);
    let evaluate_every = findings.read(&at("evaluate-every"), raw.evaluate_every, Cadence(defaults.evaluate_every));
    let save_every = findings.read(&at("save-every"), raw.save_every, Cadence(defaults.save_every));
    let log_every = findings.read(&at("log-every"), raw.log_every, defaults.log_every);
    Settings {
        batch_size: raw.batch_size.unwrap_or(defaults.batch_size),
        accumulation: raw.accumulation.unwrap_or(defaults.accumulation),
        drop_last: raw.drop_last.unwrap_or(defaults.drop_last),
        evaluate_every: evaluate_every.0,
        log_every,
        save_every: save_every.0,
        save_async: raw.save_async.unwrap_or(defaults.save_async),
        keep: raw.keep.unwrap_or(defaults.keep),
        clip_norm: raw.clip_norm.unwrap_or(defaults.clip_norm),
        clip_value: raw.clip_value.unwrap_or(defaults.clip_value),
        ..defaults
    }
}

fn resolve_length(raw: &RawTrain, findings: &mut Findings<'_>) -> Span {
    const HELP: &str = "exactly one of `epochs = 60`, `steps = 1000` and `length = \"10min\"`";
    let section = Path::of(["train"]);
    // Counted as written, since a length with a bad value is a length too.
    let is_written = |key: &&str| findings.written.node(&section.key(key)).is_some();
    let written: Vec<&str> = ["epochs", "steps", "length"].into_iter().filter(is_written).collect();
    match written[..] {
        [] => findings.misplaced(&section, "the run has no length".into(), "says no length", HELP),
        [_] => {}
        [first, second, ..] => {
            let message = format!("the run has {} lengths", written.len());
            findings.twice(&section.key(first), &section.key(second), message, HELP);
        }
    }
    let length = findings.read(&section.key("length"), raw.length.clone(), Span::Epochs(1));
    raw.epochs.map(Span::Epochs).or(raw.steps.map(Span::Steps)).unwrap_or(length)
}

/// A span, or "end" for only at the end of the run.
struct Cadence(Option<Span>);

impl FromStr for Cadence {
    type Err = <Span as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "end" { Ok(Self(None)) } else { text.parse().map(|span| Self(Some(span))) }
    }
}
