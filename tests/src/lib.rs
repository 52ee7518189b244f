//! What the tests of the whole program share.
//! Holds no tests: they are in `tests/suite`, and drive the real binary.

pub mod guests;
