//! Arbitrary knobs, permits, hooks and answers, sensible and senseless ones.
//! Checks nothing; says with [`Caller::holds`] and [`Caller::granted_range`] what manifest and grant mean together.

use std::sync::Arc;

use host_callback::{
    Answer, Decision, Grant, Hook, Identity, KnobGrant, KnobId, KnobSpec, Knobs, Lane, Manifest, Outcome, Permit,
    Request, resolve,
};
use proptest::{collection::vec, option, prelude::*, sample::select, strategy::Union};

/// Names that a knob can have. `weight-decay` is a knob and a family at once.
const KNOBS: [&str; 7] = [
    "learning-rate/encoder",
    "learning-rate/head",
    "weight-decay/all",
    "weight-decay",
    "batch-size",
    "clip-norm",
    "dropout",
];

/// Names that a callback may write besides those.
const FAMILIES_AND_NONSENSE: [&str; 9] =
    ["learning-rate", "learning-rate/", "weight", "Learning-Rate/head", "", "/", "learning-rate/*", "*/all", "*"];

const PATTERNS: [&str; 8] =
    ["*", "learning-rate", "learning-rate/*", "learning-rate/head", "weight-decay", "*/all", "batch-size", "nothing"];

const WORDS: [&str; 9] = ["", "best", "last", "step-12", "recent-0", "a/b", "Über", "a reason", "loss"];

/// No file of failed cases: a failing case is printed, and belongs into the code's own tests.
pub(crate) fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// One callback with what it asks, what it is granted and what it decides.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) by: Arc<Identity>,
    pub(crate) decisions: Vec<Decision>,
    manifest: Manifest,
    grant: Grant,
    permit: Permit,
}

impl Caller {
    /// Whether manifest and grant both hold a request.
    pub(crate) fn holds(&self, request: Request) -> bool {
        let granted = match &self.grant {
            Grant::Observe => false,
            Grant::Declared => true,
            Grant::Only { requests, .. } => requests.contains(&request),
        };
        granted && self.manifest.lane == Lane::Inline && self.manifest.requests.contains(&request)
    }

    /// The range that is granted for a knob; `None` where it may not be written.
    pub(crate) fn granted_range(&self, knob: &str) -> Option<(f64, f64)> {
        let everything = (f64::NEG_INFINITY, f64::INFINITY);
        let asked = self.manifest.knobs.iter().any(|pattern| pattern.covers(knob));
        if !asked || self.manifest.lane == Lane::Background {
            return None;
        }
        match &self.grant {
            Grant::Observe => None,
            Grant::Declared => Some(everything),
            Grant::Only { knobs, .. } => {
                let grant = knobs.iter().find(|grant| grant.knobs.covers(knob))?;
                Some(grant.range.unwrap_or(everything))
            }
        }
    }
}

/// What is resolved at a hook.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) hook: Hook,
    pub(crate) knobs: Knobs,
    pub(crate) callers: Vec<Caller>,
}

impl Scene {
    pub(crate) fn resolve(&self) -> Outcome {
        let answer = |caller: &Caller| caller.decisions.clone();
        let answers = self.callers.iter().map(|caller| Answer {
            by: Arc::clone(&caller.by),
            permit: &caller.permit,
            decisions: answer(caller),
        });
        resolve(self.hook, answers.collect(), &self.knobs)
    }

    /// The knobs that a written name means: the one of that name, or else all of that family or pattern.
    pub(crate) fn addressed(&self, written: &str) -> Vec<KnobId> {
        let named = |name: &dyn Fn(&str) -> bool| {
            self.knobs.iter().filter(|(_, knob)| name(&knob.spec.name)).map(|(id, _)| id).collect::<Vec<_>>()
        };
        let exactly = named(&|name| name == written);
        if !exactly.is_empty() {
            return exactly;
        }
        match written.split_once('*') {
            Some((before, after)) => named(&|name| {
                name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
            }),
            None => named(&|name| name.starts_with(&format!("{written}/"))),
        }
    }

    pub(crate) fn caller(&self, by: &Identity) -> &Caller {
        self.callers.iter().find(|caller| caller.by.instance == by.instance).expect("a record is a caller's")
    }
}

/// A scene, sometimes with an answer of more decisions than are looked at.
pub(crate) fn scene() -> impl Strategy<Value = Scene> {
    scene_with(prop_oneof![19 => vec(decision(), 0..12), 1 => vec(decision(), 254..262)].boxed())
}

/// A scene whose answers are short enough to be doubled.
pub(crate) fn small_scene() -> impl Strategy<Value = Scene> {
    scene_with(vec(decision(), 0..100).boxed())
}

fn scene_with(decisions: BoxedStrategy<Vec<Decision>>) -> impl Strategy<Value = Scene> {
    let callers = vec((manifest(), grant(), decisions), 1..5).prop_map(|callers| {
        let named = |(at, (manifest, grant, decisions))| Caller {
            by: identity(&format!("c{at}")),
            permit: Permit::new(&manifest, &grant),
            decisions,
            manifest,
            grant,
        };
        callers.into_iter().enumerate().map(named).collect()
    });
    (select(Hook::ALL.to_vec()), knobs(), callers).prop_map(|(hook, knobs, callers)| Scene { hook, knobs, callers })
}

pub(crate) fn identity(instance: &str) -> Arc<Identity> {
    let instance = instance.parse().expect("a good name");
    Arc::new(Identity { instance, plugin: "p".into(), version: "1.0.0".into(), sha256: None })
}

fn number() -> impl Strategy<Value = f64> {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MAX, f64::MIN_POSITIVE, 1e-300];
    prop_oneof![
        3 => 0.0..4.0,
        3 => (-4..40).prop_map(f64::from),
        1 => proptest::num::f64::ANY,
        1 => select(odd.to_vec()),
    ]
}

fn range() -> impl Strategy<Value = (f64, f64)> {
    let usual = [(0.0, 1.0), (0.0, f64::INFINITY), (1.0, 64.0), (0.5, 2.5), (f64::NEG_INFINITY, f64::INFINITY)];
    prop_oneof![5 => select(usual.to_vec()), 1 => (number(), number())]
}

fn knobs() -> impl Strategy<Value = Knobs> {
    let offered = vec(option::weighted(0.8, (range(), any::<bool>(), number())), KNOBS.len());
    offered.prop_map(|offered| {
        let mut knobs = Knobs::new();
        for (name, offer) in KNOBS.into_iter().zip(offered) {
            let Some(((min, max), whole, value)) = offer else { continue };
            let (name, unit, meaning) = (name.into(), "1".into(), String::new());
            knobs.offer(KnobSpec { name, unit, min, max, whole, effective: Hook::StepBegin, meaning }, value);
        }
        knobs
    })
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    prop_oneof![
        Just(Request::ALL.to_vec()),
        proptest::sample::subsequence(Request::ALL.to_vec(), 0..=Request::ALL.len()),
    ]
}

pub(crate) fn manifest() -> impl Strategy<Value = Manifest> {
    let lane = prop_oneof![7 => Just(Lane::Inline), 1 => Just(Lane::Background)];
    (requests(), vec(select(PATTERNS.to_vec()), 0..4), lane).prop_map(|(requests, knobs, lane)| Manifest {
        name: "p".into(),
        version: "1.0.0".into(),
        summary: String::new(),
        requests,
        knobs: knobs.into_iter().map(Into::into).collect(),
        lane,
        order: 0,
        config_schema: String::new(),
        state_version: 0,
    })
}

fn grant() -> impl Strategy<Value = Grant> {
    let knob = (select(PATTERNS.to_vec()), option::of(range()));
    let knob = knob.prop_map(|(knobs, range)| KnobGrant { knobs: knobs.into(), range });
    let only = (requests(), vec(knob, 0..4)).prop_map(|(requests, knobs)| Grant::Only { requests, knobs });
    prop_oneof![1 => Just(Grant::Observe), 3 => Just(Grant::Declared), 4 => only]
}

/// Any decision; a third of them are writes.
pub(crate) fn decision() -> impl Strategy<Value = Decision> {
    let knob = || prop_oneof![4 => select(KNOBS.to_vec()), 2 => select(FAMILIES_AND_NONSENSE.to_vec())];
    let word = || select(WORDS.to_vec());
    let set = (knob(), number()).prop_map(|(knob, value)| Decision::Set { knob: knob.into(), value });
    let scale = (knob(), number()).prop_map(|(knob, factor)| Decision::Scale { knob: knob.into(), factor });
    let report = (word(), number()).prop_map(|(name, value)| Decision::Report { name: name.into(), value });
    let worded = [Decision::Stop, Decision::EndEpoch, Decision::Save, Decision::Skip, Decision::Restore];
    let worded = worded.into_iter().chain([Decision::Mute, Decision::Note as fn(String) -> Decision]);
    let worded = Union::new(worded.map(|make| word().prop_map(move |word| make(word.into()))));
    let bare = select(vec![Decision::Evaluate, Decision::Log]);
    prop_oneof![3 => set, 2 => scale, 1 => report, 7 => worded, 3 => bare]
}
