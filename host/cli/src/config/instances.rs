//! `[plugins]` and `[[plugin]]`: folders, limits, and what each instance may do.
//!
//! It does not look at plugin files. Main function: [`resolve`].

use std::{path::Path as FilePath, time::Duration};

use host_callback::{Grant, InstanceName, KnobGrant, Pattern};
use host_sandbox::{CompileLimits, Limits, LiveTimes, SandboxConfig};
use serde_json::Value;

use super::{
    findings::Findings,
    folders::{under, user_cache},
    path::Path,
    plan::{InstancePlan, PluginsPlan},
    raw::{RawGrant, RawKnobs, RawLimits, RawPlugin, RawPlugins},
    resolve::NAME_RULE,
};

/// Completes `[plugins]`.
pub(super) fn resolve_plugins(raw: RawPlugins, base: &FilePath) -> PluginsPlan {
    let cache = raw.cache.map(|cache| under(base, &cache));
    let compile = CompileLimits::default();
    PluginsPlan {
        folder: under(base, raw.folder.as_deref().unwrap_or("plugins")),
        cache: cache.unwrap_or_else(|| user_cache(|name| std::env::var_os(name))),
        watch: raw.watch.unwrap_or(true),
        settle: raw.settle_ms.map_or(LiveTimes::default().quiet, Duration::from_millis),
        file_bytes: raw.file_mib.map_or(SandboxConfig::default().file_bytes, |mib| mib << 20),
        compile: CompileLimits {
            seconds: raw.compile_seconds.unwrap_or(compile.seconds),
            memory_bytes: raw.compile_mib.map_or(compile.memory_bytes, |mib| mib << 20),
        },
        limits: narrowed(Limits::default(), &raw.limits.unwrap_or_default()),
    }
}

/// Completes every `[[plugin]]`; one without a proper name is left out, since it was reported.
pub(super) fn resolve(raw: Vec<RawPlugin>, plugins: &PluginsPlan, findings: &mut Findings<'_>) -> Vec<InstancePlan> {
    let list = Path::of(["plugin"]);
    let mut instances: Vec<(usize, InstancePlan)> = Vec::new();
    for (at, plugin) in raw.into_iter().enumerate() {
        let Some(instance) = resolve_one(plugin, &list.index(at), plugins, findings) else { continue };
        if let Some((first, _)) = instances.iter().find(|(_, other)| other.name == instance.name) {
            let names = [list.index(*first).key("name"), list.index(at).key("name")];
            let message = format!("two instances are named `{}`", instance.name);
            findings.twice(&names[0], &names[1], message, "an instance's state and reports go by its name");
        }
        instances.push((at, instance));
    }
    instances.into_iter().map(|(_, instance)| instance).collect()
}

fn resolve_one(raw: RawPlugin, at: &Path, plugins: &PluginsPlan, findings: &mut Findings<'_>) -> Option<InstancePlan> {
    let grant = raw.grant.map_or(Grant::Declared, |grant| resolve_grant(grant, &at.key("grant"), findings));
    let sha256 = raw.sha256.map(|digest| digest.to_ascii_lowercase());
    if let Some(digest) = &sha256
        && (digest.len() != 64 || !digest.bytes().all(|b| b.is_ascii_hexdigit()))
    {
        let rule = format!("must be 64 hex digits; it has {} characters", digest.chars().count());
        findings.wrong(&at.key("sha256"), rule, "`sha256sum FILE.wasm` prints it");
    }
    let name = raw.name?;
    let Ok(name) = name.parse::<InstanceName>() else {
        findings.wrong(&at.key("name"), NAME_RULE, "");
        return None;
    };
    Some(InstancePlan {
        file: under(&plugins.folder, &raw.file.unwrap_or_else(|| format!("{name}.wasm"))),
        name,
        enabled: raw.enabled.unwrap_or(true),
        sha256,
        order: raw.order,
        on_failure: raw.on_failure.unwrap_or_default(),
        grant,
        limits: narrowed(plugins.limits, &raw.limits.unwrap_or_default()),
        config: Value::Object(raw.config.unwrap_or_default()),
    })
}

fn resolve_grant(raw: RawGrant, at: &Path, findings: &mut Findings<'_>) -> Grant {
    let requests = raw.requests.unwrap_or_default();
    let at = at.key("knobs");
    let mut raw = raw.knobs.unwrap_or_default();
    // Of several patterns that fit a knob the first counts, so the order is that of the file.
    let written = findings.written.node(&at).map(|node| node.members()).unwrap_or_default();
    let keys: Vec<String> = written.iter().map(|member| member.key.clone()).collect();
    let mut knobs = Vec::new();
    for key in keys {
        let Some(value) = raw.remove(&key) else { continue };
        let path = at.key(&key);
        if !is_knob_pattern(&key) {
            let message = format!("{key:?} fits no knob");
            let help = "a knob's name, such as `clip-norm`, or a pattern, such as `learning-rate*`";
            findings.misplaced(&path, message, "must be of letters, digits and `-_./*`", help);
        }
        let range = match value {
            RawKnobs::Whole(true) => None,
            // The schema refuses it; it would mean the same as no entry.
            RawKnobs::Whole(false) => continue,
            RawKnobs::Range([min, max]) => Some((min, max)),
        };
        if range.is_some_and(|(min, max)| min > max) {
            findings.wrong(&path, "is upside down: the smallest value comes first", "");
        }
        knobs.push(KnobGrant { knobs: Pattern::from(key), range });
    }
    Grant::Only { requests, knobs }
}

fn is_knob_pattern(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_./*".contains(c);
    !text.is_empty() && text.chars().all(fits)
}

/// Limits with what was written put over them.
fn narrowed(limits: Limits, raw: &RawLimits) -> Limits {
    let mib = |written: Option<usize>, default: usize| written.map_or(default, |mib| mib << 20);
    Limits {
        fuel: raw.fuel.unwrap_or(limits.fuel),
        deadline: raw.deadline_ms.map_or(limits.deadline, Duration::from_millis),
        memory_bytes: mib(raw.memory_mib, limits.memory_bytes),
        state_bytes: mib(raw.state_mib, limits.state_bytes),
        answer_bytes: mib(raw.answer_mib, limits.answer_bytes),
        decisions: raw.decisions.unwrap_or(limits.decisions),
        log_lines: raw.log_lines.unwrap_or(limits.log_lines),
        log_bytes: raw.log_kib.map_or(limits.log_bytes, |kib| kib << 10),
        table_elements: raw.table_elements.unwrap_or(limits.table_elements),
        instances: raw.instances.unwrap_or(limits.instances),
        memories: raw.memories.unwrap_or(limits.memories),
        tables: raw.tables.unwrap_or(limits.tables),
        handles: raw.handles.unwrap_or(limits.handles),
        ..limits
    }
}
