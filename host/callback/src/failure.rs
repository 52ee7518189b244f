//! How a callback can fail, sorted by cause.
//!
//! It does not decide what follows: the sandbox's restart policy does, and the chain for `stop-run`.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// Why a call of a callback failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The guest trapped: a panic, an out-of-bounds access, unlimited recursion.
    Trap,
    /// It used up the fuel of the call.
    Fuel,
    /// It ran longer than its deadline.
    Deadline,
    /// It asked for more memory, tables or instances than its limit.
    Memory,
    /// It handed over a value that breaks the contract or a size limit.
    BadValue,
    /// It answered with an error.
    Error,
    /// It could not be started again, or did not take its state back.
    Restart,
    /// The host itself failed while serving the guest: a bug of ours.
    Host,
}

impl FailureKind {
    /// The kind in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Fuel => "out of fuel",
            Self::Deadline => "deadline exceeded",
            Self::Memory => "memory limit exceeded",
            Self::BadValue => "bad value",
            Self::Error => "error",
            Self::Restart => "restart failed",
            Self::Host => "fault of the host",
        }
    }
}

/// What the policy made of a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consequence {
    /// A new instance answers the next event, or one a few events later.
    #[default]
    Restart,
    /// It is not called again in this run.
    Disabled,
    /// The run must not go on without it.
    StopRun,
}

/// A call that failed. It counts as "no decision".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallbackFailure {
    /// The cause.
    pub kind: FailureKind,
    /// The guest's message, or the engine's.
    pub message: String,
    /// Fuel used by the call.
    pub fuel: u64,
    /// Wall-clock time used by the call.
    #[serde(rename = "seconds", with = "seconds")]
    pub time: Duration,
    /// What follows.
    pub consequence: Consequence,
}

impl fmt::Display for CallbackFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (fuel {}, {:.1?})", self.kind.words(), self.message, self.fuel, self.time)
    }
}

impl std::error::Error for CallbackFailure {}

mod seconds {
    //! Durations as seconds in JSON.
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}
