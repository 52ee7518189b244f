//! Which attack, and when.
//! Holds no attack.

use host_sdk::Hook;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) mode: Mode,
    /// The hook to listen to.
    #[serde(default = "step_end")]
    hook: String,
    /// The first step, as `progress.step` counts, at which the attack is made.
    #[serde(default)]
    from_step: u64,
    /// The last one.
    #[serde(default = "forever")]
    to_step: u64,
    /// How much: rounds for `slow`, lines for `flood`, decisions for `many-decisions`, bytes for `long-words`.
    #[serde(default = "much")]
    pub(crate) work: u64,
    /// What to read.
    #[serde(default)]
    pub(crate) reads: Vec<String>,
}

/// The attacks. Where a comment names a row, it is of the list of behaviours that tests are named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// None: a callback that counts its events.
    Healthy,
    /// A1.
    StartLoop,
    /// A1.
    StartTrap,
    StartError,
    StartMemory,
    /// A4, A5.
    Trap,
    /// As `trap`, by a panic of Rust's.
    Panic,
    /// A2.
    Loop,
    /// A7.
    Memory,
    /// A9.
    Recursion,
    /// A11.
    Slow,
    /// A17.
    Flood,
    Error,
    /// A21.
    BadNumbers,
    /// A21.
    UnknownNames,
    /// A21.
    ManyDecisions,
    /// A8: one note of `work` bytes.
    LongWords,
    /// A8: a note that is not UTF-8.
    BadWords,
    /// None: notes what the host gives in `start`, and what it gives for the event; `save` gives what it gives then.
    Pull,
    /// Asks for vectors without end.
    PullForever,
    /// A22.
    SaveError,
    /// A22.
    SaveTrap,
    /// A22: a gigabyte that is really there, as far as the memory limit goes.
    SaveGigabyte,
    /// A22.
    LoadError,
    /// A22.
    LoadTrap,
}

fn step_end() -> String {
    "step-end".into()
}

fn forever() -> u64 {
    u64::MAX
}

fn much() -> u64 {
    10_000
}

impl Config {
    pub(crate) fn is_due(&self, step: u64) -> bool {
        (self.from_step..=self.to_step).contains(&step)
    }

    pub(crate) fn hook(&self) -> Result<Hook, String> {
        Hook::named(&self.hook)
    }
}
