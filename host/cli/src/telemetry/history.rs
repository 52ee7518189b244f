//! What the report needs to know of a run, kept in bounded memory while the run goes on.
//!
//! It does not write anything; after a resume it is filled from the parent's files by
//! [`replay`](super::replay). Main type: [`History`].

use std::collections::{BTreeMap, VecDeque};

use host_callback::{FailureRecord, Hook, Progress, Record, Summary, Value, Verdict};
use host_trainer::{Ending, RunEvent};
use serde::Serialize;

use super::{
    headline::kind,
    lines::{scalar, scalars},
    series::{Best, Series},
};

/// How many evaluations are kept whole.
const EVALUATIONS: usize = 10;
/// How many failures are kept.
const FAILURES: usize = 100;
/// How many checkpoints are kept; those without a tag go first.
const CHECKPOINTS: usize = 256;

/// A run as far as it has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// The device in words, once the loop has begun.
    pub(crate) device: Option<String>,
    /// How many numbers the model learns.
    pub(crate) parameters: usize,
    /// Where this process began; not step 0 after a resume.
    pub(crate) began: Progress,
    /// How far the run is.
    pub(crate) progress: Progress,
    /// Seconds that the steps of this process took, evaluations and saves left out.
    pub(crate) step_seconds: f64,
    /// The training loss and every scalar of evaluations, by name.
    pub(crate) series: BTreeMap<String, Series>,
    /// The best value of every scalar of evaluations, by name.
    pub(crate) best: BTreeMap<String, Best>,
    /// The last evaluations.
    pub(crate) evaluations: VecDeque<Evaluation>,
    /// The evaluation with the best `eval/loss`, or with the best first value where there is no such loss.
    pub(crate) best_evaluation: Option<Evaluation>,
    /// How often each callback decided what, and what became of it.
    pub(crate) decisions: Vec<DecisionCount>,
    /// The last failed calls.
    pub(crate) failures: Recent<Failed>,
    /// Checkpoints that were saved, oldest first; some may have been deleted since.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// How it ended, once it has.
    pub(crate) ending: Option<Ending>,
    /// Scalars of the evaluation of the weights that the run leaves, once it has ended.
    pub(crate) left: BTreeMap<String, f64>,
    /// What each callback did in this process, once the run has ended.
    pub(crate) callbacks: Vec<Summary>,
}

/// One evaluation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Evaluation {
    /// When.
    pub(crate) step: u64,
    /// When.
    pub(crate) epoch: f64,
    /// Its scalars.
    pub(crate) values: Vec<(String, f64)>,
}

/// Decisions of one kind by one callback.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct DecisionCount {
    /// Whose.
    pub(crate) instance: String,
    /// Which: `set`, `stop` ...
    pub(crate) decision: &'static str,
    /// Carried out.
    pub(crate) applied: u64,
    /// Asked for by another one too.
    pub(crate) merged: u64,
    /// Lost to another decision.
    pub(crate) overruled: u64,
    /// Not carried out.
    pub(crate) refused: u64,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failed {
    /// When.
    pub(crate) step: u64,
    /// At which hook.
    pub(crate) hook: Hook,
    /// Who and how.
    pub(crate) failure: FailureRecord,
}

/// A checkpoint of this run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Checkpoint {
    /// The folder's name.
    pub(crate) name: String,
    /// The step of its weights.
    pub(crate) step: u64,
    /// The tags that point to it.
    pub(crate) tags: Vec<String>,
}

/// The newest of many things.
#[derive(Clone, Debug)]
pub(crate) struct Recent<T> {
    kept: VecDeque<T>,
    total: u64,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { kept: VecDeque::new(), total: 0 }
    }
}

impl<T> Recent<T> {
    fn push(&mut self, thing: T) {
        self.total += 1;
        push_bounded(&mut self.kept, thing, FAILURES);
    }

    /// Those that were kept, oldest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.kept.iter()
    }

    /// How many there were in all.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }
}

fn push_bounded<T>(to: &mut VecDeque<T>, thing: T, most: usize) {
    if to.len() == most {
        to.pop_front();
    }
    to.push_back(thing);
}

impl History {
    /// Takes an event.
    pub(crate) fn take(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Stepped { progress, seconds, .. } => {
                self.progress = *progress;
                self.step_seconds += seconds;
            }
            RunEvent::Started { device, parameters, progress } => self.start(device, *parameters, progress),
            RunEvent::Logged { progress, values, .. } => self.logged(progress.step, values),
            RunEvent::Evaluated { progress, values, .. } => self.evaluated(progress, values),
            RunEvent::Decided { record, .. } => self.decided(record),
            RunEvent::CallbackFailed { progress, hook, failure } => {
                self.failures.push(Failed { step: progress.step, hook: *hook, failure: (*failure).clone() });
            }
            RunEvent::Saved { progress, checkpoint, tags, .. } => self.saved(progress.step, checkpoint, tags),
            RunEvent::Ended { progress, ending, evaluation, callbacks } => {
                self.progress = *progress;
                let number = |(name, value): (&String, &Value)| Some((name.clone(), scalar(value)?));
                self.left = evaluation.iter().filter_map(number).collect();
                self.ending = Some((*ending).clone());
                self.callbacks = callbacks.to_vec();
            }
            RunEvent::Reported { .. }
            | RunEvent::EvaluationStarted { .. }
            | RunEvent::EvaluationFailed { .. }
            | RunEvent::SaveFailed { .. }
            | RunEvent::Restored { .. } => {}
        }
    }

    /// The last value of a series; of evaluations, the one of the weights that the run leaves.
    pub(crate) fn last(&self, name: &str) -> Option<f64> {
        self.left.get(name).copied().or_else(|| self.series.get(name)?.last())
    }

    fn start(&mut self, device: &str, parameters: usize, progress: &Progress) {
        self.device = Some(device.to_owned());
        self.parameters = parameters;
        self.began = *progress;
        self.progress = *progress;
    }

    fn logged(&mut self, step: u64, values: &[(String, Value)]) {
        if let Some((name, loss)) = scalars(values).find(|(name, _)| *name == "loss") {
            self.push(name, step, loss);
        }
    }

    fn push(&mut self, name: &str, step: u64, value: f64) {
        match self.series.get_mut(name) {
            Some(series) => series.push(step, value),
            None => self.series.entry(name.to_owned()).or_default().push(step, value),
        }
    }

    fn evaluated(&mut self, progress: &Progress, values: &[(String, Value)]) {
        let Progress { step, epoch, .. } = *progress;
        let values: Vec<(String, f64)> = scalars(values).map(|(name, value)| (name.to_owned(), value)).collect();
        for (name, value) in &values {
            self.push(name, step, *value);
            if let Some(best) = Best::better(self.best.get(name).copied(), name, *value, step) {
                self.best.insert(name.clone(), best);
            }
        }
        let evaluation = Evaluation { step, epoch, values };
        if self.is_best(&evaluation) {
            self.best_evaluation = Some(evaluation.clone());
        }
        push_bounded(&mut self.evaluations, evaluation, EVALUATIONS);
    }

    /// The measurement by which an evaluation is called the best.
    pub(crate) fn decisive(&self) -> Option<&str> {
        let loss = self.best.get_key_value("eval/loss");
        loss.or_else(|| self.best.first_key_value()).map(|(name, _)| name.as_str())
    }

    /// Whether an evaluation, whose values were taken already, is the best so far.
    fn is_best(&self, evaluation: &Evaluation) -> bool {
        self.decisive().and_then(|name| self.best.get(name)).is_some_and(|best| best.step == evaluation.step)
    }

    fn decided(&mut self, record: &Record) {
        let (instance, decision) = (record.by.instance.as_str(), kind(&record.decision));
        let same = |count: &DecisionCount| count.decision == decision && count.instance == instance;
        let at = self.decisions.iter().position(same).unwrap_or_else(|| {
            self.decisions.push(DecisionCount::new(instance, decision));
            self.decisions.len() - 1
        });
        self.decisions[at].add(&record.verdict);
    }

    /// A tag points to the newest checkpoint that was saved under it.
    fn saved(&mut self, step: u64, name: &str, tags: &[String]) {
        let tags: Vec<String> = tags.iter().filter(|tag| !tag.is_empty()).cloned().collect();
        self.checkpoints.iter_mut().for_each(|older| older.tags.retain(|tag| !tags.contains(tag)));
        self.checkpoints.retain(|older| older.name != name);
        self.checkpoints.push(Checkpoint { name: name.to_owned(), step, tags });
        if self.checkpoints.len() > CHECKPOINTS {
            let oldest = self.checkpoints.iter().position(|older| older.tags.is_empty()).unwrap_or(0);
            self.checkpoints.remove(oldest);
        }
    }
}

impl DecisionCount {
    fn new(instance: &str, decision: &'static str) -> Self {
        Self { instance: instance.to_owned(), decision, applied: 0, merged: 0, overruled: 0, refused: 0 }
    }

    fn add(&mut self, verdict: &Verdict) {
        *match verdict {
            Verdict::Applied => &mut self.applied,
            Verdict::Merged => &mut self.merged,
            Verdict::Overruled(_) => &mut self.overruled,
            Verdict::Refused(_) => &mut self.refused,
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use host_callback::Decision;

    use super::{super::samples, *};

    fn evaluate(history: &mut History, step: u64, values: &[(&str, f64)]) {
        let values = samples::values(values);
        history.take(&RunEvent::Evaluated { progress: samples::at(step), values: &values, seconds: 1.0 });
    }

    #[test]
    fn the_best_evaluation_is_the_one_with_the_lowest_finite_loss() {
        let mut history = History::default();
        for (step, loss) in [(10, f64::NAN), (20, 3.0), (30, 2.0), (40, f64::NAN), (50, 2.5)] {
            evaluate(&mut history, step, &[("eval/accuracy", 0.1 * step as f64), ("eval/loss", loss)]);
        }
        assert_eq!(history.best_evaluation.as_ref().unwrap().step, 30);
        assert_eq!(history.best["eval/loss"], Best { value: 2.0, step: 30 });
        assert_eq!(history.best["eval/accuracy"], Best { value: 5.0, step: 50 });
        assert_eq!(history.series["eval/loss"].points().count(), 5);
    }

    #[test]
    fn everything_is_bounded() {
        let mut history = History::default();
        let record = samples::record(Decision::Evaluate, Verdict::Applied);
        let failure = samples::failure("x");
        for step in 1..=5_000 {
            let progress = samples::at(step);
            evaluate(&mut history, step, &[("eval/loss", 1.0)]);
            history.take(&RunEvent::Decided { progress, hook: Hook::StepEnd, record: &record });
            history.take(&RunEvent::CallbackFailed { progress, hook: Hook::Log, failure: &failure });
            let tags = if step == 7 { vec!["best".to_owned()] } else { vec!["last".to_owned()] };
            let checkpoint = format!("step-{step}");
            let saved = RunEvent::Saved { progress, checkpoint: &checkpoint, tags: &tags, seconds: 0.1 };
            history.take(&saved);
        }
        assert_eq!(history.evaluations.len(), EVALUATIONS);
        assert_eq!((history.failures.iter().len(), history.failures.total()), (FAILURES, 5_000));
        assert_eq!(history.checkpoints.len(), CHECKPOINTS);
        assert_eq!(history.checkpoints[0].name, "step-7");
        let tags: Vec<_> = history.checkpoints.iter().flat_map(|one| &one.tags).collect();
        assert_eq!(tags, ["best", "last"]);
        assert_eq!(history.decisions.len(), 1);
        assert_eq!(history.decisions[0].applied, 5_000);
    }
}
