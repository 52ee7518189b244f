//! The trait that an author implements: how a callback starts, and what it does at each hook.
//! Knows nothing of the component model; `instance` drives it.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Answer, Event, Hook, Manifest, Run, Saved, Subscriptions};

/// A callback: made from its settings when it joins a run, and called at the hooks that it subscribed to.
///
/// Hooks get the callback by shared reference and the state by exclusive one. So whatever changes while a run goes on
/// is in the state, which is in every checkpoint, and a resumed run decides what an uninterrupted one would have.
///
/// Every hook has a default that answers nothing; one that is implemented must also be subscribed to in
/// [`start`](Self::start). Each of them gets the state, the event and the answer to fill in.
pub trait Callback: Sized + 'static {
    /// The configuration. A callback that needs nothing else is its own settings: `type Settings = Self`.
    type Settings: DeserializeOwned + JsonSchema;
    /// What the callback learns on the way; `()` for nothing. Saved as JSON, in which NaN and infinities are kept.
    type State: Default + Serialize + DeserializeOwned;
    /// What the plugin is and may ask for.
    const MANIFEST: Manifest;

    /// Joins a run. Called again after a resume, a crash or a change of configuration, before the state comes back.
    ///
    /// # Errors
    ///
    /// The settings do not make sense together or for this run. The words are shown to whoever wrote them.
    fn start(settings: Self::Settings, run: &Run) -> Result<(Self, Subscriptions), String>;

    /// Takes back state that was saved under another [version](Manifest::state_version).
    ///
    /// # Errors
    ///
    /// The version is not one that this callback knows, which is the default's only answer.
    fn migrate(&self, saved: Saved) -> Result<Self::State, String> {
        let (found, current) = (saved.version(), Self::MANIFEST.version_of_state());
        Err(format!("state of version {found} was saved, and this version of the plugin reads {current}"))
    }

    /// Answers an event by calling the method of its hook. A callback that treats all hooks alike overrides this one.
    fn handle(&self, state: &mut Self::State, event: &Event, answer: &mut Answer) {
        match event.hook() {
            Hook::TrainBegin => self.train_begin(state, event, answer),
            Hook::EpochBegin => self.epoch_begin(state, event, answer),
            Hook::StepBegin => self.step_begin(state, event, answer),
            Hook::Gradients => self.gradients(state, event, answer),
            Hook::StepEnd => self.step_end(state, event, answer),
            Hook::EvaluateBegin => self.evaluate_begin(state, event, answer),
            Hook::EvaluateEnd => self.evaluate_end(state, event, answer),
            Hook::Log => self.log(state, event, answer),
            Hook::SaveBegin => self.save_begin(state, event, answer),
            Hook::SaveEnd => self.save_end(state, event, answer),
            Hook::EpochEnd => self.epoch_end(state, event, answer),
            Hook::Failure => self.failure(state, event, answer),
            Hook::TrainEnd => self.train_end(state, event, answer),
        }
    }

    /// Once in the life of a run, before its first step. Not sent again after a resume.
    fn train_begin(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// Before the first batch of an epoch.
    fn epoch_begin(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// Before the batch is fetched. [`Answer::skip`] drops it.
    fn step_begin(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// All gradients of this update are there, not yet clipped or applied. [`Answer::skip`] drops the update.
    fn gradients(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// The optimizer has been applied, or the update was dropped.
    fn step_end(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// [`Answer::skip`] drops this evaluation.
    fn evaluate_begin(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// An evaluation is complete. One that was cut short does not get here.
    fn evaluate_end(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// A log record is about to be written.
    fn log(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// [`Answer::skip`] drops this save.
    fn save_begin(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// The checkpoint is durable on disk.
    fn save_end(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// After the last step of an epoch.
    fn epoch_end(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// The loop failed; [`Event::detail`] says how.
    fn failure(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}

    /// The run ends; [`Event::detail`] says why. [`Answer::restore`] is still possible.
    fn train_end(&self, _state: &mut Self::State, _event: &Event, _answer: &mut Answer) {}
}

/// Settings of a callback that has none: any key in its configuration is an error.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}
