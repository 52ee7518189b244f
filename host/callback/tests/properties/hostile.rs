//! Decisions that nobody means: any text as name, tag and reason, long ones too, any number, thousands in one answer,
//! new names at every step. Nothing panics, and bounds hold. The rules for sensible ones are the other properties'.

use std::sync::Arc;

use host_callback::{
    Answer, Callback, CallbackFailure, Callbacks as _, Catalog, Chain, Decision, Event, Grant, Hook, Identity,
    KnobSpec, Knobs, Lane, MAX_DECISIONS, Manifest, MeasurementSpec, Moment, NoMeasurements, Outcome, Permit, Progress,
    Request, Subscription, Usage, Verdict, check_report, check_tag, resolve,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::generate::{config, identity};

/// Knobs that take 0 to 1, and one that takes whole numbers from 1 to 64.
const FROM_ZERO_TO_ONE: [&str; 2] = ["learning-rate/encoder", "dropout"];
const WHOLE: &str = "batch-size";

fn knobs() -> Knobs {
    let mut knobs = Knobs::new();
    let mut offer = |name: &str, min, max, whole| {
        let (name, unit, meaning) = (name.into(), "1".into(), String::new());
        knobs.offer(KnobSpec { name, unit, min, max, whole, effective: Hook::StepBegin, meaning }, max / 2.0);
    };
    FROM_ZERO_TO_ONE.into_iter().for_each(|name| offer(name, 0.0, 1.0, false));
    offer(WHOLE, 1.0, 64.0, true);
    knobs
}

/// Everything is asked for.
fn manifest() -> Manifest {
    Manifest {
        name: "hostile".into(),
        version: "1.0.0".into(),
        summary: String::new(),
        requests: Request::ALL.to_vec(),
        knobs: vec!["*".into()],
        lane: Lane::Inline,
        order: 0,
        config_schema: String::new(),
        state_version: 0,
    }
}

/// Any characters, a good name now and then, and now and then a very long text.
fn text() -> impl Strategy<Value = String> {
    let good = [FROM_ZERO_TO_ONE[0], FROM_ZERO_TO_ONE[1], WHOLE, "learning-rate", "best", "loss", "*", ""];
    let odd = ["*".repeat(4_096), "a*".repeat(2_048), "/".repeat(4_096), "x".repeat(5_000), "ü".repeat(2_500)];
    let shown = ["\0", "\u{1b}[2J", "../../outside", "step-1", "last", "-", "a/b", "{}", "`", "\u{202e}", "\u{feff}"];
    prop_oneof![
        8 => select(good.to_vec()).prop_map(str::to_owned),
        4 => vec(any::<char>(), 0..80).prop_map(String::from_iter),
        4 => select(shown.to_vec()).prop_map(str::to_owned),
        1 => select(odd.to_vec()),
    ]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![1 => proptest::num::f64::ANY, 1 => 0.0..2.0, 1 => (-2..70).prop_map(f64::from)]
}

fn decision() -> impl Strategy<Value = Decision> {
    let worded: [fn(String) -> Decision; 7] = [
        Decision::Stop,
        Decision::EndEpoch,
        Decision::Save,
        Decision::Skip,
        Decision::Restore,
        Decision::Mute,
        Decision::Note,
    ];
    prop_oneof![
        4 => (select(worded.to_vec()), text()).prop_map(|(make, text)| make(text)),
        3 => (text(), number()).prop_map(|(knob, value)| Decision::Set { knob, value }),
        3 => (text(), number()).prop_map(|(knob, factor)| Decision::Scale { knob, factor }),
        3 => (text(), number()).prop_map(|(name, value)| Decision::Report { name, value }),
        1 => select(vec![Decision::Evaluate, Decision::Log]),
    ]
}

/// A few decisions over and over, up to 10,000 of them.
fn answer() -> impl Strategy<Value = Vec<Decision>> {
    let many = prop_oneof![6 => 0usize..40, 1 => Just(MAX_DECISIONS), 1 => Just(MAX_DECISIONS + 1), 1 => Just(10_000)];
    (vec(decision(), 1..12), many).prop_map(|(few, many)| few.iter().cycle().take(many).cloned().collect())
}

fn outcome(hook: Hook, knobs: &Knobs, answers: &[Vec<Decision>]) -> Outcome {
    let permit = Permit::new(&manifest(), &Grant::Declared);
    let answer = |(at, decisions): (usize, &Vec<Decision>)| Answer {
        by: identity(&format!("c{at}")),
        permit: &permit,
        decisions: decisions.clone(),
    };
    resolve(hook, answers.iter().enumerate().map(answer).collect(), knobs)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_is_decided_bounds_hold(hook in select(Hook::ALL.to_vec()), answers in vec(answer(), 1..4)) {
        let knobs = knobs();
        let outcome = outcome(hook, &knobs, &answers);
        let looked_at: usize = answers.iter().map(|answer| answer.len().min(MAX_DECISIONS + 1)).sum();
        prop_assert_eq!(outcome.records.len(), looked_at);
        let controls = &outcome.controls;
        prop_assert!(controls.writes.len() <= knobs.len());
        for &(id, value) in &controls.writes {
            let spec = &knobs.get(id).spec;
            prop_assert!(value.is_finite() && (spec.min..=spec.max).contains(&value), "{value} for {spec:?}");
            prop_assert!(!spec.whole || value.fract() == 0.0, "{value} for {spec:?}");
        }
        for save in &controls.save {
            prop_assert!(check_tag(&save.what).is_ok(), "{:?}", save.what);
        }
        for (name, _) in &controls.reports {
            let (_, name) = name.split_once('/').expect("it begins with the instance's name");
            prop_assert!(check_report(name).is_ok(), "{name:?}");
        }
    }

    /// Whoever reads a refusal reads a line, and not the text that was refused all over again.
    #[test]
    fn a_refusal_is_a_line_however_long_what_is_refused(decisions in vec(decision(), 1..20)) {
        for hook in [Hook::StepEnd, Hook::TrainEnd] {
            let outcome = outcome(hook, &knobs(), std::slice::from_ref(&decisions));
            for record in &outcome.records {
                let (Verdict::Refused(why) | Verdict::Overruled(why)) = &record.verdict else { continue };
                prop_assert!((1..=1_024).contains(&why.len()), "{} bytes", why.len());
            }
        }
    }

    #[test]
    fn a_name_that_nobody_offers_has_near_ones_or_none(written in text()) {
        let catalog = Catalog::new();
        for name in FROM_ZERO_TO_ONE {
            catalog.offer(MeasurementSpec::new(name, "1", ""));
        }
        prop_assert!(catalog.nearest(&written).len() <= 3);
        prop_assert!(catalog.read_by(&written.as_str().into()).len() <= FROM_ZERO_TO_ONE.len());
        prop_assert!(knobs().did_you_mean(&written).len() <= 200);
    }
}

/// Reports names that it never reported before, as many as are looked at.
struct Inventive {
    identity: Arc<Identity>,
    subscriptions: Vec<Subscription>,
    reported: usize,
}

impl Callback for Inventive {
    fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    fn order(&self) -> i32 {
        0
    }

    fn subscriptions(&self) -> &[Subscription] {
        &self.subscriptions
    }

    fn handle(&mut self, _event: &Event) -> Result<Vec<Decision>, CallbackFailure> {
        let names = self.reported..self.reported + MAX_DECISIONS;
        self.reported = names.end;
        let report = |name: usize| Decision::Report { name: format!("r{name}"), value: 1.0 };
        // The one that it knows comes first, since the last of so many is not looked at.
        Ok([report(0)].into_iter().chain(names.map(report)).collect())
    }

    fn save(&mut self) -> Result<Option<(u32, Vec<u8>)>, CallbackFailure> {
        Ok(None)
    }

    fn load(&mut self, _version: u32, _state: &[u8]) -> Result<(), CallbackFailure> {
        Ok(())
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}

fn inventive(catalog: &Catalog) -> Chain {
    let subscription = Subscription { hook: Hook::StepEnd, every: 1, reads: vec!["*".into()] };
    let callback: Box<dyn Callback> =
        Box::new(Inventive { identity: identity("inventive"), subscriptions: vec![subscription], reported: 0 });
    catalog.offer(MeasurementSpec::new("loss", "1", ""));
    Chain::new(catalog.clone(), vec![(callback, Permit::default())]).expect("it reads what is there")
}

#[test]
fn of_many_unknown_names_the_first_are_compared_with_others() {
    let reads = (0..1_000).map(|at| format!("losss-{at}").as_str().into()).collect();
    let subscriptions = vec![Subscription { hook: Hook::StepEnd, every: 1, reads }];
    let callback: Box<dyn Callback> =
        Box::new(Inventive { identity: identity("inventive"), subscriptions, reported: 0 });
    let unknown = Chain::new(Catalog::new(), vec![(callback, Permit::default())]).err().expect("nothing is offered");
    assert_eq!(unknown.len(), 20);
    let decisions = vec![Decision::Set { knob: "learning-rat".into(), value: 0.5 }; MAX_DECISIONS];
    let outcome = outcome(Hook::StepEnd, &knobs(), &[decisions]);
    let hints = outcome.records.iter().filter(|record| format!("{:?}", record.verdict).contains("did you mean"));
    assert_eq!((hints.count(), outcome.controls.writes.len()), (8, 0));
}

#[test]
fn new_names_at_every_step_do_not_fill_the_catalog() {
    let (catalog, knobs) = (Catalog::new(), knobs());
    let mut chain = inventive(&catalog);
    let step = |chain: &mut Chain, step| {
        let progress = Progress { step, ..Progress::default() };
        let moment = Moment { hook: Hook::StepEnd, occurrence: step + 1, progress, detail: String::new() };
        chain.handle(&moment, &mut NoMeasurements, &knobs)
    };
    for at in 0..20 {
        step(&mut chain, at);
    }
    let (names, saved) = (catalog.len(), chain.save().reports);
    assert!(names < 5_000, "{names}");
    let outcome = step(&mut chain, 20);
    assert_eq!(catalog.len(), names);
    let refused = outcome.records.iter().filter(|record| matches!(record.verdict, Verdict::Refused(_))).count();
    assert_eq!(outcome.controls.reports, [("inventive/r0".to_owned(), 1.0)], "what is known goes on");
    assert_eq!((refused, outcome.records.len()), (MAX_DECISIONS, MAX_DECISIONS + 1), "and each other is told");
    // A run that goes on from a checkpoint does not begin the count anew.
    let catalog = Catalog::new();
    let mut chain = inventive(&catalog);
    chain.load_reports(&saved);
    (0..20).for_each(|at| drop(step(&mut chain, at)));
    assert_eq!(catalog.len(), names);
}
