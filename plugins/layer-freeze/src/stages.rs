//! The stages as configured: which parameters each is about, and from when until when they are trainable.
//! Knows nothing of hooks and knobs.

use host_sdk::matches;
use host_sdk::prelude::*;

/// How many names a message lists at most.
const LISTED: usize = 12;

/// Freezes parameters and sets them free, stage by stage.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Settings {
    /// The stages. A parameter that is in none of them is left alone; one that is in several is trainable while one of
    /// them is.
    #[schemars(length(min = 1))]
    stages: Vec<Stage>,
}

/// Parameters that become trainable together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Stage {
    /// The parameters, `*` allowed.
    #[schemars(length(min = 1))]
    parameters: Vec<String>,
    /// From when on they are trainable; before, they are frozen. Without it from the beginning.
    #[serde(default)]
    from: Point,
    /// When they are frozen again. Without it never.
    #[serde(default)]
    until: Option<Point>,
}

/// A point of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Point {
    /// After this many epochs; a fraction is a part of one.
    Epoch(#[schemars(range(min = 0))] f64),
    /// After this many steps.
    Step(u64),
}

impl Default for Point {
    fn default() -> Self {
        Self::Step(0)
    }
}

impl Point {
    fn is_reached(self, progress: &Progress) -> bool {
        match self {
            Self::Epoch(epoch) => progress.epoch >= epoch,
            Self::Step(step) => progress.step >= step,
        }
    }

    /// Whether it is surely not before another one: epochs and steps can't be compared.
    fn is_not_before(self, other: Self) -> bool {
        match (self, other) {
            (Self::Epoch(this), Self::Epoch(other)) => this >= other,
            (Self::Step(this), Self::Step(other)) => this >= other,
            _ => false,
        }
    }

    fn words(self) -> String {
        match self {
            Self::Epoch(epoch) => format!("epoch {epoch}"),
            Self::Step(step) => format!("step {step}"),
        }
    }
}

impl Stage {
    fn is_trainable(&self, progress: &Progress) -> bool {
        self.from.is_reached(progress) && !self.until.is_some_and(|until| until.is_reached(progress))
    }

    fn has(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|pattern| matches(pattern, parameter))
    }

    fn check(&self, parameters: &[String]) -> Result<(), String> {
        if self.parameters.is_empty() {
            return Err("parameters is empty: there is nothing to freeze".into());
        }
        let points = [("from", Some(self.from)), ("until", self.until)];
        for (name, point) in points {
            if let Some(Point::Epoch(epoch)) = point
                && !(epoch >= 0.0 && epoch.is_finite())
            {
                return Err(format!("{name} is epoch {epoch}: it has to be 0 or more"));
            }
        }
        if let Some(until) = self.until
            && self.from.is_not_before(until)
        {
            let (from, until) = (self.from.words(), until.words());
            return Err(format!("from is {from} and until is {until}: it would never be trainable"));
        }
        let fits = |pattern: &&String| parameters.iter().any(|parameter| matches(pattern, parameter));
        match self.parameters.iter().find(|pattern| !parameters.is_empty() && !fits(pattern)) {
            Some(pattern) => Err(format!("no parameter fits {pattern}; this run has {}", some_of(parameters))),
            None => Ok(()),
        }
    }
}

/// The first few names.
fn some_of(names: &[String]) -> String {
    let rest = names.len().saturating_sub(LISTED);
    let shown = names[..names.len() - rest].join(", ");
    if rest == 0 { shown } else { format!("{shown} and {rest} more") }
}

impl Settings {
    /// Refuses what the schema can't. `parameters` are the run's, empty where they are not known.
    pub(crate) fn check(&self, parameters: &[String]) -> Result<(), String> {
        if self.stages.is_empty() {
            return Err("stages is empty: there is nothing to freeze".into());
        }
        for (number, stage) in (1..).zip(&self.stages) {
            stage.check(parameters).map_err(|error| format!("stage {number}: {error}"))?;
        }
        let beginning = Progress { step: 0, total_steps: None, epoch: 0.0, samples: 0, tokens: 0 };
        if self.freezes_all(&self.trainable(&beginning), parameters) {
            return Err("no parameter would be trainable at the beginning: give one stage no from, or leave some \
                        parameters out"
                .into());
        }
        Ok(())
    }

    /// Which stages are trainable now.
    pub(crate) fn trainable(&self, progress: &Progress) -> Vec<bool> {
        self.stages.iter().map(|stage| stage.is_trainable(progress)).collect()
    }

    /// The patterns of the stages that are trainable, or of those that are not.
    pub(crate) fn patterns(&self, trainable: &[bool], wanted: bool) -> impl Iterator<Item = &str> {
        let stages = self.stages.iter().zip(trainable).filter(move |(_, trainable)| **trainable == wanted);
        stages.flat_map(|(stage, _)| stage.parameters.iter().map(String::as_str))
    }

    /// Whether nothing is left to learn: each parameter is in a stage, and in none that is trainable.
    pub(crate) fn freezes_all(&self, trainable: &[bool], parameters: &[String]) -> bool {
        let is_frozen = |parameter: &String| {
            let mut stages = self.stages.iter().zip(trainable).filter(|(stage, _)| stage.has(parameter)).peekable();
            stages.peek().is_some() && stages.all(|(_, trainable)| !trainable)
        };
        !parameters.is_empty() && parameters.iter().all(is_frozen)
    }
}
