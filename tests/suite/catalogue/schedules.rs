//! Plugins that change how a run learns as it goes on: `batch-ramp`, `layer-freeze` and `branch-balance`.

use std::collections::BTreeMap;

use host_tests::{Project, Run};
use serde_json::Value;

use crate::project;

use super::{changes, changes_nothing, column, decided, is_close, notes, number, records, reported, steps, weights};

/// Three doublings over 40 steps: the stages begin at a third of the way and at two thirds, rounded up.
fn ramped(from: u64, step: u64) -> u64 {
    from << [14, 27, 40].iter().filter(|begin| step >= **begin).count()
}

/// Checks that each update of a run has the samples of the ramp, or what is left of the epoch's 120.
fn follows_the_ramp(run: &Run, from: u64, why: &str) {
    let records = records(run);
    let mut done = 0;
    for (step, record) in (0..).zip(&records) {
        done += ramped(from, step).min(120 - done % 120);
        assert_eq!(record["samples"], done, "{why}, step {step}");
        let samples = number(record, "batch-size") * number(record, "accumulation");
        assert_eq!(samples, ramped(from, step) as f64, "{why}, step {step}");
    }
    assert_eq!(records.len(), 60, "{why}");
}

#[test]
fn batch_ramp_raises_the_samples_of_an_update() {
    for (by, other) in [("accumulation", "batch-size"), ("batch-size", "accumulation")] {
        let project = project();
        let config = format!("from = 5\nto = 40\nover-steps = 40\nshape = \"doubling\"\nby = \"{by}\"");
        project.plugin("batch-ramp", "ramp", "", &config);
        let run = project.train("--set train.steps=60").run(1);
        follows_the_ramp(&run, 5, by);
        assert_eq!(steps(&run, "ramp", "set"), [14, 27, 40], "{by}");
        assert!(changes(&run, "ramp").iter().all(|(_, knob, ..)| knob == by), "{by}");
        let standing = column(&records(&run), other);
        assert!(standing.iter().all(|value| *value == standing[0]), "{by}: {standing:?}");
        assert_eq!(reported(&run, "ramp", "samples"), [(14, 10.0), (27, 20.0), (40, 40.0)]);
    }
}

#[test]
fn batch_ramp_never_goes_below_one_pass() {
    let arguments = "--set train.steps=30 --set train.batch-size=40";
    let project = project();
    let run = changes_nothing(&project, "batch-ramp", "from = 5\nto = 40\nover-steps = 20", arguments);
    assert!(run.decisions("batch-ramp").is_empty());
}

#[test]
fn batch_ramp_and_memory_guard_agree_on_the_samples() {
    for by in ["accumulation", "batch-size"] {
        let project = project();
        let config = format!("from = 4\nto = 32\nover-steps = 40\nshape = \"doubling\"\nby = \"{by}\"");
        project.plugin("batch-ramp", "ramp", "", &config);
        project.plugin("memory-guard", "guard", "", "max-fraction = 1e-9\ncooldown = 15");
        let run = project.train("--set train.steps=60 --set train.batch-size=4").run(1);
        assert!(changes(&run, "guard").len() >= 4, "{by}: {:?}", changes(&run, "guard"));
        assert_eq!(steps(&run, "ramp", "set"), [14, 27, 40], "{by}");
        follows_the_ramp(&run, 4, by);
    }
}

/// Weights that do not learn stay as they are, bit for bit; those that do change within twelve steps.
#[test]
fn layer_freeze_keeps_weights_until_their_stage_begins_and_after_it_ended() {
    let project = project();
    let stages = r#"stages = [{ parameters = ["layers.1.*"], until = { epoch = 3 } },
                              { parameters = ["layers.0.*"], from = { step = 48 } }]"#;
    project.plugin("layer-freeze", "freeze", "", stages);
    let run = project.train("--set train.save-every=\"12st\" --set train.keep=20").run(1);
    let untrained = project.train("--set optimizer.learning-rate=0").run(2);
    let mut before = tensors(&untrained, "model");
    assert_eq!(before.len(), 4);
    for step in (12..=96).step_by(12) {
        let after = tensors(&run, &format!("checkpoints/step-{step}/model"));
        for (name, values) in &after {
            let learns = if name.starts_with("layers.0.") { step > 48 } else { step <= 72 };
            assert_eq!(*values != before[name], learns, "{name} in the twelve steps before step {step}");
        }
        before = after;
    }
    let told: Vec<(u64, String)> = notes(&run, "freeze");
    let expected = [
        (0, "trainable: layers.1.*; frozen: layers.0.*"),
        (48, "trainable: layers.1.*, layers.0.*; frozen: none"),
        (72, "trainable: layers.0.*; frozen: layers.1.*"),
    ];
    assert_eq!(told, expected.map(|(step, note)| (step, note.to_owned())));
    assert_eq!(reported(&run, "freeze", "stages"), [(0, 1.0), (48, 2.0), (72, 1.0)]);
    let first = &decided(&run, "freeze", "set")[0];
    assert_eq!((first.0, first.1.as_str()), (0, "train-begin"), "before any step");
}

#[test]
fn layer_freeze_with_everything_trainable_changes_nothing() {
    let project = project();
    let run = changes_nothing(&project, "layer-freeze", r#"stages = [{ parameters = ["*"] }]"#, "");
    assert_eq!(changes(&run, "layer-freeze"), []);
    assert_eq!(notes(&run, "layer-freeze"), [(0, "trainable: *; frozen: none".to_owned())]);
}

#[test]
fn layer_freeze_refuses_parameters_that_are_not_there() {
    let project = project();
    project.plugin("layer-freeze", "freeze", "", r#"stages = [{ parameters = ["head.*"] }]"#);
    project.host("run train.toml").expect(6).says(&["no parameter fits head.*", "layers.0.weight"]);
}

/// The tensors of a safetensors file: eight bytes with the header's length, the header, the values.
fn tensors(run: &Run, file: &str) -> BTreeMap<String, Vec<u8>> {
    let bytes = weights(run, file);
    let (length, rest) = bytes.split_first_chunk().expect("a length");
    let (header, values) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let header: BTreeMap<String, Value> = serde_json::from_slice(header).expect("a header");
    let tensors = header.into_iter().filter(|(name, _)| name != "__metadata__");
    let place = |value: &Value| value.as_u64().expect("a place") as usize;
    let values = |about: Value| values[place(&about["data_offsets"][0])..place(&about["data_offsets"][1])].to_vec();
    tensors.map(|(name, about)| (name, values(about))).collect()
}

const BRANCHES: &str = "a = { parameters = \"layers.0.*\", groups = [\"first\"] }\n\
                        b = { parameters = \"layers.1.*\", groups = [\"rest\"] }\n";

/// A project whose first layer's weights are a group of their own.
fn with_branches() -> Project {
    let project = project();
    project.configure("[[optimizer.group]]\nname = \"first\"\nparameters = [\"layers.0.weight\"]");
    project
}

#[test]
fn branch_balance_moves_rates_toward_balance_within_its_bounds() {
    const EVERY: u64 = 8;
    let project = with_branches();
    let bounds = format!("{BRANCHES}every = {EVERY}\nrate = 0.1\nmin-factor = 0.5\nmax-factor = 1.25");
    project.plugin("branch-balance", "balance", "", &bounds);
    let reads = "hooks = [\"gradients\"]\nreads = [\"gradient-norm/layers.0.*\", \"gradient-norm/layers.1.*\"]";
    project.plugin("observer", "observer", "", reads);
    let run = project.train("").run(1);
    let (seen, records) = (run.notes("observer"), records(&run));
    let (a, b) = (column(&seen, "gradient-norm/layers.0.*"), column(&seen, "gradient-norm/layers.1.*"));
    let [ratios, of_a, of_b] = ["ratio", "factor-a", "factor-b"].map(|name| reported(&run, "balance", name));

    let (mut average, mut factors, mut moved) = ((a[0], b[0]), (1.0, 1.0), 0);
    for step in 0..96 {
        if step > 0 {
            average = (0.9 * average.0 + 0.1 * a[step], 0.9 * average.1 + 0.1 * b[step]);
        }
        if (step as u64 + 1).is_multiple_of(EVERY) {
            let at = step / EVERY as usize;
            let weighed = average.0 / average.1 * (factors.0 / factors.1);
            assert_eq!(ratios[at].0, step as u64);
            assert!(is_close(ratios[at].1, weighed, 1e-9), "step {step}: {} instead of {weighed}", ratios[at].1);
            let now = (of_a[at].1, of_b[at].1);
            for factor in [now.0, now.1] {
                assert!((0.5..=1.25).contains(&factor), "step {step}: {factor}");
            }
            let (change_a, change_b) = (now.0 / factors.0, now.1 / factors.1);
            if (1.0 / 1.05..=1.05).contains(&weighed) {
                assert_eq!(now, factors, "step {step}: {weighed} is near enough");
            } else {
                // A branch that weighs too little becomes faster, or the other one slower.
                assert_eq!(change_a > change_b, weighed < 1.0, "step {step}: {weighed} moved {change_a}, {change_b}");
                moved += 1;
            }
            // And neither by more than its part.
            for change in [change_a, change_b] {
                assert!((1.0 / 1.1 - 1e-9..=1.1 + 1e-9).contains(&change), "step {step}: {change}");
            }
            factors = now;
        }
        let rates = (number(&records[step], "learning-rate/first"), number(&records[step], "learning-rate/rest"));
        let is_right = is_close(rates.0, 0.01 * factors.0, 1e-9) && is_close(rates.1, 0.01 * factors.1, 1e-9);
        assert!(is_right, "step {step}: {rates:?} with factors {factors:?}");
        assert_eq!(number(&records[step], "learning-rate/biases"), 0.01);
    }
    assert!(moved >= 4, "{moved} adjustments");
    let off = |ratio: f64| ratio.ln().abs();
    assert!(off(ratios[11].1) < off(ratios[0].1) / 2.0, "{ratios:?}");
}

#[test]
fn branch_balance_leaves_rates_alone_that_are_near_enough() {
    let project = with_branches();
    let run = changes_nothing(&project, "branch-balance", &format!("{BRANCHES}tolerance = 1000.0"), "");
    assert!(steps(&run, "branch-balance", "scale").is_empty());
    let reports = reported(&run, "branch-balance", "ratio");
    assert_eq!(reports.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [9, 19, 29, 39, 49, 59, 69, 79, 89]);
}

/// A schedule writes the rate that is meant, and the balance multiplies it again each time.
#[test]
fn branch_balance_and_lr_schedule_make_each_update_with_both() {
    let project = with_branches();
    project.plugin("lr-schedule", "schedule", "", "kind = \"cosine\"\nwarm-up = 10");
    project.plugin("branch-balance", "balance", "", BRANCHES);
    let run = project.train("").run(1);
    let scheduled: BTreeMap<u64, f64> = decided(&run, "schedule", "set")
        .iter()
        .filter(|(_, _, set)| set["knob"] == "learning-rate/first")
        .map(|(step, _, set)| (*step, number(set, "value")))
        .collect();
    assert_eq!(scheduled.len(), 96, "the rate is another one at every step");
    let factors: BTreeMap<u64, f64> = reported(&run, "balance", "factor-a").into_iter().collect();
    assert!(factors.values().any(|factor| *factor > 1.3), "{factors:?}");
    for (step, record) in (0..).zip(records(&run)) {
        let factor = factors.range(..=step).next_back().map_or(1.0, |(_, factor)| *factor);
        let (rate, meant) = (number(&record, "learning-rate/first"), scheduled[&step] * factor);
        assert!(is_close(rate, meant, 1e-9), "step {step}: {rate} instead of {meant}");
    }
}
