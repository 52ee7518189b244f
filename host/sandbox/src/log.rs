//! What callbacks write into the log, capped by call and over the whole run.
//!
//! It does not decide where lines go: the caller's [`LogSink`] does. Main types: [`LogSink`], [`Logger`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_callback::InstanceName;
use serde::{Deserialize, Serialize};

use crate::{Limits, text::clean};

/// How urgent a line is, in the guest's opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// For whoever writes the callback.
    Debug,
    /// For whoever watches the run.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something failed.
    Error,
}

/// Where log lines of callbacks go.
///
/// It is called in the middle of a training step, so it must not wait. A panic in it ends the guest's call
/// and is reported as a fault of the host.
pub trait LogSink: Send + Sync {
    /// Takes a line. Control characters other than line breaks and tabs are escaped already.
    fn log(&self, instance: &InstanceName, level: LogLevel, text: &str);
}

impl<F: Fn(&InstanceName, LogLevel, &str) + Send + Sync> LogSink for F {
    fn log(&self, instance: &InstanceName, level: LogLevel, text: &str) {
        self(instance, level, text);
    }
}

/// Bytes of log that each call gives back; [`Limits::log_bytes`] says what for.
const BYTES_BACK: u64 = 1 << 10;

/// One callback's way to the log. It outlives the callback's instances, so that a crash gives no new allowance.
#[derive(Clone)]
pub(crate) struct Logger {
    instance: InstanceName,
    sink: Arc<dyn LogSink>,
    allowance: Arc<Mutex<Allowance>>,
}

struct Allowance {
    bytes_left: u64,
    dropped: u64,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Allowed {
    Yes,
    No,
    NoForTheFirstTime,
}

impl Logger {
    pub(crate) fn new(instance: InstanceName, sink: Arc<dyn LogSink>, limits: &Limits) -> Self {
        let allowance = Allowance { bytes_left: limits.log_bytes as u64, dropped: 0 };
        Self { instance, sink, allowance: Arc::new(Mutex::new(allowance)) }
    }

    /// How many lines were dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// Whether a line of `bytes` may be written, after `calls` more have given bytes back.
    fn allow(&self, calls: u64, lines_are_left: bool, bytes: usize, limits: &Limits) -> Allowed {
        let mut allowance = self.lock();
        let back = calls.saturating_mul(BYTES_BACK);
        allowance.bytes_left = allowance.bytes_left.saturating_add(back).min(limits.log_bytes as u64);
        if lines_are_left && bytes as u64 <= allowance.bytes_left {
            allowance.bytes_left -= bytes as u64;
            return Allowed::Yes;
        }
        allowance.dropped += 1;
        if allowance.dropped == 1 { Allowed::NoForTheFirstTime } else { Allowed::No }
    }

    /// A line of the sandbox's own about the callback, not counted.
    pub(crate) fn say(&self, level: LogLevel, text: &str) {
        self.sink.log(&self.instance, level, text);
    }

    // Two plain numbers: a poisoned lock holds nothing half done.
    fn lock(&self) -> MutexGuard<'_, Allowance> {
        self.allowance.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log as one instance sees it.
pub(crate) struct InstanceLog {
    logger: Option<Logger>,
    limits: Limits,
    /// What is said now was said before.
    pub(crate) is_muted: bool,
    /// Lines that the running call may still write.
    lines_left: u32,
    /// Calls since bytes were last given back.
    calls: u64,
    /// The last line of the running call at the level of errors: a panic message, usually.
    last_error: Option<String>,
}

impl InstanceLog {
    /// `None` for a guest that is only asked to describe itself: nobody reads what it logs.
    pub(crate) fn new(logger: Option<Logger>, limits: &Limits) -> Self {
        Self { logger, limits: *limits, is_muted: false, lines_left: 0, calls: 0, last_error: None }
    }

    /// A call begins: it has its lines, and nothing of an earlier call is its last error.
    pub(crate) fn begin_call(&mut self) {
        self.lines_left = self.limits.log_lines;
        self.calls += 1;
        self.last_error = None;
    }

    pub(crate) fn take_last_error(&mut self) -> Option<String> {
        self.last_error.take()
    }

    /// Passes a printed line on. What is complained of is the message of a call that traps after it, as a whole, since
    /// runtimes print a message in several lines.
    pub(crate) fn print(&mut self, level: LogLevel, line: Vec<u8>) {
        let line = String::from_utf8_lossy(&line).into_owned();
        if level == LogLevel::Warn {
            let before = self.last_error.take().map_or(String::new(), |before| before + "\n");
            self.last_error = Some(clean(before + &line, self.limits.log_line_bytes));
        }
        self.write(level, line);
    }

    /// Passes a line on, or drops it.
    pub(crate) fn write(&mut self, level: LogLevel, text: String) {
        if level == LogLevel::Error {
            self.last_error = Some(clean(text.clone(), self.limits.log_line_bytes));
        }
        let Some(logger) = self.logger.as_ref().filter(|_| !self.is_muted) else { return };
        let bytes = text.len().min(self.limits.log_line_bytes);
        let calls = std::mem::take(&mut self.calls);
        match logger.allow(calls, self.lines_left > 0, bytes, &self.limits) {
            Allowed::Yes => {
                self.lines_left -= 1;
                logger.say(level, &clean(text, self.limits.log_line_bytes));
            }
            Allowed::No => {}
            Allowed::NoForTheFirstTime => {
                let Limits { log_lines, log_bytes, .. } = self.limits;
                let why = format!(
                    "log lines are dropped from here on whenever there are more than {log_lines} in a call or \
                     more than {log_bytes} bytes ahead"
                );
                logger.say(LogLevel::Warn, &why);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lines = Arc<Mutex<Vec<(LogLevel, String)>>>;

    fn logger(limits: &Limits) -> (Logger, Lines) {
        let lines = Lines::default();
        let own = Arc::clone(&lines);
        let sink = move |_: &InstanceName, level, text: &str| own.lock().unwrap().push((level, text.to_owned()));
        (Logger::new("l".parse().unwrap(), Arc::new(sink), limits), lines)
    }

    #[test]
    fn a17_a_flood_is_capped_and_said_once() {
        let limits = Limits { log_lines: 3, ..Limits::default() };
        let (logger, lines) = logger(&limits);
        let mut log = InstanceLog::new(Some(logger.clone()), &limits);
        for _ in 0..2 {
            log.begin_call();
            for _ in 0..1000 {
                log.write(LogLevel::Info, "x".into());
            }
        }
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), 3 + 1 + 3);
        assert_eq!(lines.iter().filter(|(level, _)| *level == LogLevel::Warn).count(), 1);
        assert_eq!(logger.dropped(), 2 * 997);
    }

    #[test]
    fn a17_bytes_come_back_by_calls_and_not_by_a_new_instance() {
        let limits = Limits { log_bytes: 2048, ..Limits::default() };
        let (logger, lines) = logger(&limits);
        let kib = "y".repeat(1024);
        for _ in 0..4 {
            let mut log = InstanceLog::new(Some(logger.clone()), &limits);
            log.begin_call();
            for _ in 0..4 {
                log.write(LogLevel::Info, kib.clone());
            }
        }
        let written = lines.lock().unwrap().iter().filter(|(level, _)| *level == LogLevel::Info).count();
        assert_eq!(written, 2 + 3, "what was ahead, and one a call");
    }

    #[test]
    fn the_last_error_is_of_this_call() {
        let mut log = InstanceLog::new(None, &Limits::default());
        log.begin_call();
        log.write(LogLevel::Error, "panicked".into());
        log.write(LogLevel::Info, "later".into());
        log.begin_call();
        assert_eq!(log.take_last_error(), None);
        log.write(LogLevel::Error, "panicked again".into());
        assert_eq!(log.take_last_error().as_deref(), Some("panicked again"));
    }
}
