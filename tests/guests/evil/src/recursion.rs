//! Calls itself without end.
//! Uses the stack that the compiler lays out in memory as well as the engine's own.

use std::hint::black_box;

pub(crate) fn dive() {
    deeper(0);
}

fn deeper(depth: u64) -> u64 {
    let frame = black_box([depth; 8]);
    // Something is left to do after the call, so that it does not become a loop.
    if frame[0] == u64::MAX { 0 } else { deeper(depth + 1) + black_box(frame)[1] }
}
