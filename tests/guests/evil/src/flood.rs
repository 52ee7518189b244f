//! Writes more into the log than anybody wants.
//! A gigabyte with 1,048,576 lines.

use host_sdk::bindings::train_host::callback::host;

/// So many lines of a kilobyte each.
pub(crate) fn log(lines: u64) {
    let line = "x".repeat(1024);
    for _ in 0..lines {
        host::log(host::Level::Info, &line);
    }
}
