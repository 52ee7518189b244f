//! A callback that has joined a run, with its state and the names that it has looked up.
//! Knows nothing of how calls come in; `component` and `testing` do.

use crate::bindings::train_host::callback::types as wit;
use crate::names::{Catalog, Names};
use crate::rest::Source;
use crate::shapes::Shapes;
use crate::state::{Saved, from_json, to_json};
use crate::{Answer, Callback, Decision, Event, Run};

/// A callback that has joined a run.
pub(crate) struct Instance<C: Callback> {
    callback: C,
    state: C::State,
    names: Names,
    shapes: Shapes,
}

impl<C: Callback> Instance<C> {
    pub(crate) fn start(
        config: &str,
        run: &Run,
        catalog: impl Catalog + 'static,
    ) -> Result<(Self, Vec<wit::Subscription>), String> {
        let config = if config.is_empty() { "{}" } else { config };
        let settings = from_json(config.as_bytes()).map_err(|error| format!("configuration: {error}"))?;
        let (callback, subscriptions) = C::start(settings, run)?;
        let (state, names, shapes) = (C::State::default(), Names::new(catalog), Shapes::default());
        Ok((Self { callback, state, names, shapes }, subscriptions.into_list()))
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn state(&self) -> &C::State {
        &self.state
    }
}

/// An [`Instance`] of some callback: a component has one, of a type that the exports need not know.
pub(crate) trait Running {
    /// `source` has what is not in the event itself.
    fn handle(&mut self, event: &wit::Event, source: &dyn Source) -> Result<Vec<Decision>, String>;
    fn save(&self) -> Result<Vec<u8>, String>;
    fn load(&mut self, state: Vec<u8>, version: u32) -> Result<(), String>;
}

impl<C: Callback> Running for Instance<C> {
    fn handle(&mut self, event: &wit::Event, source: &dyn Source) -> Result<Vec<Decision>, String> {
        let mut answer = Answer::default();
        let event = Event::new(event, source, &self.names, &self.shapes);
        self.callback.handle(&mut self.state, &event, &mut answer);
        answer.into_result()
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        // The contract's word for "no state" is no bytes.
        if size_of::<C::State>() == 0 { Ok(Vec::new()) } else { to_json(&self.state) }
    }

    fn load(&mut self, state: Vec<u8>, version: u32) -> Result<(), String> {
        let saved = Saved::new(state, version);
        self.state = if saved.is_empty() {
            C::State::default()
        } else if version == C::MANIFEST.version_of_state() {
            saved.read()?
        } else {
            self.callback.migrate(saved)?
        };
        Ok(())
    }
}
