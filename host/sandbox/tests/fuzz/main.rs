//! Files and guests that nobody would write, made up from seeds: nothing of them panics, hangs, takes memory for good,
//! or is told in more than one clear error. Attacks that somebody thought of are in `behaviours`; arbitrary decisions
//! are among the properties of `host-callback`; runs whose plugins change are in `soak`.
//!
//! ```sh
//! cargo test --release -p host-sandbox --test fuzz                                      # the short form
//! HOST_FUZZ_CASES=100000 cargo test --release -p host-sandbox --test fuzz               # so many cases a subject
//! HOST_FUZZ_CASES=17..18 cargo test --release -p host-sandbox --test fuzz mutated_bytes # case 17 once more
//! ```
//!
//! A case depends on its subject and its number and on nothing else. Its file lies in `target/tmp` while it runs and
//! stays there when it fails, also where the process itself ends.

#![expect(clippy::unwrap_used, reason = "tests")]

mod answers;
mod bytes;
mod cases;
mod modules;
mod probe;
mod random;
mod seeds;
