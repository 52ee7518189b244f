//! Decisions that are well formed and have no business being carried out.
//! Each has to be refused by itself, named in the timeline.

use host_sdk::bindings::train_host::callback::types::{Assignment, Decision, Report};

fn assignment(knob: &str, value: f64) -> Assignment {
    Assignment { knob: knob.into(), value }
}

/// Values that a knob can't have.
pub(crate) fn bad_numbers() -> Vec<Decision> {
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, f64::MAX];
    let set = values.map(|value| Decision::Set(assignment("learning-rate", value)));
    let scale = values.map(|value| Decision::Scale(assignment("learning-rate", value)));
    set.into_iter().chain(scale).collect()
}

/// Names that nothing has, and some that nothing may have.
pub(crate) fn unknown_names() -> Vec<Decision> {
    vec![
        Decision::Set(assignment("no-such-knob", 1.0)),
        Decision::Scale(assignment("learning-rate/no-such-group", 1.0)),
        Decision::Set(assignment("", 1.0)),
        Decision::Restore("no-such-tag".into()),
        Decision::Restore("../../outside".into()),
        Decision::Save("../../outside".into()),
        Decision::Save("Upper Case".into()),
        Decision::Report(Report { name: String::new(), value: 1.0 }),
        Decision::Report(Report { name: "two words\nand a line".into(), value: 1.0 }),
    ]
}

/// So many writes to one knob, all of them in range.
pub(crate) fn many(count: u64) -> Vec<Decision> {
    (0..count).map(|_| Decision::Scale(assignment("learning-rate", 1.0))).collect()
}
