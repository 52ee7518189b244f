//! The decisions of one call, collected in order.
//! Does not check them: the host does, and names each one that it refuses in the run's timeline.

use crate::{Assignment, Decision, Report};

/// What a callback answers to one event. An empty answer is "go on".
///
/// Methods can be chained, and called as often as there is something to decide:
///
/// ```
/// # use host_sdk::Answer;
/// # let mut answer = Answer::default();
/// # let answer = &mut answer;
/// answer.save("best").report("best", 0.25);
/// ```
#[derive(Debug, Default)]
pub struct Answer {
    decisions: Vec<Decision>,
    error: Option<String>,
}

impl Answer {
    /// End the run after this event, cleanly. `reason` is what people read.
    pub fn stop(&mut self, reason: impl Into<String>) -> &mut Self {
        self.decide(Decision::Stop(reason.into()))
    }

    /// Go on with the next epoch.
    pub fn end_epoch(&mut self, reason: impl Into<String>) -> &mut Self {
        self.decide(Decision::EndEpoch(reason.into()))
    }

    /// Evaluate at the next safe point.
    pub fn evaluate(&mut self) -> &mut Self {
        self.decide(Decision::Evaluate)
    }

    /// Save a checkpoint at the next safe point, and point `tag` to it (empty for none).
    pub fn save(&mut self, tag: impl Into<String>) -> &mut Self {
        self.decide(Decision::Save(tag.into()))
    }

    /// Write a log record at the next safe point.
    pub fn log(&mut self) -> &mut Self {
        self.decide(Decision::Log)
    }

    /// Drop what this hook announces.
    pub fn skip(&mut self, reason: impl Into<String>) -> &mut Self {
        self.decide(Decision::Skip(reason.into()))
    }

    /// Put weights and optimizer state back to the checkpoint that `tag` points to.
    pub fn restore(&mut self, tag: impl Into<String>) -> &mut Self {
        self.decide(Decision::Restore(tag.into()))
    }

    /// Give a knob a value.
    pub fn set(&mut self, knob: impl Into<String>, value: f64) -> &mut Self {
        self.decide(Decision::Set(Assignment { knob: knob.into(), value }))
    }

    /// Multiply a knob by a factor.
    pub fn scale(&mut self, knob: impl Into<String>, factor: f64) -> &mut Self {
        self.decide(Decision::Scale(Assignment { knob: knob.into(), value: factor }))
    }

    /// Publish a measurement of the callback's own, which others see as `<instance>/<name>`.
    pub fn report(&mut self, name: impl Into<String>, value: f64) -> &mut Self {
        self.decide(Decision::Report(Report { name: name.into(), value }))
    }

    /// At the `log` hook: leave a name (`*` allowed) out of the record.
    pub fn mute(&mut self, name: impl Into<String>) -> &mut Self {
        self.decide(Decision::Mute(name.into()))
    }

    /// Leave a line in the run's timeline.
    pub fn note(&mut self, line: impl Into<String>) -> &mut Self {
        self.decide(Decision::Note(line.into()))
    }

    /// Add a decision that was made elsewhere.
    pub fn decide(&mut self, decision: Decision) -> &mut Self {
        self.decisions.push(decision);
        self
    }

    /// Tell the host that the event could not be handled. The decisions of this call are dropped, the callback is
    /// made anew with its last good state, and its failure policy counts one more.
    pub fn fail(&mut self, error: impl Into<String>) {
        self.error = Some(error.into());
    }

    /// What has been decided so far in this call.
    #[must_use]
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    pub(crate) fn into_result(self) -> Result<Vec<Decision>, String> {
        self.error.map_or(Ok(self.decisions), Err)
    }
}
