//! The rules of [`resolve`], for arbitrary hooks, knobs, permits and answers of several callbacks.
//! Holds no chosen cases, and looks neither at the chain (`chain` does) nor at decisions that nobody means (`hostile`
//! does).
//!
//! What may be asked is computed here a second time, from manifest and grant. 256 cases a property;
//! `PROPTEST_CASES` asks for more.

#[path = "properties/chain.rs"]
mod chain;
#[path = "properties/generate.rs"]
mod generate;
#[path = "properties/hostile.rs"]
mod hostile;

use std::collections::{BTreeMap, BTreeSet};

use generate::{Caller, Scene, config, scene, small_scene};
use host_callback::{
    Change, Decision, Hook, KnobId, MAX_DECISIONS, Outcome, Record, Request, Verdict, check_report, check_tag,
};
use proptest::{prelude::*, sample::select};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn requests_do_not_depend_on_the_order_of_callbacks(
        (scene, shuffled) in scene().prop_flat_map(|scene| {
            let callers = Just(scene.callers.clone()).prop_shuffle();
            (Just(scene), callers)
        })
    ) {
        let other = Scene { callers: shuffled, ..scene.clone() };
        prop_assert_eq!(wanted(&scene.resolve()), wanted(&other.resolve()));
    }

    #[test]
    fn asking_twice_for_the_same_changes_nothing(mut scene in small_scene()) {
        for caller in &mut scene.callers {
            caller.decisions.retain(|decision| decision.request().is_some());
        }
        let once = scene.resolve();
        for caller in &mut scene.callers {
            let again = caller.decisions.clone();
            caller.decisions.extend(again);
        }
        let twice = scene.resolve();
        prop_assert_eq!(wanted(&once), wanted(&twice));
        prop_assert!(once.controls.writes.is_empty() && twice.controls.writes.is_empty());
    }

    #[test]
    fn the_same_input_gives_the_same_outcome(scene in scene()) {
        let before = format!("{:?}", scene.knobs);
        let first = scene.resolve();
        // Compared as text, in which NaN equals itself.
        prop_assert_eq!(format!("{first:?}"), format!("{:?}", scene.resolve()));
        prop_assert_eq!(format!("{:?}", scene.knobs), before);
        prop_assert!(first.failures.is_empty());
    }

    #[test]
    fn every_decision_has_one_record_in_order(scene in scene()) {
        let outcome = scene.resolve();
        let made = scene.callers.iter().flat_map(|caller| {
            caller.decisions.iter().take(MAX_DECISIONS + 1).map(|decision| (&caller.by, decision))
        });
        let made: Vec<String> = made.map(|made| format!("{made:?}")).collect();
        let told = outcome.records.iter().map(|record| format!("{:?}", (&record.by, &record.decision)));
        prop_assert_eq!(told.collect::<Vec<_>>(), made);
        for (at, record) in placed(&scene, &outcome) {
            let is_rest = at == MAX_DECISIONS;
            prop_assert!(!is_rest || is_refused(record), "{record:?}");
        }
    }

    #[test]
    fn a_write_is_finite_whole_and_within_both_ranges(scene in scene()) {
        let outcome = scene.resolve();
        let ids: BTreeSet<KnobId> = outcome.controls.writes.iter().map(|(id, _)| *id).collect();
        prop_assert_eq!(ids.len(), outcome.controls.writes.len(), "a knob is written twice");
        for &(id, value) in &outcome.controls.writes {
            prop_assert!(allows(&scene, id, value), "{value} in {:?}", scene.knobs.get(id));
        }
        for (caller, record) in with_caller(&scene, &outcome) {
            for Change { knob, after, .. } in &record.changes {
                let id = scene.knobs.id(knob).expect("only knobs that exist change");
                prop_assert!(allows(&scene, id, *after), "{record:?}");
                let granted = caller.granted_range(knob);
                prop_assert!(granted.is_some_and(|range| within(*after, range)), "{record:?} within {granted:?}");
            }
        }
    }

    #[test]
    fn changes_lead_from_what_stood_to_what_counts(scene in scene()) {
        let outcome = scene.resolve();
        let mut standing: BTreeMap<KnobId, f64> = BTreeMap::new();
        for record in &outcome.records {
            prop_assert!(record.changes.is_empty() || record.verdict == Verdict::Applied, "{record:?}");
            for Change { knob, before, after } in &record.changes {
                let id = scene.knobs.id(knob).expect("only knobs that exist change");
                let stood = standing.insert(id, *after).unwrap_or_else(|| scene.knobs.value(id));
                prop_assert_eq!(stood.to_bits(), before.to_bits(), "{:?} stood at {}", record, stood);
                let meant = meant(&record.decision, stood, scene.knobs.get(id).spec.whole);
                prop_assert_eq!(meant.to_bits(), after.to_bits(), "{:?} means {}", record, meant);
            }
        }
        let writes: BTreeMap<KnobId, f64> = outcome.controls.writes.iter().copied().collect();
        prop_assert_eq!(writes, standing);
    }

    #[test]
    fn a_request_is_refused_exactly_where_hook_permit_or_name_do_not_hold(scene in scene()) {
        let outcome = scene.resolve();
        for (at, record) in placed(&scene, &outcome) {
            let Record { by, decision, .. } = record;
            let is_held = decision.request().is_none_or(|it| scene.hook.allows(it) && scene.caller(by).holds(it));
            let is_well_named = match decision {
                Decision::Save(tag) => check_tag(tag).is_ok(),
                Decision::Report { name, .. } => check_report(name).is_ok(),
                _ => true,
            };
            let holds = at < MAX_DECISIONS && is_held && is_well_named;
            prop_assert!(written(decision).is_some() || is_refused(record) != holds, "{record:?}");
        }
    }

    #[test]
    fn a_write_is_refused_where_hook_or_permit_do_not_hold(scene in scene()) {
        let outcome = scene.resolve();
        for (caller, record) in with_caller(&scene, &outcome) {
            let Some(name) = written(&record.decision) else { continue };
            let mut names = scene.addressed(name).into_iter().map(|id| &scene.knobs.get(id).spec.name);
            let is_held = scene.hook.takes_knobs() && names.all(|name| caller.granted_range(name).is_some());
            prop_assert!(is_held || is_refused(record), "{record:?}");
        }
    }

    /// The other direction: nothing is refused for no reason.
    #[test]
    fn a_write_that_breaks_no_rule_is_applied_to_all_knobs_that_it_addresses(scene in scene()) {
        let outcome = scene.resolve();
        let mut standing: BTreeMap<KnobId, f64> = scene.knobs.iter().map(|(id, knob)| (id, knob.value)).collect();
        for (at, record) in placed(&scene, &outcome) {
            let Some(name) = written(&record.decision) else { continue };
            let ids = scene.addressed(name);
            let mut fits = at < MAX_DECISIONS && scene.hook.takes_knobs() && !ids.is_empty();
            let caller = scene.caller(&record.by);
            for &id in &ids {
                let spec = &scene.knobs.get(id).spec;
                let value = meant(&record.decision, standing[&id], spec.whole);
                let granted = caller.granted_range(&spec.name);
                fits &= allows(&scene, id, value) && granted.is_some_and(|range| within(value, range));
            }
            prop_assert_eq!(record.verdict == Verdict::Applied, fits, "{:?}", record);
            let changed = record.changes.iter().filter_map(|change| scene.knobs.id(&change.knob));
            let changed: Vec<KnobId> = changed.collect();
            prop_assert_eq!(&changed, if fits { &ids } else { &changed[..0] });
            standing.extend(changed.into_iter().zip(record.changes.iter().map(|change| change.after)));
        }
    }

    #[test]
    fn requests_are_the_sum_of_what_may_be_asked(scene in scene()) {
        let outcome = scene.resolve();
        let asked = |request: Request| asked(&scene, request);
        let controls = &outcome.controls;
        let stops: Vec<String> = controls.stop.iter().map(|stop| format!("{} {}", stop.by, stop.what)).collect();
        prop_assert_eq!(stops, asked(Request::Stop));
        prop_assert_eq!(controls.log, !asked(Request::Log).is_empty());
        for (slot, request) in [
            (&controls.end_epoch, Request::EndEpoch),
            (&controls.skip, Request::Skip),
            (&controls.restore, Request::Restore),
        ] {
            let first = slot.as_ref().map(|slot| format!("{} {}", slot.by, slot.what));
            prop_assert_eq!(first, asked(request).into_iter().next(), "{} goes by the first", request);
            let at = slot.as_ref().map(|slot| &outcome.records[slot.record]);
            prop_assert!(at.is_none_or(|record| record.verdict == Verdict::Applied), "{at:?}");
        }
        let mute: Vec<&str> = controls.mute.iter().map(|name| name.as_str()).collect();
        let muted = asked(Request::Mute);
        prop_assert_eq!(mute, muted.iter().filter_map(|asked| Some(asked.split_once(' ')?.1)).collect::<Vec<_>>());
    }

    #[test]
    fn skip_wins_over_what_the_hook_announces_and_over_nothing_else(
        mut scene in scene(),
        hook in select(vec![Hook::StepBegin, Hook::Gradients, Hook::EvaluateBegin, Hook::SaveBegin]),
    ) {
        scene.hook = hook;
        let outcome = scene.resolve();
        let skips = !asked(&scene, Request::Skip).is_empty();
        prop_assert_eq!(outcome.controls.skip.is_some(), skips);
        for (request, announced_at, is_wanted) in [
            (Request::Evaluate, Hook::EvaluateBegin, outcome.controls.evaluate),
            (Request::Save, Hook::SaveBegin, !outcome.controls.save.is_empty()),
        ] {
            let is_skipped = skips && hook == announced_at;
            let of_kind = outcome.records.iter().filter(|record| record.decision.request() == Some(request));
            let told: Vec<&Record> = of_kind.filter(|record| !is_refused(record)).collect();
            prop_assert_eq!(is_wanted, !told.is_empty() && !is_skipped);
            prop_assert!(request != Request::Evaluate || told.len() == asked(&scene, request).len());
            for record in told {
                let is_overruled = matches!(record.verdict, Verdict::Overruled(_));
                prop_assert_eq!(is_overruled, is_skipped, "{:?}", record);
            }
        }
    }

    #[test]
    fn the_first_who_asks_is_applied_and_the_rest_is_merged(scene in scene()) {
        let outcome = scene.resolve();
        let mut seen = BTreeSet::new();
        for record in &outcome.records {
            let what = match (&record.decision, record.decision.request()) {
                (_, None | Some(Request::Mute)) => continue,
                (Decision::Save(tag), _) => format!("save {tag}"),
                (Decision::Restore(tag), _) => format!("restore {tag}"),
                (_, Some(request)) => request.to_string(),
            };
            match &record.verdict {
                Verdict::Applied => prop_assert!(seen.insert(what), "again: {record:?}"),
                Verdict::Merged => prop_assert!(seen.contains(&what), "without a first: {record:?}"),
                Verdict::Overruled(why) => {
                    let by = outcome.controls.restore.as_ref().filter(|_| what.starts_with("restore"));
                    let by = by.or(outcome.controls.skip.as_ref()).expect("something won");
                    prop_assert!(why.contains(by.by.as_str()), "{record:?}");
                }
                Verdict::Refused(why) => prop_assert!(!why.is_empty(), "{record:?}"),
            }
        }
        let saves = outcome.controls.save.iter().map(|save| save.what.as_str());
        let tags: BTreeSet<&str> = saves.clone().collect();
        prop_assert_eq!(tags.len(), saves.count(), "a tag is saved twice");
        let said: BTreeSet<&str> = seen.iter().filter_map(|what| what.strip_prefix("save ")).collect();
        prop_assert_eq!(tags, said, "saved is what the records say");
    }
}

/// What callbacks want together, without the order in which they said it.
#[derive(Debug, PartialEq)]
struct Wanted {
    stop: BTreeSet<String>,
    save: BTreeSet<String>,
    mute: BTreeSet<String>,
    reports: BTreeSet<(String, u64)>,
    evaluate: bool,
    log: bool,
    /// Whether there is a skip, an end of the epoch, a restore; who is the first of several depends on the order.
    slots: [bool; 3],
    /// Requests that are refused; whether one is does not depend on the others.
    refused: BTreeSet<String>,
}

fn wanted(outcome: &Outcome) -> Wanted {
    let controls = &outcome.controls;
    let refused = outcome.records.iter().filter(|record| record.decision.request().is_some() && is_refused(record));
    Wanted {
        stop: controls.stop.iter().map(|stop| format!("{} {}", stop.by, stop.what)).collect(),
        save: controls.save.iter().map(|save| save.what.clone()).collect(),
        mute: controls.mute.iter().map(|name| name.to_string()).collect(),
        reports: controls.reports.iter().map(|(name, value)| (name.clone(), value.to_bits())).collect(),
        evaluate: controls.evaluate,
        log: controls.log,
        slots: [controls.skip.is_some(), controls.end_epoch.is_some(), controls.restore.is_some()],
        refused: refused.map(|record| format!("{} {}", record.by.instance, record.decision)).collect(),
    }
}

/// `<instance> <what>` of each decision of a kind that hook and permit hold, in order.
fn asked(scene: &Scene, request: Request) -> Vec<String> {
    let held = scene.callers.iter().filter(|caller| scene.hook.allows(request) && caller.holds(request));
    let decisions = held.flat_map(|caller| {
        let looked_at = caller.decisions.iter().take(MAX_DECISIONS);
        looked_at.filter(|decision| decision.request() == Some(request)).map(move |decision| (caller, decision))
    });
    decisions.map(|(caller, decision)| format!("{} {}", caller.by.instance, words(decision))).collect()
}

fn words(decision: &Decision) -> &str {
    match decision {
        Decision::Stop(words) | Decision::EndEpoch(words) | Decision::Skip(words) => words,
        Decision::Save(tag) | Decision::Restore(tag) | Decision::Mute(tag) => tag,
        _ => "",
    }
}

/// The name that a write addresses.
fn written(decision: &Decision) -> Option<&str> {
    match decision {
        Decision::Set { knob, .. } | Decision::Scale { knob, .. } => Some(knob),
        _ => None,
    }
}

/// The value that a write means for a knob that stands at another.
fn meant(decision: &Decision, stood: f64, whole: bool) -> f64 {
    match decision {
        Decision::Set { value, .. } => *value,
        Decision::Scale { factor, .. } if whole => (stood * factor).round(),
        Decision::Scale { factor, .. } => stood * factor,
        _ => f64::NAN,
    }
}

fn allows(scene: &Scene, id: KnobId, value: f64) -> bool {
    let spec = &scene.knobs.get(id).spec;
    value.is_finite() && within(value, (spec.min, spec.max)) && !(spec.whole && value != value.trunc())
}

fn within(value: f64, (min, max): (f64, f64)) -> bool {
    min <= value && value <= max
}

fn is_refused(record: &Record) -> bool {
    matches!(record.verdict, Verdict::Refused(_))
}

/// Each record with its place in its answer.
fn placed<'a>(scene: &'a Scene, outcome: &'a Outcome) -> impl Iterator<Item = (usize, &'a Record)> {
    let places = scene.callers.iter().flat_map(|caller| 0..caller.decisions.len().min(MAX_DECISIONS + 1));
    places.zip(&outcome.records)
}

fn with_caller<'a>(scene: &'a Scene, outcome: &'a Outcome) -> impl Iterator<Item = (&'a Caller, &'a Record)> {
    outcome.records.iter().map(|record| (scene.caller(&record.by), record))
}
