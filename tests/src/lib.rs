//! What the tests of the whole program share: a temporary project, the program's runs in it, and what they leave.
//! Holds no tests: they are in `tests/suite`, and drive the real binary.

pub mod contract;
pub mod guests;
mod project;
mod run;

pub use project::Project;
pub use run::{Outcome, Run};
