//! A run in which a lot happens at once: an update that is much too large, memory that is short, losses that get no
//! better. What its plugins do about it is explained by the timeline, and is the same when the run is interrupted.

use host_tests::Project;

use crate::project;

use super::{
    changes, decided,
    together::{expect_explained, reproducible},
    weights,
};

const PLUGINS: [(&str, &str); 9] = [
    ("batch-ramp", "from = 4\nto = 12\nover-steps = 60"),
    (
        "branch-balance",
        "a = { parameters = \"layers.0.*\", groups = [\"first\"] }\n\
         b = { parameters = \"layers.1.*\", groups = [\"rest\"] }\nevery = 7",
    ),
    ("grad-clip-adaptive", "warm-up = 5"),
    (
        "layer-freeze",
        "stages = [{ parameters = [\"layers.1.*\"], until = { epoch = 3 } }, \
                   { parameters = [\"layers.0.*\"], from = { step = 20 } }]",
    ),
    ("lr-plateau", "patience = 1\nthreshold = 0.5"),
    ("lr-schedule", "kind = \"cosine\"\nwarm-up = 10"),
    ("memory-guard", "max-fraction = 1e-9\ncooldown = 25"),
    ("overfit-watch", "patience = 1\nmax-gap = -10.0\naction = \"scale-weight-decay\""),
    ("spike-guard", "sigmas = 6.0\nwindow = 20\nwarm-up = 20\nskip-batches = 3"),
];

const TOO_LARGE: &str = r#"decisions = [
    { hook = "step-begin", step = 40, decide = [{ set = ["learning-rate", 20.0] }] },
    { hook = "step-begin", step = 41, decide = [{ set = ["learning-rate", 0.01] }] }]"#;

const ARGUMENTS: &str = "--set train.steps=90 --set train.batch-size=4 --set train.save-every=\"20st\" \
                         --set train.evaluate-every=\"12st\" --set train.keep=9";

fn in_trouble() -> Project {
    let project = project();
    project.configure("[[optimizer.group]]\nname = \"first\"\nparameters = [\"layers.0.weight\"]");
    for (plugin, config) in PLUGINS {
        project.plugin(plugin, plugin, "", config);
    }
    // After the schedule, which writes the rate at every step too.
    project.plugin("script", "script", "order = 15", TOO_LARGE);
    project
}

#[test]
fn plugins_that_all_act_leave_no_value_of_a_knob_unexplained() {
    let project = in_trouble();
    let run = project.train(ARGUMENTS).run(1);
    for (plugin, _) in PLUGINS {
        let acts = !changes(&run, plugin).is_empty() || plugin == "spike-guard";
        assert!(acts && run.callback(plugin)["failures"] == 0, "{plugin}: {:?}", changes(&run, plugin));
    }
    assert_eq!(decided(&run, "spike-guard", "restore").len(), 1);
    let changed = expect_explained(
        &run,
        &[
            ("learning-rate/biases", 0.01),
            ("learning-rate/first", 0.01),
            ("learning-rate/rest", 0.01),
            ("weight-decay/biases", 0.0),
            ("weight-decay/first", 0.01),
            ("weight-decay/rest", 0.01),
            ("clip-norm", 5.0),
            ("batch-size", 4.0),
            ("dropout", 0.1),
        ],
    );
    assert_eq!(changed.len(), 3 + 2 + 1 + 2 + 4, "rates, decays, the limit, both sizes, parameters: {changed:?}");
}

#[test]
fn b1_plugins_that_all_act_make_the_same_run_when_it_is_resumed() {
    let project = in_trouble();
    let whole = project.train(ARGUMENTS).run(1);
    // A stage begins at 20; at 42 the run has just gone back, and three batches are still to be left out.
    for (n, until) in [(2, "20st"), (4, "42st"), (6, "61st")] {
        project.train(&format!("{ARGUMENTS} --until {until}"));
        let resumed = project.train(&format!("{ARGUMENTS} --resume runs/iris-{n}")).run(n + 1);
        assert_eq!(resumed.text("metrics.jsonl"), whole.text("metrics.jsonl"), "{until}");
        assert_eq!(weights(&resumed, "model"), weights(&whole, "model"), "{until}");
        assert_eq!(reproducible(&resumed), reproducible(&whole), "{until}");
    }
}
