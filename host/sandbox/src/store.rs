//! What the host keeps beside one instance, and a store that is limited from its first moment.
//!
//! It does not call guests: [`Instance`](crate::instance::Instance) does. Main type: [`StoreData`].

use host_callback::Catalog;
use wasmtime::Store;

use crate::{
    Limits,
    clock::{self, Running},
    limiter::Limiter,
    log::InstanceLog,
    shown::Shown,
    world::{Clocks, Random, Streams},
};

/// Fuel that a call to the host costs, and then one unit a byte handed over: about what it takes, in the
/// time that the same amount of WebAssembly takes.
const HOST_CALL_FUEL: u64 = 200;

/// Everything that belongs to one instance on the host's side.
pub(crate) struct StoreData {
    limiter: Limiter,
    pub(crate) log: InstanceLog,
    /// Names and numbers of measurements; empty while a guest describes itself.
    pub(crate) catalog: Catalog,
    /// The event that is being answered.
    pub(crate) shown: Shown,
    pub(crate) clocks: Clocks,
    pub(crate) random: Random,
    pub(crate) streams: Streams,
    /// What the running call may still make the host do, in fuel.
    host_fuel_left: u64,
    limits: Limits,
    /// The deadline of a call in the clock's ticks.
    deadline_ticks: u64,
    /// Deadlines hold as long as the store lives.
    _running: Running,
}

/// The guest kept the host too busy.
#[derive(Debug, thiserror::Error)]
#[error("calls to the host used up as much again")]
pub(crate) struct HostFuelUsedUp;

impl StoreData {
    pub(crate) fn new(limits: &Limits, log: InstanceLog, catalog: Catalog, random: Random, running: Running) -> Self {
        Self {
            limiter: Limiter::new(limits),
            log,
            catalog,
            shown: Shown::default(),
            clocks: Clocks::default(),
            random,
            streams: Streams::default(),
            host_fuel_left: 0,
            limits: *limits,
            deadline_ticks: clock::ticks(limits.deadline),
            _running: running,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A call begins: budgets of single calls are full again. Gives its fuel, and its deadline in ticks.
    pub(crate) fn begin_call(&mut self) -> (u64, u64) {
        self.host_fuel_left = self.limits.fuel;
        self.log.begin_call();
        (self.limits.fuel, self.deadline_ticks)
    }

    /// What the host's work in this call has cost so far.
    pub(crate) fn host_fuel_used(&self) -> u64 {
        self.limits.fuel - self.host_fuel_left
    }

    /// Pays for a call to the host.
    pub(crate) fn pay(&mut self, bytes: usize) -> Result<(), HostFuelUsedUp> {
        let price = HOST_CALL_FUEL.saturating_add(bytes as u64);
        self.host_fuel_left = self.host_fuel_left.checked_sub(price).ok_or(HostFuelUsedUp)?;
        Ok(())
    }
}

/// A store with its limits set. They must be in place before anything is instantiated in it: memories and
/// start functions come with the instance.
pub(crate) fn new_store(engine: &wasmtime::Engine, data: StoreData) -> Store<StoreData> {
    let limits = data.limits;
    let mut store = Store::new(engine, data);
    store.limiter(|data| &mut data.limiter);
    store.set_max_component_handles(limits.handles);
    store.set_hostcall_fuel(limits.answer_bytes);
    store.epoch_deadline_trap();
    store
}
