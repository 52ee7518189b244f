//! Telemetry as a whole: what a run leaves in its folder, how a resumed run goes on, and what a sink that fails
//! does to the others. It does not test single lines' words: the modules do.

use std::{
    fs,
    sync::{
        OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use host_callback::{Decision, Hook, Value as Measured, Verdict};
use host_trainer::Ending;
use serde_json::json;

use super::{files::Kind, *};
use crate::run_folder::JsonLines;

/// A file's text without the time of day.
fn text(folder: &Path, kind: Kind) -> String {
    fs::read_to_string(folder.join(kind.file())).unwrap()
}

fn folder(runs: &tempfile::TempDir) -> RunFolder {
    RunFolder::create(runs.path(), "run").unwrap()
}

/// Telemetry whose clock stands still, and the complaints about its sinks.
fn over(sinks: Vec<Box<dyn Sink>>) -> (Telemetry, Arc<Mutex<Vec<String>>>) {
    let (telemetry, complaints) = (Telemetry::of(sinks), Arc::<Mutex<Vec<String>>>::default());
    let keep = Arc::clone(&complaints);
    let mut inner = telemetry.lock();
    inner.clock = Clock { wall: || SystemTime::UNIX_EPOCH, steady: Instant::now };
    inner.complain = Box::new(move |line| keep.lock().unwrap().push(line.to_owned()));
    drop(inner);
    (telemetry, complaints)
}

/// The events of one step of a run that evaluates and saves at every fifth.
fn step(telemetry: &mut Telemetry, step: u64) {
    let progress = samples::at(step);
    let loss = if step == 7 { f64::NAN } else { 1.0 / step as f64 };
    telemetry.observe(&RunEvent::Stepped { progress, loss: Some(loss), seconds: 0.1 });
    let write = Decision::Set { knob: "learning-rate".into(), value: 0.1 * loss };
    let record = samples::record(write, Verdict::Applied);
    telemetry.observe(&RunEvent::Decided { progress, hook: Hook::StepEnd, record: &record });
    telemetry.observe(&RunEvent::Reported { progress, values: &[("a/x".into(), loss)] });
    let values = [("loss".to_owned(), loss.into()), ("load".to_owned(), Measured::Vector(vec![0.25, 0.75]))];
    let performance = samples::values(&[("time/step", 0.1 + loss)]);
    telemetry.observe(&RunEvent::Logged { progress, values: &values, performance: &performance });
    if step.is_multiple_of(5) {
        let values = samples::values(&[("eval/loss", loss + 1.0)]);
        telemetry.observe(&RunEvent::EvaluationStarted { progress });
        telemetry.observe(&RunEvent::Evaluated { progress, values: &values, seconds: 0.5 });
        let save = samples::record(Decision::Save("best".into()), Verdict::Merged);
        telemetry.observe(&RunEvent::Decided { progress, hook: Hook::EvaluateEnd, record: &save });
    }
}

fn save(telemetry: &mut Telemetry, step: u64) {
    let checkpoint = format!("step-{step}");
    let tags = ["best".to_owned()];
    telemetry.observe(&RunEvent::Saved {
        progress: samples::at(step),
        checkpoint: &checkpoint,
        tags: &tags,
        seconds: 0.2,
    });
}

fn begin(telemetry: &mut Telemetry, step: u64) {
    telemetry.observe(&RunEvent::Started { device: "cpu", parameters: 3, progress: samples::at(step) });
}

fn files(folder: &RunFolder) -> Vec<Box<dyn Sink>> {
    boxed(FileSink::create(folder).unwrap()).collect()
}

#[test]
fn each_kind_of_line_goes_to_its_file() {
    let runs = tempfile::tempdir().unwrap();
    let folder = folder(&runs);
    let (mut telemetry, _) = over(files(&folder));
    telemetry.tell(Story::new("order", "a, b").about("a").with("order", vec!["a", "b"]));
    begin(&mut telemetry, 0);
    [5, 7].into_iter().for_each(|at| step(&mut telemetry, at));
    save(&mut telemetry, 7);
    let failure = samples::failure("boom");
    let progress = samples::at(7);
    telemetry.observe(&RunEvent::CallbackFailed { progress, hook: Hook::SaveEnd, failure: &failure });
    telemetry.observe(&RunEvent::Ended {
        progress,
        ending: &Ending::Completed,
        evaluation: &samples::values(&[("eval/loss", 0.5)]).into_iter().collect(),
        callbacks: &[],
    });
    let path = folder.path();
    assert_eq!(
        text(path, Kind::Metrics),
        r#"{"step":5,"epoch":0.5,"samples":20,"loss":0.2,"load":[0.25,0.75]}
{"step":5,"epoch":0.5,"samples":20,"eval/loss":1.2}
{"step":7,"epoch":0.7,"samples":28,"loss":"NaN","load":[0.25,0.75]}
"#
    );
    assert_eq!(
        text(path, Kind::Performance),
        r#"{"event":"logged","step":5,"time/step":0.30000000000000004}
{"event":"evaluated","step":5,"seconds":0.5}
{"event":"logged","step":7,"time/step":"NaN"}
{"event":"saved","step":7,"checkpoint":"step-7","seconds":0.2}
"#
    );
    assert_eq!(
        text(path, Kind::Reports),
        "{\"step\":5,\"epoch\":0.5,\"samples\":20,\"a/x\":0.2}\n{\"step\":7,\"epoch\":0.7,\"samples\":28,\"a/x\":\"NaN\"}\n"
    );
    let by = format!(r#""instance":"a","plugin":"plug","version":"1.2.3","sha256":"{}""#, "ab".repeat(32));
    let time = r#""time":"1970-01-01T00:00:00.000Z""#;
    let lines = [
        r#"{"event":"story","step":0,"topic":"order","instance":"a","text":"a, b","warning":false,"details":{"order":["a","b"]},"epoch":0.0,TIME}"#,
        r#"{"event":"started","step":0,"total_steps":100,"device":"cpu","parameters":3,"epoch":0.0,TIME}"#,
        r#"{"event":"decided","step":5,"hook":"step-end",BY,"decision":{"set":{"knob":"learning-rate","value":0.020000000000000004}},"outcome":"applied","why":null,"changes":[{"knob":"learning-rate/all","before":0.1,"after":0.020000000000000004}],"epoch":0.5,TIME}"#,
        r#"{"event":"evaluated","step":5,"values":{"eval/loss":1.2},"epoch":0.5,TIME}"#,
        r#"{"event":"decided","step":5,"hook":"evaluate-end",BY,"decision":{"save":"best"},"outcome":"merged","why":null,"changes":[],"epoch":0.5,TIME}"#,
        r#"{"event":"decided","step":7,"hook":"step-end",BY,"decision":{"set":{"knob":"learning-rate","value":"NaN"}},"outcome":"applied","why":null,"changes":[{"knob":"learning-rate/all","before":0.1,"after":"NaN"}],"epoch":0.7,TIME}"#,
        r#"{"event":"saved","step":7,"checkpoint":"step-7","tags":["best"],"epoch":0.7,TIME}"#,
        r#"{"event":"callback-failed","step":7,"hook":"save-end",BY,"cause":"trap","message":"boom","fuel":1234,"seconds":0.002,"consequence":"restart","epoch":0.7,TIME}"#,
        r#"{"event":"ended","step":7,"samples":28,"tokens":0,"status":"completed","stop_reason":"planned length reached","ending":{"kind":"completed"},"evaluation":{"eval/loss":0.5},"epoch":0.7,TIME}"#,
    ];
    let expected: String = lines.iter().map(|line| line.replace("BY", &by).replace("TIME", time) + "\n").collect();
    assert_eq!(text(path, Kind::Timeline), expected);
}

#[test]
fn b26_a_resumed_run_leaves_the_metrics_of_an_uninterrupted_one() {
    let runs = tempfile::tempdir().unwrap();
    let (whole, part) = (folder(&runs), folder(&runs));
    let (mut telemetry, _) = over(files(&whole));
    begin(&mut telemetry, 0);
    (1..=20).for_each(|at| step(&mut telemetry, at));
    let uninterrupted = telemetry.history();

    let (mut telemetry, _) = over(files(&part));
    begin(&mut telemetry, 0);
    (1..=10).for_each(|at| step(&mut telemetry, at));
    let mark = telemetry.mark();
    assert_eq!(mark, json!({ "metrics": 12, "performance": 12, "reports": 10, "timeline": 15 }));
    // After the checkpoint it went on for a while, and died within a line.
    (11..=13).for_each(|at| step(&mut telemetry, at));
    let torn = text(part.path(), Kind::Metrics);
    fs::write(part.file("metrics.jsonl"), &torn[..torn.len() - 9]).unwrap();

    let resumed = folder(&runs);
    let mut telemetry = Telemetry::resume(&resumed, part.path(), &mark, Display::Quiet).unwrap();
    assert_eq!(telemetry.mark(), mark);
    begin(&mut telemetry, 10);
    (11..=20).for_each(|at| step(&mut telemetry, at));
    for kind in [Kind::Metrics, Kind::Performance, Kind::Reports] {
        assert_eq!(text(resumed.path(), kind), text(whole.path(), kind), "{kind:?}");
    }
    let history = telemetry.history();
    assert_eq!(history.best, uninterrupted.best);
    assert_eq!(history.best_evaluation, uninterrupted.best_evaluation);
    assert_eq!(history.evaluations, uninterrupted.evaluations);
    assert_eq!(history.decisions, uninterrupted.decisions);
    // NaN is unequal to itself, but not its text.
    let points = |history: &History| format!("{:?}", history.series["loss"].points().collect::<Vec<_>>());
    assert_eq!(points(&history), points(&uninterrupted));
}

#[test]
fn what_the_parent_lost_is_said_and_no_reason_not_to_go_on() {
    let runs = tempfile::tempdir().unwrap();
    let (parent, resumed) = (folder(&runs), folder(&runs));
    let (mut telemetry, _) = over(files(&parent));
    step(&mut telemetry, 1);
    let mark = json!({ "metrics": 3, "reports": 1 });
    Telemetry::resume(&resumed, parent.path(), &mark, Display::Quiet).unwrap();
    assert_eq!(text(resumed.path(), Kind::Metrics).lines().count(), 1);
    assert!(text(resumed.path(), Kind::Timeline).contains("2 lines"));
    // A checkpoint that somebody else's observer marked says nothing about files.
    let fresh = folder(&runs);
    Telemetry::resume(&fresh, parent.path(), &Value::Null, Display::Quiet).unwrap();
    assert_eq!(text(fresh.path(), Kind::Metrics), "");
}

/// Counts what it takes, and fails from the third on.
struct Failing(Arc<AtomicUsize>);

impl Sink for Failing {
    fn name(&self) -> &str {
        "tracker"
    }

    fn take(&mut self, _: &News<'_>) -> io::Result<()> {
        if self.0.fetch_add(1, Ordering::Relaxed) < 2 { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }
}

#[test]
fn b18_a_sink_that_fails_is_said_once_and_the_others_go_on() {
    let runs = tempfile::tempdir().unwrap();
    let folder = folder(&runs);
    let taken = Arc::new(AtomicUsize::new(0));
    let mut sinks: Vec<Box<dyn Sink>> = vec![Box::new(Failing(Arc::clone(&taken)))];
    sinks.extend(files(&folder));
    let (mut telemetry, complaints) = over(sinks);
    (1..=10).for_each(|at| step(&mut telemetry, at));
    assert_eq!(taken.load(Ordering::Relaxed), 3);
    assert_eq!(
        *complaints.lock().unwrap(),
        ["warning: tracker: no storage space; nothing more is written to it, training goes on"]
    );
    assert_eq!(text(folder.path(), Kind::Metrics).lines().count(), 12);
}

#[test]
fn b18_a_file_that_cannot_be_written_does_not_take_the_others_along() {
    let runs = tempfile::tempdir().unwrap();
    let folder = folder(&runs);
    let mut sinks = files(&folder);
    let read_only = JsonLines::over(fs::File::open(folder.file("metrics.jsonl")).unwrap());
    sinks[0] = Box::new(FileSink::over(Kind::Metrics, read_only));
    let (mut telemetry, complaints) = over(sinks);
    (1..=10).for_each(|at| step(&mut telemetry, at));
    let complaints = complaints.lock().unwrap();
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].starts_with("warning: metrics.jsonl: "), "{complaints:?}");
    assert_eq!(telemetry.mark()["metrics"], 0);
    assert_eq!(text(folder.path(), Kind::Timeline).lines().count(), 14);
}

#[test]
fn decisions_wait_for_another_event_or_for_the_end_of_a_step_after_a_while() {
    static MILLISECONDS: AtomicU64 = AtomicU64::new(0);
    fn steady() -> Instant {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        *BEGAN.get_or_init(Instant::now) + Duration::from_millis(MILLISECONDS.load(Ordering::Relaxed))
    }
    let runs = tempfile::tempdir().unwrap();
    let folder = folder(&runs);
    let (mut telemetry, _) = over(files(&folder));
    telemetry.lock().clock.steady = steady;
    let progress = samples::at(1);
    let record = samples::record(Decision::Evaluate, Verdict::Applied);
    let decided = RunEvent::Decided { progress, hook: Hook::StepEnd, record: &record };
    let stepped = RunEvent::Stepped { progress, loss: None, seconds: 0.1 };
    let logged = RunEvent::Logged { progress, values: &[], performance: &[] };
    let written = || text(folder.path(), Kind::Timeline).lines().count();
    for (at, event, expected) in [
        (0, &decided, 0),
        (0, &decided, 0),
        (99, &stepped, 0),
        (100, &stepped, 2),
        (300, &stepped, 2),
        (300, &decided, 2),
        (399, &stepped, 2),
        (399, &logged, 3),
        (1000, &decided, 3),
    ] {
        MILLISECONDS.store(at, Ordering::Relaxed);
        telemetry.observe(event);
        assert_eq!(written(), expected, "after {at} ms");
    }
    drop(telemetry);
    assert_eq!(written(), 4, "nothing is lost at the end");
}

#[test]
fn a_display_takes_the_complaint_about_another_sink() {
    let screen = Screen::default();
    let sinks: Vec<Box<dyn Sink>> =
        vec![Box::new(Failing(Arc::default())), Box::new(plain::Plain::new(screen.clone()))];
    let (mut telemetry, complaints) = over(sinks);
    (1..=3).for_each(|at| step(&mut telemetry, at));
    assert!(complaints.lock().unwrap().is_empty());
    let seen = String::from_utf8(screen.0.lock().unwrap().clone()).unwrap();
    assert_eq!(seen.matches("warning: tracker").count(), 1);
    assert!(seen.contains("\nstep 3/100 · epoch 0.30 · loss 0.3333\n"), "{seen}");
}

#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
