//! The outside world as a guest sees it: the list of interfaces that are linked, and what they do.
//!
//! Nothing else is linked, so a component that imports anything else is refused when it is loaded. None of
//! the functions waits, and none of them panics into the guest. Main function: [`linker`].

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use wasmtime::component::{HasSelf, Linker};

use crate::{
    bindings::{host, types},
    log::LogLevel,
    store::StoreData,
};

/// The contract's package.
pub(crate) const PACKAGE: &str = "train-host:callback";
/// The version of the contract that this host speaks.
pub(crate) const CONTRACT: semver::Version = semver::Version::new(0, 1, 0);
/// The interface that a callback exports, without its version.
pub(crate) const CALLBACK: &str = "train-host:callback/callback";

/// An interface that guests may import, without its version, and the functions that it has here.
///
/// Interfaces of language runtimes (clocks, random numbers, output) will be further rows.
pub(crate) struct Offered {
    pub(crate) interface: &'static str,
    pub(crate) functions: &'static [&'static str],
}

/// Everything that is linked.
pub(crate) const OFFERED: [Offered; 2] = [
    Offered {
        interface: "train-host:callback/host",
        functions: &["log", "name-of", "key-of", "detail", "vectors", "vector", "texts", "text"],
    },
    // Types only, but a component names the interface that they come from.
    Offered { interface: "train-host:callback/types", functions: &[] },
];

/// The host itself failed while it served a guest.
#[derive(Debug, thiserror::Error)]
#[error("`{function}` panicked: {message}")]
pub(crate) struct HostFault {
    function: &'static str,
    message: String,
}

/// Links everything that guests may call.
pub(crate) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<StoreData>> {
    let mut linker = Linker::new(engine);
    host::add_to_linker::<_, HasSelf<_>>(&mut linker, |data| data)?;
    types::add_to_linker::<_, HasSelf<_>>(&mut linker, |data| data)?;
    Ok(linker)
}

/// Serves one call of a guest. Unwinding through the guest's frames is not allowed, so a panic of ours
/// ends here and becomes an error of that call.
fn serve<T>(function: &'static str, work: impl FnOnce() -> T) -> wasmtime::Result<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| HostFault { function, message: panic_message(&*panic) }.into())
}

/// The words of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message").to_owned()
}

impl host::Host for StoreData {
    fn log(&mut self, level: host::Level, message: String) -> wasmtime::Result<()> {
        self.pay(message.len())?;
        let level = match level {
            host::Level::Debug => LogLevel::Debug,
            host::Level::Info => LogLevel::Info,
            host::Level::Warn => LogLevel::Warn,
            host::Level::Error => LogLevel::Error,
        };
        serve("log", || self.log.write(level, message))
    }

    fn name_of(&mut self, key: u32) -> wasmtime::Result<Option<String>> {
        let name = serve("name-of", || self.catalog.name(key))?;
        self.pay(name.as_deref().map_or(0, str::len))?;
        Ok(name)
    }

    fn key_of(&mut self, name: String) -> wasmtime::Result<Option<u32>> {
        self.pay(name.len())?;
        serve("key-of", || self.catalog.key(&name))
    }

    fn detail(&mut self) -> wasmtime::Result<String> {
        self.pay(self.shown.detail.len())?;
        serve("detail", || self.shown.detail.clone())
    }

    fn vectors(&mut self) -> wasmtime::Result<Vec<u32>> {
        self.pay(size_of::<u32>() * self.shown.vectors().count())?;
        serve("vectors", || self.shown.vectors().collect())
    }

    fn vector(&mut self, key: u32) -> wasmtime::Result<Option<Vec<f32>>> {
        self.pay(self.shown.vector(key).map_or(0, size_of_val))?;
        serve("vector", || self.shown.vector(key).map(<[f32]>::to_vec))
    }

    fn texts(&mut self) -> wasmtime::Result<Vec<u32>> {
        self.pay(size_of::<u32>() * self.shown.texts().count())?;
        serve("texts", || self.shown.texts().collect())
    }

    fn text(&mut self, key: u32) -> wasmtime::Result<Option<String>> {
        self.pay(self.shown.text(key).map_or(0, str::len))?;
        serve("text", || self.shown.text(key).map(str::to_owned))
    }
}

impl types::Host for StoreData {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_host_ends_only_the_call() {
        let error = serve("log", || panic!("disk full")).unwrap_err();
        assert_eq!(error.downcast_ref::<HostFault>().unwrap().to_string(), "`log` panicked: disk full");
    }
}
