//! Long runs: plugins are replaced, crash, leave and come while the run goes on, and thousands of calls fail. What was
//! measured stays what it is without all that; threads, open files and memory stay what they were. Each way in which
//! this goes is tested by itself in `behaviours`; files that nobody would write are in `fuzz`.
//!
//! ```sh
//! cargo test --release -p host-sandbox --test soak                     # one round
//! HOST_SOAK_ROUNDS=20 cargo test --release -p host-sandbox --test soak # 1,000 swaps, 100,000 failing calls
//! ```
//!
//! A round has 50 swaps, 5,000 failing calls and a schedule of 60 random changes. Schedules depend on the number of their
//! round and on nothing else; how many steps pass until a change is there depends on the machine.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../fuzz/random.rs"]
#[expect(dead_code, reason = "`fuzz` chooses more than schedules do")]
mod random;

mod failures;
mod model;
mod process;
mod schedule;
mod stage;
mod swaps;
mod training;
