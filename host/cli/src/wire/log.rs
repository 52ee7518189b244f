//! Where the lines go that guests log: into the timeline, as stories about their instance.
//!
//! It caps nothing: the sandbox does. Main type: [`GuestLog`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_callback::InstanceName;
use host_sandbox::{LogLevel, LogSink};

use crate::telemetry::{Story, Telemetry};

/// Guests log from their start on, and telemetry begins when everything else is known to be right: until then
/// their lines wait here.
#[derive(Clone, Default)]
pub(crate) struct GuestLog {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    waiting: Vec<Story>,
    telemetry: Option<Telemetry>,
}

impl GuestLog {
    /// Sends what waited, and everything from now on, to telemetry.
    pub(crate) fn connect(&self, telemetry: &Telemetry) {
        let mut inner = self.lock();
        for story in inner.waiting.drain(..) {
            telemetry.tell(story);
        }
        inner.telemetry = Some(telemetry.clone());
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogSink for GuestLog {
    fn log(&self, instance: &InstanceName, level: LogLevel, text: &str) {
        let story = Story::new("log", text).about(instance).with("level", serde_json::json!(level));
        let story = if level >= LogLevel::Warn { story.warning() } else { story };
        let mut inner = self.lock();
        match &inner.telemetry {
            Some(telemetry) => telemetry.tell(story),
            None => inner.waiting.push(story),
        }
    }
}
