//! Nothing is computed that nobody reads.
//!
//! What the values are is in `order` and `numerics`.

use host_callback::Hook;
use host_trainer::Span;

use crate::{rig::Rig, script::Script};

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
    // A value that was computed in a step is known until its end: so it shows whether it was.
    let late = || Script::silent("late").listens(&[Hook::StepEnd], 1, &["gradient-norm"]);
    let known = |rig: &Rig, scripts: Vec<Script>| {
        let part = rig.run(scripts).completed();
        part.seen().iter().filter(|seen| seen.value("gradient-norm").is_some()).count()
    };
    let mut rig = Rig::new(4);
    assert_eq!(known(&rig, vec![late()]), 0, "nobody reads at `gradients`");
    let early = Script::silent("early").listens(&[Hook::Gradients], 4, &["gradient-nonfinite"]);
    assert_eq!(known(&rig, vec![late(), early]), 2, "at every fourth step");
    rig.settings.log_every = Span::Steps(2);
    assert_eq!(known(&rig, vec![late()]), 4, "for the log");
    rig.settings.clip_norm = 1.0;
    assert_eq!(known(&rig, vec![late()]), 8, "for clipping");
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
