//! Which tags are moved when, played to the plugin as a host would.
//! Knows nothing of files: what a tag's moving deletes is the host's business.

use std::collections::{BTreeMap, BTreeSet};

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Decision, Hook};
use serde_json::{Value, json};

use crate::CheckpointPolicy;

fn start(config: Value) -> Harness<CheckpointPolicy> {
    Harness::start(&config).unwrap()
}

fn tags(harness: &mut Harness<CheckpointPolicy>, moment: Moment) -> Vec<String> {
    let tag = |decision| match decision {
        Decision::Save(tag) => Some(tag),
        _ => None,
    };
    harness.send(moment).unwrap().into_iter().filter_map(tag).collect()
}

fn evaluated(step: u64, loss: f64) -> Moment {
    Moment::at(Hook::EvaluateEnd, step).scalar("eval/loss", loss)
}

#[test]
fn each_new_best_moves_the_tag() {
    let mut harness = start(json!({}));
    let losses = [1.0, 1.5, 0.5, 0.5, 0.25];
    let saved = losses.map(|loss| !tags(&mut harness, evaluated(1, loss)).is_empty());
    assert_eq!(saved, [true, false, true, false, true]);
}

#[test]
fn b9_nan_is_never_the_best_and_a_first_nan_does_not_poison() {
    let mut harness = start(json!({"keep-best": 2}));
    for loss in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(tags(&mut harness, evaluated(1, loss)).is_empty(), "{loss}");
    }
    assert_eq!(tags(&mut harness, evaluated(2, 1.0)), ["best", "top-0"]);
    assert!(tags(&mut harness, evaluated(3, f64::NAN)).is_empty());
    assert_eq!(tags(&mut harness, evaluated(4, 0.5)), ["best", "top-1"]);
}

/// Whatever comes, the tags point to the best few of what came, and `best` to the best of all.
#[test]
fn the_tags_point_to_the_best_few() {
    for (mode, sign) in [("min", 1.0), ("max", -1.0)] {
        let mut harness = start(json!({"keep-best": 3, "mode": mode}));
        let mut pointed = BTreeMap::new();
        let mut seen = Vec::new();
        let mut bits = 7_u64;
        for step in 0..200 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Distinct numbers in no order.
            let loss = (bits >> 40) as f64 + step as f64 / 256.0;
            seen.push(loss);
            for tag in tags(&mut harness, evaluated(step, sign * loss)) {
                pointed.insert(tag, loss);
            }
            if step % 17 == 0 {
                harness.resume(step).unwrap();
            }
            seen.sort_by(f64::total_cmp);
            let best: BTreeSet<u64> = seen.iter().take(3).map(|loss| loss.to_bits()).collect();
            let top = pointed.iter().filter(|(tag, _)| tag.starts_with("top-"));
            assert_eq!(top.map(|(_, loss)| loss.to_bits()).collect::<BTreeSet<_>>(), best, "{mode}, step {step}");
            assert_eq!(pointed["best"], seen[0], "{mode}, step {step}");
        }
    }
}

#[test]
fn the_newest_few_keep_their_tags() {
    let mut harness = start(json!({"keep-best": 0, "every-steps": 10, "keep-last": 2}));
    let mut saved = Vec::new();
    for step in 1..=50 {
        if step == 25 {
            harness.resume(step).unwrap();
        }
        saved.extend(tags(&mut harness, Moment::at(Hook::StepEnd, step)).into_iter().map(|tag| (step, tag)));
    }
    let expected = [(10, "recent-0"), (20, "recent-1"), (30, "recent-0"), (40, "recent-1"), (50, "recent-0")];
    assert_eq!(saved, expected.map(|(step, tag)| (step, tag.to_owned())));
}

#[test]
fn a_step_that_ends_an_epoch_is_saved_once() {
    let mut harness = start(json!({"every-steps": 2, "every-epochs": 1}));
    assert!(tags(&mut harness, Moment::at(Hook::StepEnd, 1)).is_empty());
    assert_eq!(tags(&mut harness, Moment::at(Hook::StepEnd, 2)), ["recent-0"]);
    assert!(tags(&mut harness, Moment::at(Hook::EpochEnd, 2)).is_empty());
    assert!(tags(&mut harness, Moment::at(Hook::StepEnd, 3)).is_empty());
    assert_eq!(tags(&mut harness, Moment::at(Hook::EpochEnd, 3)), ["recent-1"]);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [
        (json!({"keep-best": 0}), "nothing would be saved"),
        (json!({"every-steps": 0}), "1 or more"),
        (json!({"every-epochs": 0}), "1 or more"),
        (json!({"keep-last": 0}), "keep-last is 0"),
        (json!({"every": 10}), "unknown field `every`"),
    ] {
        let error = Harness::<CheckpointPolicy>::start(&config).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}
