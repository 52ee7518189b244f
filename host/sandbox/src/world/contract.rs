//! The contract's own interface: the log, names of measurements, and the parts of an event that are asked for.

use wasmtime::component::HasSelf;

use super::{CONTRACT, Offered, World, serve};
use crate::{
    bindings::{host, types},
    log::LogLevel,
    store::StoreData,
};

/// The contract's package.
pub(crate) const PACKAGE: &str = "train-host:callback";

pub(super) fn link(world: &mut World) -> wasmtime::Result<()> {
    host::add_to_linker::<_, HasSelf<_>>(&mut world.linker, |data| data)?;
    types::add_to_linker::<_, HasSelf<_>>(&mut world.linker, |data| data)?;
    let functions = vec!["log", "name-of", "key-of", "keys", "detail", "vectors", "vector", "texts", "text"];
    world.real.push(Offered { name: "train-host:callback/host", version: CONTRACT, functions });
    // Types only, but a component names the interface that they come from.
    world.real.push(Offered { name: "train-host:callback/types", version: CONTRACT, functions: Vec::new() });
    Ok(())
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

    fn keys(&mut self) -> wasmtime::Result<Vec<u32>> {
        self.pay(size_of_val(self.shown.keys()))?;
        serve("keys", || self.shown.keys().to_vec())
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
