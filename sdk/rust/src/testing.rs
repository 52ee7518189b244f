//! Plays the host for a callback that is compiled natively, so that `cargo test` can check its logic.
//! Does not check answers against grants and ranges, as a real host does.

use std::cell::RefCell;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::bindings::train_host::callback::types as wit;
use crate::instance::{Instance, Running};
use crate::log::Level;
use crate::names::{Catalog, matches};
use crate::rest::Source;
use crate::state::to_json;
use crate::{Callback, Decision, Hook, Progress, Run};

thread_local! {
    static LOG: RefCell<Vec<(Level, String)>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a log line for [`take_log`].
pub(crate) fn remember(level: Level, line: &str) {
    LOG.with_borrow_mut(|lines| lines.push((level, line.into())));
}

/// The lines that callbacks on this thread have logged since the last call.
pub fn take_log() -> Vec<(Level, String)> {
    LOG.take()
}

/// A value from JSON in which NaN and the infinities are the words `"NaN"`, `"Infinity"` and `"-Infinity"`, as a
/// callback's settings and state are read: for recorded values to test against.
///
/// # Errors
///
/// The text is not JSON, or not a `T`.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    crate::state::from_json(text.as_bytes())
}

/// A callback in a run that exists only in a test.
///
/// Events reach the callback as a host would send them: only at hooks that it subscribed to, when they are due, and
/// with nothing but the measurements that it reads.
///
/// ```
/// # use host_sdk::prelude::*;
/// # #[derive(Deserialize, JsonSchema)]
/// # struct LossCeiling { ceiling: f64 }
/// # impl Callback for LossCeiling {
/// #     type Settings = Self;
/// #     type State = ();
/// #     const MANIFEST: Manifest = manifest!();
/// #     fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
/// #         Ok((settings, Subscriptions::new().on(Hook::StepEnd, &["loss"])))
/// #     }
/// #     fn step_end(&self, _: &mut (), event: &Event, answer: &mut Answer) {
/// #         if event.get("loss").is_some_and(|loss| loss > self.ceiling) { answer.stop("too high"); }
/// #     }
/// # }
/// use host_sdk::testing::{Harness, Moment};
///
/// let mut harness = Harness::<LossCeiling>::start(&serde_json::json!({"ceiling": 5.0})).unwrap();
/// let decisions = harness.send(Moment::at(Hook::StepEnd, 1).scalar("loss", 6.5)).unwrap();
/// assert_eq!(decisions, [Decision::Stop("too high".into())]);
/// ```
pub struct Harness<C: Callback> {
    instance: Instance<C>,
    config: String,
    description: Value,
    subscriptions: Vec<wit::Subscription>,
    catalog: Table,
    /// How often each hook has come, by [`Hook`]'s place.
    occurrences: [u32; 13],
}

impl<C: Callback> Harness<C> {
    /// A callback with this configuration, at the beginning of a run without parameter groups.
    ///
    /// # Errors
    ///
    /// What [`Callback::start`] gives.
    pub fn start(config: &Value) -> Result<Self, String> {
        Self::start_in(config, json!({}))
    }

    /// The same in a run of this [description](crate::Description).
    ///
    /// # Errors
    ///
    /// What [`Callback::start`] gives.
    pub fn start_in(config: &Value, description: Value) -> Result<Self, String> {
        let config = config.to_string();
        let catalog = Table::default();
        let (instance, subscriptions) = Instance::start(&config, &run(&description, 0), catalog.clone())?;
        Ok(Self { instance, config, description, subscriptions, catalog, occurrences: [0; 13] })
    }

    /// Lets a moment of the run happen. Empty where the callback is not called for it.
    ///
    /// # Errors
    ///
    /// What the callback gave to [`Answer::fail`](crate::Answer::fail).
    pub fn send(&mut self, moment: Moment) -> Result<Vec<Decision>, String> {
        let occurrence = &mut self.occurrences[moment.hook as usize];
        *occurrence += 1;
        let due = |subscription: &&wit::Subscription| {
            subscription.hook == moment.hook && occurrence.is_multiple_of(subscription.every)
        };
        let due: Vec<_> = self.subscriptions.iter().filter(due).collect();
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let read = |name: &str| due.iter().flat_map(|subscription| &subscription.reads).any(|read| matches(read, name));
        // No two events of a test are taken to be alike.
        let shape = self.occurrences.iter().sum();
        let (event, shown) = moment.into_event(shape, &self.catalog, read);
        self.instance.handle(&event, &shown)
    }

    /// What a resume does: save the state, start a new instance with the same configuration, give it the state.
    ///
    /// # Errors
    ///
    /// What saving, starting or loading gives.
    pub fn resume(&mut self, step: u64) -> Result<(), String> {
        let state = self.instance.save()?;
        let run = run(&self.description, step);
        (self.instance, self.subscriptions) = Instance::start(&self.config, &run, self.catalog.clone())?;
        self.instance.load(state, C::MANIFEST.version_of_state())
    }

    /// Gives the callback state as an earlier version of it saved it.
    ///
    /// # Errors
    ///
    /// What loading gives.
    pub fn load(&mut self, state: &Value, version: u32) -> Result<(), String> {
        self.instance.load(to_json(state)?, version)
    }

    /// What the callback has learned so far.
    #[must_use]
    pub fn state(&self) -> &C::State {
        self.instance.state()
    }
}

fn run(description: &Value, step: u64) -> Run {
    Run::from(wit::RunInfo {
        run: "test".into(),
        seed: 0,
        rank: 0,
        world_size: 1,
        step,
        description: description.to_string(),
    })
}

/// A moment of a run, with everything that could be observed then.
#[derive(Clone, Debug)]
pub struct Moment {
    hook: Hook,
    progress: Progress,
    detail: String,
    scalars: Vec<(String, f64)>,
    vectors: Vec<(String, Vec<f32>)>,
    texts: Vec<(String, String)>,
}

impl Moment {
    /// A hook after so many finished steps, with nothing to observe.
    #[must_use]
    pub fn at(hook: Hook, step: u64) -> Self {
        let progress = Progress { step, total_steps: None, epoch: 0.0, samples: 0, tokens: 0 };
        let (scalars, vectors, texts) = Default::default();
        Self { hook, progress, detail: String::new(), scalars, vectors, texts }
    }

    /// The steps that the run will do.
    #[must_use]
    pub fn total_steps(mut self, steps: u64) -> Self {
        self.progress.total_steps = Some(steps);
        self
    }

    /// The epochs finished, with the fraction of the running one.
    #[must_use]
    pub fn epoch(mut self, epoch: f64) -> Self {
        self.progress.epoch = epoch;
        self
    }

    /// Why: a stop reason, an error, a tag.
    #[must_use]
    pub fn detail(mut self, detail: &str) -> Self {
        self.detail = detail.into();
        self
    }

    /// A measurement that is one number.
    #[must_use]
    pub fn scalar(mut self, name: &str, value: f64) -> Self {
        self.scalars.push((name.into(), value));
        self
    }

    /// A measurement that is several numbers.
    #[must_use]
    pub fn vector(mut self, name: &str, values: &[f32]) -> Self {
        self.vectors.push((name.into(), values.into()));
        self
    }

    /// A measurement that is words.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.texts.push((name.into(), value.into()));
        self
    }

    /// What is handed over, and what is asked for.
    fn into_event(self, shape: u32, catalog: &Table, read: impl Fn(&str) -> bool) -> (wit::Event, Shown) {
        let key = |name: &str| read(name).then(|| catalog.number(name));
        let (keys, values) = self.scalars.into_iter().filter_map(|(name, value)| Some((key(&name)?, value))).unzip();
        let event = wit::Event { hook: self.hook, progress: self.progress, shape, values };
        let vectors = self.vectors.into_iter().filter_map(|(name, values)| Some((key(&name)?, values))).collect();
        let texts = self.texts.into_iter().filter_map(|(name, value)| Some((key(&name)?, value))).collect();
        (event, Shown { keys, detail: self.detail, vectors, texts })
    }
}

/// The rest of a test's event.
struct Shown {
    keys: Vec<u32>,
    detail: String,
    vectors: Vec<(u32, Vec<f32>)>,
    texts: Vec<(u32, String)>,
}

impl Source for Shown {
    fn keys(&self) -> Vec<u32> {
        self.keys.clone()
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn vectors(&self) -> Vec<u32> {
        self.vectors.iter().map(|(key, _)| *key).collect()
    }

    fn vector(&self, key: u32) -> Option<Vec<f32>> {
        self.vectors.iter().find(|(known, _)| *known == key).map(|(_, values)| values.clone())
    }

    fn texts(&self) -> Vec<u32> {
        self.texts.iter().map(|(key, _)| *key).collect()
    }

    fn text(&self, key: u32) -> Option<String> {
        self.texts.iter().find(|(known, _)| *known == key).map(|(_, text)| text.clone())
    }
}

/// The catalog of a test's run: a name gets its number when it is first sent.
#[derive(Clone, Default)]
struct Table(Rc<RefCell<Vec<String>>>);

impl Table {
    fn number(&self, name: &str) -> u32 {
        self.key_of(name).unwrap_or_else(|| {
            let mut names = self.0.borrow_mut();
            names.push(name.into());
            names.len() as u32 - 1
        })
    }
}

impl Catalog for Table {
    fn key_of(&self, name: &str) -> Option<u32> {
        self.0.borrow().iter().position(|known| known == name).map(|place| place as u32)
    }

    fn name_of(&self, key: u32) -> Option<String> {
        self.0.borrow().get(key as usize).cloned()
    }
}
