//! Bad input: one clear error that says what, where and what is allowed; nothing is written.
//! All mistakes of a configuration at once are snapshots of `host-cli`'s own tests.

use crate::project;

#[test]
fn every_mistake_of_a_configuration_is_told_at_once() {
    let project = project();
    project.write(
        "train.toml",
        "[run]\nnmae = \"x\"\n[task]\nkind = \"classification\"\ndata = \"iris.csv\"\nhiden = [3]\n[train]\nepochs = 0\nsteps = 5\n\
         batch-size = \"many\"\n[optimizer]\nlearning-rate = -1\n",
    );
    let outcome = project.host("run train.toml");
    outcome.expect(3).says(&[
        "nmae",
        "`name`",
        "hiden",
        "`hidden`",
        "epochs",
        "batch-size",
        "learning-rate",
        "train.toml:2",
        "train.toml:6",
    ]);
    assert!(!project.path("runs").exists());
}

#[test]
fn bad_data_names_file_row_and_column() {
    let project = project();
    let good = std::fs::read_to_string(project.path("iris.csv")).unwrap();
    let cases = [
        (good.replacen("5.9,3,", "5.9,oops,", 1), ["row 3", "column 2 (`sepal_width`)", "`oops` is not a number"]),
        (good.replacen("5.9,3,4.2,", "5.9,3,", 1), ["row 3", "4 columns", "has 5"]),
        (good.replacen("5.9,3,", "5.9,inf,", 1), ["row 3", "column 2", "not a finite number"]),
        (String::new(), ["iris.csv", "there is no row", "data"]),
        ("a,b\n1,x\n2,x\n3,x\n4,x\n".into(), ["iris.csv", "every row has the label `x`", "two"]),
    ];
    for (content, words) in cases {
        project.write("iris.csv", &content);
        project.host("run train.toml").expect(4).says(&words).says(&["iris.csv"]);
    }
    std::fs::remove_file(project.path("iris.csv")).unwrap();
    project.host("run train.toml").expect(4).says(&["iris.csv", "No such file"]);
    assert!(!project.path("runs").exists());
}

#[test]
fn what_cannot_fit_into_memory_is_refused_by_its_size() {
    let project = project();
    project.write("text.txt", &"to be or not ".repeat(10_000));
    let base = "run text.toml --set run.folder=runs --set";
    project.write(
        "text.toml",
        "[task]\nkind = \"language-model\"\ndata = \"text.txt\"\nvalidation = 0.3\n[train]\nsteps = 1\nbatch-size = 4096\n",
    );
    // 12 TiB of activations, and 150 TiB of weights: neither is allocated to find that out.
    for too_large in ["task.context=32768 --set task.layers=12", "task.width=65536 --set task.layers=1000"] {
        let outcome = project.host(&format!("{base} {too_large}"));
        outcome.expect(3).says(&[
            "training needs at least ",
            "4096 samples in a step, and cpu (Flex) has ",
            "text.toml:7",
        ]);
    }
    assert!(!project.path("runs").exists());
}

#[test]
fn a_configuration_that_is_no_text_is_one_error() {
    let project = project();
    std::fs::write(project.path("bad.toml"), [0xff, 0xfe, 0x00]).unwrap();
    project.host("run bad.toml").expect(3).says(&["bad.toml"]);
    project.host("run missing.toml").expect(3).says(&["missing.toml"]);
    project.host("run .").expect(3);
}

#[test]
fn a12_a_dropped_file_that_is_no_plugin_is_named_and_the_others_load() {
    let project = project();
    let plugins = project.path("plugins");
    std::fs::write(plugins.join("empty.wasm"), []).unwrap();
    std::fs::write(plugins.join("noise.wasm"), [7; 4096]).unwrap();
    std::fs::write(plugins.join("text.wasm"), "(module)").unwrap();
    std::fs::write(plugins.join("core.wasm"), b"\0asm\x01\0\0\0").unwrap();
    let whole = std::fs::read(host_tests::guests::component("observer")).unwrap();
    std::fs::write(plugins.join("half.wasm"), &whole[..whole.len() / 2]).unwrap();
    project.drop_in("observer", "healthy");
    let run = project.train("").run(1);
    let stories: Vec<String> = run
        .lines("timeline.jsonl")
        .iter()
        .filter(|line| line["topic"] == "left-out")
        .map(|line| line["text"].to_string())
        .collect();
    for (file, words) in [
        ("empty.wasm", "is empty"),
        ("noise.wasm", "is not WebAssembly"),
        ("text.wasm", "text file"),
        ("core.wasm", "no component type"),
        ("half.wasm", ""),
    ] {
        assert!(stories.iter().any(|story| story.contains(file) && story.contains(words)), "{file}: {stories:#?}");
    }
    assert_eq!(stories.len(), 5);
    assert_eq!(run.json("report.json")["callbacks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_listed_plugin_must_load() {
    let project = project();
    std::fs::write(project.path("plugins/broken.wasm"), [7; 64]).unwrap();
    project.configure("[[plugin]]\nname = \"broken\"\n[[plugin]]\nname = \"absent\"\n");
    let outcome = project.host("run train.toml");
    outcome.expect(6).says(&["broken.wasm", "is not WebAssembly", "absent.wasm", "cannot be read"]);
    assert!(!project.path("runs").exists());
}

#[test]
fn a_configuration_that_breaks_a_plugins_schema_is_shown_in_the_file() {
    let project = project();
    project.plugin("early-stopping", "stopper", "", "patiense = 3\nmode = \"up\"");
    let outcome = project.host("check train.toml");
    outcome.expect(6).says(&["patiense", "`patience`", "up", "max", "train.toml:"]);
}

#[test]
fn a_pin_that_does_not_match_is_refused() {
    let project = project();
    project.plugin("observer", "pinned", &format!("sha256 = \"{}\"", "0".repeat(64)), "");
    project.host("run train.toml").expect(6).says(&["pinned.wasm", "SHA-256", "0000"]);
}

#[test]
fn a_group_that_fits_nothing_is_an_error() {
    let project = project();
    project.configure("[[optimizer.group]]\nname = \"none\"\nparameters = [\"encoder.*\"]\n");
    project.host("run train.toml").expect(3).says(&["group `none` gets no parameter", "layers.0.weight"]);
}

#[test]
fn a_run_folder_that_cannot_be_written_is_an_error() {
    let project = project();
    project.write("runs", "a file is in the way");
    project.host("run train.toml").expect(9).says(&["run folder", "runs"]);
}

#[test]
fn every_exit_code_is_documented() {
    let help = project().host("--help");
    for code in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "130"] {
        assert!(
            help.stdout.lines().any(|line| line.trim_start().starts_with(&format!("{code}  "))),
            "{code} in {}",
            help.stdout
        );
    }
    project().host("run").expect(2);
}

#[test]
fn inspect_shows_a_plugin() {
    let project = project();
    project.drop_in("early-stopping", "x");
    let outcome = project.host("plugin inspect plugins/x.wasm");
    outcome.expect(0).prints(&["early-stopping", "stop, save, restore", "patience", "sha256"]);
    project.host("plugin inspect train.toml").expect(6).says(&["train.toml", "text file"]);
}

#[test]
fn inspect_says_what_becomes_of_each_import() {
    let project = project();
    project.drop_in("wasi", "x");
    let outcome = project.host("plugin inspect plugins/x.wasm");
    outcome.expect(0).prints(&[
        "import   train-host:callback/types@0.1.0 (real)",
        "import   wasi:clocks/wall-clock@0.2.99 (real)",
        "import   wasi:filesystem/types@0.2.99 (stubbed: there is nothing behind it)",
    ]);
    let component = r#"(component
        (import "wasi:cli/stdout@0.2.0" (instance)) (import "wasi:http/types@0.2.0" (instance))
        (import "wasi:random/random@0.2.0" (instance (export "guess" (func))))
        (instance $i) (export "train-host:callback/callback@0.1.0" (instance $i)))"#;
    std::fs::write(project.path("plugins/y.wasm"), wat::parse_str(component).unwrap()).unwrap();
    let outcome = project.host("plugin inspect plugins/y.wasm");
    outcome.expect(6).prints(&[
        "import   wasi:cli/stdout@0.2.0 (real)",
        "import   wasi:http/types@0.2.0 (refused: this host does not offer it)",
        "import   wasi:random/random@0.2.0 (refused: this host does not offer guess)",
    ]);
    outcome.says(&["imports `wasi:http/types@0.2.0`, which this host does not offer"]);
}

#[test]
fn the_cache_is_shown_and_cleared() {
    let project = project();
    project.drop_in("observer", "observer");
    project.configure("[[plugin]]\nname = \"observer\"\n[plugin.config]\nhooks = [\"step-end\"]");
    project.train("--set plugins.cache=compiled");
    project.write("compiled/notes.txt", "mine");
    project.host("cache --folder compiled").expect(0).prints(&["compiled: 1 compiled plugin,"]);
    project.host("cache --folder compiled --clear").expect(0).prints(&["deleted 1 compiled plugin "]);
    project.host("cache --folder compiled").expect(0).prints(&["compiled: 0 compiled plugins"]);
    assert!(project.path("compiled/notes.txt").exists());
    project.host("cache --folder nothing").expect(0).prints(&["nothing: 0 compiled plugins"]);
}
