//! Builds that fail: each with its own exit code and words that say what to do, and an earlier component untouched.

use std::{fs, path::Path};

use host_tests::Project;

use super::{BUILD, PLUGIN, PROJECT, TOOLCHAIN, command, finish, names, run, tree};
use crate::project;

#[test]
fn a_folder_that_is_no_plugin_s_is_named_with_what_it_lacks() {
    let project = project();
    fs::create_dir(project.path("empty")).unwrap();
    run(&project, "plugin build empty").expect(PROJECT).says(&[
        "empty is no plugin's folder",
        "Cargo.toml",
        "Makefile",
    ]);
    run(&project, "plugin build nowhere").expect(PROJECT).says(&["nowhere is no folder", "host plugin new"]);
    project.write("empty/go.mod", "");
    project.write("empty/package.json", "{}");
    run(&project, "plugin build empty").expect(PROJECT).says(&["package.json and go.mod", "--lang"]);
    run(&project, "plugin build empty --lang js").expect(PROJECT).says(&["no script `build`"]);
    project.write("empty/pyproject.toml", "[project]\nname = \"a-b\"\n");
    let python = run(&project, "plugin build empty --lang python");
    python.expect(PROJECT).says(&["no module of the project a-b", "a_b.py, a_b, src/a_b.py"]);
}

#[test]
fn a_missing_tool_is_named_with_its_version_and_how_to_get_it() {
    let project = project();
    let has_rust_anyway = Path::new("/usr/bin/rustc").exists();
    for (language, words) in [
        ("rust", "Rust 1.95 or newer with its target wasm32-unknown-unknown is needed"),
        ("python", "Python 3.11 or newer with host-sdk and componentize-py 0.25 is needed"),
        ("javascript", "Node.js 20.6 or newer is needed"),
        ("c", "GNU Make 3.81 or newer is needed"),
        ("zig", "Zig 0.17 or newer is needed"),
        ("go", "Go 1.24 or newer is needed"),
    ] {
        run(&project, &format!("plugin new {language}-guard --lang {language}")).expect(0);
        if language == "rust" && has_rust_anyway {
            continue;
        }
        let mut build = command(&project, &format!("plugin build {language}-guard"));
        let outcome = finish(&project, {
            build.env("PATH", project.path("plugins"));
            build
        });
        outcome.expect(TOOLCHAIN).says(&[words, "is not there", "help: "]);
        assert!(!project.path(&format!("{language}-guard/{language}-guard.wasm")).exists());
    }
}

#[cfg(unix)]
#[test]
fn a_tool_that_is_too_old_is_named_with_its_version() {
    let project = project();
    run(&project, "plugin new guard --lang go").expect(0);
    project.script("plugins/go", "#!/bin/sh\necho go version go1.20.1 linux/amd64\n");
    let mut build = command(&project, "plugin build guard");
    let outcome = finish(&project, {
        build.env("PATH", project.path("plugins"));
        build
    });
    outcome.expect(TOOLCHAIN).says(&["Go 1.24 or newer is needed: `go` is 1.20, too old", "https://go.dev/dl"]);
}

/// A plugin in C, which compiles in a moment, with an earlier component. `None` without the tools.
fn plugin_in_c(project: &Project) -> Option<()> {
    run(project, "plugin new guard --lang c").expect(0);
    project.write("guard/guard.wasm", "the earlier one");
    let probe = run(project, "plugin build guard --out probe.wasm");
    // That the tools are missing is printed by the test that builds it.
    (probe.code != Some(TOOLCHAIN)).then(|| {
        probe.expect(0);
    })
}

/// The build fails so, and leaves the folder as it was.
fn fails(project: &Project, code: i32, words: &[&str]) {
    let before = tree(&project.path("guard"));
    run(project, "plugin build guard").expect(code).says(words);
    assert_eq!(tree(&project.path("guard")), before);
    assert_eq!(names(project.folder()).iter().filter(|name| name.to_string_lossy().starts_with('.')).count(), 0);
}

#[test]
fn sources_that_do_not_compile_fail_in_the_compiler_s_words() {
    let project = project();
    let Some(()) = plugin_in_c(&project) else { return };
    let source = project.path("guard/src/guard.c");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replace("double ceiling;", "double ceiling")).unwrap();
    fails(&project, BUILD, &["src/guard.c", "expected ';'", "the plugin was not built: `make` ended with"]);
}

#[test]
fn what_compiles_and_is_no_callback_is_not_put_in_place() {
    let project = project();
    let Some(()) = plugin_in_c(&project) else { return };
    for (other, words) in [
        ("(component)", "of another world"),
        ("(module (memory 1))", "was not built against the contract"),
        ("(module (memory 1) (@custom \"component-type:x\" \"y\"))", "cannot be made a component"),
    ] {
        fs::write(project.path("guard/other.bin"), wat::parse_str(other).unwrap()).unwrap();
        project.write("guard/Makefile", "$(OUT): other.bin\n\tcp other.bin $(OUT)\n");
        fails(&project, PLUGIN, &["the plugin built in guard", words, "it was not put in place"]);
    }
    project.write("guard/Makefile", "nothing:\n\ttrue\n");
    fails(&project, PROJECT, &["`make OUT=FILE` did not write FILE"]);
}

#[test]
fn a_file_that_cannot_be_written_is_said() {
    let project = project();
    let Some(()) = plugin_in_c(&project) else { return };
    let outcome = run(&project, "plugin build guard --out nowhere/guard.wasm");
    outcome.expect(PROJECT).says(&["nowhere/guard.wasm cannot be written"]);
}
