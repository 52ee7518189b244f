//! Interfaces behind which there is nothing: files, network, environment, terminals.
//!
//! Language runtimes import them whether a callback needs them or not, and call some of them when they start. The
//! answer says that there is nothing: an empty list, none, or the error code for it. A function with no such answer
//! ends the call. All of it goes by types, so that functions that a later WASI adds are no obstacle.

use wasmtime::{
    StoreContextMut,
    component::{
        LinkerInstance, ResourceType, Val,
        types::{ComponentFunc, Type},
    },
};

use super::Ended;
use crate::store::StoreData;

/// The interfaces, without their version.
pub(super) const INTERFACES: [&str; 15] = [
    "wasi:cli/environment",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
    "wasi:filesystem/types",
    "wasi:filesystem/preopens",
    "wasi:sockets/network",
    "wasi:sockets/instance-network",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/ip-name-lookup",
];

/// Error codes that say it best, the first one first.
const NO_ACCESS: [&str; 3] = ["access-denied", "access", "not-supported"];

/// Something that guests could have handles to, and never have.
struct Nothing;

pub(super) fn resource(instance: &mut LinkerInstance<'_, StoreData>, name: &str) -> wasmtime::Result<()> {
    instance.resource(name, ResourceType::host::<Nothing>(), |_, _| Ok(()))
}

pub(super) fn function(
    instance: &mut LinkerInstance<'_, StoreData>,
    interface: &str,
    function: &str,
) -> wasmtime::Result<()> {
    let named = (interface.to_owned(), function.to_owned());
    instance.func_new(function, move |store, ty, params, results| {
        let is_answered = answer(store, &ty, params, results)?;
        let not_here = || Ended::NotHere { interface: named.0.clone(), function: named.1.clone() };
        if is_answered { Ok(()) } else { Err(not_here().into()) }
    })
}

fn answer(
    mut store: StoreContextMut<'_, StoreData>,
    ty: &ComponentFunc,
    params: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<bool> {
    store.data_mut().pay(0)?;
    for param in params {
        // What a guest lends has to be given back.
        if let Val::Resource(resource) = param {
            resource.resource_drop(&mut store)?;
        }
    }
    for (result, ty) in results.iter_mut().zip(ty.results()) {
        match nothing(&ty) {
            Some(value) => *result = value,
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// The value of a type that says that there is nothing.
fn nothing(ty: &Type) -> Option<Val> {
    match ty {
        Type::List(_) => Some(Val::List(Vec::new())),
        Type::Option(_) => Some(Val::Option(None)),
        Type::Result(result) => {
            let Type::Enum(codes) = result.err()? else { return None };
            let code = NO_ACCESS.into_iter().find(|code| codes.names().any(|name| name == *code))?;
            Some(Val::Result(Err(Some(Box::new(Val::Enum(code.to_owned()))))))
        }
        _ => None,
    }
}
