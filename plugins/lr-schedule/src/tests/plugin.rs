//! What the plugin writes and when, and which settings go together.
//! Leaves the numbers to `fixtures`.

use serde_json::json;

use super::{start, step, writes};

#[test]
fn a_constant_stretch_is_written_once() {
    let mut harness = start(&json!({"kind": "constant", "warm-up": 2}), &[0.5]).unwrap();
    let written: Vec<_> = (0..6).map(|number| writes(&mut harness, step(number))).collect();
    assert_eq!(written, [vec![(0, 0.0)], vec![(0, 0.25)], vec![(0, 0.5)], vec![], vec![], vec![]]);
}

#[test]
fn b1_a_resume_writes_what_an_uninterrupted_run_writes() {
    let config = json!({"kind": "linear", "warm-up": 2});
    let run = |resume_before: Option<u64>| {
        let mut harness = start(&config, &[0.5, 0.25]).unwrap();
        let mut all = Vec::new();
        for number in 0..12 {
            if resume_before == Some(number) {
                harness.resume(number).unwrap();
            }
            all.push(writes(&mut harness, step(number).total_steps(8)));
        }
        all
    };
    let uninterrupted = run(None);
    // The last rates are those of the end, and the end is written once.
    assert_eq!(uninterrupted[8..], [vec![(0, 0.0), (1, 0.0)], vec![], vec![], vec![]]);
    for before in 1..12 {
        assert_eq!(run(Some(before)), uninterrupted, "resumed before step {before}");
    }
}

#[test]
fn after_steps_that_it_has_not_seen_it_writes_again() {
    let mut harness = start(&json!({"kind": "constant"}), &[0.5]).unwrap();
    assert_eq!(writes(&mut harness, step(0)), [(0, 0.5)]);
    assert_eq!(writes(&mut harness, step(1)), []);
    assert_eq!(writes(&mut harness, step(5)), [(0, 0.5)]);
}

#[test]
fn a_dropped_batch_does_not_move_the_schedule() {
    let mut harness = start(&json!({"kind": "linear", "total-steps": 4}), &[1.0]).unwrap();
    assert_eq!(writes(&mut harness, step(0)), [(0, 1.0)]);
    assert_eq!(writes(&mut harness, step(1)), [(0, 0.75)]);
    assert_eq!(writes(&mut harness, step(1)), []);
    assert_eq!(writes(&mut harness, step(2)), [(0, 0.5)]);
}

#[test]
fn the_end_comes_from_the_run_unless_configured() {
    let mut harness = start(&json!({"kind": "linear"}), &[1.0]).unwrap();
    assert_eq!(writes(&mut harness, step(5).total_steps(10)), [(0, 0.5)]);
    let mut harness = start(&json!({"kind": "linear", "total-steps": 20}), &[1.0]).unwrap();
    assert_eq!(writes(&mut harness, step(5).total_steps(10)), [(0, 0.75)]);
    let mut harness = start(&json!({"kind": "linear"}), &[1.0]).unwrap();
    let error = harness.send(step(5)).unwrap_err();
    assert!(error.contains("set total-steps"), "{error}");
    let mut harness = start(&json!({"kind": "inverse-sqrt", "warm-up": 4}), &[1.0]).unwrap();
    assert_eq!(writes(&mut harness, step(16)), [(0, 0.5)]);
}

#[test]
fn a_warm_up_can_be_a_part_of_the_run() {
    let mut harness = start(&json!({"kind": "constant", "warm-up-ratio": 0.15}), &[1.0]).unwrap();
    // 0.15 of 10 is one and a half, so the warm-up is 2.
    assert_eq!(writes(&mut harness, step(1).total_steps(10)), [(0, 0.5)]);
    assert_eq!(writes(&mut harness, step(2).total_steps(10)), [(0, 1.0)]);
}

#[test]
fn only_the_chosen_groups_are_written() {
    let mut harness = start(&json!({"kind": "constant", "groups": ["1"]}), &[0.5, 0.25]).unwrap();
    assert_eq!(writes(&mut harness, step(0)), [(1, 0.25)]);
    let error = start(&json!({"groups": ["lora*"]}), &[0.5, 0.25]).err().unwrap();
    assert_eq!(error, "no parameter group fits lora*; this run has 0, 1");
}

#[test]
fn a_frozen_group_stays_at_zero() {
    let mut harness = start(&json!({"kind": "cosine", "total-steps": 4, "min-lr-ratio": 0.5}), &[0.0]).unwrap();
    assert_eq!(writes(&mut harness, step(0)), [(0, 0.0)]);
    assert_eq!(writes(&mut harness, step(1)), []);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [
        (json!({"kind": "constant", "min-lr": 0.1}), "min-lr is not part of a constant schedule"),
        (json!({"kind": "cosine", "power": 2.0}), "power is not part of a cosine schedule"),
        (json!({"kind": "linear", "decay-steps": 2}), "decay-steps is not part of a linear schedule"),
        (json!({"kind": "warmup-stable-decay"}), "needs decay-steps"),
        (json!({"warm-up": 1, "warm-up-ratio": 0.5}), "warm-up and warm-up-ratio"),
        (json!({"kind": "linear", "min-lr": 0.1, "min-lr-ratio": 0.5}), "min-lr and min-lr-ratio"),
        (json!({"warm-up-ratio": 1.5}), "warm-up-ratio is 1.5"),
        (json!({"kind": "linear", "min-lr": -0.1}), "min-lr is -0.1"),
        (json!({"kind": "linear", "min-lr": 0.75}), "min-lr is 0.75, above the 0.5 that group 0 starts from"),
        (json!({"kind": "inverse-sqrt", "timescale": 0}), "timescale is 0"),
        (json!({"kind": "linaer"}), "unknown variant `linaer`"),
        (json!({"warmup": 1}), "unknown field `warmup`"),
    ] {
        let error = start(&config, &[0.5]).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
    let error = start(&json!({}), &[]).err().unwrap();
    assert!(error.contains("no parameter group"), "{error}");
}
