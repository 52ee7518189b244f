//! Losses that are not finite, folders that cannot be written, guards that are lost.
//!
//! How a callback fails in the sandbox is tested there.

use std::fs;

use host_callback::{Consequence, Decision, Hook};
use host_trainer::{Checkpoint, Ending, Span, TrainError};

use crate::{
    rig::{Part, Rig, model, numbers},
    script::{Script, Seen},
};

/// 6 steps, of which the fourth has a loss that is not a number.
fn poisoned(reads_are_free: bool) -> Rig {
    let mut rig = Rig::new(3);
    rig.reads_are_free = reads_are_free;
    let second_epoch = rig.run([]).completed().probe.samples(1);
    rig.task.poison = Some((1, second_epoch[5]));
    rig
}

fn finite(file: &[u8]) -> bool {
    numbers(file).iter().all(|number| number.is_finite())
}

/// The newest checkpoint, as somebody finds it who looks for what is left of a run.
fn newest(part: &Part) -> Checkpoint {
    host_trainer::Store::newest(&part.folder).unwrap()
}

#[test]
fn b10_a_loss_that_is_not_finite_fails_the_run_and_leaves_its_checkpoints() {
    let mut rig = poisoned(true);
    rig.settings.save_every = Some(Span::Steps(1));
    let part = rig.run([Script::silent("seer")]);
    assert!(matches!(part.report.error, Some(TrainError::NonFiniteLoss { step: 3, loss }) if loss.is_nan()));
    assert!(part.hooks().ends_with(&["gradients@3", "failure@3", "train-end@3"].map(String::from)));
    let [.., failure, end] = &part.seen()[..] else { panic!("two events") };
    let error = failure.detail.strip_prefix("non-finite-loss: ").unwrap();
    assert!(error.starts_with("the loss of step 3 is NaN"), "{error}");
    assert_eq!(end.detail, format!("failed: {error}"));
    assert_eq!(part.report.ending, Ending::Failed { error: error.into() });
    assert!(finite(&part.weights), "the update was not made");
    assert_eq!(newest(&part).step(), 3);
    // What caused it is gone: the run goes on as if nothing had been.
    rig.task.poison = None;
    let rest = rig.resume(&part, "step-3", [Script::silent("seer")]).completed();
    assert_eq!(rest.weights, rig.run([]).completed().weights);
}

#[test]
fn b10_nothing_broken_is_saved_where_reading_the_loss_costs_time() {
    for (what, log_every, save_every) in
        [("the log looks first", 1, Some(1)), ("the save looks first", 1000, Some(1)), ("the end", 1000, None)]
    {
        let mut rig = poisoned(false);
        rig.settings.log_every = Span::Steps(log_every);
        rig.settings.save_every = save_every.map(Span::Steps);
        let part = rig.run([Script::silent("seer")]);
        assert!(matches!(part.report.error, Some(TrainError::NonFiniteLoss { .. })), "{what}: {}", part.ending());
        for (name, _) in &part.report.checkpoints {
            assert!(finite(&model(&part.checkpoint(name))), "{what}: {name}");
        }
        assert_eq!(part.checkpoints().is_empty(), save_every.is_none(), "{what}");
    }
}

#[test]
fn b10_a_callback_that_handles_it_keeps_the_run() {
    let skip = || Decision::Skip("not finite".into());
    for reads_are_free in [true, false] {
        for (what, answer, steps) in [
            ("skip", vec![skip()], 6),
            ("stop", vec![Decision::Stop("not finite".into())], 4),
            ("restore", vec![Decision::Restore("last".into())], 6),
            ("skip and stop", vec![skip(), Decision::Stop("not finite".into())], 4),
        ] {
            let what = format!("{what}, reads are free: {reads_are_free}");
            let mut rig = poisoned(reads_are_free);
            (rig.settings.log_every, rig.settings.save_every) = (Span::Steps(1), Some(Span::Steps(1)));
            let guard = move |seen: &Seen, _: &[Seen]| match seen.value("loss") {
                Some(loss) if !loss.is_finite() => answer.clone(),
                _ => Vec::new(),
            };
            let part = rig.run([Script::new("guard", guard).listens(&[Hook::Gradients], 1, &["loss"])]);
            assert!(part.report.error.is_none(), "{what}: {:?}", part.report.error);
            assert_eq!(part.report.progress.step, steps, "{what}");
            assert!(finite(&part.weights) && finite(&model(&newest(&part))), "{what}");
            assert_eq!(newest(&part).step(), steps, "{what}");
        }
    }
}

#[test]
fn b25_a_checkpoint_that_cannot_be_written_is_told_and_the_run_goes_on() {
    let mut rig = Rig::new(2);
    rig.settings.save_every = Some(Span::Steps(1));
    let folder = rig.next_folder();
    let aside = folder.with_extension("aside");
    let break_it = move |seen: &Seen, _: &[Seen]| {
        if seen.is(Hook::SaveBegin, 2) {
            fs::rename(&folder, &aside).unwrap();
            fs::write(&folder, "a disk that is not there").unwrap();
        }
        if seen.is(Hook::StepBegin, 2) {
            fs::remove_file(&folder).unwrap();
            fs::rename(&aside, &folder).unwrap();
            assert_eq!(Checkpoint::open(&folder.join("step-1")).unwrap().step(), 1, "the old one is whole");
        }
        Vec::new()
    };
    let part = rig.run([Script::new("breaks", break_it)]).completed();
    let told = part.told("save-failed");
    assert_eq!((told.len(), told[0]["progress"]["step"].as_u64()), (1, Some(2)));
    assert!(told[0]["error"].as_str().unwrap().contains("cannot"), "{}", told[0]);
    assert_eq!((part.count(Hook::SaveBegin), part.count(Hook::SaveEnd)), (4, 3), "no `save-end` without a save");
    assert_eq!((part.report.progress.step, part.checkpoints()), (4, vec!["step-3", "step-4"]));
}

#[test]
fn b25_a_checkpoint_whose_writing_fails_meanwhile_is_told_when_it_is_due() {
    for (save_async, told_at) in [(0, 2), (1, 3), (100, 4)] {
        let mut rig = Rig::new(3);
        (rig.settings.save_every, rig.settings.save_async) = (Some(Span::Steps(2)), save_async);
        // Where the checkpoint is put together.
        let place = rig.next_folder().join(format!(".step-2.{}", std::process::id()));
        let block = move |seen: &Seen, _: &[Seen]| {
            if seen.is(Hook::SaveBegin, 2) {
                fs::create_dir(&place).unwrap();
            }
            Vec::new()
        };
        let part = rig.run([Script::new("blocks", block)]).completed();
        let told = part.told("save-failed");
        assert_eq!((told.len(), told[0]["progress"]["step"].as_u64()), (1, Some(told_at)), "{save_async}");
        assert_eq!((part.count(Hook::SaveBegin), part.count(Hook::SaveEnd)), (3, 2), "{save_async}");
        assert_eq!(part.checkpoints(), ["step-4", "step-6"], "{save_async}");
    }
}

#[test]
fn a_guard_that_is_lost_ends_the_run() {
    for (what, at) in [("in an event", Some(Hook::StepEnd)), ("when it is asked for its state", None)] {
        let mut rig = Rig::new(2);
        rig.settings.save_every = Some(Span::Steps(1));
        let guard = Script::silent("guard").fails(at, Consequence::StopRun);
        let part = rig.run([Script::silent("seer"), guard]);
        let Ending::GuardLost { instance, error } = &part.report.ending else { panic!("{what}: {}", part.ending()) };
        assert_eq!((instance.as_str(), error.contains("as the test wants")), ("guard", true), "{what}");
        assert_eq!((part.report.progress.step, part.checkpoints()), (1, vec!["step-1"]), "{what}");
        assert!(part.seen().last().unwrap().detail.starts_with("guard `guard` lost"), "{what}");
        assert!(!part.told("callback-failed").is_empty(), "{what}");
        // It was not an end of the run's own.
        assert_eq!(host_trainer::AnyRun::over(&rig.open(Some(&part.checkpoint("step-1"))).unwrap()), None, "{what}");
    }
}

#[test]
fn another_callback_that_fails_is_told_and_missed_by_nobody() {
    let plain = Rig::new(2).run([]).completed();
    for (consequence, failures) in [(Consequence::Restart, 4), (Consequence::Disabled, 1)] {
        let failing = Script::silent("failing").fails(Some(Hook::StepEnd), consequence);
        let part = Rig::new(2).run([Script::silent("seer"), failing]).completed();
        assert_eq!(part.told("callback-failed").len(), failures, "{consequence:?}");
        assert_eq!(part.weights, plain.weights);
        let summary = part.report.callbacks.iter().find(|one| one.by.instance.as_str() == "failing").unwrap();
        assert_eq!(summary.failures, failures as u64);
    }
}
