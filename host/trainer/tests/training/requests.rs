//! What callbacks ask for, and what the loop makes of it.
//!
//! How several answers become one is tested in `host-callback`; checkpoints themselves in `checkpoints`.

use host_callback::{Decision, Hook};
use host_trainer::{Ending, OptimizerRule, Span};

use crate::{
    rig::{Part, Rig, entries, model, numbers},
    script::{Script, Seen},
};

fn stop() -> Decision {
    Decision::Stop("enough".into())
}

fn skip() -> Decision {
    Decision::Skip("not this".into())
}

fn save(tag: &str) -> Decision {
    Decision::Save(tag.into())
}

fn restore(tag: &str) -> Decision {
    Decision::Restore(tag.into())
}

fn set(knob: &str, value: f64) -> Decision {
    Decision::Set { knob: knob.into(), value }
}

/// Plain SGD: an update that was dropped leaves no trace.
fn sgd(epochs: u64) -> Rig {
    let mut rig = Rig::new(epochs);
    rig.settings.optimizer = OptimizerRule::Sgd { momentum: 0.0, dampening: 0.0, nesterov: false };
    rig
}

#[test]
fn skip_at_step_begin_drops_the_batch() {
    let part = Rig::new(1).run([Script::once(Hook::StepBegin, 0, [skip()])]);
    // The second batch is at step 0 too and is dropped by the same script: nothing of the epoch is left.
    assert_eq!(part.ending().split(';').next(), Some("failed: callbacks left nothing of epoch 0 to train on"));
    assert!(part.ending().contains("`once`"), "{}", part.ending());

    let first_only = |seen: &Seen, _: &[Seen]| {
        if seen.hook == Hook::StepBegin && seen.occurrence == 1 { vec![skip()] } else { Vec::new() }
    };
    let part = Rig::new(2).run([Script::new("skips", first_only)]).completed();
    assert_eq!(part.report.progress.step, 3);
    assert_eq!((part.probe.samples(0).len(), part.probe.samples(1).len()), (4, 8), "it was not fetched");
    let hooks = part.hooks();
    assert_eq!(hooks[2..5], ["step-begin@0", "step-begin@0", "gradients@0"], "and no other hook came");
}

#[test]
fn skip_at_gradients_drops_the_update() {
    let rig = sgd(1);
    let part = rig.run([Script::once(Hook::Gradients, 0, [skip()])]).completed();
    assert_eq!(part.report.progress.step, 2, "the step counts");
    assert_eq!(part.report.progress.samples, 8);
    let zero = Script::once(Hook::StepBegin, 0, [set("learning-rate/rest", 0.0), set("learning-rate/biases", 0.0)]);
    let back = Script::once(Hook::StepEnd, 1, [set("learning-rate/rest", 0.0625), set("learning-rate/biases", 0.125)]);
    let like = rig.run([zero, back.named("back")]).completed();
    assert_eq!(part.weights, like.weights);
}

#[test]
fn skip_drops_an_evaluation_or_a_save() {
    let mut rig = Rig::new(2);
    (rig.settings.evaluate_every, rig.settings.save_every) = (Some(Span::Steps(2)), Some(Span::Steps(2)));
    let skips = |hook| Script::once(hook, 2, [skip()]);
    let part = rig.run([skips(Hook::EvaluateBegin)]).completed();
    assert_eq!((part.count(Hook::EvaluateBegin), part.count(Hook::EvaluateEnd)), (2, 1));
    assert_eq!(part.probe.evaluated.borrow().len(), 1);
    let part = rig.run([skips(Hook::SaveBegin)]).completed();
    assert_eq!((part.count(Hook::SaveBegin), part.count(Hook::SaveEnd)), (2, 1));
    assert_eq!(part.checkpoints(), ["step-4"]);
}

#[test]
fn end_epoch_leaves_out_the_rest_of_it() {
    for hook in [Hook::StepBegin, Hook::Gradients, Hook::StepEnd, Hook::Log, Hook::EvaluateEnd, Hook::SaveEnd] {
        let mut rig = Rig::new(2);
        rig.settings.batch_size = 1;
        let spans = (Span::Steps(1), Some(Span::Steps(1)), Some(Span::Steps(1)));
        (rig.settings.log_every, rig.settings.evaluate_every, rig.settings.save_every) = spans;
        let finished = u64::from(!matches!(hook, Hook::StepBegin | Hook::Gradients));
        let end = Decision::EndEpoch("bored".into());
        let part = rig.run([Script::once(hook, finished, [end])]).completed();
        assert_eq!((part.probe.samples(0).len(), part.probe.samples(1).len()), (2, 8), "{hook}");
        assert_eq!(part.count(Hook::EpochEnd), 2, "{hook}");
        assert_eq!(part.report.progress.epoch, 2.0, "{hook}");
    }
}

#[test]
fn a_stop_finishes_the_step_and_what_is_due() {
    for (hook, finished, steps) in [
        (Hook::TrainBegin, 0, 0),
        (Hook::StepBegin, 0, 1),
        (Hook::Gradients, 0, 1),
        (Hook::StepEnd, 1, 1),
        (Hook::Log, 1, 1),
        (Hook::EvaluateBegin, 2, 2),
        (Hook::EvaluateEnd, 2, 2),
        (Hook::SaveBegin, 2, 2),
        (Hook::SaveEnd, 2, 2),
        (Hook::EpochEnd, 2, 2),
        (Hook::EpochBegin, 2, 2),
    ] {
        let mut rig = Rig::new(4);
        rig.settings.log_every = Span::Steps(1);
        (rig.settings.evaluate_every, rig.settings.save_every) = (Some(Span::Steps(2)), Some(Span::Steps(2)));
        let part = rig.run([Script::once(hook, finished, [stop()])]);
        let stopped = Ending::Stopped { by: "once".into(), reasons: vec!["enough".into()] };
        assert_eq!(part.report.ending, stopped, "{hook}");
        assert_eq!(part.report.progress.step, steps, "{hook}");
        assert_eq!(part.seen().last().unwrap().detail, "once: enough", "{hook}");
        assert_eq!(part.checkpoints().last().copied(), Some(format!("step-{steps}").as_str()), "{hook}");
        let evaluations = usize::from(steps > 0);
        assert_eq!(part.probe.evaluated.borrow().len(), evaluations, "{hook}: the weights are evaluated once");
        assert_eq!(model(&part.checkpoint(part.checkpoints().last().unwrap())), part.weights, "{hook}");
    }
}

#[test]
fn everybody_who_asks_to_stop_is_named() {
    let other = Script::once(Hook::EvaluateEnd, 1, [Decision::Stop("late".into())]).named("other");
    let mut rig = Rig::new(4);
    rig.settings.evaluate_every = Some(Span::Steps(1));
    let part = rig.run([Script::once(Hook::StepEnd, 1, [stop()]), other]);
    assert_eq!(part.ending(), "once: enough; late");
}

#[test]
fn restore_at_gradients_drops_the_update() {
    let decide = |seen: &Seen, _: &[Seen]| match (seen.hook, seen.step()) {
        (Hook::StepEnd, 1) => vec![save("good")],
        (Hook::Gradients, 3) => vec![restore("good")],
        _ => Vec::new(),
    };
    let mut rig = Rig::new(2);
    rig.settings.evaluate_every = Some(Span::Steps(1));
    let part = rig.run([Script::new("goes-back", decide)]).completed();
    assert_eq!(part.told("restored").len(), 1);
    assert_eq!(part.report.progress.step, 4, "counters go on");
    let good = part.checkpoint("step-1");
    assert_eq!(part.weights, model(&good), "the update of the last step was dropped");
    let evaluated = part.probe.evaluated.borrow();
    assert_eq!((&evaluated[3], evaluated[2] != evaluated[3]), (&evaluated[0], true));
    let newest = part.checkpoint("step-4");
    let optimizer =
        |checkpoint: &host_trainer::Checkpoint| std::fs::read(checkpoint.path().join("optimizer.safetensors")).unwrap();
    assert_eq!(optimizer(&newest), optimizer(&good), "the optimizer went back too");
}

#[test]
fn restore_of_an_unknown_tag_is_refused() {
    let rig = Rig::new(1);
    let plain = rig.run([]).completed();
    let part = rig.run([Script::once(Hook::Gradients, 1, [restore("best")])]).completed();
    let refusals = part.refusals();
    assert!(refusals[0].contains("none is tagged `best`"), "{refusals:?}");
    assert_eq!(part.told("restored").len(), 0);
    assert_eq!(part.weights, plain.weights, "the update was made");
}

#[test]
fn b11_what_is_restored_at_the_end_stays() {
    type Change = fn(&mut Rig);
    let none: Change = |_| {};
    let endings: [(&str, Change, Option<Hook>); 4] = [
        ("planned", none, None),
        ("once: enough", none, Some(Hook::StepEnd)),
        ("interrupted by the limit", |rig| rig.settings.until = Some(Span::Steps(3)), None),
        ("failed", |rig| rig.task.poison = Some((1, 0)), None),
    ];
    for (ending, change, stops) in endings {
        let mut rig = Rig::new(2);
        change(&mut rig);
        let decide = move |seen: &Seen, _: &[Seen]| match seen.hook {
            Hook::StepEnd if seen.step() == 1 => vec![save("best")],
            Hook::StepEnd if seen.step() == 3 && stops.is_some() => vec![stop()],
            Hook::TrainEnd => vec![restore("best")],
            _ => Vec::new(),
        };
        let part = rig.run([Script::new("once", decide)]);
        assert!(part.ending().starts_with(ending), "{ending}: {}", part.ending());
        assert_eq!(part.weights, model(&part.checkpoint("step-1")), "{ending}");
        assert_eq!(part.told("restored").len(), 1, "{ending}");
        let told = &part.told("ended")[0]["evaluation"]["eval/loss"];
        let evaluated = part.probe.evaluated.borrow();
        assert_eq!(evaluated.last(), Some(&in_model_order(&part.weights)), "{ending}: and is what was evaluated");
        assert!(told.is_number(), "{ending}");
    }
}

/// Weights as the task writes them down: those of the matrix first.
fn in_model_order(weights: &[u8]) -> Vec<f32> {
    let mut numbers = numbers(weights);
    numbers.rotate_left(2);
    numbers
}

#[test]
fn two_tags_at_one_step_are_one_checkpoint() {
    let decide = |seen: &Seen, _: &[Seen]| match (seen.hook, seen.step()) {
        (Hook::StepEnd, 2) => vec![save("one"), save("two"), save("one")],
        (Hook::EvaluateEnd, 2) => vec![save("three")],
        (Hook::EpochEnd, 2) => vec![save("four")],
        _ => Vec::new(),
    };
    let mut rig = Rig::new(2);
    (rig.settings.evaluate_every, rig.settings.save_every) = (Some(Span::Steps(2)), Some(Span::Steps(2)));
    let part = rig.run([Script::new("saver", decide)]).completed();
    let tags = |name: &str| {
        let (_, tags) = part.report.checkpoints.iter().find(|(checkpoint, _)| checkpoint == name).unwrap();
        tags.join(" ")
    };
    assert_eq!(part.checkpoints(), ["step-2", "step-4"]);
    assert_eq!((tags("step-2"), tags("step-4")), ("four one three two".into(), String::new()));
    let details = |hook| part.seen().into_iter().filter(|seen| seen.is(hook, 2)).map(|seen| seen.detail).collect();
    let (begins, ends): (Vec<String>, Vec<String>) = (details(Hook::SaveBegin), details(Hook::SaveEnd));
    assert_eq!(begins, ["one, two, three", "four"]);
    assert_eq!(ends, begins);
    assert_eq!(entries(&part.folder), ["step-2", "step-4", "tags.json"]);
}

/// The sizes of the batches of an epoch, after every sample was found in them once.
fn sizes(part: &Part, epoch: u64, samples: usize) -> Vec<usize> {
    let mut seen = part.probe.samples(epoch);
    seen.sort_unstable();
    assert_eq!(seen, (0..samples).collect::<Vec<_>>(), "epoch {epoch} has each sample once");
    let batches = part.probe.batches.borrow();
    batches.iter().filter(|(at, _)| *at == epoch).map(|(_, samples)| samples.len()).collect()
}

#[test]
fn a_changed_batch_size_neither_repeats_nor_loses_a_sample() {
    let decide = |seen: &Seen, _: &[Seen]| match (seen.hook, seen.step()) {
        (Hook::StepBegin, 1) => vec![set("batch-size", 5.0)],
        (Hook::StepEnd, 2) => vec![set("accumulation", 1.0), set("batch-size", 3.0)],
        _ => Vec::new(),
    };
    let mut rig = Rig::new(2);
    rig.task = crate::task::Regression::of(23);
    let part = rig.run([Script::new("sizes", decide)]).completed();
    // 2 x 2, then 2 x 5 at once, since `step-begin` still counts, then 3 each.
    assert_eq!(sizes(&part, 0, 23), [2, 2, 5, 5, 3, 3, 3]);
    assert_eq!(sizes(&part, 1, 23), [3, 3, 3, 3, 3, 3, 3, 2]);
    let totals: Vec<_> = part.seen().iter().map(|seen| seen.progress.total_steps.unwrap()).collect();
    // 6 steps an epoch; from the first change on a forecast, and in the end the truth.
    assert_eq!((totals[0], totals.last().copied()), (12, Some(part.report.progress.step)));
}

#[test]
fn drop_last_leaves_out_what_fills_no_batch() {
    let mut rig = Rig::new(2);
    rig.task = crate::task::Regression::of(23);
    rig.settings.drop_last = true;
    let part = rig.run([Script::silent("seer")]).completed();
    assert_eq!((part.probe.samples(0).len(), part.report.progress.step), (20, 10));
    assert_eq!(part.seen()[0].progress.total_steps, Some(10));
}

#[test]
fn a_request_from_outside_finishes_the_step() {
    let rig = Rig::new(4);
    let flag = rig.stop.clone();
    let raise = move |seen: &Seen, _: &[Seen]| {
        if seen.is(Hook::Gradients, 1) {
            flag.request("SIGTERM");
        }
        Vec::new()
    };
    let part = rig.run([Script::new("raises", raise)]);
    assert_eq!(part.ending(), "interrupted by SIGTERM");
    assert_eq!((part.report.progress.step, part.checkpoints()), (2, vec!["step-2"]));
    assert_eq!(part.count(Hook::EvaluateEnd), 0, "whoever interrupts does not want to wait");
}
