//! `--set` from the command line.

use host_trainer::{Span, device::DeviceChoice};
use serde_json::json;

use super::{SMALL, mistakes, plan};

const WITH_LISTS: &str = "[task]\nkind = \"classification\"\ntrain = \"a.csv\"\n[train]\nepochs = 2\n\
    [[optimizer.group]]\nname = \"no-decay\"\nparameters = [\"*.bias\"]\n\
    [[plugin]]\nname = \"early-stopping\"\nconfig = { patience = 1 }\n[[plugin]]\nname = \"guard\"\n";

#[test]
fn values_are_toml_and_bare_words_are_texts() {
    let sets = [
        "run.device=cuda:3",
        "run.name = \"a-b\"",
        "train.batch-size= 8",
        "task.hidden=[1, 2]",
        "optimizer.learning-rate=3e-4",
        "train.log-every=1ep",
    ];
    let plan = plan(SMALL, &sets);
    assert_eq!((plan.device, plan.settings.name.as_str()), (DeviceChoice::Cuda(3), "a-b"));
    assert_eq!((plan.settings.batch_size, plan.settings.log_every), (8, Span::Epochs(1)));
    assert_eq!(plan.task.settings["hidden"], json!([1, 2]));
    assert_eq!(plan.settings.groups[0].learning_rate, 3e-4);
}

#[test]
fn entries_of_lists_go_by_name() {
    let sets = [
        "plugin.early-stopping.config.patience=5",
        "plugin.guard.grant.knobs.\"learning-rate*\"=[0, 1]",
        "plugin.1.order=4",
        "optimizer.group.no-decay.learning-rate=0.5",
    ];
    let plan = plan(WITH_LISTS, &sets);
    assert_eq!(plan.instances[0].config, json!({ "patience": 5 }));
    assert_eq!(plan.instances[1].order, Some(4));
    assert_eq!(plan.settings.groups[0].learning_rate, 0.5);
}

#[test]
fn the_last_one_counts_and_one_length_replaces_the_others() {
    for (sets, length) in [
        (&["train.steps=5"][..], Span::Steps(5)),
        (&["train.steps=5", "train.steps=6"], Span::Steps(6)),
        (&["train.steps=5", "train.length=10sp"], Span::Samples(10)),
        (&["train.length=3ep"], Span::Epochs(3)),
    ] {
        assert_eq!(plan(SMALL, sets).settings.length, length, "{sets:?}");
    }
}

#[test]
fn what_cannot_be_applied_is_shown_as_it_was_typed() {
    for (set, message, label) in [
        ("train.epochs", "`--set` needs a key and a value", "write KEY=VALUE"),
        ("=3", "`--set` needs a key", "is no TOML key"),
        ("train.epochs=", "`--set` needs a value", "an empty text is \"\""),
        ("task.hidden=[1, 2", "the value is no valid TOML", "array"),
        (
            "plugin.early-stoping.order=1",
            "no [[plugin]] is named `early-stoping`, did you mean `early-stopping`?",
            "no such entry",
        ),
        ("optimizer.group.x.learning-rate=1", "no [[optimizer.group]] is named `x`", "no such entry"),
        ("train.epochs.x=1", "`train.epochs` is a single value and has no keys", "not a table"),
        ("train.clip-norm=inf", "a number cannot be used", "numbers have to be finite"),
        ("train.batchsize=3", "unknown key `train.batchsize`", "no such key here"),
        ("train.batch-size=0", "`train.batch-size` is 0", "must be a whole number"),
        ("run.seed=-1", "`run.seed` is -1", "must be a whole number from 0 to 9007199254740991"),
    ] {
        let text = mistakes(WITH_LISTS, &[set]);
        assert!(text.starts_with(&format!("  error: {message}\n")), "{text}");
        assert!(text.contains("-[--set:1:") && text.contains(set) && text.contains(label), "{text}");
    }
    let text = mistakes(SMALL, &["plugin.a.order=1"]);
    assert!(text.contains("no [[plugin]] is named `a`"), "{text}");
}

#[test]
fn a_mistake_in_the_file_is_gone_when_a_set_replaces_it() {
    let text = SMALL.replace("epochs = 2", "epochs = 2\nbatch-size = 0");
    assert!(mistakes(&text, &[]).contains("train.toml:6:14"));
    assert_eq!(plan(&text, &["train.batch-size=4"]).settings.batch_size, 4);
}
