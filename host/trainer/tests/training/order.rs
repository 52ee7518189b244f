//! Which hook comes when, and what is known at it.
//!
//! What callbacks ask for is in `requests`.

use host_callback::{Decision, Hook};
use host_trainer::Span;

use crate::{
    rig::Rig,
    script::{Script, Seen},
};

#[test]
fn b6_a_whole_run_in_its_order() {
    let mut rig = Rig::new(2);
    rig.settings.evaluate_every = Some(Span::Epochs(1));
    rig.settings.save_every = Some(Span::Steps(2));
    rig.settings.log_every = Span::Steps(2);
    let part = rig.run([Script::silent("seer")]).completed();
    let expected = [
        "train-begin@0",
        "epoch-begin@0",
        "step-begin@0",
        "gradients@0",
        "step-end@1",
        "step-begin@1",
        "gradients@1",
        "step-end@2",
        "log@2",
        "evaluate-begin@2",
        "evaluate-end@2",
        "save-begin@2",
        "save-end@2",
        "epoch-end@2",
        "epoch-begin@2",
        "step-begin@2",
        "gradients@2",
        "step-end@3",
        "step-begin@3",
        "gradients@3",
        "step-end@4",
        "log@4",
        "evaluate-begin@4",
        "evaluate-end@4",
        "save-begin@4",
        "save-end@4",
        "epoch-end@4",
        "train-end@4",
    ];
    assert_eq!(part.hooks(), expected);
    assert_eq!(part.probe.batches.borrow().len(), 8, "4 steps of 2 micro-batches");
}

#[test]
fn what_is_due_only_at_the_end_comes_before_its_end() {
    let part = Rig::new(1).run([Script::silent("seer")]).completed();
    let end = ["epoch-end@2", "evaluate-begin@2", "evaluate-end@2", "save-begin@2", "save-end@2", "train-end@2"];
    assert!(part.hooks().ends_with(&end.map(String::from)), "{:?}", part.hooks());
}

#[test]
fn everything_asked_for_at_one_moment_has_its_order() {
    let asked = [Decision::Save("a".into()), Decision::Evaluate, Decision::Log];
    let part = Rig::new(1).run([Script::once(Hook::StepEnd, 1, asked)]).completed();
    let hooks = part.hooks();
    let at = hooks.iter().position(|hook| hook == "step-end@1").unwrap();
    let expected = ["log@1", "evaluate-begin@1", "evaluate-end@1", "save-begin@1", "save-end@1", "step-begin@1"];
    assert_eq!(hooks[at + 1..][..expected.len()], expected);
}

#[test]
fn events_say_how_far_the_run_is() {
    let part = Rig::new(2).run([Script::silent("seer")]).completed();
    let first = |hook| part.seen().into_iter().find(|seen| seen.hook == hook).unwrap().progress;
    assert_eq!((first(Hook::StepBegin).step, first(Hook::StepBegin).total_steps), (0, Some(4)));
    let end = first(Hook::StepEnd);
    // 2 tokens a sample.
    assert_eq!((end.step, end.samples, end.tokens, end.epoch), (1, 4, 8, 0.5));
    assert_eq!(first(Hook::EpochEnd).epoch, 1.0);
    let last = part.seen().pop().unwrap();
    assert_eq!((last.hook, last.progress.epoch, last.occurrence), (Hook::TrainEnd, 2.0, 1));
    assert_eq!(last.detail, "planned length reached");
}

#[test]
fn every_nth_occurrence_is_counted_from_the_beginning() {
    let rare = Script::silent("rare").listens(&[Hook::StepEnd, Hook::EpochEnd], 3, &[]);
    let part = Rig::new(4).run([rare]).completed();
    assert_eq!(part.hooks(), ["step-end@3", "step-end@6", "epoch-end@6"]);
}

fn known(seen: &[Seen], name: &str, hook: Hook, step: u64) -> Option<f64> {
    seen.iter().find(|seen| seen.is(hook, step)).unwrap().value(name)
}

#[test]
fn b24_gradient_norms_are_there_before_the_update() {
    let reads = [
        "loss",
        "gradient-norm",
        "gradient-norm/biases",
        "gradient-norm/rest",
        "gradient-nonfinite",
        "absolute-error",
        "eval/loss",
        "root",
    ];
    let mut rig = Rig::new(1);
    rig.settings.evaluate_every = Some(Span::Steps(1));
    let seen = rig.run([Script::silent("seer").reads(&reads)]).completed().seen();
    for name in reads {
        assert_eq!(known(&seen, name, Hook::StepBegin, 0), None, "{name} before the first step");
    }
    let at = |name: &str| known(&seen, name, Hook::Gradients, 0).unwrap();
    let parts = at("gradient-norm/biases").hypot(at("gradient-norm/rest"));
    assert!((at("gradient-norm") - parts).abs() < 1e-6 && parts > 0.1, "{parts}");
    assert_eq!(at("gradient-nonfinite"), 0.0);
    assert_eq!(at("root"), at("loss").sqrt());
    assert!(at("absolute-error") > 0.0);
    assert_eq!(known(&seen, "eval/loss", Hook::EvaluateBegin, 1), None);
    // The loss of the last step and the last evaluation stay known; what belongs to a step does not.
    assert_eq!(known(&seen, "loss", Hook::StepBegin, 1), Some(at("loss")));
    assert!(known(&seen, "eval/loss", Hook::StepBegin, 1).is_some());
    assert_eq!(known(&seen, "gradient-norm", Hook::StepBegin, 1), None);
    assert_eq!(known(&seen, "absolute-error", Hook::StepBegin, 1), None);
}

#[test]
fn b7_callbacks_come_in_the_order_of_number_and_name() {
    let order = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let script = |name: &'static str, number| {
        let order = std::sync::Arc::clone(&order);
        let act = move |_: &Seen, _: &[Seen]| {
            order.lock().unwrap().push_str(name);
            Vec::new()
        };
        Script::new(name, act).listens(&[Hook::TrainBegin], 1, &[]).with_order(number)
    };
    Rig::new(1).run([script("c", 0), script("b", 1), script("a", 1), script("d", -1)]);
    assert_eq!(*order.lock().unwrap(), "dcab");
}
