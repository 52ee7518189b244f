//! `[optimizer]`: the rule of the update with its own keys, and groups of parameters.
//!
//! It does not know which parameters a model has: the trainer says where a pattern fits none. Main function:
//! [`resolve`].

use host_callback::Pattern;
use host_trainer::{GroupSettings, OptimizerRule};

use super::{
    findings::Findings,
    path::Path,
    raw::{OptimizerKind, RawGroup, RawOptimizer},
    resolve::{NAME_RULE, is_name},
};

/// Keys that only one rule has.
const OWN_KEYS: [(&str, OptimizerKind); 6] = [
    ("beta1", OptimizerKind::Adamw),
    ("beta2", OptimizerKind::Adamw),
    ("epsilon", OptimizerKind::Adamw),
    ("momentum", OptimizerKind::Sgd),
    ("dampening", OptimizerKind::Sgd),
    ("nesterov", OptimizerKind::Sgd),
];

/// What `[optimizer]` says.
pub(super) struct Optimizer {
    /// The rule.
    pub(super) rule: OptimizerRule,
    /// The groups; the last one takes every parameter.
    pub(super) groups: Vec<GroupSettings>,
}

/// Completes `[optimizer]`.
pub(super) fn resolve(raw: RawOptimizer, findings: &mut Findings<'_>) -> Optimizer {
    let kind = raw.kind.unwrap_or(OptimizerKind::Adamw);
    refuse_foreign_keys(kind, findings);
    let rule = match kind {
        OptimizerKind::Adamw => OptimizerRule::Adamw {
            beta1: raw.beta1.unwrap_or(0.9) as f32,
            beta2: raw.beta2.unwrap_or(0.999) as f32,
            epsilon: raw.epsilon.unwrap_or(1e-8) as f32,
        },
        OptimizerKind::Sgd => OptimizerRule::Sgd {
            momentum: raw.momentum.unwrap_or(0.0),
            dampening: raw.dampening.unwrap_or(0.0),
            nesterov: raw.nesterov.unwrap_or(false),
        },
    };
    if matches!(rule, OptimizerRule::Sgd { momentum: 0.0, nesterov: true, .. }) {
        let help = "Nesterov's form is one of the momentum; set `momentum` above 0";
        findings.wrong(&Path::of(["optimizer", "nesterov"]), "has no effect without a momentum", help);
    }
    // The defaults that PyTorch has for AdamW; for SGD those that papers begin with.
    let (rate, decay) = match kind {
        OptimizerKind::Adamw => (0.001, 0.01),
        OptimizerKind::Sgd => (0.01, 0.0),
    };
    let (rate, decay) = (raw.learning_rate.unwrap_or(rate), raw.weight_decay.unwrap_or(decay));
    Optimizer { rule, groups: resolve_groups(raw.group.unwrap_or_default(), rate, decay, findings) }
}

fn refuse_foreign_keys(kind: OptimizerKind, findings: &mut Findings<'_>) {
    for (key, owner) in OWN_KEYS {
        let path = Path::of(["optimizer", key]);
        if owner != kind && findings.written.node(&path).is_some() {
            let message = format!("`optimizer.{key}` belongs to kind \"{}\"", name(owner));
            let help = format!("the kind here is \"{}\", which has no `{key}`", name(kind));
            findings.misplaced(&path, message, "is of the other kind", &help);
        }
    }
}

/// The kind as configurations write it.
pub(super) fn name(kind: OptimizerKind) -> &'static str {
    match kind {
        OptimizerKind::Adamw => "adamw",
        OptimizerKind::Sgd => "sgd",
    }
}

fn resolve_groups(raw: Vec<RawGroup>, rate: f64, decay: f64, findings: &mut Findings<'_>) -> Vec<GroupSettings> {
    let rest = if raw.is_empty() { "all" } else { "rest" };
    check_names(&raw, findings);
    let group = |group: RawGroup| GroupSettings {
        name: group.name.unwrap_or_default(),
        parameters: group.parameters.unwrap_or_default().into_iter().map(Pattern::from).collect(),
        learning_rate: group.learning_rate.unwrap_or(rate),
        weight_decay: group.weight_decay.unwrap_or(decay),
    };
    let mut groups: Vec<GroupSettings> = raw.into_iter().map(group).collect();
    let parameters = vec![Pattern::from("*")];
    groups.push(GroupSettings { name: rest.into(), parameters, learning_rate: rate, weight_decay: decay });
    groups
}

/// A name that is missing was reported against the schema.
fn check_names(groups: &[RawGroup], findings: &mut Findings<'_>) {
    let list = Path::of(["optimizer", "group"]);
    for (at, group) in groups.iter().enumerate() {
        let Some(name) = &group.name else { continue };
        let path = list.index(at).key("name");
        if ["rest", "all"].contains(&name.as_str()) {
            findings.wrong(&path, "is the name of the group of all other parameters", "choose another name");
        } else if !is_name(name) {
            findings.wrong(&path, NAME_RULE, "");
        }
        if let Some(first) = groups[..at].iter().position(|other| other.name == group.name) {
            let first = list.index(first).key("name");
            findings.twice(&first, &path, format!("two groups are named `{name}`"), "a name stands for one group");
        }
    }
}
