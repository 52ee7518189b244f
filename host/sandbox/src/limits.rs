//! What one instance may use, each with its unit, its default and what happens at the edge.
//!
//! It enforces nothing: [`limiter`](crate::limiter), the instance and [`convert`](crate::convert) do. Main
//! type: [`Limits`].

use std::time::Duration;

use serde::Serialize;

/// Limits of one instance.
///
/// Each holds for one instance by itself: ten instances may use ten times as much. Compiled code and what
/// the engine keeps for its own books (tens of kilobytes an instance) are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Limits {
    /// Fuel of one call, at least 1; about one unit a WebAssembly instruction, and the same on every machine.
    ///
    /// At the edge the call fails as [`Fuel`](host_callback::FailureKind::Fuel). Making an instance counts as
    /// a call too. Work of the host for the guest is paid by a price a call and a byte, up to as much again.
    ///
    /// Default 200,000,000: 2,000 times what a Python callback needs for an event. An empty loop takes about
    /// 1 ns a unit, other code less, so a runaway ends after a quarter of a second at most and well before
    /// the default deadline, by the bound that is the same in every run.
    pub fuel: u64,
    /// Wall-clock time of one call, above zero, in ticks of 5 ms, rounded up.
    ///
    /// At the edge the call fails as [`Deadline`](host_callback::FailureKind::Deadline), never early, and late
    /// when the machine is so busy that the clock's thread is. It is set anew for each call. No function of
    /// the host waits for anything, so nothing escapes it.
    ///
    /// Default 2 s: eight times what the default fuel lasts, so that a busy machine fails no healthy callback.
    pub deadline: Duration,
    /// Bytes of all linear memories of the instance together, at least one page of 64 KiB.
    ///
    /// At the edge the call fails as [`Memory`](host_callback::FailureKind::Memory). A memory never shrinks;
    /// a new instance begins anew.
    ///
    /// Default 64 MiB: a Python runtime takes some 40, Rust 1 to 2.
    pub memory_bytes: usize,
    /// Elements of all tables together, 8 bytes of the host's memory each. Edge as for memory.
    ///
    /// Default 100,000: an interpreter's function table has some 20,000.
    pub table_elements: usize,
    /// Core instances in one component, at least 1. Edge as for memory, when the instance is made.
    ///
    /// Default 128: 4 are usual, a Python component with its libraries has some dozens.
    pub instances: usize,
    /// Linear memories in one component. Edge as for instances. Default 16; 1 is usual.
    pub memories: usize,
    /// Tables in one component. Edge as for instances. Default 32; 2 are usual.
    pub tables: usize,
    /// Resource handles that live at one time. At the edge the call fails as
    /// [`BadValue`](host_callback::FailureKind::BadValue).
    ///
    /// Default 1,000. The contract has no resources; the streams and waits of language runtimes are such.
    pub handles: usize,
    /// Bytes that the guest hands over in one go: one answer, or the arguments of one call to the host.
    ///
    /// At the edge the call fails as [`BadValue`](host_callback::FailureKind::BadValue), before the host
    /// reserves memory for them. Default 1 MiB: 40,000 decisions without words.
    pub answer_bytes: usize,
    /// Bytes of the state that `save` gives. Edge as for answers; the last good state stays.
    ///
    /// Default 1 MiB. The state is copied into each checkpoint.
    pub state_bytes: usize,
    /// Decisions in one answer, at least 1. Edge as for answers.
    ///
    /// Default 16,384. The resolution looks at far fewer and refuses the rest by name; this one bounds what
    /// is kept until then.
    pub decisions: usize,
    /// Bytes of one text in a decision or an error message; more is cut, and ends in `…`.
    ///
    /// Default 4 KiB: a reason is a sentence, a Python traceback some lines.
    pub text_bytes: usize,
    /// Log lines of one call; more are dropped. Default 100.
    pub log_lines: u32,
    /// Bytes of one log line; more is cut, and ends in `…`. Default 4 KiB.
    pub log_line_bytes: usize,
    /// Bytes of log that an instance may write ahead; more are dropped. Each call gives 1 KiB back, so that
    /// a run of any length writes at most this and 1 KiB a call.
    ///
    /// Counted in calls and not in seconds, so that two equal runs write equal logs. Default 256 KiB.
    pub log_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 200_000_000,
            deadline: Duration::from_secs(2),
            memory_bytes: 64 << 20,
            table_elements: 100_000,
            instances: 128,
            memories: 16,
            tables: 32,
            handles: 1_000,
            answer_bytes: 1 << 20,
            state_bytes: 1 << 20,
            decisions: 16_384,
            text_bytes: 4 << 10,
            log_lines: 100,
            log_line_bytes: 4 << 10,
            log_bytes: 256 << 10,
        }
    }
}

/// A limit with a value that no instance could run under, or that would limit nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("limit `{name}` is {value}; it takes {min} to {max}")]
pub struct BadLimit {
    /// The field, as configurations write it.
    pub name: &'static str,
    /// What it was given.
    pub value: u128,
    /// The smallest value that it takes.
    pub min: u128,
    /// The largest value that it takes.
    pub max: u128,
}

impl Limits {
    /// Checks each limit by itself.
    ///
    /// # Errors
    ///
    /// Every limit that is out of its range.
    pub fn validate(&self) -> Result<(), Vec<BadLimit>> {
        const PAGE: u128 = 64 << 10;
        const GIB: u128 = 1 << 30;
        const DAY_MS: u128 = 24 * 3600 * 1000;
        let whole_ms = self.deadline.as_nanos().div_ceil(1_000_000);
        let rows: [(&'static str, u128, u128, u128); 14] = [
            ("fuel", self.fuel.into(), 1, u64::MAX as u128 / 2),
            ("deadline-ms", whole_ms, 1, DAY_MS),
            // 4 GiB is what 32-bit guests can address.
            ("memory-bytes", self.memory_bytes as u128, PAGE, 4 * GIB),
            ("table-elements", self.table_elements as u128, 0, 10_000_000),
            ("instances", self.instances as u128, 1, 10_000),
            ("memories", self.memories as u128, 1, 1_000),
            ("tables", self.tables as u128, 0, 1_000),
            ("handles", self.handles as u128, 0, 100_000),
            ("answer-bytes", self.answer_bytes as u128, 1 << 10, GIB),
            ("state-bytes", self.state_bytes as u128, 0, GIB),
            ("decisions", self.decisions as u128, 1, 1 << 20),
            ("text-bytes", self.text_bytes as u128, 16, 1 << 20),
            ("log-line-bytes", self.log_line_bytes as u128, 16, 1 << 20),
            ("log-bytes", self.log_bytes as u128, 0, GIB),
        ];
        let bad: Vec<BadLimit> = rows
            .into_iter()
            .filter(|(_, value, min, max)| !(min..=max).contains(&value))
            .map(|(name, value, min, max)| BadLimit { name, value, min, max })
            .collect();
        if bad.is_empty() { Ok(()) } else { Err(bad) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(Limits::default().validate(), Ok(()));
    }

    #[test]
    fn every_bad_limit_is_named() {
        let limits = Limits { fuel: 0, deadline: Duration::ZERO, memory_bytes: 1, ..Limits::default() };
        let names: Vec<&str> = limits.validate().unwrap_err().into_iter().map(|bad| bad.name).collect();
        assert_eq!(names, ["fuel", "deadline-ms", "memory-bytes"]);
        let bad = Limits { decisions: 0, ..Limits::default() }.validate().unwrap_err().remove(0);
        assert_eq!(bad.to_string(), "limit `decisions` is 0; it takes 1 to 1048576");
    }
}
