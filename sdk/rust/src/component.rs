//! The component's exports: calls from the host to the one instance that a component has.
//! Public for the `export!` macro only; not part of what an author uses.

use std::cell::RefCell;
use std::marker::PhantomData;

use crate::bindings::exports::train_host::callback::callback::Guest;
use crate::bindings::train_host::callback::{host, types as wit};
use crate::instance::{Instance, Running};
use crate::names::Catalog;
use crate::rest::Source;
use crate::{Callback, Decision, Run, log, manifest};

thread_local! {
    /// The callback after `start`. A component has one thread and one callback.
    static INSTANCE: RefCell<Option<Box<dyn Running>>> = const { RefCell::new(None) };
}

/// A callback as a component.
pub struct Component<C>(PhantomData<C>);

impl<C: Callback> Guest for Component<C> {
    fn describe() -> wit::Manifest {
        manifest::describe::<C>()
    }

    fn start(config: String, run: wit::RunInfo) -> Result<Vec<wit::Subscription>, String> {
        log::report_panics();
        let (instance, subscriptions) = Instance::<C>::start(&config, &Run::from(run), Host)?;
        INSTANCE.set(Some(Box::new(instance)));
        Ok(subscriptions)
    }

    fn handle(event: wit::Event) -> Result<Vec<Decision>, String> {
        with_instance(|instance| instance.handle(&event, &Host))
    }

    fn save() -> Result<Vec<u8>, String> {
        with_instance(|instance| instance.save())
    }

    fn load(state: Vec<u8>, state_version: u32) -> Result<(), String> {
        with_instance(|instance| instance.load(state, state_version))
    }
}

fn with_instance<T>(call: impl FnOnce(&mut dyn Running) -> Result<T, String>) -> Result<T, String> {
    INSTANCE.with_borrow_mut(|instance| match instance {
        Some(instance) => call(instance.as_mut()),
        None => Err("called before start".into()),
    })
}

/// The host, behind imported functions.
struct Host;

impl Catalog for Host {
    fn key_of(&self, name: &str) -> Option<u32> {
        host::key_of(name)
    }

    fn name_of(&self, key: u32) -> Option<String> {
        host::name_of(key)
    }
}

impl Source for Host {
    fn keys(&self) -> Vec<u32> {
        host::keys()
    }

    fn detail(&self) -> String {
        host::detail()
    }

    fn vectors(&self) -> Vec<u32> {
        host::vectors()
    }

    fn vector(&self, key: u32) -> Option<Vec<f32>> {
        host::vector(key)
    }

    fn texts(&self) -> Vec<u32> {
        host::texts()
    }

    fn text(&self, key: u32) -> Option<String> {
        host::text(key)
    }
}
