//! The component's exports: calls from the host to the one instance that a component has.
//! Public for the `export!` macro only; not part of what an author uses.

use std::cell::RefCell;
use std::marker::PhantomData;

use crate::bindings::exports::train_host::callback::callback::Guest;
use crate::bindings::train_host::callback::{host, types as wit};
use crate::instance::{Instance, Running};
use crate::names::Catalog;
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
        let (instance, subscriptions) = Instance::<C>::start(&config, &Run::from(run), HostCatalog)?;
        INSTANCE.set(Some(Box::new(instance)));
        Ok(subscriptions)
    }

    fn handle(event: wit::Event) -> Result<Vec<Decision>, String> {
        with_instance(|instance| instance.handle(&event))
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

/// The catalog of the run, behind two imported functions.
struct HostCatalog;

impl Catalog for HostCatalog {
    fn key_of(&self, name: &str) -> Option<u32> {
        host::key_of(name)
    }

    fn name_of(&self, key: u32) -> Option<String> {
        host::name_of(key)
    }
}
