//! Which checkpoints are saved and kept: the best by a measurement, and the newest.
//! Deletes nothing: a checkpoint lives as long as a tag points to it, and this plugin moves tags.

#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

/// Saves checkpoints at regular steps or epochs, keeps the newest few, and keeps the best by a measurement.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct CheckpointPolicy {
    /// The measurement that says which checkpoint is the best, at the end of each evaluation.
    monitor: String,
    /// Whether lower or higher is better.
    mode: Mode,
    /// How many of the best are kept; 0 for none.
    keep_best: u32,
    /// Save at every n-th step.
    #[schemars(range(min = 1))]
    every_steps: Option<u32>,
    /// Save at the end of every n-th epoch.
    #[schemars(range(min = 1))]
    every_epochs: Option<u32>,
    /// How many of those saved at regular steps or epochs are kept.
    #[schemars(range(min = 1))]
    keep_last: u32,
}

impl Default for CheckpointPolicy {
    fn default() -> Self {
        Self {
            monitor: "eval/loss".into(),
            mode: Mode::Min,
            keep_best: 1,
            every_steps: None,
            every_epochs: None,
            keep_last: 3,
        }
    }
}

/// What has been asked to be kept.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    /// The best values; the place in this list is the number in the tag.
    best: Vec<f64>,
    /// How many checkpoints were saved at regular steps or epochs.
    regular: u64,
    /// The step of the last of these.
    regular_step: Option<u64>,
    /// Somebody has been told that the monitored value is missing.
    told_missing: bool,
}

impl Callback for CheckpointPolicy {
    type Settings = Self;
    type State = Kept;
    const MANIFEST: Manifest = manifest!().requests(&[Request::Save]);

    fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
        settings.check()?;
        let mut subscriptions = Subscriptions::new();
        if settings.keep_best > 0 {
            subscriptions = subscriptions.on(Hook::EvaluateEnd, &[&settings.monitor]);
        }
        if let Some(every) = settings.every_steps {
            subscriptions = subscriptions.every(every, Hook::StepEnd, &[]);
        }
        if let Some(every) = settings.every_epochs {
            subscriptions = subscriptions.every(every, Hook::EpochEnd, &[]);
        }
        Ok((settings, subscriptions))
    }

    fn evaluate_end(&self, kept: &mut Kept, event: &Event, answer: &mut Answer) {
        let Some(value) = event.get_or_tell(&self.monitor, &mut kept.told_missing, answer) else { return };
        // One that is not finite comes from a broken computation, and nothing would be better than some of them.
        if !value.is_finite() {
            return;
        }
        let is_best = kept.best.iter().all(|other| self.mode.is_better(value, *other));
        let Some(place) = self.place(&kept.best, value) else { return };
        if place == kept.best.len() {
            kept.best.push(value);
        } else {
            kept.best[place] = value;
        }
        if is_best {
            answer.save("best").report("best", value);
        }
        if self.keep_best > 1 {
            answer.save(format!("top-{place}"));
        }
    }

    fn step_end(&self, kept: &mut Kept, event: &Event, answer: &mut Answer) {
        self.save_regularly(kept, event.step(), answer);
    }

    fn epoch_end(&self, kept: &mut Kept, event: &Event, answer: &mut Answer) {
        self.save_regularly(kept, event.step(), answer);
    }
}

impl CheckpointPolicy {
    /// Refuses what the schema can't.
    fn check(&self) -> Result<(), String> {
        if self.every_steps == Some(0) || self.every_epochs == Some(0) {
            return Err("every-steps and every-epochs have to be 1 or more".into());
        }
        if self.keep_last == 0 {
            return Err("keep-last is 0: leave out every-steps and every-epochs to keep none".into());
        }
        if self.keep_best == 0 && self.every_steps.is_none() && self.every_epochs.is_none() {
            return Err("keep-best is 0 and neither every-steps nor every-epochs is set: nothing would be saved".into());
        }
        Ok(())
    }

    /// Where a value goes among the best: a free place, or that of the worst if it is better.
    fn place(&self, best: &[f64], value: f64) -> Option<usize> {
        if best.len() < self.keep_best as usize {
            return Some(best.len());
        }
        let worst = best.iter().copied().fold(None, |worst: Option<f64>, other| match worst {
            Some(worst) if self.mode.is_better(other, worst) => Some(worst),
            _ => Some(other),
        })?;
        // The last of equals: those before it were there first.
        let place = best.iter().rposition(|other| *other == worst)?;
        self.mode.is_better(value, worst).then_some(place)
    }

    fn save_regularly(&self, kept: &mut Kept, step: u64, answer: &mut Answer) {
        // The last step of an epoch can be due both as a step and as an epoch: that is one checkpoint.
        if kept.regular_step == Some(step) {
            return;
        }
        answer.save(format!("recent-{}", kept.regular % u64::from(self.keep_last)));
        kept.regular += 1;
        kept.regular_step = Some(step);
    }
}

host_sdk::export!(CheckpointPolicy);
