//! A background callback never holds the loop up: what waits, what is dropped, what comes back, how it ends.
//!
//! Nothing here waits for a clock: callbacks stop at gates that tests open, and tests wait for the thread's signals.

use std::sync::{
    Weak,
    mpsc::{Receiver, Sender, channel},
};

use host_callback::{Hook, Moment, Progress};

use super::*;

/// What a test callback does with an event.
type Deed = dyn FnMut(&Event) -> Result<Vec<Decision>, CallbackFailure> + Send;

/// A callback whose state is how many events it has seen.
struct Probe {
    identity: Arc<Identity>,
    seen: u64,
    usage: Usage,
    failing_save: Option<CallbackFailure>,
    deed: Box<Deed>,
}

fn probe(deed: impl FnMut(&Event) -> Result<Vec<Decision>, CallbackFailure> + Send + 'static) -> Probe {
    let identity =
        Identity { instance: "probe".parse().unwrap(), plugin: "probe".into(), version: "1.0.0".into(), sha256: None };
    let (usage, failing_save) = (Usage::default(), None);
    Probe { identity: Arc::new(identity), seen: 0, usage, failing_save, deed: Box::new(deed) }
}

impl Callback for Probe {
    fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    fn order(&self) -> i32 {
        7
    }

    fn subscriptions(&self) -> &[Subscription] {
        &[]
    }

    fn handle(&mut self, event: &Event) -> Result<Vec<Decision>, CallbackFailure> {
        self.seen += 1;
        self.usage.fuel += 1;
        (self.deed)(event)
    }

    fn save(&mut self) -> Result<Option<(u32, Vec<u8>)>, CallbackFailure> {
        match self.failing_save.take() {
            Some(failure) => Err(failure),
            None => Ok(Some((3, self.seen.to_string().into_bytes()))),
        }
    }

    fn load(&mut self, _version: u32, state: &[u8]) -> Result<(), CallbackFailure> {
        let digits = std::str::from_utf8(state).unwrap();
        self.seen = digits.parse().map_err(|_| failure("no number"))?;
        Ok(())
    }

    fn usage(&self) -> Usage {
        self.usage
    }
}

fn failure(message: &str) -> CallbackFailure {
    Fault::new(FailureKind::Error, message).with(Consequence::Restart)
}

fn event(hook: Hook, step: u64) -> Event {
    let moment =
        Moment { hook, occurrence: 1, progress: Progress { step, ..Progress::default() }, detail: String::new() };
    Event { moment, scalars: Vec::new(), vectors: Vec::new(), texts: Vec::new() }
}

/// A report of the step that an event has.
fn step_of(event: &Event) -> Vec<Decision> {
    vec![Decision::Report { name: "step".into(), value: event.moment.progress.step as f64 }]
}

/// Steps that were reported.
fn steps<'a>(answers: impl IntoIterator<Item = &'a Vec<Decision>>) -> Vec<u64> {
    let step = |decision: &Decision| match decision {
        Decision::Report { value, .. } => *value as u64,
        other => panic!("{other:?}"),
    };
    answers.into_iter().flatten().map(step).collect()
}

/// Stops at each event until the gate lets it through, and says before that it is there.
struct Gate {
    arrived: Receiver<()>,
    open: Sender<()>,
}

fn gated() -> (Probe, Gate) {
    let ((arrive, arrived), (open, opened)) = (channel(), channel());
    let deed = move |event: &Event| {
        // A test that is over has no gate any more.
        let _ = arrive.send(());
        let _ = opened.recv();
        Ok(step_of(event))
    };
    (probe(deed), Gate { arrived, open })
}

fn background(probe: Probe, queue: usize) -> Background {
    let drain = Duration::from_secs(3600);
    Background::new(probe, BackgroundSettings { queue, drain })
}

impl Background {
    /// Waits until every event is answered.
    fn settle(&self) {
        self.shared.settle();
    }
}

#[test]
fn who_it_is_and_when_it_is_called_is_the_callbacks_affair() {
    let background = background(probe(|_| Ok(Vec::new())), 1);
    assert_eq!((background.identity().instance.as_str(), background.order()), ("probe", 7));
    assert_eq!(background.lag(), Lag::default());
}

#[test]
fn the_loop_never_waits_and_gets_answers_later_in_order() {
    let (probe, gate) = gated();
    let mut background = background(probe, 8);
    for step in 1..=5 {
        assert_eq!(background.handle(&event(Hook::StepEnd, step)), Ok(Vec::new()), "nothing can be answered yet");
    }
    for _ in 1..=5 {
        gate.open.send(()).unwrap();
    }
    background.settle();
    let answer = background.handle(&event(Hook::StepEnd, 6)).unwrap();
    assert_eq!(steps([&answer]), [1, 2, 3, 4, 5]);
    gate.open.send(()).unwrap();
    assert_eq!(steps(&background.finish()), [6]);
    assert_eq!(background.lag(), Lag::default());
}

#[test]
fn a_full_queue_drops_the_oldest_of_the_same_hook_and_otherwise_the_oldest() {
    let (probe, gate) = gated();
    let mut background = background(probe, 3);
    let mut send = |hook, step| background.handle(&event(hook, step)).unwrap();
    send(Hook::StepEnd, 1);
    gate.arrived.recv().unwrap();
    // The first one is being handled; these three wait.
    send(Hook::EvaluateEnd, 2);
    send(Hook::StepEnd, 3);
    send(Hook::StepEnd, 4);
    send(Hook::StepEnd, 5); // instead of 3
    send(Hook::EpochEnd, 6); // instead of 2
    send(Hook::StepEnd, 7); // instead of 4
    assert_eq!(background.lag(), Lag { dropped: 3, unseen: 7 });
    for _ in 0..4 {
        gate.open.send(()).unwrap();
    }
    assert_eq!(steps(&background.finish()), [1, 5, 6, 7]);
    assert_eq!(background.lag(), Lag { dropped: 3, unseen: 0 });
}

#[test]
fn answers_come_whole_and_no_more_than_are_looked_at() {
    for (size, portions) in [(1, [5, 0]), (100, [200, 200]), (10_000, [10_000, 10_000])] {
        let (mut probe, gate) = gated();
        let mut deed = probe.deed;
        probe.deed = Box::new(move |event| Ok(vec![deed(event)?; size].concat()));
        let mut background = background(probe, 8);
        for step in 1..=5 {
            background.handle(&event(Hook::StepEnd, step)).unwrap();
        }
        for _ in 1..=5 {
            gate.open.send(()).unwrap();
        }
        background.settle();
        // The gate is closed again, so these two are not answered.
        let given = [6, 7].map(|step| background.handle(&event(Hook::StepEnd, step)).unwrap().len());
        assert_eq!(given, portions, "{size}");
        for _ in 6..=7 {
            gate.open.send(()).unwrap();
        }
        let left: usize = background.finish().iter().map(Vec::len).sum();
        assert_eq!(left, 7 * size - given.iter().sum::<usize>());
    }
}

#[test]
fn a_failure_is_told_at_the_next_event_and_answers_follow() {
    let deed = |event: &Event| match event.moment.progress.step {
        2 => Err(failure("the second")),
        _ => Ok(step_of(event)),
    };
    let mut background = background(probe(deed), 8);
    for step in 1..=2 {
        background.handle(&event(Hook::StepEnd, step)).unwrap();
    }
    background.settle();
    assert_eq!(background.handle(&event(Hook::StepEnd, 3)), Err(failure("the second")));
    background.settle();
    assert_eq!(steps([&background.handle(&event(Hook::StepEnd, 4)).unwrap()]).last(), Some(&3));
    assert_eq!(background.take_failure(), None, "it was told once");
}

#[test]
fn a_failure_at_the_last_event_is_told_after_the_end() {
    let mut background = background(probe(|_| Err(failure("the last"))), 8);
    background.handle(&event(Hook::TrainEnd, 1)).unwrap();
    assert_eq!(background.finish(), Vec::<Vec<Decision>>::new());
    assert_eq!(background.take_failure(), Some(failure("the last")));
    assert_eq!(background.take_failure(), None);
}

#[test]
fn a_panic_costs_the_callback_and_nothing_else() {
    let mut background = background(probe(|_| panic!("as the test says")), 8);
    background.handle(&event(Hook::StepEnd, 1)).unwrap();
    background.settle();
    let failure = background.handle(&event(Hook::StepEnd, 2)).unwrap_err();
    assert_eq!((failure.kind, failure.consequence), (FailureKind::Host, Consequence::Disabled));
    assert_eq!(failure.message, "as the test says");
    assert_eq!(background.handle(&event(Hook::StepEnd, 3)), Ok(Vec::new()));
    assert_eq!(background.lag().dropped, 2, "nobody will look at what comes now");
    assert_eq!(background.finish(), Vec::<Vec<Decision>>::new());
    assert_eq!(background.save(), Ok(None));
}

#[test]
fn the_state_is_that_of_the_last_answer_and_says_how_old_it_is() {
    let (probe, gate) = gated();
    let mut background = background(probe, 8);
    background.load(3, b"40").unwrap();
    assert_eq!(background.save(), Ok(Some((3, b"40".to_vec()))), "asked directly before the first event");
    background.handle(&event(Hook::StepEnd, 41)).unwrap();
    gate.arrived.recv().unwrap();
    assert_eq!(background.save(), Ok(Some((3, b"40".to_vec()))), "what was loaded, without waiting");
    assert_eq!(background.lag().unseen, 1);
    gate.open.send(()).unwrap();
    background.settle();
    assert_eq!(background.save(), Ok(Some((3, b"41".to_vec()))));
    assert_eq!(background.lag().unseen, 0);
    background.handle(&event(Hook::StepEnd, 42)).unwrap();
    assert_eq!(background.lag().unseen, 1);
    let late = background.load(3, b"1").unwrap_err();
    assert_eq!((late.kind, late.message.as_str()), (FailureKind::Host, "a state came after the first event"));
    gate.open.send(()).unwrap();
    background.finish();
    assert_eq!(background.save(), Ok(Some((3, b"42".to_vec()))), "asked directly after the last event");
    assert_eq!(background.usage().fuel, 2);
}

#[test]
fn a_state_that_is_not_taken_back_is_an_error_at_once() {
    let mut background = background(probe(|_| Ok(Vec::new())), 8);
    assert_eq!(background.load(3, b"x"), Err(failure("no number")));
}

#[test]
fn a_failing_save_is_told_and_the_older_state_stays() {
    let mut probe = probe(|event| Ok(step_of(event)));
    probe.failing_save = Some(failure("no save"));
    let mut background = background(probe, 8);
    background.handle(&event(Hook::StepEnd, 1)).unwrap();
    background.settle();
    assert_eq!(background.save(), Ok(None));
    assert_eq!(background.take_failure(), Some(failure("no save")));
    background.handle(&event(Hook::StepEnd, 2)).unwrap();
    background.settle();
    assert_eq!(background.save(), Ok(Some((3, b"2".to_vec()))));
}

/// Lets the callback go on as soon as its thread is told to end.
fn open_at_the_end(shared: Arc<Shared>, open: Sender<()>) -> JoinHandle<()> {
    thread::spawn(move || {
        shared.until_it_ends();
        open.send(()).unwrap();
    })
}

#[test]
fn the_end_waits_no_longer_than_its_bound_and_drops_the_rest() {
    let (probe, gate) = gated();
    let settings = BackgroundSettings { queue: 8, drain: Duration::ZERO };
    let mut background = Background::new(probe, settings);
    background.handle(&event(Hook::StepEnd, 1)).unwrap();
    gate.arrived.recv().unwrap();
    background.handle(&event(Hook::StepEnd, 2)).unwrap();
    background.handle(&event(Hook::StepEnd, 3)).unwrap();
    let opener = open_at_the_end(Arc::clone(&background.shared), gate.open);
    assert_eq!(steps(&background.finish()), [1], "the one that it was at");
    assert_eq!(background.lag().dropped, 2);
    opener.join().unwrap();
}

#[test]
fn dropping_it_ends_the_thread_and_drops_what_waits() {
    let (mut probe, gate) = gated();
    let alive = Arc::new(());
    let (weak, mut deed) = (Arc::downgrade(&alive), probe.deed);
    probe.deed = Box::new(move |event| {
        let _alive = &alive;
        deed(event)
    });
    let mut background = background(probe, 8);
    for step in 1..=3 {
        background.handle(&event(Hook::StepEnd, step)).unwrap();
    }
    gate.arrived.recv().unwrap();
    let opener = open_at_the_end(Arc::clone(&background.shared), gate.open);
    drop(background);
    assert_eq!(Weak::strong_count(&weak), 0, "the callback is gone, and so is the thread that held it");
    assert!(gate.arrived.recv().is_err(), "it was at no other event");
    opener.join().unwrap();
}

#[test]
fn one_that_was_never_called_has_no_thread() {
    let mut background = background(probe(|_| Ok(Vec::new())), 8);
    assert!(matches!(background.place, Place::Here(_)));
    assert_eq!(background.finish(), Vec::<Vec<Decision>>::new());
    assert!(matches!(background.place, Place::Here(_)));
}
