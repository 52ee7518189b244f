//! The rules of the repository that no compiler checks: which crate knows which, what each file begins with, where
//! versions stand, what a release has frozen. Starts nothing but `git ls-files`, and reads the rest.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    process::Command,
};

use host_tests::guests::root;
use sha2::{Digest, Sha256};
use toml::{Table, Value};

/// Our crates and what each knows of ours.
const ARROWS: [(&str, &[&str]); 5] = [
    ("callback", &[]),
    ("sandbox", &["host-callback"]),
    ("trainer", &["host-callback"]),
    ("cli", &["host-callback", "host-sandbox", "host-trainer"]),
    ("tests", &[]),
];

/// What a crate's dependencies must not bring along, directly or not.
const FAR_FROM: [(&str, &[&str]); 3] = [
    ("callback", &["wasmtime", "cranelift", "wit-component", "burn", "cubecl", "cudarc", "tokio", "rayon", "tempfile"]),
    ("sandbox", &["burn", "cubecl", "cudarc"]),
    ("trainer", &["wasmtime", "cranelift", "wit-component"]),
];

/// More than this is two subjects.
const MAX_LINES: usize = 450;

/// What is not left in code. Put together here, so that this file does not contain it.
const LEFT_OVER: [&str; 5] = [
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("db", "g!("),
    concat!("#[ig", "nore"),
    concat!("sle", "ep("),
];

/// Where one of those is right: file, word, reason.
const WANTED: [(&str, &str, &str); 2] = [
    (
        "host/cli/src/command/toolchains.rs",
        LEFT_OVER[4],
        "a program that hangs is given up; no standard wait has a deadline",
    ),
    (
        "tests/src/guests/toolchain.rs",
        LEFT_OVER[4],
        "an installer that hangs is given up; no standard wait has a deadline",
    ),
];

/// Where people's own folders lie.
pub(crate) const HOMES: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!(":\\Us", "ers\\")];

/// SHA-256 of every file of a contract, by version. A *released* version never changes: components are matched by
/// structure, and a plugin that was built against it has to run for ever. A change is a new
/// folder and a new line, and its plugins are recorded as `releases` says.
const CONTRACTS: [(&str, &str); 1] =
    [("0.1.0/callback.wit", "727cb8aba7a8cdf64b2d6e991e2224b95771d2539a292704b1dcd36d73a23d30")];

/// The files of the repository, those not yet committed included; as paths from the root.
fn files() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output();
    let mut files: Vec<String> = match listed {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).split('\0').map(str::to_owned).collect()
        }
        // An unpacked archive of the sources.
        _ => {
            let mut files = Vec::new();
            walk("", &mut files);
            files
        }
    };
    files.retain(|path| root().join(path).is_file());
    files.sort();
    assert!(files.len() > 100, "only {} files were found", files.len());
    files
}

fn walk(folder: &str, files: &mut Vec<String>) {
    for entry in fs::read_dir(root().join(folder)).expect("a folder of the repository").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        match entry.path().is_dir() {
            true if ["target", "runs", ".git"].contains(&name.as_str()) => {}
            true => walk(&path, files),
            false => files.push(path),
        }
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every Rust file of ours, with its text.
fn rust_files() -> Vec<(String, String)> {
    let ours = |path: &String| ["host/", "sdk/", "plugins/", "tests/"].iter().any(|folder| path.starts_with(folder));
    let rust = files().into_iter().filter(|path| path.ends_with(".rs") && ours(path));
    rust.map(|path| (path.clone(), read(&path))).collect()
}

fn manifest(path: &str) -> Table {
    read(path).parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The folder's manifest in this workspace.
fn crate_manifest(folder: &str) -> Table {
    manifest(&if folder == "tests" { "tests/Cargo.toml".into() } else { format!("host/{folder}/Cargo.toml") })
}

/// Names and values of the dependencies of a kind, those of single platforms included.
fn dependencies<'a>(manifest: &'a Table, kind: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = platforms.filter_map(|(_, platform)| platform.as_table()).chain([manifest]);
    tables.filter_map(move |table| table.get(kind).and_then(Value::as_table)).flatten()
}

const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

fn fails(found: Vec<String>, rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

#[test]
fn crates_know_only_whom_they_may() {
    for (folder, known) in ARROWS {
        let manifest = crate_manifest(folder);
        let ours =
            |kind| dependencies(&manifest, kind).map(|(name, _)| name.as_str()).filter(|it| it.starts_with("host-"));
        assert_eq!(ours("dependencies").collect::<BTreeSet<_>>(), known.iter().copied().collect(), "{folder}");
        for kind in &KINDS[1..] {
            // The program's tests know everybody; any other crate is tested with those that it knows.
            let strange = ours(kind).filter(|name| !known.contains(name));
            let strange: Vec<_> = strange.filter(|name| (folder, *name) != ("cli", "host-tests")).collect();
            assert!(strange.is_empty(), "{folder}, {kind}: {strange:?}");
        }
    }
}

/// What runs inside the sandbox knows the contract and nothing of the host.
#[test]
fn guests_know_nothing_of_the_host() {
    let guests = files().into_iter().filter(|path| path.ends_with("/Cargo.toml"));
    let guests = guests.filter(|path| ["plugins/", "sdk/", "tests/guests/"].iter().any(|it| path.starts_with(it)));
    for path in guests {
        let manifest = manifest(&path);
        let names = KINDS.iter().flat_map(|kind| dependencies(&manifest, kind)).map(|(name, _)| name.as_str());
        let strange: Vec<_> = names.filter(|name| name.starts_with("host-") && *name != "host-sdk").collect();
        assert!(strange.is_empty(), "{path}: {strange:?}");
    }
}

#[test]
fn crates_bring_no_engine_along_that_is_not_theirs() {
    let lock = manifest("Cargo.lock");
    let packages = lock["package"].as_array().expect("packages");
    // A dependency stands there as `name`, or with its version where there are several.
    let mut needs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let list = package.get("dependencies").and_then(Value::as_array);
        let list: Vec<&str> = list.into_iter().flatten().filter_map(Value::as_str).collect();
        let (name, version) = (package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
        needs.insert(name.to_owned(), list.clone());
        needs.insert(format!("{name} {version}"), list);
    }
    for (folder, far) in FAR_FROM {
        let manifest = crate_manifest(folder);
        let direct: BTreeSet<&str> = dependencies(&manifest, "dependencies").map(|(name, _)| name.as_str()).collect();
        let all = needs[&format!("host-{folder}")].iter().copied();
        // The lock file does not tell tests' dependencies apart.
        let mut queue: VecDeque<&str> = all.filter(|it| direct.contains(it.split(' ').next().unwrap())).collect();
        let mut seen = BTreeSet::new();
        while let Some(dependency) = queue.pop_front() {
            if seen.insert(dependency) {
                queue.extend(needs[dependency].iter());
            }
        }
        assert!(seen.len() >= direct.len(), "{folder}: {seen:?}");
        let strange: Vec<_> = seen.iter().filter(|it| far.iter().any(|far| it.starts_with(far))).collect();
        assert!(strange.is_empty(), "{folder} brings along {strange:?}");
    }
}

#[test]
fn every_rust_file_begins_with_what_it_is_for() {
    let bare = rust_files().into_iter().filter(|(_, text)| !text.starts_with("//! ")).map(|(path, _)| path);
    fails(bare.collect(), "these files do not begin with `//!`");
}

#[test]
fn no_file_has_more_than_one_subject() {
    let long = rust_files().into_iter().filter(|(path, _)| !is_test(path));
    let long = long.map(|(path, text)| (path, lines_before_tests(&text))).filter(|(_, lines)| *lines > MAX_LINES);
    let long = long.map(|(path, lines)| format!("{path}: {lines}"));
    fails(
        long.collect(),
        &format!("these files have more than {MAX_LINES} lines besides their tests; split them by subject"),
    );
}

/// `tests/` at the root has guests and a library of its own; only its suite is tests.
fn is_test(path: &str) -> bool {
    path.starts_with("tests/suite/") || path.ends_with("/tests.rs") || path.split('/').skip(1).any(|it| it == "tests")
}

/// A module of tests comes last in its file.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let is_start = |at: &usize| lines[*at] == "#[cfg(test)]" && lines.get(at + 1).is_some_and(|it| it.ends_with('{'));
    (0..lines.len()).find(is_start).unwrap_or(lines.len())
}

#[test]
fn nothing_is_left_over_in_code() {
    let (mut found, mut wanted) = (Vec::new(), BTreeSet::new());
    for (path, text) in rust_files() {
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for word in LEFT_OVER.into_iter().filter(|word| line.contains(word)) {
                match WANTED.iter().position(|(file, it, _)| (*file, *it) == (path.as_str(), word)) {
                    Some(exception) => drop(wanted.insert(exception)),
                    None => found.push(format!("{path}:{}: {}", at + 1, line.trim())),
                }
            }
        }
    }
    fails(found, "left over in code");
    assert_eq!(wanted.len(), WANTED.len(), "an exception in `WANTED` is not needed any more");
}

#[test]
fn versions_stand_in_one_place_with_a_reason() {
    for workspace in ["Cargo.toml", "plugins/Cargo.toml"] {
        let text = read(workspace);
        let section = text.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
        let section: Vec<&str> = section.take_while(|line| !line.starts_with('[')).collect();
        let bare = (0..section.len()).filter(|&at| {
            let is_entry = section[at].contains(" = ") && !section[at].starts_with('#');
            is_entry && !section[at].contains("path = ") && (at == 0 || !section[at - 1].starts_with("# "))
        });
        fails(bare.map(|at| section[at].to_owned()).collect(), &format!("no reason stands above these in {workspace}"));
    }
    // A template becomes a project of its own, which belongs to no workspace of ours.
    let apart = |path: &str| path == "plugins/Cargo.toml" || path.contains("/template/");
    let manifests = files().into_iter().filter(|path| path.ends_with("/Cargo.toml") && !apart(path));
    let mut own = Vec::new();
    for path in manifests {
        let manifest = manifest(&path);
        let all = KINDS.iter().flat_map(|kind| dependencies(&manifest, kind));
        let from_workspace = |value: &Value| value.get("workspace").and_then(Value::as_bool) == Some(true);
        own.extend(all.filter(|(_, value)| !from_workspace(value)).map(|(name, _)| format!("{path}: {name}")));
    }
    fails(own, "these do not take their version from the workspace");
}

#[test]
fn every_dependency_of_the_workspace_is_somebodys() {
    let workspace = manifest("Cargo.toml");
    let members = ARROWS.map(|(folder, _)| crate_manifest(folder));
    let used: BTreeSet<&String> = members
        .iter()
        .flat_map(|manifest| KINDS.iter().flat_map(|kind| dependencies(manifest, kind)))
        .map(|(name, _)| name)
        .collect();
    let offered = workspace["workspace"]["dependencies"].as_table().expect("dependencies").keys();
    fails(offered.filter(|name| !used.contains(name)).cloned().collect(), "nobody uses these");
}

#[test]
fn a_released_contract_never_changes() {
    let files = files().into_iter().filter_map(|path| path.strip_prefix("wit/").map(str::to_owned));
    let files: BTreeSet<String> = files.collect();
    let pinned: BTreeSet<String> = CONTRACTS.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(files, pinned, "the files of the contracts, and those that `CONTRACTS` pins");
    for (file, pinned) in CONTRACTS {
        let digest = Sha256::digest(read(&format!("wit/{file}")));
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            digest, pinned,
            "wit/{file} has changed. If its version was released, undo that: plugins that exist are built against it, \
             and what is new needs a new folder. If it was not, put the new hash into `CONTRACTS`, and build the \
             plugins anew: cargo run --release --bin guests -- plugins"
        );
    }
}

#[test]
fn no_text_has_a_path_of_one_machine() {
    let here = format!("{}/", root().display());
    // A folder right below `/` has a name that may mean anything.
    let here = (here.matches('/').count() > 2).then_some(here.as_str());
    let mut found = Vec::new();
    for path in files() {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for (at, line) in text.lines().enumerate() {
            for home in HOMES.into_iter().chain(here).filter(|home| line.contains(home)) {
                found.push(format!("{path}:{}: {home}", at + 1));
            }
        }
    }
    fails(found, "a path of one machine");
}
