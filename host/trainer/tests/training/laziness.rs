//! Nothing is computed that nobody reads.
//!
//! What the values are is in `order` and `numerics`.

use host_callback::{Decision, Hook};
use host_trainer::Span;

use crate::{
    rig::Rig,
    script::{Script, Seen},
};

/// Runs 8 steps of 2 micro-batches; says how many batches were measured.
fn measured(log_every: u64, script: Script) -> usize {
    let mut rig = Rig::new(4);
    rig.settings.log_every = Span::Steps(log_every);
    rig.run([script]).completed().probe.measured.get()
}

#[test]
fn a_value_is_computed_when_somebody_reads_it() {
    let read = |hooks: &[Hook], every| Script::silent("reader").listens(hooks, every, &["absolute-error"]);
    for (what, log_every, script, expected) in [
        ("nobody reads", 1000, Script::silent("blind"), 0),
        ("somebody reads another value", 1000, Script::silent("reader").reads(&["loss", "eval/*"]), 0),
        ("every second step", 1000, read(&[Hook::StepEnd], 2), 8),
        ("two hooks of one step", 1000, read(&[Hook::Gradients, Hook::StepEnd], 1), 16),
        ("before there is a value", 1000, read(&[Hook::StepBegin, Hook::TrainBegin], 1), 0),
        ("only the log", 4, Script::silent("blind"), 4),
    ] {
        assert_eq!(measured(log_every, script), expected, "{what}");
    }
}

#[test]
fn statistics_of_gradients_are_computed_when_somebody_reads_them() {
    // What was computed in a step is known until its end, and a request makes a log record of each step: the norm in a
    // record shows whether it was computed.
    let logs = || {
        let ask = |seen: &Seen, _: &[Seen]| if seen.hook == Hook::StepEnd { vec![Decision::Log] } else { Vec::new() };
        Script::new("logs", ask).listens(&[Hook::StepEnd], 1, &[])
    };
    let known = |rig: &Rig, script: Script| {
        let part = rig.run([logs(), script]).completed();
        assert_eq!(part.told("logged").len(), 8);
        let has_norm = |record: &&&serde_json::Value| {
            record["values"].as_array().unwrap().iter().any(|value| value[0] == "gradient-norm")
        };
        part.told("logged").iter().filter(has_norm).count()
    };
    let reads = |hook, every, name: &str| Script::silent("reads").listens(&[hook], every, &[name]);
    let mut rig = Rig::new(4);
    assert_eq!(known(&rig, reads(Hook::StepEnd, 1, "loss")), 0, "nobody reads them");
    assert_eq!(known(&rig, reads(Hook::Gradients, 4, "gradient-nonfinite")), 2, "at every fourth step");
    assert_eq!(known(&rig, reads(Hook::StepEnd, 2, "gradient-max")), 4, "after the update, at every second step");
    assert_eq!(known(&rig, reads(Hook::StepEnd, 1, "gradient-norm/bias")), 0, "not all of them");
    assert_eq!(known(&rig, reads(Hook::StepBegin, 1, "gradient-norm")), 0, "where there are none");
    rig.settings.log_every = Span::Steps(2);
    assert_eq!(known(&rig, reads(Hook::StepEnd, 1, "loss")), 4, "for the log");
    rig.settings.clip_norm = 1.0;
    assert_eq!(known(&rig, reads(Hook::StepEnd, 1, "loss")), 8, "for clipping");
}

#[test]
fn statistics_of_gradients_are_known_after_the_update_where_they_are_read() {
    let names = ["gradient-norm", "gradient-max/bias", "gradient-nonfinite"];
    let mut rig = Rig::new(4);
    rig.settings.log_every = Span::Steps(3);
    let early = Script::silent("early").listens(&[Hook::Gradients], 1, &names);
    let part = rig.run([early, Script::silent("late").listens(&[Hook::StepEnd, Hook::Log], 1, &names)]).completed();
    let [early, late] = [0, 1].map(|at| part.logs[at].borrow().clone());
    let alone = rig.run([Script::silent("late").listens(&[Hook::StepEnd, Hook::Log], 1, &names)]).completed();
    assert_eq!(alone.seen(), late, "whoever else reads them");
    assert_eq!(late.iter().filter(|seen| seen.hook == Hook::Log).count(), 2);
    for seen in &late {
        // The hook `gradients` comes before the step is counted.
        let then = early.iter().find(|early| early.step() + 1 == seen.step()).unwrap();
        for name in names {
            assert_eq!(seen.value(name), then.value(name), "{name} at {}", seen.hook);
            assert!(seen.value(name).is_some(), "{name} at {}", seen.hook);
        }
    }
}

#[test]
fn a_device_is_not_waited_for_unless_somebody_reads() {
    let mut rig = Rig::new(2);
    rig.reads_are_free = false;
    let losses = |script| {
        let part = rig.run([script]).completed();
        part.told("stepped").iter().map(|event| event["loss"].is_number()).collect::<Vec<_>>()
    };
    assert_eq!(losses(Script::silent("blind")), [false; 4]);
    let reader = Script::silent("reader").listens(&[Hook::Gradients], 2, &["loss"]);
    assert_eq!(losses(reader), [false, true, false, true]);
}

#[test]
fn a_list_of_numbers_is_computed_when_somebody_reads_it() {
    let read = |hooks: &[Hook], every| Script::silent("reader").listens(hooks, every, &["errors"]);
    for (what, script, expected) in [
        ("nobody reads", Script::silent("blind").reads(&["loss"]), 0),
        ("every fourth step", read(&[Hook::StepEnd], 4), 4),
        ("two hooks of one step", read(&[Hook::Gradients, Hook::StepEnd], 1), 16),
        ("before there is one", read(&[Hook::StepBegin, Hook::EvaluateEnd], 1), 0),
    ] {
        let part = Rig::new(4).run([script]).completed();
        assert_eq!(part.probe.vectors.get(), expected, "{what}: two micro-batches a step");
        let lists: Vec<Vec<f32>> =
            part.seen().iter().filter_map(|seen| seen.vector("errors").map(<[f32]>::to_vec)).collect();
        assert!(lists.iter().all(|list| list.len() == 4), "{what}: one number for each of the step's samples");
        assert_eq!(lists.is_empty(), expected == 0, "{what}");
    }
}

#[test]
fn numbers_over_parameters_are_known_where_they_are_read() {
    let names = ["gradient-norm/bias", "gradient-max", "parameter-norm/*", "update-norm", "update-ratio/weight"];
    let script = Script::silent("reader").listens(&[Hook::StepBegin, Hook::Gradients, Hook::StepEnd], 2, &names);
    let part = Rig::new(4).run([script]).completed();
    let known = |seen: &crate::script::Seen| names.map(|name| seen.value(name).is_some());
    for seen in part.seen() {
        let expected = match seen.hook {
            Hook::StepBegin => [false, false, true, false, false],
            Hook::Gradients => [true, true, true, false, false],
            _ => [true, true, true, true, true],
        };
        assert_eq!(known(&seen), expected, "{}", seen.hook);
    }
    // Adam's first updates have the size of the rates: 0.125 for two biases, 0.0625 for four weights.
    let first = Script::silent("first").listens(&[Hook::StepEnd], 1, &["update-norm/biases", "update-max/weight"]);
    let part = Rig::new(1).run([first]).completed();
    let seen = &part.seen()[0];
    assert!((seen.value("update-norm/biases").unwrap() - 0.125 * 2.0_f64.sqrt()).abs() < 1e-6);
    assert!((seen.value("update-max/weight").unwrap() - 0.0625).abs() < 1e-6);
}

#[test]
fn an_update_that_was_dropped_has_no_size() {
    let script = Script::new("skips", |seen, _| match seen.hook {
        Hook::Gradients => vec![host_callback::Decision::Skip("a test".into())],
        _ => Vec::new(),
    });
    let part = Rig::new(1).run([script.reads(&["update-norm", "parameter-norm"])]).completed();
    let ends: Vec<_> = part.seen().into_iter().filter(|seen| seen.hook == Hook::StepEnd).collect();
    assert!(ends.iter().all(|seen| seen.value("update-norm").is_none() && seen.value("parameter-norm").is_some()));
}
