//! The settings of the guard, their defaults, and which of them make sense.
//! Does not judge losses; `window` does.

use host_sdk::prelude::*;

use crate::window::Terms;

/// As many losses as a state of the default limit, 1 MiB, holds twice for sure: each takes up to 25 bytes.
const MAX_WINDOW: usize = 10_000;

/// Drops the update of a loss spike, goes back to a checkpoint and leaves out the next batches.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The measurement to watch, at each update.
    pub(crate) monitor: String,
    /// A loss above the mean of the window by more than this many standard deviations is a spike; 0 for no such limit.
    #[schemars(range(min = 0))]
    pub(crate) sigmas: f64,
    /// A loss above this many times the median of the window is a spike; 0 for no such limit.
    #[schemars(range(min = 0))]
    pub(crate) factor: f64,
    /// The losses that a new one is compared with: the last so many that were no spikes. Before there are as many only
    /// a loss that is not finite is a spike.
    #[schemars(range(min = 2, max = 10_000))]
    pub(crate) window: usize,
    /// Before this many steps are finished only a loss that is not finite is a spike.
    pub(crate) warm_up: u64,
    /// The checkpoint to go back to.
    pub(crate) tag: String,
    /// Batches that are left out after going back, at most to the end of the epoch.
    pub(crate) skip_batches: u64,
    /// How often the run goes back.
    #[schemars(range(min = 1))]
    pub(crate) max_restores: u32,
    /// What a spike does after that.
    pub(crate) after_restores: AfterRestores,
    /// After this many updates in a row without a spike the times that the run went back are forgotten; 0 for never.
    pub(crate) forgive_after: u64,
}

/// What a spike does when the run may not go back again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AfterRestores {
    /// It is noted, and its update made unless the loss is not finite.
    Note,
    /// It stops the run.
    Stop,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            monitor: "loss".into(),
            sigmas: 6.0,
            factor: 0.0,
            window: 100,
            warm_up: 100,
            tag: "last".into(),
            skip_batches: 20,
            max_restores: 5,
            after_restores: AfterRestores::Note,
            forgive_after: 0,
        }
    }
}

impl Settings {
    /// Refuses what the schema can't.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in [("sigmas", self.sigmas), ("factor", self.factor)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(format!("{name} is {value}: it has to be 0 or more"));
            }
        }
        if self.factor > 0.0 && self.factor <= 1.0 {
            let factor = self.factor;
            return Err(format!(
                "factor is {factor}: it has to be above 1, as half of all losses are above their median"
            ));
        }
        if self.sigmas == 0.0 && self.factor == 0.0 {
            return Err("sigmas and factor are 0: only losses that are not finite would be spikes, and nan-guard is \
                        made for those"
                .into());
        }
        if !(2..=MAX_WINDOW).contains(&self.window) {
            return Err(format!("window is {}: it has to be 2 to {MAX_WINDOW}", self.window));
        }
        if self.max_restores == 0 {
            return Err("max-restores is 0: it has to be 1 or more".into());
        }
        if self.tag.is_empty() {
            return Err("tag is empty: there is nothing to go back to".into());
        }
        Ok(())
    }

    /// What a loss is compared with when so many steps are finished.
    pub(crate) fn terms(&self, step: u64) -> Terms {
        let limit = |value: f64| (value > 0.0).then_some(value);
        Terms {
            sigmas: limit(self.sigmas),
            factor: limit(self.factor),
            window: self.window,
            warming_up: step < self.warm_up,
        }
    }

    /// Whether a checkpoint that was saved with these tags is the one to go back to.
    pub(crate) fn goes_back_to(&self, tags: &str) -> bool {
        // Every checkpoint is the last when it has just been saved.
        self.tag == "last" || tags.split(", ").any(|tag| tag == self.tag)
    }
}
