//! `host cache`: the compiled plugins on this machine.
//!
//! Main function: [`run`].

use std::{fmt::Write as _, path::Path};

use host_sandbox::{CacheEntry, Sandbox, SandboxConfig, clear_cache};
use serde_json::json;

use crate::{
    args::CacheArgs,
    config::user_cache,
    exit::Exit,
    problem::{Problem, Problems},
    telemetry::words,
    terminal,
};

/// Shows the folder's entries, or deletes them.
///
/// # Errors
///
/// When the folder cannot be read, or an entry cannot be deleted.
pub(crate) fn run(args: &CacheArgs) -> Result<Exit, Problems> {
    let folder = args.folder.clone().unwrap_or_else(|| user_cache(|name| std::env::var_os(name)));
    let failed = |doing: &str, error: &dyn std::fmt::Display| {
        let problem = Problem::new(format!("{} cannot be {doing}: {error}", folder.display()));
        Problems::from((Exit::RunFolder, problem))
    };
    if args.clear {
        let cleared = clear_cache(&folder).map_err(|error| failed("cleared", &error))?;
        let (entries, bytes) = (cleared.entries, cleared.bytes);
        let text = if args.json {
            format!("{:#}\n", json!({ "folder": folder.display().to_string(), "deleted": entries, "bytes": bytes }))
        } else {
            format!("deleted {} ({}) in {}\n", plugins(entries), mebibytes(bytes), folder.display())
        };
        terminal::out(&text);
        return Ok(Exit::Success);
    }
    let sandbox = Sandbox::new(SandboxConfig::default());
    let sandbox = sandbox.map_err(|error| Problems::from((Exit::Plugin, Problem::new(error.to_string()))))?;
    let entries = sandbox.cache_entries(&folder).map_err(|error| failed("read", &error))?;
    terminal::out(&if args.json { facts(&folder, &entries) } else { list(&folder, &entries) });
    Ok(Exit::Success)
}

fn facts(folder: &Path, entries: &[CacheEntry]) -> String {
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| {
            json!({
                "file": entry.file.display().to_string(),
                "sha256": entry.sha256,
                "bytes": entry.bytes,
                "compiled": words::moment(entry.compiled),
                "usable": entry.is_usable,
            })
        })
        .collect();
    format!("{:#}\n", json!({ "folder": folder.display().to_string(), "entries": rows }))
}

fn list(folder: &Path, entries: &[CacheEntry]) -> String {
    let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let unusable = entries.iter().filter(|entry| !entry.is_usable).count();
    let mut text = format!("{}: {}, {}\n", folder.display(), plugins(entries.len()), mebibytes(total));
    for entry in entries {
        let note = if entry.is_usable { "" } else { "  of another version" };
        let (sha256, size, when) = (&entry.sha256[..12], mebibytes(entry.bytes), words::moment(entry.compiled));
        writeln!(text, "  {sha256}  {size:>10}  {when}{note}").expect("a String takes everything");
    }
    if unusable > 0 {
        text += &format!("of no use to this version: {unusable}; `host cache --clear` deletes all\n");
    }
    text
}

fn plugins(count: usize) -> String {
    format!("{count} compiled {}", if count == 1 { "plugin" } else { "plugins" })
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn what_is_of_no_use_is_said() {
        let entry = |sha256: &str, is_usable| CacheEntry {
            file: "x".into(),
            sha256: sha256.repeat(32),
            bytes: 3 << 20,
            compiled: SystemTime::UNIX_EPOCH + Duration::from_secs(86_400),
            is_usable,
        };
        let expected = "\
/c: 2 compiled plugins, 6.0 MiB
  abababababab     3.0 MiB  1970-01-02T00:00:00.000Z
  cdcdcdcdcdcd     3.0 MiB  1970-01-02T00:00:00.000Z  of another version
of no use to this version: 1; `host cache --clear` deletes all
";
        assert_eq!(list(Path::new("/c"), &[entry("ab", true), entry("cd", false)]), expected);
    }
}
