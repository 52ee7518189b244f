//! A limit for gradients that follows the run: a percentile of the norms seen so far.
//! Does not clip by itself; the host does, with the limit that is written here. [`history`] has the arithmetic.

mod history;
#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

use history::History;

const NORM: &str = "gradient-norm";
const LIMIT: &str = "clip-norm";

/// As many norms as a state of the default limit, 1 MiB, holds for sure: each takes up to 25 bytes.
const MAX_WINDOW: usize = 30_000;

/// Clips gradients at a percentile of the norms seen so far.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct AutoClip {
    /// The percentile of the norms at which gradients are clipped, from 0 to 100. At 10 nine of ten updates are.
    #[schemars(range(min = 0, max = 100))]
    percentile: f64,
    /// How many norms are remembered; the oldest goes.
    #[schemars(range(min = 1, max = 30_000))]
    window: usize,
    /// How many norms there have to be before anything is written; no more than the window holds.
    #[schemars(range(min = 1))]
    warm_up: usize,
    /// The limit that is not gone below.
    #[schemars(range(min = 0))]
    min: f64,
    /// The limit that is not gone above; without it there is none.
    #[schemars(range(min = 0))]
    max: Option<f64>,
    /// A limit that differs from the one that stands by no more than this part of it is left alone.
    #[schemars(range(min = 0, max = 1))]
    tolerance: f64,
}

impl Default for AutoClip {
    fn default() -> Self {
        Self { percentile: 10.0, window: 1000, warm_up: 20, min: 0.0, max: None, tolerance: 0.0 }
    }
}

/// What has been seen so far.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    norms: History,
    /// Somebody has been told that the norm is missing.
    told_missing: bool,
}

impl Callback for AutoClip {
    type Settings = Self;
    type State = State;
    const MANIFEST: Manifest = manifest!().knobs(&[LIMIT]);

    fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
        settings.check()?;
        Ok((settings, Subscriptions::new().on(Hook::Gradients, &[NORM, LIMIT])))
    }

    fn gradients(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        let Some(norm) = event.get_or_tell(NORM, &mut state.told_missing, answer) else { return };
        if norm.is_finite() {
            state.norms.push(norm, self.window);
        }
        if state.norms.len() < self.warm_up.min(self.window) {
            return;
        }
        let Some(percentile) = state.norms.percentile(self.percentile) else { return };
        let limit = percentile.max(self.min).min(self.max.unwrap_or(f64::INFINITY));
        let stands = event.get(LIMIT).is_some_and(|stands| (limit - stands).abs() <= self.tolerance * stands);
        // A limit of 0 would turn clipping off; gradients that were all 0 need none.
        if limit > 0.0 && !stands {
            answer.set(LIMIT, limit);
        }
    }
}

impl AutoClip {
    /// Refuses what the schema can't.
    fn check(&self) -> Result<(), String> {
        if !(0.0..=100.0).contains(&self.percentile) {
            return Err(format!("percentile is {}: it has to be 0 to 100", self.percentile));
        }
        if !(1..=MAX_WINDOW).contains(&self.window) {
            return Err(format!("window is {}: it has to be 1 to {MAX_WINDOW}", self.window));
        }
        if self.warm_up == 0 {
            return Err("warm-up is 0: it has to be 1 or more".into());
        }
        if !(self.min >= 0.0 && self.min.is_finite()) {
            return Err(format!("min is {}: it has to be 0 or more", self.min));
        }
        if let Some(max) = self.max
            && !(max > 0.0 && max >= self.min)
        {
            return Err(format!("max is {max}: it has to be above 0, and not below min, which is {}", self.min));
        }
        if !(0.0..=1.0).contains(&self.tolerance) {
            return Err(format!("tolerance is {}: it has to be 0 to 1", self.tolerance));
        }
        Ok(())
    }
}

host_sdk::export!(AutoClip);
