//! A request from outside to stop: Ctrl-C, SIGTERM, an embedding program.
//!
//! It does not handle signals: whoever embeds the trainer does. Main type: [`StopFlag`].

use std::sync::{Arc, OnceLock};

/// Asks a run to end after the running step. A clone is another handle to the same flag.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<OnceLock<String>>);

impl StopFlag {
    /// A flag that nobody has raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for the stop; `by` is what people read. The first one who asks is named. Safe in a signal thread.
    ///
    /// Returns whether this was the first request.
    pub fn request(&self, by: &str) -> bool {
        self.0.set(by.to_owned()).is_ok()
    }

    /// Who asked, if somebody did.
    pub fn requested(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}
