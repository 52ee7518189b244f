//! What a person reads of a file with mistakes: all of them at once, each where it is.

use host_callback::InstanceName;

use super::{SMALL, mistakes, plan, read};

#[test]
fn every_mistake_of_a_file_is_shown_at_its_place() {
    let text = mistakes(include_str!("mistakes.toml"), &["train.keep=0", "run.nam=x"]);
    let expected = include_str!("mistakes.txt");
    assert!(text == expected, "the rendering differs from mistakes.txt:\n{text}");
}

#[test]
fn single_mistakes_are_named_with_what_helps() {
    const TRAIN: &str = "[train]\nepochs = 1\n";
    const TASK: &str = "[task]\nkind = \"classification\"\ntrain = \"a\"\n";
    for (text, message, place, help) in [
        ("", "`task` is missing", "", "a table; what is learned"),
        (TASK, "the run has no length", "", "exactly one of `epochs = 60`"),
        (&format!("{TASK}[train]\n"), "the run has no length", "4:2", "exactly one of"),
        (
            &format!("[task]\n{TRAIN}"),
            "`task.kind` is missing",
            "1:2",
            "\"classification\" or \"language-model\"; which",
        ),
        (&format!("task = 3\n{TRAIN}"), "`task` is 3", "1:8", "what is learned"),
        (
            &format!("[task]\nkind = \"clasification\"\n{TRAIN}"),
            "`task.kind` is \"clasification\"",
            "2:8",
            "did you mean `classification`?",
        ),
        (
            &format!("[task]\nkind = \"gan\"\n{TRAIN}"),
            "`task.kind` is \"gan\"",
            "2:8",
            "classification (labels of rows)",
        ),
        (&format!("{TASK}dropout = 1\n{TRAIN}"), "`task.dropout` is 1", "4:11", "share of units"),
        (&format!("{TASK}hidden = [0, 8]\n{TRAIN}"), "`task.hidden[0]` is 0", "4:11", ""),
        (&format!("{SMALL}[optimiser]\n"), "unknown key `optimiser`", "6:2", "did you mean `optimizer`?"),
        (&format!("{SMALL}kind = \"sgd\"\n"), "unknown key `train.kind`", "6:1", "belongs to [optimizer] or [task]"),
        (
            &format!("{SMALL}zzz = 1\n"),
            "unknown key `train.zzz`",
            "6:1",
            "the keys here are `accumulation`, `batch-size`",
        ),
        (&format!("{SMALL}plugin.x = 1\n"), "unknown key `train.plugin`", "6:1", "belongs to the top level"),
        (&format!("plugin = [1]\n{SMALL}"), "`plugin[0]` is 1", "1:11", "one configured callback"),
        (&format!("plugin = {{ name = \"a\" }}\n{SMALL}"), "`plugin` is a table", "1:10", ""),
        (
            &format!("{SMALL}[optimizer]\nkind = \"sgd\"\nnesterov = true\n"),
            "`optimizer.nesterov` is true",
            "8:12",
            "set `momentum` above 0",
        ),
        (
            &format!("{SMALL}[[optimizer.group]]\nname = \"A\"\nparameters = [\"\"]\n"),
            "`optimizer.group.A.name` is \"A\"",
            "7:8",
            "",
        ),
        (&format!("{SMALL}length = \"2d\"\n"), "the run has 2 lengths", "6:1", "exactly one of"),
        (
            &format!("{SMALL}log-every = \"99999999999999999999st\"\n"),
            "`train.log-every` is \"99999999999999999999st\"",
            "6:13",
            "",
        ),
        (&format!("{SMALL}keep = 99999999999999999999\n"), "a number cannot be used", "6:8", ""),
        (&format!("{SMALL}batch-size = 2.0\n"), "`train.batch-size` is 2.0", "6:14", "samples of one forward pass"),
    ] {
        let found = mistakes(text, &[]);
        assert!(found.contains(&format!("  error: {message}\n")), "{message}: {found}");
        assert!(found.contains(&format!("[train.toml:{place}")) || place.is_empty(), "{place}: {found}");
        assert!(found.contains(help), "{help}: {found}");
    }
}

#[test]
fn one_mistake_is_one_problem() {
    for text in [
        SMALL.replace("epochs = 2", "epochs = 0"),
        SMALL.replace("epochs = 2", "length = 3"),
        SMALL.replace("\"classification\"", "\"x\""),
        SMALL.replace("\"a.csv\"", "[]"),
        format!("{SMALL}[[plugin]]\n"),
        format!("{SMALL}[[plugin]]\nname = 3\nsha256 = \"{}\"\n", "0".repeat(64)),
        format!("{SMALL}[optimizer]\nlearning-rate = \"x\"\n"),
        format!("{SMALL}[optimizer]\nlearning-rate = inf\n"),
        format!("{SMALL}[run]\nseed = -1\n"),
    ] {
        assert_eq!(read(&text, &[]).unwrap_err().len(), 1, "{text}{}", mistakes(&text, &[]));
    }
}

#[test]
fn syntax_errors_are_all_shown_and_alone() {
    let text = mistakes("[run]\nname = a\nseed = \nbatch = 01\n", &["train.keep=0"]);
    for place in ["train.toml:2:8", "train.toml:3:8", "train.toml:4:9"] {
        assert!(text.contains(place), "{place}: {text}");
    }
    assert!(text.contains("error: train.toml is no valid TOML") && !text.contains("train.keep"), "{text}");
    let twice = mistakes("[run]\nseed = 1\nseed = 2\n", &[]);
    assert!(twice.contains("train.toml:3:1") && twice.contains("duplicate key"), "{twice}");
}

#[test]
fn no_damage_to_a_file_makes_the_report_fail() {
    let whole = include_str!("mistakes.toml");
    for at in (0..whole.len()).step_by(3).filter(|at| whole.is_char_boundary(*at)) {
        let (before, after) = whole.split_at(at);
        for insert in ["", "\"", "\n", "[", "{", "=", "é\t", "\r\n"] {
            let damaged = format!("{before}{insert}{}", after.get(1..).unwrap_or_default());
            assert!(mistakes(&damaged, &[&damaged[..before.len().min(9)]]).contains("error: "), "{damaged}");
        }
        assert!(mistakes(before, &[]).contains("error: "), "{before}");
    }
}

#[test]
fn the_wiring_can_point_into_the_file() {
    let plan = plan(&format!("{SMALL}[[plugin]]\nname = \"guard\"\n[plugin.config]\npatience = 5\n"), &[]);
    for (path, place) in [
        (&["plugin", "guard", "config", "patience"][..], "[train.toml:9:12]"),
        (&["plugin", "guard", "file"], "[train.toml:6:1]"),
        (&["task", "train"], "[train.toml:3:9]"),
        (&["task", "none"], "[train.toml:1:1]"),
    ] {
        let text = super::render(vec![plan.problem_at(path, "it is not there", "look for it")]);
        assert!(
            text.contains(place) && text.contains("error: it is not there") && text.contains("look for it"),
            "{text}"
        );
    }
    let nowhere = super::render(vec![plan.problem_at(&["nothing"], "it is not there", "")]);
    assert_eq!(nowhere, "  error: it is not there\n\n");
}

#[test]
fn a_plugins_settings_are_checked_by_its_schema() {
    let schema = r#"{ "type": "object", "additionalProperties": false, "required": ["monitor"], "properties": {
        "monitor": { "type": "string" },
        "patience": { "type": "integer", "minimum": 1, "description": "Checks without improvement." } } }"#;
    let name: InstanceName = "guard".parse().unwrap();
    for (config, schema, expected) in [
        ("{ monitor = \"loss\", patience = 3 }", schema, &[][..]),
        (
            "{ monitor = \"loss\", patience = 0 }",
            schema,
            &["`plugin.guard.config.patience` is 0", "[train.toml:8:41]", "at least 1"],
        ),
        (
            "{ monitor = \"loss\", patienc = 1 }",
            schema,
            &["unknown key `plugin.guard.config.patienc`", "did you mean `patience`?"],
        ),
        ("{ patience = 1 }", schema, &["`plugin.guard.config.monitor` is missing", "[train.toml:8:1]"]),
        ("{}", "", &[]),
        ("{}", "{ \"type\": 3 }", &["the plugin's schema cannot be used"]),
        ("{}", "{", &["the plugin's schema cannot be used"]),
    ] {
        let plan = plan(&format!("{SMALL}[[plugin]]\nname = \"{name}\"\nconfig = {config}\n"), &[]);
        let problems = plan.check_config(&plan.instances[0], schema);
        assert_eq!(problems.is_empty(), expected.is_empty(), "{config}");
        let text = super::render(problems);
        expected.iter().for_each(|words| assert!(text.contains(words), "{words}: {text}"));
    }
}
