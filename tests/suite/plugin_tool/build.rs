//! Building a new plugin as it is, in every language whose tools are here.

use std::{fs, io::Write as _, path::Path, process::Command};

use host_tests::{Outcome, Project, guests};

use super::{TOOLCHAIN, command, json, names, run};
use crate::project;

/// Makes a plugin and builds it. `None` where this machine has no tools for the language, which is printed.
fn built(project: &Project, language: &str) -> Option<Outcome> {
    run(project, &format!("plugin new first --lang {language}")).expect(0);
    if language.ends_with("script") && !install(&project.path("first")) {
        return left_out(language, "sdk/javascript/node_modules is not there; tests/languages.sh installs it");
    }
    let outcome = run(project, "plugin build first --json");
    if outcome.code == Some(TOOLCHAIN) {
        outcome.says(&["is needed", "help: "]);
        return left_out(language, outcome.stderr.trim());
    }
    outcome.expect(0);
    Some(outcome)
}

/// Said past the test harness, which keeps to itself what is printed in a test that passes: what a machine cannot test must
/// not look as if it had been.
fn left_out<T>(language: &str, why: &str) -> Option<T> {
    let line = format!("left out: building a first plugin in {language}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr can be written");
    None
}

/// What `npm install` would do, with the packages that are here.
fn install(folder: &Path) -> bool {
    let packages = guests::root().join("sdk/javascript/node_modules");
    if !packages.is_dir() || !cfg!(unix) {
        return false;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        let own = folder.join("node_modules");
        fs::create_dir_all(own.join(".bin")).expect("a folder");
        let sdk = folder.join("host/sdk/javascript");
        for (to, link) in [
            (packages.clone(), sdk.join("node_modules")),
            (sdk.clone(), own.join("host-sdk")),
            (sdk.join("bin/host-sdk.js"), own.join(".bin/host-sdk")),
            (packages.join(".bin/tsc"), own.join(".bin/tsc")),
        ] {
            symlink(to, link).expect("a link");
        }
    }
    true
}

/// What every component that was built has to be.
fn is_a_plugin(project: &Project, outcome: &Outcome) {
    let told = json(outcome);
    assert_eq!((&told["manifest"]["name"], &told["manifest"]["version"]), (&"first".into(), &"0.1.0".into()), "{told}");
    assert_eq!(told["hooks"][0]["hook"], "step-end", "{told}");
    assert_eq!(told["hooks"][0]["reads"][0], "loss", "{told}");
    assert_eq!(told["manifest"]["requests"][0], "stop", "{told}");
    let file = project.path("first/first.wasm");
    assert_eq!(told["bytes"].as_u64(), Some(fs::metadata(&file).expect("the component").len()));
    assert!(fs::read(&file).expect("the component").starts_with(b"\0asm\x0d\0\x01\0"), "it is a component");
    let entry = told["entry"].as_str().expect("an entry");
    let settings: toml::Table = entry.parse().unwrap_or_else(|error| panic!("{error}:\n{entry}"));
    assert_eq!(settings["plugin"][0]["config"]["ceiling"].as_float(), Some(1.0), "{entry}");
    assert!(entry.contains("A loss above this is too high."), "{entry}");
    assert!(entry.contains("# patience = 3"), "{entry}");

    // The entry is pasted as it was printed, but for the ceiling, and the file is put where the run looks for it.
    fs::rename(file, project.path("plugins/first.wasm")).expect("a file in the plugins folder");
    project.configure(&entry.replace("ceiling = 1.0", "ceiling = 0.0"));
    let trained = project.train("");
    assert!(trained.stdout.contains("first") || trained.stderr.contains("first"), "{}", trained.stderr);
    let stops: Vec<_> = trained.run(1).decisions("first");
    let why = stops[0].to_string();
    assert!(stops.len() == 1 && why.contains("the loss was above 0 3 times in a row"), "{stops:?}");
}

/// The test that a new plugin comes with, by the language's own means.
fn passes_its_test(project: &Project, language: &str) {
    let (words, needs) = match language {
        "rust" => ("cargo test", "cargo"),
        "python" => ("python3 -m unittest", "python3"),
        "javascript" | "typescript" => ("npm test", "npm"),
        "c" => ("make test", "cc"),
        "cpp" => ("make test", "c++"),
        "zig" => ("python3 -m ziglang build test", "python3"),
        _ => ("go test ./...", "go"),
    };
    // The program's own environment for compilers, and another program in it.
    let prepared = command(project, "");
    let mut words = words.split(' ');
    let mut test = Command::new(words.next().unwrap_or_default());
    for (name, value) in prepared.get_envs() {
        match value {
            Some(value) => test.env(name, value),
            None => test.env_remove(name),
        };
    }
    if language.starts_with('c') && Command::new(needs).arg("--version").output().is_err() {
        return left_out::<()>(language, &format!("{needs} is not there, so its native test is not run"))
            .unwrap_or_default();
    }
    let folder = project.path("first");
    let output = test.args(words).current_dir(&folder).env("PYTHONPATH", folder.join("host/sdk/python/src")).output();
    let output = output.expect("the test starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{language}:\n{out}\n{err}");
}

fn builds(language: &str) {
    let project = project();
    if let Some(outcome) = built(&project, language) {
        is_a_plugin(&project, &outcome);
        passes_its_test(&project, language);
    }
}

/// The vendored SDK and the crates that the plugins are built with are all that it takes: nothing is fetched.
#[test]
fn a_new_plugin_in_rust_builds_offline_and_ends_a_run() {
    builds("rust");
}

#[test]
fn a_new_plugin_in_python_builds_and_ends_a_run() {
    builds("python");
}

#[test]
fn a_new_plugin_in_javascript_builds_and_ends_a_run() {
    builds("javascript");
}

#[test]
fn a_new_plugin_in_typescript_builds_and_ends_a_run() {
    builds("typescript");
}

#[test]
fn a_new_plugin_in_c_builds_and_ends_a_run() {
    builds("c");
}

#[test]
fn a_new_plugin_in_cpp_builds_and_ends_a_run() {
    builds("cpp");
}

#[test]
fn a_new_plugin_in_zig_builds_and_ends_a_run() {
    builds("zig");
}

#[test]
fn a_new_plugin_in_go_builds_and_ends_a_run() {
    builds("go");
}

/// Its module asks for WASI preview 1, as every one does that uses more of C's library.
#[test]
fn a_module_that_asks_for_files_gets_the_answer_that_there_are_none() {
    let project = project();
    run(&project, "plugin new first --lang c").expect(0);
    let source = project.path("first/src/first.c");
    let text = fs::read_to_string(&source).unwrap();
    let text = text.replace("#include <host_sdk.h>", "#include <host_sdk.h>\n#include <stdio.h>");
    let text = text.replace(
        "    host_on(",
        "    if (fopen(\"/etc/passwd\", \"r\")) host_config_refuse(config, \"a file\");\n    host_on(",
    );
    fs::write(&source, text).unwrap();
    let outcome = run(&project, "plugin build first --json --out plugins/first.wasm");
    if outcome.code == Some(TOOLCHAIN) {
        return left_out::<()>("c", outcome.stderr.trim()).unwrap_or_default();
    }
    let told = json(outcome.expect(0));
    let imports: Vec<_> = told["imports"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(imports.iter().any(|name| name.starts_with("wasi:filesystem/")), "{imports:?}");
    assert_eq!(told["hooks"][0]["hook"], "step-end", "it started: {told}");
    assert_eq!(names(&project.path("plugins")), ["first.wasm"], "nothing else is left there");
}
