//! Steps that run out of memory, and other panics of a task: the run is closed, or goes on with what callbacks decide.

use host_callback::{Decision, Hook};
use host_trainer::{Ending, Span, TrainError};

use crate::{
    rig::{Part, Rig},
    script::{Script, Seen},
};

/// At `failure`, half the batch and twice the accumulation, as long as the batch can be halved.
fn halves() -> Script {
    let act = |seen: &Seen, _: &[Seen]| match (seen.hook, seen.value("batch-size"), seen.value("accumulation")) {
        (Hook::Failure, Some(batch), Some(passes)) if batch > 1.0 => vec![
            Decision::Set { knob: "batch-size".into(), value: batch / 2.0 },
            Decision::Set { knob: "accumulation".into(), value: passes * 2.0 },
        ],
        _ => Vec::new(),
    };
    Script::new("guard", act).reads(&["batch-size", "accumulation"])
}

fn failures(part: &Part) -> Vec<String> {
    part.seen().iter().filter(|seen| seen.hook == Hook::Failure).map(|seen| seen.detail.clone()).collect()
}

#[test]
fn b21_out_of_memory_in_training_is_told_and_the_step_is_tried_again_with_the_same_samples() {
    let mut rig = Rig::new(2);
    (rig.settings.batch_size, rig.settings.accumulation) = (4, 1);
    let plain = rig.run([]).completed();
    rig.task.fits = 1;
    let part = rig.run([halves()]).completed();
    let told = failures(&part);
    assert_eq!(told.len(), 2, "from 4 to 2 to 1");
    assert!(told[0].starts_with("out-of-memory: out of memory in step 0: "), "{}", told[0]);
    assert_eq!(part.report.progress, plain.report.progress, "the counters stand");
    for epoch in 0..2 {
        // The first step was tried three times; what counts is the last one.
        let tries = part.probe.samples(epoch);
        assert!(tries.ends_with(&plain.probe.samples(epoch)), "epoch {epoch}: {tries:?}");
    }
    let begins = part.seen().iter().filter(|seen| seen.hook == Hook::StepBegin).count();
    assert_eq!(begins, 4, "no hook is sent twice");
    assert!(part.refusals().is_empty());
}

#[test]
fn b21_out_of_memory_that_nobody_handles_ends_the_run_and_keeps_its_checkpoints() {
    let mut rig = Rig::new(2);
    rig.settings.save_every = Some(Span::Steps(1));
    let larger = Script::once(Hook::StepBegin, 2, [Decision::Set { knob: "batch-size".into(), value: 4.0 }]);
    rig.task.fits = 2;
    let part = rig.run([Script::silent("seer"), larger]);
    assert!(matches!(part.report.error, Some(TrainError::OutOfMemory { step: 2, .. })), "{}", part.ending());
    assert!(part.hooks().ends_with(&["step-begin@2", "failure@2", "train-end@2"].map(String::from)));
    assert_eq!(failures(&part).len(), 1, "it is told once");
    assert_eq!(part.checkpoints(), ["step-1", "step-2"]);
    assert_eq!(part.checkpoint("step-2").step(), 2);
}

#[test]
fn b21_a_circle_of_changes_ends() {
    let mut rig = Rig::new(1);
    rig.task.fits = 0;
    let turns = |seen: &Seen, _: &[Seen]| match seen.value("batch-size") {
        Some(batch) if seen.hook == Hook::Failure => {
            vec![Decision::Set { knob: "batch-size".into(), value: 3.0 - batch }]
        }
        _ => Vec::new(),
    };
    let part = rig.run([Script::new("turns", turns).reads(&["batch-size"])]);
    assert!(matches!(part.report.error, Some(TrainError::OutOfMemory { step: 0, .. })), "{}", part.ending());
    assert_eq!(part.count(Hook::Failure), 32);
}

#[test]
fn b21_out_of_memory_in_an_evaluation_costs_the_evaluation_and_changes_no_batch() {
    let mut rig = Rig::new(2);
    rig.settings.evaluate_every = Some(Span::Steps(1));
    rig.task.evaluation_panics.borrow_mut().push("CUDA_ERROR_OUT_OF_MEMORY");
    let part = rig.run([halves()]).completed();
    assert_eq!((part.count(Hook::EvaluateBegin), part.count(Hook::EvaluateEnd)), (4, 3));
    assert_eq!(failures(&part).len(), 1);
    assert!(failures(&part)[0].starts_with("out-of-memory: the evaluation ran out of memory"));
    assert_eq!(part.refusals(), ["nothing is tried again after this failure"; 2]);
    let batches: Vec<f64> = part.seen().iter().filter_map(|seen| seen.value("batch-size")).collect();
    assert!(batches.iter().all(|batch| *batch == 2.0), "{batches:?}");
    assert_eq!(part.told("evaluation-failed").len(), 1);
    assert_eq!(part.weights, Rig::new(2).run([]).completed().weights);
}

#[test]
fn a_panic_of_a_task_closes_the_run() {
    let mut rig = Rig::new(2);
    rig.settings.evaluate_every = Some(Span::Steps(2));
    rig.settings.save_every = Some(Span::Steps(1));
    rig.task.evaluation_panics.borrow_mut().push("the shapes differ");
    let part = rig.run([halves()]);
    let Some(TrainError::Panic { place, message }) = &part.report.error else { panic!("{}", part.ending()) };
    assert_eq!((place.as_str(), message.as_str()), ("in the evaluation", "the shapes differ"));
    assert!(failures(&part)[0].starts_with("panic: the task or its backend panicked in the evaluation: the shapes"));
    assert!(matches!(part.report.ending, Ending::Failed { .. }));
    assert_eq!(part.refusals(), ["nothing is tried again after this failure"; 2]);
    assert_eq!(part.checkpoints(), ["step-1"], "the evaluation comes before the save");
    let rest = rig.resume(&part, "step-1", [halves()]).completed();
    assert_eq!(rest.weights, Rig::new(2).run([]).completed().weights);
}
