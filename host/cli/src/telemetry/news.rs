//! What telemetry hands to its sinks: an event of the loop or a story of the wiring, with the line for people.
//!
//! It does not write anything. Main types: [`News`], [`Sink`], [`Story`].

use std::{
    io,
    time::{Instant, SystemTime},
};

use host_callback::Progress;
use host_trainer::RunEvent;
use serde_json::{Map, Value};

use super::words;

/// Something that happened, on its way to the sinks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News<'a> {
    /// What it was.
    pub(crate) what: What<'a>,
    /// How far the run was when it happened.
    pub(crate) at: Progress,
    /// The line about it for people; `None` where it is not worth one.
    pub(crate) headline: Option<&'a str>,
    /// Who tells the time.
    pub(crate) clock: Clock,
}

/// An event of the loop or a story of the wiring.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What<'a> {
    /// The loop told it.
    Run(&'a RunEvent<'a>),
    /// The wiring or the sandbox told it.
    Story(&'a Story),
}

/// Where time comes from; asked only by who needs it, because most steps need none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The time of day.
    pub(crate) wall: fn() -> SystemTime,
    /// The time that only goes forward.
    pub(crate) steady: fn() -> Instant,
}

impl Default for Clock {
    fn default() -> Self {
        Self { wall: SystemTime::now, steady: Instant::now }
    }
}

/// Something that takes news: a file, the terminal, a tracker.
///
/// A sink that fails once is not called again.
pub(crate) trait Sink: Send {
    /// What it is called in the message about its failure.
    fn name(&self) -> &str;

    /// Takes one piece of news. Called at every step, so what does not interest it must cost nothing.
    ///
    /// # Errors
    ///
    /// When it cannot go on.
    fn take(&mut self, news: &News<'_>) -> io::Result<()>;

    /// Makes durable what it has taken.
    ///
    /// # Errors
    ///
    /// When it cannot go on.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Its name in a mark and how many lines it has, also after it failed; `None` for a sink without lines.
    fn mark(&self) -> Option<(&str, u64)> {
        None
    }

    /// Shows a line to people; `false` from a sink that has none in front of it.
    fn say(&mut self, _line: &str) -> bool {
        false
    }
}

/// What the loop knows nothing of: a plugin loaded, its grants, the order, a swap, a guest's log line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Story {
    pub(super) topic: String,
    pub(super) instance: Option<String>,
    pub(super) text: String,
    pub(super) warning: bool,
    pub(super) details: Map<String, Value>,
}

impl Story {
    /// A story under a topic, one word in `kebab-case` by which a reader of the timeline finds it (`loaded`,
    /// `order`, `swapped`), with one sentence for people.
    pub(crate) fn new(topic: &str, text: impl Into<String>) -> Self {
        Self { topic: topic.to_owned(), instance: None, text: text.into(), warning: false, details: Map::new() }
    }

    /// The instance that it is about.
    pub(crate) fn about(mut self, instance: impl ToString) -> Self {
        self.instance = Some(instance.to_string());
        self
    }

    /// Something that people should look at.
    pub(crate) fn warning(mut self) -> Self {
        self.warning = true;
        self
    }

    /// One more fact for programs that read the timeline. A `level` of `debug` keeps the story off the terminal.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// Whether people should look at it.
    pub(crate) fn is_warning(&self) -> bool {
        self.warning
    }

    /// The story in one line that can be printed, with the instance that it is about.
    pub(crate) fn line(&self) -> String {
        let text = words::short(&self.text);
        match &self.instance {
            Some(instance) => format!("{}: {text}", words::short(instance)),
            None => text,
        }
    }
}
