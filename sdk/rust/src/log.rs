//! Lines in the host's log.
//! Does not decide what is shown: the host cuts long lines, and drops what is too much.

#[cfg(target_arch = "wasm32")]
use crate::bindings::train_host::callback::host;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Of use while the callback is being written.
    Debug,
    /// Of use to whoever watches the run.
    Info,
    /// The run goes on, perhaps not as wanted.
    Warn,
    /// Something failed.
    Error,
}

/// A line of use while the callback is being written.
pub fn debug(line: impl AsRef<str>) {
    write(Level::Debug, line.as_ref());
}

/// A line of use to whoever watches the run.
pub fn info(line: impl AsRef<str>) {
    write(Level::Info, line.as_ref());
}

/// The run goes on, perhaps not as wanted.
pub fn warn(line: impl AsRef<str>) {
    write(Level::Warn, line.as_ref());
}

/// Something failed.
pub fn error(line: impl AsRef<str>) {
    write(Level::Error, line.as_ref());
}

#[cfg(target_arch = "wasm32")]
fn write(level: Level, line: &str) {
    let level = match level {
        Level::Debug => host::Level::Debug,
        Level::Info => host::Level::Info,
        Level::Warn => host::Level::Warn,
        Level::Error => host::Level::Error,
    };
    host::log(level, line);
}

#[cfg(not(target_arch = "wasm32"))]
fn write(level: Level, line: &str) {
    crate::testing::remember(level, line);
}

/// A trap says nothing about its cause. So the panic's message and place go to the log before it.
#[cfg(target_arch = "wasm32")]
pub(crate) fn report_panics() {
    std::panic::set_hook(Box::new(|panic| error(panic.to_string())));
}

/// Natively a panic is a failed test, which has its own message.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn report_panics() {}
