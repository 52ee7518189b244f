//! One plugin, one store: every call into a guest goes through here, metered and limited.
//!
//! Any error leaves the store poisoned, so whoever gets one drops the instance; making a new one is the
//! callback's part, not this file's. Main type: [`Instance`].

use std::time::Instant;

use host_callback::{Decision, Event, FailureKind, RunInfo, Usage};
use wasmtime::Store;

use crate::{
    Limits,
    bindings::{Guest, PluginPre, types},
    convert::{EventBuffer, decisions_in, run_out},
    failure::{Fault, Phase, sort},
    store::StoreData,
    text::clean,
};

/// A live guest.
pub(crate) struct Instance {
    store: Store<StoreData>,
    guest: Guest,
    limits: Limits,
}

/// Does something with a store that may run guest code: with full budgets before, and with the bill after.
pub(crate) fn metered<R>(
    store: &mut Store<StoreData>,
    phase: Phase,
    spent: &mut Usage,
    work: impl FnOnce(&mut Store<StoreData>) -> wasmtime::Result<R>,
) -> Result<R, Fault> {
    let (budget, deadline) = store.data_mut().begin_call();
    store.set_fuel(budget).expect("the engine counts fuel");
    // Before the deadline is set: a call that passes it took at least so long.
    let began = Instant::now();
    store.set_epoch_deadline(deadline);
    let result = work(store);
    store.data_mut().flush();
    let time = began.elapsed();
    let left = store.get_fuel().expect("the engine counts fuel");
    let fuel = budget.saturating_sub(left) + store.data().host_fuel_used();
    spent.fuel += fuel;
    spent.time += time;
    result.map_err(|error| {
        let (kind, message) = sort(&error, phase, store.data_mut());
        Fault { kind, message, fuel, time }
    })
}

impl Instance {
    /// Makes an instance in a new store; start functions run, metered like a call.
    pub(crate) fn new(
        pre: &PluginPre<StoreData>,
        mut store: Store<StoreData>,
        spent: &mut Usage,
    ) -> Result<Self, Fault> {
        let plugin = metered(&mut store, Phase::Instantiate, spent, |store| pre.instantiate(store))?;
        let limits = *store.data().limits();
        Ok(Self { guest: plugin.train_host_callback_callback().clone(), store, limits })
    }

    /// Configures the guest; what it listens to comes back unchecked.
    pub(crate) fn start(
        &mut self,
        config: &str,
        run: &RunInfo,
        spent: &mut Usage,
    ) -> Result<Vec<types::Subscription>, Fault> {
        self.ask(self.limits.answer_bytes, spent, |guest, store| guest.call_start(store, config, run_out(run)))
    }

    /// Answers an event.
    pub(crate) fn handle(
        &mut self,
        event: &Event,
        buffer: &mut EventBuffer,
        spent: &mut Usage,
    ) -> Result<Vec<Decision>, Fault> {
        let data = self.store.data_mut();
        data.clocks.set_step(event.moment.progress.step);
        data.random.set_event(&event.moment);
        let shape = data.shown.show(event);
        let decisions = self.ask(self.limits.answer_bytes, spent, |guest, store| {
            buffer.show(event, shape, |event| guest.call_handle(store, event))
        })?;
        self.store.data_mut().shown.clear();
        if decisions.is_empty() {
            return Ok(Vec::new());
        }
        decisions_in(decisions, &self.limits).map_err(|why| Fault::new(FailureKind::BadValue, why))
    }

    /// Shows an event that was answered before, by another instance. Nothing of what it says is heard.
    pub(crate) fn repeat(&mut self, event: &Event, buffer: &mut EventBuffer, spent: &mut Usage) -> Result<(), Fault> {
        self.handle(event, buffer, spent).map(drop)
    }

    /// From now on what it logs is heard.
    pub(crate) fn unmute(&mut self) {
        self.store.data_mut().log.is_muted = false;
    }

    /// The guest's state. It has a limit of its own, which may be wider than that of answers.
    pub(crate) fn save(&mut self, spent: &mut Usage) -> Result<Vec<u8>, Fault> {
        self.ask(self.limits.state_bytes, spent, |guest, store| guest.call_save(store))
    }

    /// Gives a state back to the guest.
    pub(crate) fn load(&mut self, version: u32, state: &[u8], spent: &mut Usage) -> Result<(), Fault> {
        self.ask(self.limits.answer_bytes, spent, |guest, store| guest.call_load(store, state, version))
    }

    /// A call whose answer has at most `max_bytes`, and may be an error of the guest's own.
    fn ask<T>(
        &mut self,
        max_bytes: usize,
        spent: &mut Usage,
        call: impl FnOnce(&Guest, &mut Store<StoreData>) -> wasmtime::Result<Result<T, String>>,
    ) -> Result<T, Fault> {
        let before = *spent;
        self.store.set_hostcall_fuel(max_bytes);
        let answer = metered(&mut self.store, Phase::Call, spent, |store| call(&self.guest, store));
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(words)) => Err(Fault {
                kind: FailureKind::Error,
                message: clean(words, self.limits.text_bytes),
                fuel: spent.fuel - before.fuel,
                time: spent.time - before.time,
            }),
            // The engine's words for too much data do not say how much would have been fine.
            Err(fault) if fault.kind == FailureKind::BadValue && fault.message.contains("too much data") => {
                Err(Fault { message: format!("{}; at most {max_bytes} bytes are taken over", fault.message), ..fault })
            }
            Err(fault) => Err(fault),
        }
    }
}
