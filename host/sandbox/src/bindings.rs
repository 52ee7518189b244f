//! The contract's types and functions as generated from `wit/`.
//!
//! Private: nothing outside the crate names them, and [`convert`](crate::convert) is the only way between
//! them and the domain's types. Main types: [`Plugin`], [`PluginPre`].

wasmtime::component::bindgen!({
    path: "../../wit/0.1.0",
    world: "plugin",
    // Events are borrowed, so that nothing of them is copied before it is written into the guest's memory.
    ownership: Borrowing { duplicate_if_necessary: false },
    imports: { default: trappable },
});

pub(crate) use exports::train_host::callback::callback::Guest;
pub(crate) use train_host::callback::{host, types};
