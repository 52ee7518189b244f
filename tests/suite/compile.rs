//! Plugins whose compilation takes more than it may: the file is refused, the others load, and no step waits.
//! How long a good one takes is a matter of the benchmarks.

use std::fs;

use host_tests::guests;

use crate::{project, swap::running::slow};

/// Functions of a component whose compilation takes several seconds of processor time, and hundreds of MiB.
const MANY: usize = 12_000;

/// A project with the component as a listed plugin or as a file that only lies there. The other plugin is compiled already:
/// what tests limit is the heavy one's.
fn with_heavy(is_listed: bool) -> host_tests::Project {
    let project = project();
    project.plugin("observer", "observer", "", "");
    project.with_own_cache();
    project.host("check train.toml").expect(0);
    fs::write(project.path("plugins/heavy.wasm"), slow("aside", MANY)).expect("the component is written");
    if is_listed {
        project.configure("[[plugin]]\nname = \"heavy\"\n");
    }
    project
}

#[test]
fn a_file_that_takes_too_long_to_compile_is_refused_and_the_others_load() {
    let outcome = with_heavy(true).host("check train.toml --set plugins.compile-seconds=1");
    outcome.expect(6).says(&["heavy.wasm", "takes more than 1 s of processor time to compile"]);
    let project = with_heavy(false);
    let outcome = project.train("--set plugins.compile-seconds=1");
    outcome.says(&["takes more than 1 s of processor time to compile", "left out"]);
    assert_eq!(outcome.run(1).callback("observer")["failures"], 0);
}

#[test]
fn a_file_that_takes_too_much_memory_to_compile_is_refused() {
    let project = with_heavy(true);
    // Each time: the limit counts whatever an allocator has reserved before.
    for _ in 0..4 {
        let outcome = project.host("check train.toml --set plugins.compile-mib=128");
        outcome.expect(6).says(&["heavy.wasm", "takes more than 128 MiB of memory"]);
    }
}

#[test]
fn the_process_that_compiles_is_not_for_people() {
    project().host("compile").expect(2).says(&["this is no command for people"]);
}

/// What a process compiled is what threads of the host's own compile: the tests of the sandbox hold for both.
#[test]
fn a_compiled_plugin_is_found_again() {
    let project = project();
    project.plugin("observer", "observer", "", "");
    let set = format!("--set plugins.cache={:?}", project.path("fresh").display().to_string());
    let entries = || {
        let files = fs::read_dir(project.path("fresh")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".compiled")).collect::<Vec<_>>()
    };
    project.train(&set);
    let first = entries();
    assert_eq!(first.len(), 1);
    let written = || fs::metadata(project.path("fresh").join(&first[0])).unwrap().modified().unwrap();
    let before = written();
    project.train(&set);
    assert_eq!((entries(), written()), (first.clone(), before));
    assert!(guests::component("observer").is_file());
}
