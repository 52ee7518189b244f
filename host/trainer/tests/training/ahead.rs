//! Batches that another thread fetches before they are needed.

use host_callback::{Decision, Hook};
use host_trainer::Ending;

use crate::{
    rig::{Part, Rig},
    script::{Script, Seen},
    task::Fetched,
};

/// A run with a thread that fetches, the same without one, and what the thread has fetched.
fn both(epochs: u64, script: impl Fn() -> Script) -> (Part, Part, Vec<(u64, Vec<usize>)>) {
    let without = Rig::new(epochs).run([script()]);
    let mut rig = Rig::new(epochs);
    let fetched = Fetched::default();
    rig.task.fetched = Some(fetched.clone());
    let with = rig.run([script()]);
    assert_eq!(with.weights, without.weights);
    assert_eq!(with.events, without.events);
    let fetched = fetched.lock().unwrap().clone();
    (with, without, fetched)
}

#[test]
fn steps_within_an_epoch_are_fetched_ahead() {
    let (with, without, fetched) = both(3, || Script::silent("watches").reads(&["loss"]));
    assert_eq!(with.report.ending, Ending::Completed);
    let all = without.probe.batches.borrow().clone();
    // Two steps of two batches each an epoch: the second step is known while the first one is computed.
    let second: Vec<_> = all.chunks(4).flat_map(|epoch| epoch[2..].to_vec()).collect();
    assert_eq!(fetched, second);
    let first: Vec<_> = all.chunks(4).flat_map(|epoch| epoch[..2].to_vec()).collect();
    assert_eq!(*with.probe.batches.borrow(), first, "and nothing is fetched twice");
}

#[test]
fn what_callbacks_change_is_fetched_anew() {
    // A quarter of each batch size, batches that are skipped, an epoch that is cut short.
    let act = |seen: &Seen, _: &[Seen]| match (seen.hook, seen.occurrence % 5) {
        (Hook::StepEnd, 1) => vec![Decision::Set { knob: "batch-size".into(), value: 1.0 }],
        (Hook::StepEnd, 3) => vec![Decision::Set { knob: "batch-size".into(), value: 2.0 }],
        (Hook::StepBegin, 4) => vec![Decision::Skip("not this".into())],
        (Hook::StepEnd, 0) => vec![Decision::EndEpoch("enough".into())],
        _ => Vec::new(),
    };
    let (with, without, fetched) = both(6, || Script::new("turns", act));
    assert_eq!(with.report.progress.step, without.report.progress.step);
    let taken = with.probe.batches.borrow().len();
    let all = without.probe.batches.borrow().len();
    assert!(taken < all && !fetched.is_empty(), "{taken} of {all} by the loop, {} ahead", fetched.len());
}
