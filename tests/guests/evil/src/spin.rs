//! Uses time and fuel, and nothing else.
//! Calls nobody, so that only the host's limits end it.

use std::hint::{black_box, spin_loop};

pub(crate) fn forever() -> ! {
    loop {
        spin_loop();
    }
}

/// Some rounds of arithmetic, then an answer.
pub(crate) fn for_a_while(rounds: u64) {
    let mut sum = 0_u64;
    for round in 0..rounds {
        sum = black_box(sum.wrapping_add(round));
    }
}
