//! What is frozen when, played to the plugin as a host would.
//! Knobs are kept by parameter here, as the host keeps them, so that patterns which overlap are tested too.

use std::collections::BTreeMap;

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Assignment, Decision, Hook, matches};
use serde_json::{Value, json};

use crate::LayerFreeze;

const PARAMETERS: [&str; 5] = ["embedding", "layers.0.weight", "layers.1.weight", "layers.1.bias", "head.weight"];

fn start(config: &Value) -> Result<Harness<LayerFreeze>, String> {
    let groups = json!([
        {"name": "body", "learning-rate": 1, "parameters": PARAMETERS[..4]},
        {"name": "head", "learning-rate": 1, "parameters": PARAMETERS[4..]},
    ]);
    Harness::start_in(config, json!({"groups": groups}))
}

/// A run that the plugin's writes reach, with ten steps an epoch.
struct Loop {
    harness: Harness<LayerFreeze>,
    trainable: BTreeMap<&'static str, bool>,
}

impl Loop {
    fn new(stages: Value) -> Self {
        let harness = start(&json!({"stages": stages})).unwrap();
        Self { harness, trainable: PARAMETERS.map(|name| (name, true)).into() }
    }

    /// How many decisions there were.
    fn send(&mut self, hook: Hook, step: u64) -> usize {
        let decisions = self.harness.send(Moment::at(hook, step).epoch(step as f64 / 10.0)).unwrap();
        for decision in &decisions {
            match decision {
                Decision::Set(Assignment { knob, value }) => {
                    let pattern = knob.strip_prefix("trainable/").unwrap();
                    let addressed = self.trainable.iter_mut().filter(|(name, _)| matches(pattern, name));
                    addressed.for_each(|(_, trainable)| *trainable = *value == 1.0);
                }
                Decision::Note(_) | Decision::Report(_) => {}
                other => panic!("{other:?}"),
            }
        }
        decisions.len()
    }

    fn begin(&mut self) -> &mut Self {
        self.send(Hook::TrainBegin, 0);
        self
    }

    /// What is trainable in a step, in the order of the names: `1` or `0`.
    fn step(&mut self, step: u64) -> String {
        self.send(Hook::StepBegin, step);
        PARAMETERS.map(|name| if self.trainable[name] { '1' } else { '0' }).into_iter().collect()
    }
}

fn gradual() -> Value {
    json!([
        {"parameters": ["head.*"]},
        {"parameters": ["layers.1.*"], "from": {"epoch": 1}},
        {"parameters": ["layers.0.*"], "from": {"epoch": 2}},
        {"parameters": ["embedding"], "from": {"step": 25}},
    ])
}

#[test]
fn stage_by_stage_everything_becomes_trainable() {
    let mut run = Loop::new(gradual());
    run.begin();
    for (step, expected) in [(0, "00001"), (9, "00001"), (10, "00111"), (19, "00111"), (20, "01111"), (24, "01111")] {
        assert_eq!(run.step(step), expected, "step {step}");
    }
    assert_eq!(run.step(25), "11111");
    assert_eq!(run.step(1000), "11111");
}

#[test]
fn the_beginning_freezes_before_any_step() {
    let mut run = Loop::new(gradual());
    let decisions = run.harness.send(Moment::at(Hook::TrainBegin, 0)).unwrap();
    let set = |knob: &str, value| Decision::Set(Assignment { knob: knob.into(), value });
    let note = "trainable: head.*; frozen: layers.1.*, layers.0.*, embedding";
    assert_eq!(
        decisions,
        [
            set("trainable/layers.1.*", 0.0),
            set("trainable/layers.0.*", 0.0),
            set("trainable/embedding", 0.0),
            set("trainable/head.*", 1.0),
            Decision::Note(note.into()),
            Decision::Report(host_sdk::Report { name: "stages".into(), value: 1.0 }),
        ]
    );
}

#[test]
fn nothing_is_written_while_nothing_changes() {
    let mut run = Loop::new(gradual());
    run.begin();
    let written: Vec<u64> = (0..40).filter(|step| run.send(Hook::StepBegin, *step) > 0).collect();
    assert_eq!(written, [10, 20, 25]);
}

#[test]
fn a_plugin_that_joins_later_writes_what_stands_then() {
    let mut run = Loop::new(gradual());
    assert_eq!(run.step(15), "00111");
    assert_eq!(run.send(Hook::StepBegin, 16), 0);
}

#[test]
fn a_stage_can_end() {
    let mut run = Loop::new(json!([{"parameters": ["embedding", "head.*"], "until": {"step": 3}}]));
    run.begin();
    assert_eq!([run.step(0), run.step(2), run.step(3)], ["11111", "11111", "01110"]);
    let mut run = Loop::new(json!([{"parameters": ["head.*"], "from": {"step": 2}, "until": {"epoch": 0.5}}]));
    run.begin();
    assert_eq!([run.step(1), run.step(2), run.step(4), run.step(5)], ["11110", "11111", "11111", "11110"]);
}

#[test]
fn a_parameter_in_several_stages_is_trainable_while_one_of_them_is() {
    for stages in [
        json!([{"parameters": ["layers.*"], "from": {"step": 4}}, {"parameters": ["layers.1.*"], "from": {"step": 2}}]),
        json!([{"parameters": ["layers.1.*"], "from": {"step": 2}}, {"parameters": ["layers.*"], "from": {"step": 4}}]),
    ] {
        let mut run = Loop::new(stages);
        run.begin();
        assert_eq!([run.step(1), run.step(2), run.step(4)], ["10001", "10111", "11111"]);
    }
    let mut run = Loop::new(json!([{"parameters": ["*"], "until": {"step": 2}}, {"parameters": ["layers.1.*"]}]));
    run.begin();
    assert_eq!([run.step(1), run.step(2)], ["11111", "00110"]);
}

#[test]
fn a_run_without_anything_to_learn_is_told() {
    let mut run = Loop::new(json!([{"parameters": ["*"], "until": {"step": 2}}]));
    run.begin();
    run.step(1);
    let decisions = run.harness.send(Moment::at(Hook::StepBegin, 2)).unwrap();
    let line = "every parameter is frozen: the run learns nothing until a stage begins";
    assert!(decisions.contains(&Decision::Note(line.into())), "{decisions:?}");
}

#[test]
fn b1_a_resume_changes_nothing() {
    let run = |resume_before: Option<u64>| {
        let mut run = Loop::new(gradual());
        run.begin();
        let steps = (0..30).map(|step| {
            if resume_before == Some(step) {
                run.harness.resume(step).unwrap();
            }
            (run.send(Hook::StepBegin, step), run.trainable.clone())
        });
        steps.collect::<Vec<_>>()
    };
    let uninterrupted = run(None);
    for before in 0..30 {
        assert_eq!(run(Some(before)), uninterrupted, "resumed before step {before}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    let stage = |stage: Value| json!({"stages": [stage]});
    for (config, words) in [
        (json!({}), "missing field `stages`"),
        (json!({"stages": []}), "stages is empty"),
        (stage(json!({"parameters": []})), "stage 1: parameters is empty"),
        (
            stage(json!({"parameters": ["tail.*"]})),
            "stage 1: no parameter fits tail.*; this run has embedding, layers.0",
        ),
        (stage(json!({"parameters": ["head.*"], "from": {"epoch": -1}})), "stage 1: from is epoch -1"),
        (stage(json!({"parameters": ["head.*"], "until": {"epoch": "NaN"}})), "stage 1: until is epoch NaN"),
        (stage(json!({"parameters": ["head.*"], "until": {"step": 0}})), "from is step 0 and until is step 0"),
        (
            stage(json!({"parameters": ["head.*"], "from": {"epoch": 2}, "until": {"epoch": 1.5}})),
            "from is epoch 2 and until is epoch 1.5",
        ),
        (stage(json!({"parameters": ["*"], "from": {"step": 1}})), "no parameter would be trainable at the beginning"),
        (stage(json!({"parameters": ["head.*"], "from": {"samples": 2}})), "unknown variant `samples`"),
        (stage(json!({"parameters": ["head.*"], "form": {"step": 2}})), "unknown field `form`"),
    ] {
        let error = start(&config).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}

#[test]
fn a_long_list_of_names_is_cut() {
    let names: Vec<String> = (0..20).map(|layer| format!("layers.{layer}")).collect();
    let groups = json!({"groups": [{"name": "all", "learning-rate": 1, "parameters": names}]});
    let error = Harness::<LayerFreeze>::start_in(&json!({"stages": [{"parameters": ["head"]}]}), groups).err().unwrap();
    assert!(error.ends_with("layers.11 and 8 more"), "{error}");
}

#[test]
fn where_parameters_are_not_known_any_pattern_is_taken() {
    assert!(Harness::<LayerFreeze>::start(&json!({"stages": [{"parameters": ["*"], "from": {"step": 2}}]})).is_ok());
}
