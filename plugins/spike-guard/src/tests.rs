//! What the guard does as spikes come, played to it as a host would.
//! Leaves the arithmetic of a spike to `window`.

use host_sdk::testing::{Harness, Moment};
use host_sdk::{Decision, Hook};
use serde_json::{Value, json};

use crate::SpikeGuard;

const NAN: f64 = f64::NAN;

fn start(config: Value) -> Harness<SpikeGuard> {
    Harness::start(&config).unwrap()
}

/// A guard that judges after four losses, and leaves out two batches.
fn quick(changes: Value) -> Value {
    let mut config = json!({"window": 4, "warm-up": 0, "skip-batches": 2});
    config.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    config
}

fn update(harness: &mut Harness<SpikeGuard>, step: u64, loss: f64) -> Vec<Decision> {
    harness.send(Moment::at(Hook::Gradients, step).scalar("loss", loss)).unwrap()
}

/// Steps with these losses from 10 on: a letter for each batch that was fetched or left out. `-` left out, `.` nothing,
/// `s` skip, `r` skip and restore, `n` a note alone, `x` skip and stop. A loss that a left-out batch would have had is
/// used up with it.
fn trace(harness: &mut Harness<SpikeGuard>, losses: &[f64]) -> String {
    losses.iter().map(|loss| batch(harness, *loss)).collect()
}

fn batch(harness: &mut Harness<SpikeGuard>, loss: f64) -> char {
    if let [Decision::Skip(_)] = harness.send(Moment::at(Hook::StepBegin, 10)).unwrap()[..] {
        return '-';
    }
    let mut decisions = update(harness, 10, loss);
    decisions.retain(|decision| !matches!(decision, Decision::Report(_)));
    match decisions[..] {
        [] => '.',
        [Decision::Skip(_)] | [Decision::Skip(_), Decision::Note(_)] => 's',
        [Decision::Skip(_), Decision::Restore(_), Decision::Note(_)] => 'r',
        [Decision::Note(_)] => 'n',
        [Decision::Skip(_), Decision::Stop(_)] => 'x',
        _ => panic!("{decisions:?}"),
    }
}

#[test]
fn a_spike_is_dropped_and_the_run_goes_back_and_on_behind_it() {
    let mut harness = start(quick(json!({"tag": "best"})));
    assert_eq!(trace(&mut harness, &[1.0, 3.0, 1.0, 3.0]), "....");
    let decisions = update(&mut harness, 14, 100.0);
    let what = "loss is 100, above 8 = 2 + 6 x 1";
    let report = |name: &str, value| Decision::Report(host_sdk::Report { name: name.into(), value });
    assert_eq!(
        decisions,
        [
            report("spikes", 1.0),
            Decision::Skip(what.into()),
            Decision::Restore("best".into()),
            report("restores", 1.0),
            Decision::Note(format!("{what}: going back to best, then leaving out 2 batches")),
        ]
    );
    let left_out = |to_go| [Decision::Skip(format!("a batch behind a loss spike, {to_go} to go"))];
    assert_eq!(harness.send(Moment::at(Hook::StepBegin, 15)).unwrap(), left_out(1));
    assert_eq!(harness.send(Moment::at(Hook::StepBegin, 15)).unwrap(), left_out(0));
    assert_eq!(harness.send(Moment::at(Hook::StepBegin, 15)).unwrap(), []);
}

#[test]
fn a_loss_that_falls_or_wavers_is_left_alone() {
    let mut harness = start(quick(json!({"factor": 3.0})));
    let losses: Vec<f64> =
        (0..200).map(|step| 4.0 / (1.0 + f64::from(step) / 20.0) + f64::from(step % 3) / 10.0).collect();
    assert!(trace(&mut harness, &losses).chars().all(|letter| letter == '.'));
    assert_eq!((harness.state().spikes, harness.state().restored), (0, 0));
}

#[test]
fn spikes_do_not_enter_the_statistics() {
    let mut harness = start(quick(json!({"skip-batches": 0, "max-restores": 100})));
    let mut losses = vec![1.0, 3.0, 1.0, 3.0];
    losses.extend([100.0; 20]);
    losses.push(2.0);
    assert_eq!(trace(&mut harness, &losses), format!("....{}.", "r".repeat(20)));
}

#[test]
fn early_losses_are_only_collected() {
    let mut harness = start(json!({"window": 4, "warm-up": 6, "skip-batches": 0}));
    let spikes: Vec<bool> = [1.0, 3.0, 1.0, 3.0, 100.0, 3.0, 1e6]
        .iter()
        .zip(0..)
        .map(|(loss, step)| !update(&mut harness, step, *loss).is_empty())
        .collect();
    assert_eq!(spikes, [false, false, false, false, false, false, true]);
    assert_ne!(update(&mut start(json!({})), 0, NAN), [], "but one that is not finite never is");
}

#[test]
fn b9_what_is_not_finite_is_a_spike_and_does_not_poison() {
    let mut harness = start(quick(json!({"skip-batches": 0})));
    assert_eq!(
        trace(&mut harness, &[NAN, 1.0, f64::INFINITY, 3.0, 1.0, f64::NEG_INFINITY, 3.0, 4.0, 100.0]),
        "r.r..r..r"
    );
}

#[test]
fn after_all_restores_a_spike_is_noted_once_a_row_and_passes_unless_it_is_not_finite() {
    let mut harness = start(quick(json!({"max-restores": 1, "skip-batches": 0})));
    let losses = [1.0, 3.0, 1.0, 3.0, 100.0, 100.0, 100.0, NAN, 2.0, NAN, NAN, 2.0];
    assert_eq!(trace(&mut harness, &losses), "....rn.s.ss.");
    assert_eq!(harness.state().spikes, 6);
}

#[test]
fn after_all_restores_a_spike_can_stop_the_run() {
    let mut harness = start(quick(json!({"max-restores": 2, "skip-batches": 1, "after-restores": "stop"})));
    assert_eq!(trace(&mut harness, &[1.0, 3.0, 1.0, 3.0, 100.0, 2.0, 100.0, 2.0, 100.0]), "....r-r-x");
    let decisions = update(&mut harness, 20, 100.0);
    let reason = "loss is 100, above 8 = 2 + 6 x 1, after going back 2 times";
    assert!(decisions.contains(&Decision::Stop(reason.into())), "{decisions:?}");
}

#[test]
fn a_long_calm_gives_the_restores_back() {
    let config = json!({"max-restores": 1, "skip-batches": 0, "after-restores": "stop", "forgive-after": 3});
    let mut harness = start(quick(config));
    assert_eq!(trace(&mut harness, &[1.0, 3.0, 1.0, 3.0, 100.0, 1.0, 3.0, 1.0, 100.0, 1.0, 100.0]), "....r...r.x");
}

#[test]
fn the_statistics_go_back_with_the_weights() {
    let mut harness = start(quick(json!({"skip-batches": 0})));
    trace(&mut harness, &[10.0, 12.0, 10.0, 12.0]);
    harness.send(Moment::at(Hook::SaveEnd, 14).detail("")).unwrap();
    trace(&mut harness, &[3.0, 1.0, 3.0, 1.0, 3.0, 1.0]);
    // The weights of the checkpoint have losses that would be spikes of those that went.
    assert_eq!(trace(&mut harness, &[50.0, 11.0, 12.0, 50.0]), "r..r");
    // Without a checkpoint nothing came back, and the losses that count are those before the spike.
    let mut harness = start(quick(json!({"skip-batches": 0})));
    assert_eq!(trace(&mut harness, &[10.0, 12.0, 10.0, 12.0, 3.0, 1.0, 3.0, 1.0, 50.0, 11.0]), "........rr");
}

#[test]
fn only_the_checkpoint_that_is_gone_back_to_counts() {
    let mut harness = start(quick(json!({"tag": "best", "skip-batches": 0})));
    trace(&mut harness, &[10.0, 12.0, 10.0, 12.0]);
    harness.send(Moment::at(Hook::SaveEnd, 14).detail("top-1, best")).unwrap();
    trace(&mut harness, &[3.0, 1.0, 3.0, 1.0]);
    harness.send(Moment::at(Hook::SaveEnd, 18).detail("recent-0, bestest")).unwrap();
    assert_eq!(trace(&mut harness, &[50.0, 11.0]), "r.");
}

#[test]
fn an_epoch_that_begins_ends_the_skipping() {
    let mut harness = start(quick(json!({"skip-batches": 100})));
    assert_eq!(trace(&mut harness, &[1.0, 3.0, 1.0, 3.0, 100.0, 2.0, 2.0]), "....r--");
    harness.send(Moment::at(Hook::EpochBegin, 12)).unwrap();
    assert_eq!(trace(&mut harness, &[2.0]), ".");
}

#[test]
fn b1_a_resume_changes_nothing() {
    let losses = [
        1.0, 3.0, 1.0, 3.0, 2.0, 100.0, 2.0, 2.0, 2.5, 1.5, NAN, 1.0, 1.0, 1.0, 50.0, 60.0, 70.0, 2.0, 90.0, NAN, 80.0,
        2.0,
    ];
    let run = |resume_before: Option<usize>| {
        let mut harness = start(quick(json!({"max-restores": 3, "factor": 20.0})));
        let mut trace = String::new();
        for (index, loss) in losses.iter().enumerate() {
            if resume_before == Some(index) {
                harness.resume(index as u64).unwrap();
            }
            trace.push(batch(&mut harness, *loss));
            if index % 7 == 6 {
                harness.send(Moment::at(Hook::SaveEnd, index as u64)).unwrap();
            }
        }
        trace
    };
    let uninterrupted = run(None);
    assert_eq!(uninterrupted, ".....r--..r--.r--.ns..");
    for before in 1..losses.len() {
        assert_eq!(run(Some(before)), uninterrupted, "resumed before update {before}");
    }
}

#[test]
fn a_value_that_is_missing_is_told_once() {
    let mut harness = start(json!({"monitor": "perplexity"}));
    let line = Decision::Note("perplexity is not known here, so nothing was checked".into());
    assert_eq!(update(&mut harness, 1, 1.0), [line]);
    assert_eq!(update(&mut harness, 2, 1.0), []);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    for (config, words) in [
        (json!({"sigmas": -1.0}), "sigmas is -1"),
        (json!({"sigmas": 0.0}), "sigmas and factor are 0"),
        (json!({"factor": 1.0}), "factor is 1"),
        (json!({"factor": "NaN"}), "factor is NaN"),
        (json!({"window": 1}), "window is 1"),
        (json!({"window": 10_001}), "window is 10001: it has to be 2 to 10000"),
        (json!({"max-restores": 0}), "max-restores is 0"),
        (json!({"tag": ""}), "tag is empty"),
        (json!({"after-restores": "skip"}), "unknown variant `skip`"),
        (json!({"sigma": 3.0}), "unknown field `sigma`"),
    ] {
        let error = Harness::<SpikeGuard>::start(&config).err().unwrap();
        assert!(error.contains(words), "{config}: {error}");
    }
}
