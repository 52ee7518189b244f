//! Who is told what happens in a run: the files in its folder, the terminal, and the history that the report
//! is made from.
//!
//! Nothing here can change a run or stop it: a sink that fails is said once and not used again. It does not
//! write the report ([`report`](crate::report) does). Main type: [`Telemetry`].

mod files;
mod headline;
mod history;
mod lines;
mod news;
mod number;
mod plain;
mod progress;
mod replay;
#[cfg(test)]
pub(crate) mod samples;
mod series;
#[cfg(test)]
mod tests;
pub(crate) mod words;

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use host_callback::Progress;
use host_trainer::{Observer, RunEvent};
use serde_json::{Map, Value};

use self::{
    files::FileSink,
    headline::Headlines,
    news::{Clock, News, Sink, What},
};
pub(crate) use self::{
    files::Kind,
    headline::{follows, kind},
    history::{Checkpoint, DecisionCount, Evaluation, Failed, History},
    lines::{FailedLine, status},
    news::Story,
    number::Number,
    series::Best,
};
use crate::{run_folder::RunFolder, terminal};

/// What a person sees while the run goes on. The summary at its end is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Display {
    /// A live display on a terminal, plain lines elsewhere.
    Auto,
    /// Nothing but what telemetry has to say about itself.
    Quiet,
}

/// The observer of a run. A clone is another handle to the same one, for whoever has a [`Story`] to tell
/// while the loop holds the first.
#[derive(Clone)]
pub(crate) struct Telemetry {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    sinks: Vec<Guarded>,
    headlines: Headlines,
    history: History,
    at: Progress,
    /// Whether the loop goes on already, or plugins are still being loaded.
    begun: bool,
    clock: Clock,
    /// The last resort for the message that a sink failed.
    complain: Box<dyn FnMut(&str) + Send>,
}

/// A sink that is not called again once it has failed.
struct Guarded {
    sink: Box<dyn Sink>,
    failed: bool,
}

impl Telemetry {
    /// For a new run: empty files in its folder.
    ///
    /// # Errors
    ///
    /// When a file cannot be made.
    pub(crate) fn create(folder: &RunFolder, display: Display) -> io::Result<Self> {
        let files = FileSink::create(folder)?;
        Ok(Self::of(boxed(files).chain(on_screen(display)).collect()))
    }

    /// For a run that goes on from a checkpoint of another folder's run: its files begin with what the
    /// parent had written when the checkpoint was saved, so that in the end they are the files of a run that
    /// was never interrupted. `mark` is what [`Observer::mark`] gave then.
    ///
    /// # Errors
    ///
    /// When a file cannot be made, or one of the parent's cannot be read.
    pub(crate) fn resume(folder: &RunFolder, parent: &Path, mark: &Value, display: Display) -> io::Result<Self> {
        let files = FileSink::resume(folder, parent, mark)?;
        let missing: u64 = files.iter().map(|file| file.missing(mark)).sum();
        let telemetry = Self::of(boxed(files).chain(on_screen(display)).collect());
        telemetry.lock().replay(folder.path())?;
        if missing > 0 {
            let text = format!("{missing} lines that the checkpoint knows of are missing in `{}`", parent.display());
            telemetry.tell(Story::new("resume", text).warning());
        }
        Ok(telemetry)
    }

    fn of(sinks: Vec<Box<dyn Sink>>) -> Self {
        let sinks = sinks.into_iter().map(|sink| Guarded { sink, failed: false }).collect();
        let inner = Inner {
            sinks,
            headlines: Headlines::default(),
            history: History::default(),
            at: Progress::default(),
            begun: false,
            clock: Clock::default(),
            complain: Box::new(|line| terminal::err(&format!("{line}\n"))),
        };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Tells what the loop knows nothing of.
    pub(crate) fn tell(&self, story: Story) {
        self.lock().tell(&story);
    }

    /// The run is here now: what is told from now on has this step.
    pub(crate) fn is_at(&self, progress: Progress) {
        self.lock().at = progress;
    }

    /// What the report needs to know, as of now.
    pub(crate) fn history(&self) -> History {
        self.lock().history.clone()
    }

    // A panic in a sink must not silence the others, and nothing here is left half done in a way that matters.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn boxed(files: Vec<FileSink>) -> impl Iterator<Item = Box<dyn Sink>> {
    files.into_iter().map(|file| Box::new(file) as Box<dyn Sink>)
}

fn on_screen(display: Display) -> Option<Box<dyn Sink>> {
    match display {
        Display::Quiet => None,
        Display::Auto if progress::is_possible() => Some(Box::new(progress::Live::new())),
        Display::Auto => Some(Box::new(plain::Plain::new(io::stderr()))),
    }
}

impl Observer for Telemetry {
    fn observe(&mut self, event: &RunEvent<'_>) {
        self.lock().observe(event);
    }

    fn mark(&mut self) -> Value {
        self.lock().mark()
    }
}

impl Inner {
    fn observe(&mut self, event: &RunEvent<'_>) {
        self.at = *progress_of(event);
        self.begun = true;
        let headline = self.headlines.of(event);
        self.history.take(event);
        self.dispatch(What::Run(event), headline.as_deref());
    }

    fn tell(&mut self, story: &Story) {
        let headline = self.headlines.story(self.at.step, self.begun, story);
        self.dispatch(What::Story(story), headline.as_deref());
    }

    fn replay(&mut self, folder: &Path) -> io::Result<()> {
        replay::replay(folder, |event| {
            // Metrics come first, and the last line of the timeline may be older than theirs.
            let progress = *progress_of(event);
            if progress.step >= self.at.step {
                self.at = progress;
            }
            self.history.take(event);
        })
    }

    fn dispatch(&mut self, what: What<'_>, headline: Option<&str>) {
        let news = News { what, at: self.at, headline, clock: self.clock };
        self.each(|sink| sink.take(&news));
    }

    /// Calls every sink that has not failed yet, and says which ones fail now.
    fn each(&mut self, mut call: impl FnMut(&mut dyn Sink) -> io::Result<()>) {
        let mut complaints = Vec::new();
        for guarded in self.sinks.iter_mut().filter(|guarded| !guarded.failed) {
            if let Err(error) = call(guarded.sink.as_mut()) {
                guarded.failed = true;
                let name = guarded.sink.name();
                complaints.push(format!("warning: {name}: {error}; nothing more is written to it, training goes on"));
            }
        }
        complaints.iter().for_each(|complaint| self.complain(complaint));
    }

    /// Through the display where there is one, because a line past it would tear it.
    fn complain(&mut self, complaint: &str) {
        let line = words::short(complaint);
        if !self.sinks.iter_mut().any(|guarded| !guarded.failed && guarded.sink.say(&line)) {
            (self.complain)(&line);
        }
    }

    fn mark(&mut self) -> Value {
        self.each(|sink| sink.sync());
        let marks = self.sinks.iter().filter_map(|guarded| guarded.sink.mark());
        Value::Object(marks.map(|(name, lines)| (name.to_owned(), lines.into())).collect::<Map<_, _>>())
    }
}

/// How far the run was when an event happened.
fn progress_of<'a>(event: &'a RunEvent<'_>) -> &'a Progress {
    match event {
        RunEvent::Started { progress, .. }
        | RunEvent::Stepped { progress, .. }
        | RunEvent::Logged { progress, .. }
        | RunEvent::Reported { progress, .. }
        | RunEvent::EvaluationStarted { progress, .. }
        | RunEvent::Evaluated { progress, .. }
        | RunEvent::Decided { progress, .. }
        | RunEvent::CallbackFailed { progress, .. }
        | RunEvent::Saved { progress, .. }
        | RunEvent::EvaluationFailed { progress, .. }
        | RunEvent::SaveFailed { progress, .. }
        | RunEvent::Restored { progress, .. }
        | RunEvent::Ended { progress, .. } => progress,
    }
}
