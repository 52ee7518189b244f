//! The rules of [`Chain`], for arbitrary callbacks that follow a script: who is called, who is shown what, who fails.
//! Does not look into decisions: the other properties do.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use host_callback::{
    Callback, CallbackFailure, Callbacks, Catalog, Chain, Consequence, Decision, Event, FailureKind, Grant, Hook,
    Identity, Key, KnobSpec, Knobs, MeasurementSpec, Measurements, Moment, Outcome, Permit, Progress, Saved,
    Subscription, Usage, Value,
};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select, subsequence},
};

use crate::generate::{config, decision, identity, manifest};

const NAMES: [&str; 6] = ["a", "a-2", "b", "guard", "patience", "z9"];
const HOOKS: [Hook; 3] = [Hook::StepEnd, Hook::EvaluateEnd, Hook::Log];
/// Far enough apart that a slip of one letter is nearest to the right one.
const OFFERED: [&str; 5] = ["loss", "eval/accuracy", "gradient-norm/encoder", "throughput/tokens", "memory"];

/// A call of a callback: who, at which occurrence of which hook, and what it was shown, by name.
#[derive(Clone, Debug, PartialEq)]
struct Call {
    instance: String,
    hook: Hook,
    occurrence: u64,
    shown: BTreeMap<String, u64>,
}

/// A callback that does what its script says, and then begins it again.
#[derive(Clone, Debug)]
struct Member {
    name: &'static str,
    order: i32,
    subscriptions: Vec<Subscription>,
    script: Vec<Result<Vec<Decision>, Consequence>>,
}

struct Scripted {
    member: Member,
    identity: Arc<Identity>,
    catalog: Catalog,
    calls: Arc<Mutex<Vec<Call>>>,
    next: usize,
}

impl Callback for Scripted {
    fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    fn order(&self) -> i32 {
        self.member.order
    }

    fn subscriptions(&self) -> &[Subscription] {
        &self.member.subscriptions
    }

    fn handle(&mut self, event: &Event) -> Result<Vec<Decision>, CallbackFailure> {
        let named = |&(key, value): &(Key, f64)| (self.catalog.name(key).expect("a key of the catalog"), value);
        let shown = event.scalars.iter().map(named).map(|(name, value)| (name, value.to_bits())).collect();
        let Moment { hook, occurrence, .. } = event.moment;
        self.calls.lock().expect("nobody panicked").push(Call {
            instance: self.member.name.into(),
            hook,
            occurrence,
            shown,
        });
        let answer = self.member.script[self.next % self.member.script.len()].clone();
        self.next += 1;
        answer.map_err(failure)
    }

    fn save(&mut self) -> Result<Option<(u32, Vec<u8>)>, CallbackFailure> {
        Ok(Some((1, vec![u8::try_from(self.next).expect("a short run")])))
    }

    fn load(&mut self, version: u32, state: &[u8]) -> Result<(), CallbackFailure> {
        assert_eq!((version, state.len()), (1, 1));
        self.next = state[0].into();
        Ok(())
    }

    fn usage(&self) -> Usage {
        Usage { fuel: 0, time: Duration::ZERO }
    }
}

fn failure(consequence: Consequence) -> CallbackFailure {
    CallbackFailure { kind: FailureKind::Trap, message: "script".into(), fuel: 0, time: Duration::ZERO, consequence }
}

struct Loss;

impl Measurements for Loss {
    fn read(&mut self, key: Key) -> Option<Value> {
        (key == 0).then_some(Value::Scalar(0.5))
    }
}

/// What happened in a played run: the calls and the outcome of each moment.
struct Played {
    calls: Vec<Vec<Call>>,
    outcomes: Vec<Outcome>,
}

fn play(members: &[Member], moments: &[Moment]) -> Played {
    play_resumed(members, &[moments])
}

/// A run in several processes, each of which takes over what the one before has saved.
fn play_resumed(members: &[Member], parts: &[&[Moment]]) -> Played {
    let mut played = Played { calls: Vec::new(), outcomes: Vec::new() };
    let mut saved = Saved::default();
    for moments in parts {
        let (catalog, calls) = (catalog(), Arc::new(Mutex::new(Vec::new())));
        let callbacks = members.iter().map(|member| scripted(member, &catalog, &calls)).collect();
        let mut chain = Chain::new(catalog, callbacks).expect("all names exist");
        for state in &saved.states {
            assert_eq!(chain.load(state), Ok(true));
        }
        chain.load_reports(&saved.reports);
        for moment in *moments {
            played.outcomes.push(chain.handle(moment, &mut Loss, &knobs()));
            played.calls.push(std::mem::take(&mut *calls.lock().expect("nobody panicked")));
        }
        saved = chain.save();
        assert!(saved.failures.is_empty() && saved.states.len() == members.len(), "{saved:?}");
    }
    played
}

fn scripted(member: &Member, catalog: &Catalog, calls: &Arc<Mutex<Vec<Call>>>) -> (Box<dyn Callback>, Permit) {
    let callback = Scripted {
        member: member.clone(),
        identity: identity(member.name),
        catalog: catalog.clone(),
        calls: Arc::clone(calls),
        next: 0,
    };
    (Box::new(callback), Permit::default())
}

fn catalog() -> Catalog {
    let catalog = Catalog::new();
    for name in OFFERED {
        catalog.offer(MeasurementSpec::new(name, "1", ""));
    }
    catalog
}

fn knobs() -> Knobs {
    let mut knobs = Knobs::new();
    let (name, unit, meaning) = ("dropout".into(), "1".into(), String::new());
    knobs.offer(KnobSpec { name, unit, min: 0.0, max: 1.0, whole: false, effective: Hook::StepBegin, meaning }, 0.5);
    knobs
}

fn members() -> impl Strategy<Value = Vec<Member>> {
    let names = subsequence(NAMES.to_vec(), 1..=NAMES.len()).prop_shuffle();
    names.prop_flat_map(|names| names.iter().map(|name| member(name, &names)).collect::<Vec<_>>())
}

/// A callback that reads a measurement and what members report.
fn member(name: &'static str, members: &[&str]) -> impl Strategy<Value = Member> + use<> {
    let consequence = select(vec![Consequence::Restart, Consequence::Restart, Consequence::Disabled]);
    let answer = prop_oneof![4 => vec(decision(), 0..4).prop_map(Ok), 1 => consequence.prop_map(Err)];
    let names = members.iter().map(|name| format!("{name}/*")).chain(["loss".into()]).collect::<Vec<_>>();
    let reads = subsequence(names, 0..=members.len());
    let subscription = (select(HOOKS.to_vec()), 1u32..4, reads).prop_map(|(hook, every, reads)| Subscription {
        hook,
        every,
        reads: reads.iter().map(|name| name.as_str().into()).collect(),
    });
    (-2..3, vec(subscription, 0..4), vec(answer, 1..5)).prop_map(move |(order, subscriptions, script)| Member {
        name,
        order,
        subscriptions,
        script,
    })
}

/// Moments of a run, which may be a resumed one: hooks have happened before.
fn moments() -> impl Strategy<Value = Vec<Moment>> {
    (vec(select(HOOKS.to_vec()), 1..20), 0u64..5).prop_map(|(hooks, before)| {
        let mut occurrences = [before; Hook::ALL.len()];
        let moment = |hook: Hook| {
            occurrences[hook.index()] += 1;
            let occurrence = occurrences[hook.index()];
            Moment { hook, occurrence, progress: Progress::default(), detail: String::new() }
        };
        hooks.into_iter().map(moment).collect()
    })
}

/// Who has to be called at a moment, in order, if nobody is disabled.
fn due<'a>(members: &'a [Member], moment: &Moment) -> Vec<&'a Member> {
    let is_due = |member: &&Member| {
        let here = member.subscriptions.iter().filter(|subscription| subscription.hook == moment.hook);
        here.into_iter().any(|subscription| moment.occurrence.is_multiple_of(subscription.every.into()))
    };
    let mut due: Vec<&Member> = members.iter().filter(is_due).collect();
    due.sort_by_key(|member| (member.order, member.name));
    due
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn callbacks_are_called_when_due_in_the_order_of_place_and_name(members in members(), moments in moments()) {
        let played = play(&members, &moments);
        let mut disabled = Vec::new();
        for ((moment, calls), outcome) in moments.iter().zip(&played.calls).zip(&played.outcomes) {
            let due = due(&members, moment).into_iter().map(|member| member.name);
            let due: Vec<&str> = due.filter(|name| !disabled.contains(name)).collect();
            prop_assert_eq!(calls.iter().map(|call| call.instance.as_str()).collect::<Vec<_>>(), due);
            prop_assert!(calls.iter().all(|call| (call.hook, call.occurrence) == (moment.hook, moment.occurrence)));
            let ends = outcome.failures.iter().filter(|record| record.failure.consequence != Consequence::Restart);
            let ends = ends.map(|record| record.by.instance.as_str());
            let names = members.iter().map(|member| member.name);
            disabled.extend(names.filter(|name| ends.clone().any(|end| end == *name)));
        }
    }

    #[test]
    fn the_order_in_which_callbacks_join_changes_nothing(
        (members, shuffled) in members().prop_flat_map(|members| (Just(members.clone()), Just(members).prop_shuffle())),
        moments in moments(),
    ) {
        let (one, other) = (play(&members, &moments), play(&shuffled, &moments));
        // The catalog numbers the callbacks' own measurements as they join, so calls are compared by name.
        prop_assert_eq!(one.calls, other.calls);
        prop_assert_eq!(format!("{:?}", one.outcomes), format!("{:?}", other.outcomes));
    }

    #[test]
    fn a_failed_callback_decides_nothing_and_the_others_do(members in members(), moments in moments()) {
        let played = play(&members, &moments);
        let mut calls_of: BTreeMap<&str, usize> = BTreeMap::new();
        for (calls, outcome) in played.calls.iter().zip(&played.outcomes) {
            let (mut decided, mut failed) = (Vec::new(), Vec::new());
            for call in calls {
                let member = members.iter().find(|member| member.name == call.instance).expect("a member's call");
                let nth = calls_of.entry(member.name).or_default();
                match &member.script[*nth % member.script.len()] {
                    Ok(decisions) => decided.extend(decisions.iter().map(|it| format!("{} {it:?}", member.name))),
                    Err(_) => failed.push(member.name),
                }
                *nth += 1;
            }
            let told = outcome.records.iter().map(|it| format!("{} {:?}", it.by.instance, it.decision));
            prop_assert_eq!(told.collect::<Vec<_>>(), decided);
            prop_assert_eq!(outcome.failures.iter().map(|it| it.by.instance.as_str()).collect::<Vec<_>>(), failed);
        }
    }

    #[test]
    fn a_report_is_shown_to_everybody_from_the_next_hook_on(members in members(), moments in moments()) {
        let played = play(&members, &moments);
        let mut known = BTreeMap::from([("loss".to_owned(), 0.5f64.to_bits())]);
        for ((moment, calls), outcome) in moments.iter().zip(&played.calls).zip(&played.outcomes) {
            for call in calls {
                let member = members.iter().find(|member| member.name == call.instance).expect("a member's call");
                let here = member.subscriptions.iter().filter(|subscription| {
                    subscription.hook == moment.hook && moment.occurrence.is_multiple_of(subscription.every.into())
                });
                let reads: Vec<_> = here.flat_map(|subscription| &subscription.reads).collect();
                let readable = known.iter().filter(|(name, _)| reads.iter().any(|read| read.matches(name)));
                let readable = readable.map(|(name, bits)| (name.clone(), *bits)).collect();
                prop_assert_eq!(&call.shown, &readable, "{:?}", call);
            }
            known.extend(outcome.controls.reports.iter().map(|(name, value)| (name.clone(), value.to_bits())));
        }
    }

    #[test]
    fn a_resumed_run_calls_and_decides_as_one_that_was_not(
        mut members in members(),
        moments in moments(),
        at in any::<Index>(),
    ) {
        // Whoever was disabled gets a new chance in a new process.
        for answer in members.iter_mut().flat_map(|member| &mut member.script).filter(|answer| answer.is_err()) {
            *answer = Err(Consequence::Restart);
        }
        let whole = play(&members, &moments);
        let (before, after) = moments.split_at(at.index(moments.len()));
        let resumed = play_resumed(&members, &[before, after]);
        prop_assert_eq!(whole.calls, resumed.calls);
        prop_assert_eq!(format!("{:?}", whole.outcomes), format!("{:?}", resumed.outcomes));
    }

    #[test]
    fn b8_an_unknown_name_is_an_error_with_the_nearest(
        mut members in members(),
        (wrong, letter) in (select(OFFERED.to_vec()), any::<Index>()),
        hook in select(HOOKS.to_vec()),
        who in any::<Index>(),
    ) {
        let mut slip = wrong.to_owned();
        slip.remove(letter.index(wrong.len()));
        let who = who.index(members.len());
        members[who].subscriptions.push(Subscription { hook, every: 1, reads: vec![slip.as_str().into()] });
        let (catalog, calls) = (catalog(), Arc::default());
        let callbacks = members.iter().map(|member| scripted(member, &catalog, &calls)).collect();
        let Err(unknown) = Chain::new(catalog, callbacks) else { return Err(TestCaseError::fail("accepted")) };
        prop_assert_eq!(unknown.len(), 1, "{:?}", unknown);
        let error = &unknown[0];
        prop_assert_eq!((error.instance.as_str(), error.hook), (members[who].name, hook));
        prop_assert_eq!(&error.name, &slip);
        prop_assert_eq!(error.nearest.first().map(String::as_str), Some(wrong));
        let text = error.to_string();
        for word in [members[who].name, &slip, hook.name(), wrong] {
            prop_assert!(text.contains(&format!("`{word}`")), "{text}");
        }
    }

    /// A callback of the program itself is held to its permit as a plugin is.
    #[test]
    fn a_member_has_the_permit_that_it_joined_with(
        joining in vec((manifest(), any::<bool>()), 1..NAMES.len()),
    ) {
        let calls = Arc::default();
        let permits: Vec<Permit> = joining.iter().map(|(manifest, declared)| {
            Permit::new(manifest, if *declared { &Grant::Declared } else { &Grant::Observe })
        }).collect();
        let callbacks = NAMES.into_iter().zip(&permits).map(|(name, permit)| {
            let member = Member { name, order: 0, subscriptions: Vec::new(), script: vec![Ok(Vec::new())] };
            (scripted(&member, &catalog(), &calls).0, permit.clone())
        });
        let Ok(chain) = Chain::new(catalog(), callbacks.collect()) else { return Err(TestCaseError::fail("refused")) };
        let told = chain.members().map(|(by, permit)| (by.instance.as_str().to_owned(), permit.clone()));
        let told: Vec<_> = told.collect();
        let expected: Vec<_> = NAMES.into_iter().map(str::to_owned).zip(permits).collect();
        prop_assert_eq!(told, expected);
    }
}
