//! Stories of folders that telemetry itself has written, so that what is written is what is read.

use std::{fs, sync::Arc};

use host_callback::{Change, Decision, Hook, Identity, Record, Verdict};
use host_trainer::{Ending, Observer, RunEvent};

use super::{
    entry::Actor,
    line::{Line, Place},
    *,
};
use crate::{
    run_folder::RunFolder,
    telemetry::{self, Display, Telemetry, samples, words},
};

impl Line {
    /// A line with somebody's words in it.
    pub(crate) fn sample(step: u64, why: &str) -> Self {
        let by = Actor { version: Some("1.2.3".into()), ..Actor::named("a") };
        let line = Self::deed(Place { step, epoch: step as f64 / 10.0 }, "stop", "stop the run").by(by);
        Self { hook: Some(Hook::EvaluateEnd), why: words::short(why), ..line }
    }
}

/// A run that is being made up.
struct Run {
    runs: tempfile::TempDir,
    folder: RunFolder,
    telemetry: Telemetry,
}

impl Run {
    fn new() -> Self {
        let runs = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(runs.path(), "run").unwrap();
        let telemetry = Telemetry::create(&folder, Display::Quiet).unwrap();
        let mut run = Self { runs, folder, telemetry };
        run.telemetry.tell(telemetry::Story::new("task", "classification: mlp 4-3"));
        let values = samples::values(&[("learning-rate/body", 0.1), ("learning-rate/head", 0.1), ("loss", 2.0)]);
        run.observe(&RunEvent::Started { device: "cpu", parameters: 12, progress: samples::at(0) });
        run.observe(&RunEvent::Logged { progress: samples::at(1), values: &values, performance: &[] });
        run
    }

    fn observe(&mut self, event: &RunEvent<'_>) {
        self.telemetry.observe(event);
    }

    fn decide(&mut self, step: u64, hook: Hook, by: &str, decision: Decision, changes: &[(&str, f64, f64)]) {
        self.say(step, hook, by, decision, Verdict::Applied, changes);
    }

    fn say(
        &mut self,
        step: u64,
        hook: Hook,
        by: &str,
        decision: Decision,
        verdict: Verdict,
        changes: &[(&str, f64, f64)],
    ) {
        let change = |&(knob, before, after): &(&str, f64, f64)| Change { knob: knob.into(), before, after };
        let changes = changes.iter().map(change).collect();
        let by = Identity { instance: by.parse().unwrap(), ..samples::identity().as_ref().clone() };
        let record = Record { by: Arc::new(by), decision, verdict, changes };
        self.observe(&RunEvent::Decided { progress: samples::at(step), hook, record: &record });
        // Writes what still waits.
        self.telemetry.mark();
    }

    fn evaluate(&mut self, step: u64, loss: f64) {
        let values = samples::values(&[("eval/accuracy", 0.5), ("eval/loss", loss)]);
        self.observe(&RunEvent::Evaluated { progress: samples::at(step), values: &values, seconds: 0.1 });
    }

    fn read(&self, wanted: Wanted) -> Story {
        read(self.folder.path(), wanted).unwrap()
    }

    fn told(&self) -> Vec<String> {
        self.read(Wanted::default()).lines.iter().map(Line::words).collect()
    }
}

fn set(value: f64) -> Decision {
    Decision::Set { knob: "learning-rate".into(), value }
}

fn both(before: f64, after: f64) -> [(&'static str, f64, f64); 2] {
    [("learning-rate/body", before, after), ("learning-rate/head", before, after)]
}

#[test]
fn a_change_has_its_reason_and_what_followed() {
    let mut run = Run::new();
    run.evaluate(10, 0.31);
    run.decide(10, Hook::EvaluateEnd, "plateau", Decision::Note("no better for 3 checks".into()), &[]);
    run.decide(10, Hook::EvaluateEnd, "plateau", set(0.05), &both(0.1, 0.05));
    run.decide(10, Hook::EvaluateEnd, "plateau", Decision::Report { name: "wait".into(), value: 0.0 }, &[]);
    run.decide(10, Hook::EvaluateEnd, "quiet", set(0.5), &[("weight-decay/body", 0.0, 0.5)]);
    run.decide(10, Hook::EvaluateEnd, "quiet", Decision::Report { name: "best".into(), value: 0.25 }, &[]);
    run.evaluate(20, 0.28);
    assert_eq!(
        run.told()[2..],
        [
            "step 10 · epoch 1.00 · evaluate-end · plateau 1.2.3: learning-rate/* 0.1 → 0.05 (no better for 3 checks), \
             then eval/loss 0.3100 → 0.2800",
            "step 10 · epoch 1.00 · evaluate-end · quiet 1.2.3: weight-decay/body 0 → 0.5 (reports best 0.2500), \
             then eval/loss 0.3100 → 0.2800",
            "step 20 · epoch 2.00: evaluation: eval/accuracy 0.5000, eval/loss 0.2800",
        ]
    );
}

#[test]
fn b14_all_who_wrote_one_knob_are_on_its_line_with_the_value_that_counts() {
    let mut run = Run::new();
    run.decide(3, Hook::StepBegin, "zeta", set(0.2), &both(0.1, 0.2));
    run.decide(3, Hook::StepBegin, "zeta", Decision::Note("too slow".into()), &[]);
    run.decide(3, Hook::StepBegin, "mid", Decision::Evaluate, &[]);
    run.decide(3, Hook::StepBegin, "alpha", set(0.3), &both(0.2, 0.3));
    assert_eq!(
        run.told()[1..],
        [
            "step 3 · epoch 0.30 · step-begin · mid 1.2.3: evaluate",
            "step 3 · epoch 0.30 · step-begin · zeta 1.2.3, alpha 1.2.3: learning-rate/* 0.1 → 0.3 (zeta: too slow; \
             zeta 0.2, then alpha 0.3, which counts)",
        ]
    );
}

#[test]
fn refusals_restores_skips_and_failures_say_why() {
    let mut run = Run::new();
    let hook = Hook::Gradients;
    run.say(4, hook, "a", set(f64::NAN), Verdict::Refused("NaN is no value".into()), &[]);
    run.decide(4, hook, "a", Decision::Skip("the loss is NaN".into()), &[]);
    run.decide(4, hook, "a", Decision::Skip("the loss is NaN".into()), &[]);
    run.say(4, hook, "b", Decision::Skip("me too".into()), Verdict::Merged, &[]);
    run.observe(&RunEvent::Restored { progress: samples::at(5), tag: "best", step: 2 });
    let failure = samples::failure("boom");
    run.observe(&RunEvent::CallbackFailed { progress: samples::at(5), hook, failure: &failure });
    run.decide(5, hook, "a", Decision::Restore("best".into()), &[]);
    run.decide(5, hook, "a", Decision::Note("going back".into()), &[]);
    run.observe(&RunEvent::Saved { progress: samples::at(6), checkpoint: "step-6", tags: &["x".into()], seconds: 0.1 });
    let ending = Ending::Stopped { by: "a".into(), reasons: vec!["enough".into()] };
    let evaluation = samples::values(&[("eval/loss", 0.5)]).into_iter().collect();
    let progress = samples::at(6);
    run.observe(&RunEvent::Ended { progress, ending: &ending, evaluation: &evaluation, callbacks: &[] });
    assert_eq!(
        run.told(),
        [
            "step 0 · epoch 0.00: training begins with 12 parameters on cpu",
            "step 4 · epoch 0.40 · gradients · a 1.2.3: set learning-rate to NaN refused: NaN is no value; \
             drop the update (the loss is NaN)",
            "step 4 · epoch 0.40 · gradients · a 1.2.3: drop the update (the loss is NaN)",
            "step 4 · epoch 0.40 · gradients · b 1.2.3: drop the update, asked for already (me too)",
            "step 5 · epoch 0.50 · gradients · a 1.2.3: failed (trap): boom; a new instance goes on (fuel 1,234, 2ms)",
            "step 5 · epoch 0.50 · gradients · a 1.2.3: restore `best`, saved at step 2 (going back)",
            "step 6 · epoch 0.60: saved step-6 as x",
            "step 6 · epoch 0.60 · a: the run ends, stopped: a: enough; it leaves eval/loss 0.5000",
        ]
    );
    let story = run.read(Wanted::default());
    let rows = story.facts.rows();
    let row = |name: &str| rows.iter().find(|row| row.0 == name).map(|row| row.1.as_str());
    assert_eq!(row("task"), Some("classification: mlp 4-3, 12 parameters"));
    assert_eq!(row("length"), Some("6 steps, 0.60 epochs, 24 samples"));
    assert_eq!(row("stopped"), Some("a: enough"));
    assert_eq!(row("eval/loss"), Some("0.5000"));
    let [instance, plugin, sha256, did] = story.cast[0].row();
    assert_eq!((&*instance, &*plugin, &*sha256), ("a", "plug 1.2.3", "abababababab"));
    assert_eq!(did, "4 applied, 1 refused (1 note, 1 restore, 1 set, 2 skip), 1 failure");
}

#[test]
fn a_family_is_called_so_only_when_all_of_it_went_the_same_way() {
    let mut run = Run::new();
    run.decide(1, Hook::StepEnd, "a", set(0.2), &both(0.1, 0.2)[..1]);
    run.decide(2, Hook::StepEnd, "a", set(0.3), &[("learning-rate/body", 0.2, 0.3), ("learning-rate/head", 0.1, 0.3)]);
    run.decide(3, Hook::StepEnd, "a", set(1.0), &[("x/a", 0.0, 1.0), ("x/b", 0.0, 1.0), ("x", 0.0, 1.0)]);
    let what: Vec<String> = run.read(Wanted::default()).lines[1..].iter().map(Line::what).collect();
    assert_eq!(
        what,
        [
            "learning-rate/body 0.1 → 0.2",
            "learning-rate/body 0.2 → 0.3, learning-rate/head 0.1 → 0.3",
            "x/{a, b} 0 → 1, x 0 → 1",
        ]
    );
}

#[test]
fn filters_narrow_the_story_before_it_is_folded() {
    let mut run = Run::new();
    for step in 0..40 {
        run.decide(step, Hook::StepBegin, "schedule", set(0.1), &both(0.1 + step as f64, 1.1 + step as f64));
        run.decide(step, Hook::StepEnd, "watcher", Decision::Log, &[]);
    }
    let told = |knob: Option<&str>, by: Option<&str>, steps: Option<&str>, all| {
        let steps = steps.map(|steps| steps.parse().unwrap());
        let filter = Filter { knob: knob.map(Into::into), by: by.map(Into::into), steps };
        let story = run.read(Wanted { filter, all });
        story
            .check()
            .map(|()| story.lines.iter().map(Line::words).collect::<Vec<_>>())
            .map_err(|problems| problems.render(crate::terminal::Look::PLAIN))
    };
    assert_eq!(
        told(Some("learning-rate"), None, Some("12"), false).unwrap(),
        ["step 12 · epoch 1.20 · step-begin · schedule 1.2.3: learning-rate/* 12.1 → 13.1"]
    );
    assert_eq!(told(Some("learning-rate*"), None, None, false).unwrap().len(), 1);
    assert_eq!(told(Some("learning-rate/head"), Some("sched*"), None, true).unwrap().len(), 40);
    assert_eq!(told(None, Some("watcher"), Some("3..=5"), false).unwrap().len(), 3);
    for (knob, by, steps, said) in [
        (Some("learnin-rate"), None, None, &["did you mean `learning-rate/", "there are: learning-rate/body, "][..]),
        (None, Some("shedule"), None, &["did you mean `schedule`", "there are: schedule, watcher"]),
        (Some("learning-rate"), None, Some("100.."), &["the nearest ones are at step 39"]),
        (Some("learning-rate"), Some("watcher"), None, &["no line fits all of them"]),
    ] {
        let error = told(knob, by, steps, false).unwrap_err();
        assert!(said.iter().all(|words| error.contains(words)), "{said:?} are not in {error}");
    }
}

#[test]
fn a_run_that_was_killed_tells_what_it_had_written() {
    let mut run = Run::new();
    run.evaluate(10, 0.5);
    run.evaluate(20, f64::NAN);
    let path = run.folder.file("timeline.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{}not JSON\n{{\"event\":\"new\",\"step\":20}}\n{{\"event\":\"eva", text)).unwrap();
    let story = run.read(Wanted::default());
    assert_eq!(story.lines.len(), 3);
    let notes = story.notes.join("\n");
    for part in [
        "last line of timeline.jsonl is not complete",
        "1 lines of timeline.jsonl cannot",
        "1 lines of timeline.jsonl are",
    ] {
        assert!(notes.contains(part), "{part} is not in {notes}");
    }
    let rows = story.facts.rows();
    assert!(rows.iter().any(|row| row.0 == "not ended"), "{rows:?}");
    assert!(rows.contains(&("eval/loss".into(), "NaN (best 0.5000 at step 10)".into())), "{rows:?}");
    assert!(!is_run(run.runs.path()) && is_run(run.folder.path()));
}
