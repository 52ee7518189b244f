//! When a value is better and when to stop: our own rule, and those of three libraries to the letter.
//! Plain arithmetic on what has been seen; knows nothing of hooks and decisions.

use host_sdk::prelude::*;

/// Whose rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    /// Ours: only a finite value can be the best, and every check without improvement counts.
    Sound,
    /// `EarlyStoppingCallback` of transformers, with its patience counter kept on resume.
    Huggingface,
    /// `EarlyStopping` of lightning.
    Lightning,
    /// `EarlyStopping` of keras, with its state kept on resume.
    Keras,
}

/// What a value is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) mode: Mode,
    pub(crate) patience: u32,
    pub(crate) min_delta: f64,
    pub(crate) stopping_threshold: Option<f64>,
    pub(crate) divergence_threshold: Option<f64>,
    pub(crate) check_finite: bool,
    pub(crate) baseline: Option<f64>,
}

/// What a rule remembers from check to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// The best value so far, as the rule sees it.
    pub(crate) best: Option<f64>,
    /// Checks since the last improvement that counted.
    pub(crate) wait: u32,
}

/// What a check comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The weights are the best so far.
    pub(crate) improved: bool,
    /// The run should end.
    pub(crate) stop: Option<Cause>,
}

/// Why a run should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Patience,
    NotFinite,
    Reached,
    Diverged,
}

impl Rule {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Huggingface => "huggingface",
            Self::Lightning => "lightning",
            Self::Keras => "keras",
        }
    }

    /// The settings that the rule has beside monitor, mode, patience and min-delta.
    pub(crate) fn knows(self) -> &'static [&'static str] {
        match self {
            Self::Sound => &["stopping-threshold", "divergence-threshold", "check-finite", "baseline"],
            Self::Huggingface => &[],
            Self::Lightning => &["stopping-threshold", "divergence-threshold", "check-finite"],
            Self::Keras => &["baseline"],
        }
    }

    /// Takes one value. `epoch` is the running epoch, counted from 0.
    pub(crate) fn judge(self, terms: &Terms, memory: &mut Memory, value: f64, epoch: u64) -> Verdict {
        match self {
            Self::Sound => sound(terms, memory, value),
            Self::Huggingface => huggingface(terms, memory, value),
            Self::Lightning => lightning(terms, memory, value),
            Self::Keras => keras(terms, memory, value, epoch),
        }
    }
}

fn sound(terms: &Terms, memory: &mut Memory, value: f64) -> Verdict {
    let beats = |reference: f64| better_by(terms.mode, terms.min_delta, value, reference);
    // An infinity on the good side comes from a broken computation as surely as one on the bad side, and nothing
    // would ever be better than it.
    let improved = value.is_finite() && memory.best.is_none_or(beats);
    if improved {
        memory.best = Some(value);
    }
    let gives_patience_back = improved && terms.baseline.is_none_or(beats);
    memory.wait = if gives_patience_back { 0 } else { memory.wait.saturating_add(1) };
    let reached = value.is_finite() && terms.stopping_threshold.is_some_and(|limit| terms.mode.is_better(value, limit));
    let stop = if terms.check_finite && !value.is_finite() {
        Some(Cause::NotFinite)
    } else if reached {
        Some(Cause::Reached)
    } else if terms.divergence_threshold.is_some_and(|limit| terms.mode.is_better(limit, value)) {
        Some(Cause::Diverged)
    } else if !improved && memory.wait >= terms.patience {
        Some(Cause::Patience)
    } else {
        None
    };
    Verdict { improved, stop }
}

fn huggingface(terms: &Terms, memory: &mut Memory, value: f64) -> Verdict {
    let good =
        memory.best.is_none_or(|best| terms.mode.is_better(value, best) && (value - best).abs() > terms.min_delta);
    memory.wait = if good { 0 } else { memory.wait.saturating_add(1) };
    // The best takes any gain, also one below the threshold: a slow steady gain stops the run.
    let best = memory.best.unwrap_or(terms.mode.worst());
    let improved = terms.mode.is_better(value, best);
    memory.best = Some(if improved { value } else { best });
    Verdict { improved, stop: (memory.wait >= terms.patience).then_some(Cause::Patience) }
}

fn lightning(terms: &Terms, memory: &mut Memory, value: f64) -> Verdict {
    let best = memory.best.unwrap_or(terms.mode.worst());
    memory.best = Some(best);
    let improved = better_by(terms.mode, terms.min_delta, value, best);
    if terms.check_finite && !value.is_finite() {
        return Verdict { improved: false, stop: Some(Cause::NotFinite) };
    }
    // Neither threshold touches the library's memory; the weights that reach the goal are worth keeping all the same.
    if terms.stopping_threshold.is_some_and(|limit| terms.mode.is_better(value, limit)) {
        return Verdict { improved, stop: Some(Cause::Reached) };
    }
    if terms.divergence_threshold.is_some_and(|limit| terms.mode.is_better(limit, value)) {
        return Verdict { improved: false, stop: Some(Cause::Diverged) };
    }
    if improved {
        *memory = Memory { best: Some(value), wait: 0 };
        return Verdict { improved, stop: None };
    }
    memory.wait = memory.wait.saturating_add(1);
    Verdict { improved, stop: (memory.wait >= terms.patience).then_some(Cause::Patience) }
}

fn keras(terms: &Terms, memory: &mut Memory, value: f64, epoch: u64) -> Verdict {
    let beats = |reference: f64| better_by(terms.mode, terms.min_delta, value, reference);
    memory.wait = memory.wait.saturating_add(1);
    // The first value is always the best, NaN included, and then nothing is ever better.
    if memory.best.is_none_or(beats) {
        memory.best = Some(value);
        if terms.baseline.is_none_or(beats) {
            memory.wait = 0;
        }
        return Verdict { improved: true, stop: None };
    }
    let stop = memory.wait >= terms.patience && epoch > 0;
    Verdict { improved: false, stop: stop.then_some(Cause::Patience) }
}

/// Better by more than `delta`; never with NaN.
fn better_by(mode: Mode, delta: f64, value: f64, than: f64) -> bool {
    match mode {
        Mode::Min => value + delta < than,
        Mode::Max => value - delta > than,
    }
}
