//! Several ranks train one model: the same run as with one, decided on the first and done by all at the same step.
//!
//! Here ranks are threads; processes are the program's affair.

use host_callback::{Decision, Hook};
use host_trainer::{Ending, Span, TrainError};

use crate::{
    rig::{Part, Rig, entries, numbers},
    script::{Script, Seen},
    task::Regression,
};

/// Weights that differ in the order of sums only.
fn near(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = (numbers(one), numbers(other));
    one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1e-5)
}

fn all_ranks_have_the_same_weights(part: &Part) {
    for followed in &part.followed {
        followed.result.as_ref().unwrap();
        assert_eq!(followed.weights, part.weights);
    }
}

#[test]
fn any_number_of_ranks_makes_the_same_run() {
    let watch = || Script::silent("seer").reads(&["loss", "absolute-error", "gradient-norm", "error-weight"]);
    let rig = || {
        let mut rig = Rig::new(3);
        rig.task = Regression::of(11);
        (rig.settings.batch_size, rig.settings.accumulation, rig.settings.clip_norm) = (3, 2, 0.75);
        rig.settings.log_every = Span::Steps(1);
        rig
    };
    let alone = rig().run([watch()]).completed();
    for ranks in 2..=4 {
        let together = rig().with_ranks(ranks).run([watch()]).completed();
        assert_eq!(together.hooks(), alone.hooks());
        assert_eq!(together.report.progress, alone.report.progress);
        assert!(near(&together.weights, &alone.weights), "{ranks} ranks");
        all_ranks_have_the_same_weights(&together);
        for (ours, theirs) in together.seen().iter().zip(alone.seen()) {
            for name in ["loss", "absolute-error", "gradient-norm"] {
                let (ours, theirs) = (ours.value(name), theirs.value(name));
                let near = ours.zip(theirs).is_none_or(|(ours, theirs)| (ours - theirs).abs() < 1e-5);
                assert!(near && ours.is_some() == theirs.is_some(), "{ranks} ranks, {name}: {ours:?}, {theirs:?}");
            }
        }
        // Each sample once an epoch, on one rank.
        let others = together.followed.iter().flat_map(|followed| followed.batches.concat());
        let own = (0..3).flat_map(|epoch| together.probe.samples(epoch));
        let mut samples: Vec<usize> = own.chain(others).collect();
        samples.sort_unstable();
        assert_eq!(samples, (0..33).map(|at| at / 3).collect::<Vec<_>>(), "{ranks} ranks");
        let again = rig().with_ranks(ranks).run([watch()]).completed();
        assert_eq!(again.weights, together.weights, "the same bits each time");
    }
}

#[test]
fn a_list_of_numbers_has_those_of_all_ranks() {
    let watch = || Script::silent("seer").listens(&[Hook::StepEnd], 1, &["errors"]);
    let sorted = |part: &Part| -> Vec<Vec<f32>> {
        let lists = part.seen().into_iter().map(|seen| {
            let mut list = seen.vector("errors").unwrap().to_vec();
            list.sort_by(f32::total_cmp);
            list
        });
        lists.collect()
    };
    let alone = sorted(&Rig::new(1).run([watch()]).completed());
    let together = sorted(&Rig::new(1).with_ranks(3).run([watch()]).completed());
    assert_eq!(together[0], alone[0]);
    assert_eq!((together[1].len(), alone[1].len()), (4, 4));
}

/// The folder of the run is the first rank's; no other rank is given a place to write to.
#[test]
fn b16_one_rank_writes_and_deletes() {
    let rig = || {
        let mut rig = Rig::new(4);
        rig.settings.save_every = Some(Span::Steps(1));
        rig
    };
    let told = |part: &Part| -> Vec<serde_json::Value> { part.told("saved").into_iter().cloned().collect() };
    let (alone, together) = (rig().run([]).completed(), rig().with_ranks(3).run([]).completed());
    assert_eq!(entries(&together.folder), entries(&alone.folder));
    assert_eq!(told(&together), told(&alone), "each checkpoint once");
    let resumed = rig().with_ranks(2);
    let rest = resumed.resume(&together, together.checkpoints()[0], []).completed();
    assert!(near(&rest.weights, &together.weights), "ranks may differ in number when a run goes on");
    all_ranks_have_the_same_weights(&rest);
}

#[test]
fn b17_a_stop_asked_on_one_rank_stops_all_ranks_at_the_same_step() {
    // By a callback, which runs on the first.
    let stop = Script::once(Hook::StepEnd, 3, [Decision::Stop("enough".into())]);
    let mut rig = Rig::new(9);
    (rig.settings.batch_size, rig.settings.accumulation) = (4, 1);
    let part = rig.with_ranks(3).run([stop]);
    assert_eq!(part.ending(), "once: enough");
    assert_eq!(part.report.progress.step, 3);
    all_ranks_have_the_same_weights(&part);
    for followed in &part.followed {
        assert_eq!(followed.batches.len(), 3);
    }
    // From outside, on another rank.
    let rig = Rig::new(9).with_ranks(3);
    rig.others[1].stop.request("a signal");
    let part = rig.run([]);
    assert_eq!(part.report.ending, Ending::Interrupted { by: "a signal on rank 2".into() });
    assert_eq!(part.report.progress.step, 1, "the step is finished");
    all_ranks_have_the_same_weights(&part);
    let rest = Rig::new(9).with_ranks(3).resume(&part, "step-1", []).completed();
    assert!(near(&rest.weights, &Rig::new(9).run([]).completed().weights));
}

#[test]
fn b21_out_of_memory_on_one_rank_is_tried_again_on_all() {
    let act = |seen: &Seen, _: &[Seen]| match seen.hook {
        Hook::Failure => vec![
            Decision::Set { knob: "batch-size".into(), value: 2.0 },
            Decision::Set { knob: "accumulation".into(), value: 2.0 },
        ],
        _ => Vec::new(),
    };
    let rig = || {
        let mut rig = Rig::new(2);
        (rig.settings.batch_size, rig.settings.accumulation) = (4, 1);
        rig.with_ranks(2)
    };
    let plain = rig().run([]).completed();
    let mut short = rig();
    short.others[0].task.fits = 1;
    let part = short.run([Script::new("guard", act)]).completed();
    let failures: Vec<String> =
        part.seen().iter().filter(|seen| seen.hook == Hook::Failure).map(|seen| seen.detail.clone()).collect();
    assert_eq!(failures.len(), 1);
    assert!(failures[0].contains("rank 1: out of memory: 2 samples do not fit"), "{}", failures[0]);
    assert_eq!(part.report.progress, plain.report.progress);
    assert!(near(&part.weights, &plain.weights));
    all_ranks_have_the_same_weights(&part);
}

#[test]
fn a_restore_and_a_dropped_update_reach_all_ranks() {
    let act = |seen: &Seen, _: &[Seen]| match (seen.hook, seen.step()) {
        (Hook::StepEnd, 2) => vec![Decision::Save("good".into())],
        (Hook::Gradients, 3) => vec![Decision::Skip("too wild".into())],
        (Hook::StepEnd, 6) => vec![Decision::Restore("good".into())],
        _ => Vec::new(),
    };
    let run = |ranks| Rig::new(4).with_ranks(ranks).run([Script::new("guard", act)]).completed();
    let (alone, together) = (run(1), run(3));
    assert!(together.refusals().is_empty());
    assert_eq!(together.hooks(), alone.hooks());
    assert!(near(&together.weights, &alone.weights));
    all_ranks_have_the_same_weights(&together);
}

#[test]
fn a_rank_that_is_lost_ends_the_run_and_leaves_its_checkpoints() {
    let mut rig = Rig::new(9).with_ranks(3);
    rig.settings.save_every = Some(Span::Steps(1));
    // Weights; passes and update of two steps; passes of the third.
    rig.others[0].lives = 1 + 2 * 2;
    let part = rig.run([Script::silent("seer")]);
    assert!(matches!(part.report.error, Some(TrainError::Rank { rank: 1, .. })), "{}", part.ending());
    assert!(part.ending().starts_with("failed: rank 1 is lost: it "), "{}", part.ending());
    assert!(part.hooks().ends_with(&["step-begin@2", "failure@2", "train-end@2"].map(String::from)));
    assert_eq!(part.checkpoints(), ["step-1", "step-2"]);
    assert!(part.followed[0].result.is_err());
    assert!(part.followed[1].result.is_ok(), "the others are told that it is over");
}

#[test]
fn a_rank_with_another_model_does_not_take_part() {
    let mut rig = Rig::new(1).with_ranks(2);
    rig.others[0].task.weight = vec![vec![0.5], vec![0.125]];
    rig.others[0].task.bias = vec![0.25];
    let error = rig.try_run([]).err().unwrap();
    assert!(error.to_string().starts_with("rank 1 is lost: its model is another one"), "{error}");
}
