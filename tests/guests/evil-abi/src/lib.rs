//! A hostile callback that breaks the rules of the binary interface, as only hand-written or broken guests do.
//! The exports are written by hand; those that are not attacked pass on to the generated ones.
//!
//! Its configuration is the name of the attack, in any JSON. A healthy event is answered with a note, `healthy`.
#![expect(unsafe_code, reason = "hand-written exports, and answers that point to where nothing is")]

mod bindings;
mod exports;
mod memory;

use std::cell::Cell;

/// Attacks, by the words that choose them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attack {
    /// Any other configuration.
    None,
    /// A8, `huge-list`: `handle` answers with a billion decisions.
    HugeList,
    /// A8, `outside`: `handle` answers with a list that lies outside of the memory.
    Outside,
    /// A8, `misaligned`: `handle` answers with a list at an odd address.
    Misaligned,
    /// A8, `amplified`: `handle` answers with a thousand notes that are all the same mebibyte of text, which a host
    /// that copies as it is told has to copy a thousand times.
    Amplified,
    /// `unknown-decision`: `handle` answers with a decision of a kind that does not exist.
    UnknownDecision,
    /// `unknown-result`: `handle` answers neither with a success nor with an error.
    UnknownResult,
    /// A22, `huge-state`: `save` answers with a gigabyte that is not there.
    HugeState,
    /// A10, `realloc-calls`: `realloc` calls the host.
    ReallocCalls,
    /// `realloc-outside`: `realloc` answers with an address outside of the memory.
    ReallocOutside,
}

thread_local! {
    static ATTACK: Cell<Attack> = const { Cell::new(Attack::None) };
}

/// The attack that the configuration chose; none before `start`.
pub(crate) fn attack() -> Attack {
    ATTACK.get()
}

/// Chooses the attack.
pub(crate) fn choose(config: &str) {
    let attacks = [
        ("huge-list", Attack::HugeList),
        ("realloc-outside", Attack::ReallocOutside),
        ("outside", Attack::Outside),
        ("misaligned", Attack::Misaligned),
        ("amplified", Attack::Amplified),
        ("unknown-decision", Attack::UnknownDecision),
        ("unknown-result", Attack::UnknownResult),
        ("huge-state", Attack::HugeState),
        ("realloc-calls", Attack::ReallocCalls),
    ];
    let chosen = attacks.iter().find(|(words, _)| config.contains(words));
    ATTACK.set(chosen.map_or(Attack::None, |(_, attack)| *attack));
}
