//! The outside world as a guest sees it: the interfaces that are linked, one by one, and what they do.
//!
//! Nothing else is linked, so a component that imports anything else is refused when it is loaded. None of
//! the functions waits, and none of them panics into the guest. Main type: [`World`].
//!
//! The contract's own interface is in [`contract`]. The others are those of WASI 0.2 that language runtimes call whether
//! a callback asks for it or not: [`clocks`], [`random`] and [`streams`] do something; of everything else that runtimes
//! import, [`nothing`] says that it is not there.

mod clocks;
mod contract;
mod nothing;
mod random;
mod streams;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use semver::Version;
use serde::Serialize;
use wasmtime::{
    StoreContextMut,
    component::{
        ComponentNamedList, Lift, Linker, LinkerInstance, Lower, ResourceType,
        types::{Component, ComponentItem},
    },
};

use crate::store::StoreData;

pub(crate) use self::{clocks::Clocks, contract::PACKAGE, random::Random, streams::Streams};

/// The version of the contract that this host speaks.
pub(crate) const CONTRACT: Version = Version::new(0, 1, 0);
/// The interface that a callback exports, without its version.
pub(crate) const CALLBACK: &str = "train-host:callback/callback";
/// The version of WASI whose interfaces are linked. Later ones of 0.2 only add to it.
const WASI: Version = Version::new(0, 2, 0);

/// What becomes of an interface that a component imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImportKind {
    /// It does what it says, as far as that is the same in every run.
    Real,
    /// It can be called, and there is nothing behind it: no files, no network, no environment.
    Stubbed,
    /// It is not offered, so a component that imports it is not loaded.
    Refused,
}

/// An interface that a component imports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Import {
    /// Its name, with its version.
    pub name: String,
    /// What becomes of it.
    pub kind: ImportKind,
    /// Functions of it that are not offered, where others are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// An interface that guests may import, without its version.
struct Offered {
    name: &'static str,
    version: Version,
    functions: Vec<&'static str>,
}

/// Everything that is linked.
pub(crate) struct World {
    linker: Linker<StoreData>,
    real: Vec<Offered>,
}

/// The name of an interface: `package/interface@version`.
pub(crate) struct Name<'a> {
    pub(crate) interface: &'a str,
    pub(crate) version: &'a str,
}

impl<'a> Name<'a> {
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let (interface, version) = name.split_once('@').unwrap_or((name, ""));
        interface.contains('/').then_some(Self { interface, version })
    }

    /// Versions are compatible as semantic versions are: `0.2.x` among themselves.
    pub(crate) fn fits(&self, version: &Version) -> bool {
        let ours = |theirs: &Version| theirs.major == version.major && theirs.minor == version.minor;
        Version::parse(self.version).is_ok_and(|theirs| theirs.pre.is_empty() && ours(&theirs))
    }
}

impl World {
    pub(crate) fn new(engine: &wasmtime::Engine) -> wasmtime::Result<Self> {
        let mut world = Self { linker: Linker::new(engine), real: Vec::new() };
        contract::link(&mut world)?;
        clocks::link(&mut world)?;
        random::link(&mut world)?;
        streams::link(&mut world)?;
        Ok(world)
    }

    /// An interface of WASI, to be filled with functions.
    fn wasi(&mut self, name: &'static str) -> wasmtime::Result<Interface<'_>> {
        self.real.push(Offered { name, version: WASI, functions: Vec::new() });
        let offered = self.real.last_mut().expect("one was just put in");
        Ok(Interface { linker: self.linker.instance(&format!("{name}@{WASI}"))?, functions: &mut offered.functions })
    }

    /// What becomes of each import of a component.
    pub(crate) fn imports(&self, engine: &wasmtime::Engine, component: &Component) -> Vec<Import> {
        let imports = component.imports(engine);
        imports.map(|(name, item)| self.import(engine, name, &item.ty)).collect()
    }

    fn import(&self, engine: &wasmtime::Engine, import: &str, item: &ComponentItem) -> Import {
        let name = import.to_owned();
        let refused = Import { name: name.clone(), kind: ImportKind::Refused, missing: Vec::new() };
        let (Some(parsed), ComponentItem::ComponentInstance(instance)) = (Name::parse(import), item) else {
            return refused;
        };
        if nothing::INTERFACES.contains(&parsed.interface) && parsed.fits(&WASI) {
            return Import { kind: ImportKind::Stubbed, ..refused };
        }
        let offered = self.real.iter().find(|real| real.name == parsed.interface && parsed.fits(&real.version));
        let Some(offered) = offered else { return refused };
        let functions = instance.exports(engine).filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)));
        let missing = functions.map(|(name, _)| name).filter(|name| !offered.functions.contains(name));
        let missing: Vec<String> = missing.map(str::to_owned).collect();
        let kind = if missing.is_empty() { ImportKind::Real } else { ImportKind::Refused };
        Import { name, kind, missing }
    }

    /// What a component is instantiated with: everything that is real, and nothing behind the rest of its imports.
    pub(crate) fn linker(
        &self,
        engine: &wasmtime::Engine,
        component: &Component,
    ) -> wasmtime::Result<Linker<StoreData>> {
        let mut linker = self.linker.clone();
        // A resource belongs to the first interface that names it; others only use it.
        let mut resources: Vec<ResourceType> = Vec::new();
        for (name, item) in component.imports(engine) {
            let ComponentItem::ComponentInstance(instance) = &item.ty else { continue };
            let is_stubbed = self.import(engine, name, &item.ty).kind == ImportKind::Stubbed;
            let mut stub = if is_stubbed { Some(linker.instance(name)?) } else { None };
            for (export, item) in instance.exports(engine) {
                match (item.ty, &mut stub) {
                    (ComponentItem::ComponentFunc(_), Some(stub)) => nothing::function(stub, name, export)?,
                    (ComponentItem::Resource(resource), stub) if !resources.contains(&resource) => {
                        resources.push(resource);
                        stub.as_mut().map_or(Ok(()), |stub| nothing::resource(stub, export))?;
                    }
                    _ => {}
                }
            }
        }
        Ok(linker)
    }
}

/// An interface while it is linked.
struct Interface<'a> {
    linker: LinkerInstance<'a, StoreData>,
    functions: &'a mut Vec<&'static str>,
}

impl Interface<'_> {
    /// A function. It costs what each call to the host costs; `work` pays for what goes by size.
    fn function<Params, Return>(
        mut self,
        name: &'static str,
        work: impl Fn(&mut StoreData, Params) -> wasmtime::Result<Return> + Send + Sync + 'static,
    ) -> wasmtime::Result<Self>
    where
        Params: ComponentNamedList + Lift + 'static,
        Return: Lower + 'static,
        (Return,): ComponentNamedList + Lower,
    {
        self.linker.func_wrap(name, move |mut store: StoreContextMut<'_, StoreData>, params: Params| {
            let data = store.data_mut();
            data.pay(0)?;
            Ok((serve(name, || work(data, params))??,))
        })?;
        self.functions.push(name);
        Ok(self)
    }

    /// A function without a result.
    fn procedure<Params>(
        mut self,
        name: &'static str,
        work: impl Fn(&mut StoreData, Params) -> wasmtime::Result<()> + Send + Sync + 'static,
    ) -> wasmtime::Result<Self>
    where
        Params: ComponentNamedList + Lift + 'static,
    {
        self.linker.func_wrap(name, move |mut store: StoreContextMut<'_, StoreData>, params: Params| {
            let data = store.data_mut();
            data.pay(0)?;
            serve(name, || work(data, params))?
        })?;
        self.functions.push(name);
        Ok(self)
    }

    /// A kind of things that guests have handles to; `drop` is told which one a guest has no handle to any more.
    fn resource<T: 'static>(
        mut self,
        name: &'static str,
        drop: impl Fn(&mut StoreData, u32) + Send + Sync + 'static,
    ) -> wasmtime::Result<Self> {
        self.linker.resource(name, ResourceType::host::<T>(), move |mut store, number| {
            serve("drop", || drop(store.data_mut(), number))
        })?;
        Ok(self)
    }
}

/// A call that the guest itself has brought to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// As a process would end.
    #[error("it called `exit`, with {}", if *.is_success { "success" } else { "a failure" })]
    Exited { is_success: bool },
    /// It needs an answer, and there is none that says that there is nothing.
    #[error("it called `{interface}#{function}`; callbacks have no files, no network and no environment")]
    NotHere { interface: String, function: String },
    /// WASI forbids it.
    #[error("it polls an empty list")]
    PollsNothing,
}

/// The host itself failed while it served a guest.
#[derive(Debug, thiserror::Error)]
#[error("`{function}` panicked: {message}")]
pub(crate) struct HostFault {
    function: &'static str,
    message: String,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_host_ends_only_the_call() {
        let error = serve("log", || panic!("disk full")).unwrap_err();
        assert_eq!(error.downcast_ref::<HostFault>().unwrap().to_string(), "`log` panicked: disk full");
    }

    #[test]
    fn versions_fit_as_semantic_versions_do() {
        let fits = |name| Name::parse(name).unwrap().fits(&WASI);
        assert!(["wasi:io/poll@0.2.0", "wasi:io/poll@0.2.99"].into_iter().all(fits));
        let others = ["wasi:io/poll", "wasi:io/poll@0.3.0", "wasi:io/poll@1.2.0", "wasi:io/poll@0.2.0-rc-2023-11-10"];
        assert!(!others.into_iter().any(fits));
    }
}
