//! Sorts what went wrong in a call by its type, never by its words.
//!
//! It does not decide what follows: [`Policy`](crate::restart::Policy) does. Main type: [`Fault`].

use std::{fmt, time::Duration};

use host_callback::{CallbackFailure, Consequence, FailureKind};
use wasmtime::Trap;

use crate::{
    limiter::LimitExceeded,
    store::{HostFuelUsedUp, StoreData},
    text::clean,
    world::{Ended, HostFault},
};

/// A call that failed, before the policy has said what follows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    pub(crate) fuel: u64,
    pub(crate) time: Duration,
}

impl Fault {
    /// A fault that no call was needed for.
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), fuel: 0, time: Duration::ZERO }
    }

    /// The same fault, met while doing something that failed because of it.
    pub(crate) fn within(self, kind: FailureKind, doing: &str) -> Self {
        Self { kind, message: format!("{doing}: {}: {}", self.kind.words(), self.message), ..self }
    }

    pub(crate) fn with(self, consequence: Consequence) -> CallbackFailure {
        let Self { kind, message, fuel, time } = self;
        CallbackFailure { kind, message, fuel, time, consequence }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.words(), self.message)
    }
}

/// What the engine was doing when an error without a type of its own came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Making the instance. What has no type then is a count of instances, memories or tables.
    Instantiate,
    /// A call. What has no type then is a value that the engine could not take over from the guest.
    Call,
}

/// The kind of an error, and the words for it.
pub(crate) fn sort(error: &wasmtime::Error, phase: Phase, data: &mut StoreData) -> (FailureKind, String) {
    let limits = *data.limits();
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return match trap {
            Trap::OutOfFuel => (FailureKind::Fuel, format!("used up the {} units of a call", limits.fuel)),
            Trap::Interrupt => (FailureKind::Deadline, format!("ran longer than {:?}", limits.deadline)),
            Trap::AllocationTooLarge => (FailureKind::Memory, trap_words(*trap)),
            Trap::InvalidChar
            | Trap::StringOutOfBounds
            | Trap::ListOutOfBounds
            | Trap::InvalidDiscriminant
            | Trap::UnalignedPointer => (FailureKind::BadValue, trap_words(*trap)),
            // Where a language runtime gives up after a panic; it logs the message before.
            Trap::UnreachableCodeReached => {
                let said = data.log.take_last_error();
                (FailureKind::Trap, said.unwrap_or_else(|| trap_words(*trap)))
            }
            other => (FailureKind::Trap, trap_words(*other)),
        };
    }
    if let Some(exceeded) = error.downcast_ref::<LimitExceeded>() {
        return (FailureKind::Memory, exceeded.to_string());
    }
    if let Some(used_up) = error.downcast_ref::<HostFuelUsedUp>() {
        return (FailureKind::Fuel, format!("used up the {} units of a call: {used_up}", limits.fuel));
    }
    if let Some(ended) = error.downcast_ref::<Ended>() {
        let said = data.log.take_last_error().filter(|_| matches!(ended, Ended::Exited { .. }));
        return (FailureKind::Trap, said.unwrap_or_else(|| clean(ended.to_string(), limits.text_bytes)));
    }
    if let Some(fault) = error.downcast_ref::<HostFault>() {
        return (FailureKind::Host, clean(fault.to_string(), limits.text_bytes));
    }
    let kind = match phase {
        Phase::Instantiate => FailureKind::Memory,
        Phase::Call => FailureKind::BadValue,
    };
    (kind, clean(format!("{error:#}"), limits.text_bytes))
}

/// The engine's words without the prefix that repeats the kind.
fn trap_words(trap: Trap) -> String {
    let words = trap.to_string();
    words.strip_prefix("wasm trap: ").unwrap_or(&words).to_owned()
}

#[cfg(test)]
mod tests {
    use host_callback::Catalog;

    use super::*;
    use crate::{Limits, clock::Clock, log::InstanceLog, world::Random};

    #[test]
    fn errors_are_sorted_by_type() {
        let clock = Clock::start(wasmtime::Engine::default()).unwrap();
        let limits = Limits::default();
        let log = InstanceLog::new(None, &limits);
        let mut data = StoreData::new(&limits, log, Catalog::new(), Random::default(), clock.run());
        let other = || wasmtime::Error::msg("all fuel consumed, out of memory, interrupt");
        for (error, phase, kind) in [
            (Trap::OutOfFuel.into(), Phase::Call, FailureKind::Fuel),
            (Trap::Interrupt.into(), Phase::Call, FailureKind::Deadline),
            (Trap::StackOverflow.into(), Phase::Call, FailureKind::Trap),
            (Trap::CannotLeaveComponent.into(), Phase::Call, FailureKind::Trap),
            (Trap::ListOutOfBounds.into(), Phase::Call, FailureKind::BadValue),
            (HostFuelUsedUp.into(), Phase::Call, FailureKind::Fuel),
            (wasmtime::Error::from(Trap::OutOfFuel).context("while it ran"), Phase::Instantiate, FailureKind::Fuel),
            (other(), Phase::Call, FailureKind::BadValue),
            (other(), Phase::Instantiate, FailureKind::Memory),
        ] {
            assert_eq!(sort(&error, phase, &mut data).0, kind, "{error:?}");
        }
    }
}
