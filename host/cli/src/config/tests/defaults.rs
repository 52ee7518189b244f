//! What a plan holds where the file says nothing, and what it writes out.

use std::{path::PathBuf, time::Duration};

use host_callback::{Grant, KnobGrant, Request};
use host_sandbox::{CompileLimits, Limits, OnFailure};
use host_trainer::{OptimizerRule, Span, device::DeviceChoice};
use serde_json::json;

use super::{SMALL, plan};
use crate::config::{parse, tests::TASKS};

/// One of everything.
const FULL: &str = r#"
[run]
name = "digits"
seed = 7
device = "cuda:1"
ranks = 3
folder = "out"
[task]
kind = "language-model"
train = "a.txt"
hidden = [64, 32]
[train]
length = "10min"
batch-size = 16
accumulation = 4
drop-last = true
evaluate-every = "end"
log-every = "5st"
save-every = "100st"
save-async = 20
keep = 3
clip-norm = 1.0
clip-value = 0.5
[optimizer]
kind = "sgd"
learning-rate = 0.1
weight-decay = 1e-4
momentum = 0.9
dampening = 0.1
nesterov = true
[[optimizer.group]]
name = "no-decay"
parameters = ["*.bias", "norm*"]
weight-decay = 0
[plugins]
folder = "callbacks"
cache = "compiled"
compile-seconds = 60
compile-mib = 512
limits = { fuel = 5000, deadline-ms = 200 }
[[plugin]]
name = "guard"
[[plugin]]
name = "stopper"
file = "early-stopping/early-stopping.wasm"
enabled = false
sha256 = "AB23456789012345678901234567890123456789012345678901234567890123"
order = -3
on-failure = "stop-run"
grant = { requests = ["stop"], knobs = { "learning-rate*" = [1e-6, 1e-2], "clip-norm" = true } }
limits = { memory-mib = 128 }
[plugin.config]
patience = 5
thresholds = [0.5, 1]
nested = { since = 2026-01-02 }
"#;

#[test]
fn a_small_file_gets_the_documented_defaults() {
    let plan = plan(SMALL, &[]);
    let settings = &plan.settings;
    assert_eq!((settings.name.as_str(), settings.seed, plan.device), ("train", 0, DeviceChoice::Auto));
    assert_eq!((settings.length, settings.until, plan.ranks), (Span::Epochs(2), None, 1));
    assert_eq!((settings.batch_size, settings.accumulation, settings.drop_last, settings.keep), (32, 1, false, 2));
    let saves = (settings.evaluate_every, settings.save_every, settings.save_async);
    assert_eq!(saves, (Some(Span::Epochs(1)), None, 0));
    assert_eq!((settings.log_every, settings.clip_norm, settings.clip_value), (Span::Steps(10), 0.0, 0.0));
    assert_eq!(settings.optimizer, OptimizerRule::Adamw { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 });
    let group = &settings.groups[0];
    assert_eq!((settings.groups.len(), group.name.as_str(), group.parameters[0].as_str()), (1, "all", "*"));
    assert_eq!((group.learning_rate, group.weight_decay), (0.001, 0.01));
    assert_eq!((plan.base, plan.runs), (PathBuf::from("."), PathBuf::from("runs")));
    assert_eq!((plan.plugins.folder, plan.plugins.limits), (PathBuf::from("plugins"), Limits::default()));
    assert_eq!((plan.plugins.watch, plan.plugins.settle), (true, Duration::from_millis(300)));
    assert_eq!(plan.plugins.file_bytes, 64 << 20);
    assert_eq!(plan.plugins.compile, CompileLimits { seconds: 300, memory_bytes: 4 << 30 });
    assert!(plan.instances.is_empty());
    assert_eq!((plan.task.kind.as_str(), plan.task.settings), ("classification", json!({ "train": "a.csv" })));
}

#[test]
fn everything_that_is_written_counts() {
    let plan = plan(FULL, &[]);
    let settings = &plan.settings;
    assert_eq!(settings.length, Span::Time(Duration::from_secs(600)));
    let saves = (settings.evaluate_every, settings.save_every, settings.save_async);
    assert_eq!(saves, (None, Some(Span::Steps(100)), 20));
    assert_eq!(settings.optimizer, OptimizerRule::Sgd { momentum: 0.9, dampening: 0.1, nesterov: true });
    let groups: Vec<_> = settings.groups.iter().map(|g| (g.name.as_str(), g.learning_rate, g.weight_decay)).collect();
    assert_eq!(groups, [("no-decay", 0.1, 0.0), ("rest", 0.1, 1e-4)]);
    assert_eq!(plan.plugins.cache, PathBuf::from("compiled"));
    assert_eq!(plan.plugins.compile, CompileLimits { seconds: 60, memory_bytes: 512 << 20 });

    let [guard, stopper] = &plan.instances[..] else { panic!("{:?}", plan.instances) };
    assert_eq!((guard.file.clone(), guard.enabled, guard.order), (PathBuf::from("callbacks/guard.wasm"), true, None));
    assert_eq!((&guard.grant, guard.on_failure), (&Grant::Declared, OnFailure::Restart));
    assert_eq!((guard.limits.fuel, guard.limits.deadline), (5000, Duration::from_millis(200)));
    assert_eq!(guard.config, json!({}));

    assert_eq!(stopper.file, PathBuf::from("callbacks/early-stopping/early-stopping.wasm"));
    assert_eq!((stopper.enabled, stopper.order, stopper.on_failure), (false, Some(-3), OnFailure::StopRun));
    assert!(stopper.sha256.as_ref().is_some_and(|digest| digest.starts_with("ab23")));
    let knobs = vec![
        KnobGrant { knobs: "learning-rate*".into(), range: Some((1e-6, 1e-2)) },
        KnobGrant { knobs: "clip-norm".into(), range: None },
    ];
    assert_eq!(stopper.grant, Grant::Only { requests: vec![Request::Stop], knobs });
    assert_eq!((stopper.limits.fuel, stopper.limits.memory_bytes), (5000, 128 << 20));
    let config = json!({ "patience": 5, "thresholds": [0.5, 1], "nested": { "since": "2026-01-02" } });
    assert_eq!(stopper.config, config);
}

#[test]
fn sgd_has_defaults_of_its_own() {
    let plan = plan(SMALL, &["optimizer.kind=sgd"]);
    assert_eq!(plan.settings.optimizer, OptimizerRule::Sgd { momentum: 0.0, dampening: 0.0, nesterov: false });
    assert_eq!((plan.settings.groups[0].learning_rate, plan.settings.groups[0].weight_decay), (0.01, 0.0));
}

#[test]
fn a_document_is_a_configuration_that_gives_the_same_plan_from_another_folder() {
    for (text, sets) in [(SMALL, &[][..]), (FULL, &[]), (FULL, &["train.steps=5", "plugin.guard.config.mode=hard"])] {
        let plan = plan(text, sets);
        let copy = parse("runs/a-1/train.toml".as_ref(), plan.document.clone(), &[], &TASKS).unwrap();
        let base = std::path::absolute(".").unwrap();
        assert_eq!((&copy.base, &copy.runs), (&base, &base.join(&plan.runs)));
        assert_eq!(copy.settings, plan.settings, "{}", plan.document);
        assert_eq!((&copy.task, copy.device, copy.ranks), (&plan.task, plan.device, plan.ranks));
        assert_eq!((copy.plugins.limits, copy.plugins.compile), (plan.plugins.limits, plan.plugins.compile));
        assert_eq!(copy.plugins.cache, base.join(&plan.plugins.cache));
        let rebased = plan.instances.iter().cloned().map(|mut instance| {
            instance.file = base.join(instance.file);
            instance
        });
        assert_eq!(copy.instances, rebased.collect::<Vec<_>>());
        assert!(plan.document.starts_with("# train.toml as it was resolved"), "{}", plan.document);
        let again = copy.document.replace(&format!("{}/", base.display()), "").replace("# runs/a-1/", "# ");
        assert_eq!(again, plan.document, "a document of a document is the same");
    }
}

#[test]
fn grants_keep_the_order_of_the_file() {
    let grant = "[[plugin]]\nname = \"a\"\n[plugin.grant.knobs]\n\"z\" = [0, 1]\n\"a*\" = true\n\"m\" = [2, 3]\n";
    let plan = plan(&format!("{SMALL}{grant}"), &[]);
    let Grant::Only { requests, knobs } = &plan.instances[0].grant else { panic!("{:?}", plan.instances) };
    assert!(requests.is_empty());
    assert_eq!(knobs.iter().map(|knob| knob.knobs.as_str()).collect::<Vec<_>>(), ["z", "a*", "m"]);
}

#[test]
fn limits_that_the_schema_lets_through_are_valid_for_the_sandbox() {
    let low = "fuel = 1\ndeadline-ms = 1\nmemory-mib = 1\nstate-mib = 1\nanswer-mib = 1\ndecisions = 1\nlog-lines = 0\n\
        log-kib = 0\ntable-elements = 0\ninstances = 1\nmemories = 1\ntables = 0\nhandles = 0\n";
    let high = "fuel = 9223372036854775807\ndeadline-ms = 86400000\nmemory-mib = 4096\nstate-mib = 1024\n\
        answer-mib = 1024\ndecisions = 1048576\nlog-lines = 1000000\nlog-kib = 1048576\n\
        table-elements = 10000000\ninstances = 10000\nmemories = 1000\ntables = 1000\nhandles = 100000\n";
    for limits in [low, high] {
        let plan = plan(&format!("{SMALL}[plugins.limits]\n{limits}"), &[]);
        assert_eq!(plan.plugins.limits.validate(), Ok(()), "{limits}");
    }
}
