//! Early stopping: ends a run whose evaluation no longer gets better, and puts the best weights back.
//! Does not compare by itself; [`rule`] does, and this file turns verdicts into decisions.

mod rule;
mod settings;
#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

use rule::{Cause, Memory};
use settings::Settings;

struct EarlyStopping {
    settings: Settings,
}

/// What has been seen so far.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Watch {
    memory: Memory,
    /// The step of the weights that the tag points to.
    best_step: Option<u64>,
    /// Somebody has been told that the monitored value is missing.
    told_missing: bool,
}

impl Callback for EarlyStopping {
    type Settings = Settings;
    type State = Watch;
    const MANIFEST: Manifest = manifest!().requests(&[Request::Stop, Request::Save, Request::Restore]);

    fn start(settings: Settings, _run: &Run) -> Result<(Self, Subscriptions), String> {
        settings.check()?;
        let subscriptions = Subscriptions::new()
            .every(settings.check_every, settings.check_at.hook(), &[&settings.monitor])
            .on(Hook::TrainEnd, &[]);
        Ok((Self { settings }, subscriptions))
    }

    fn handle(&self, watch: &mut Watch, event: &Event, answer: &mut Answer) {
        if event.hook() == Hook::TrainEnd {
            self.put_back(watch, event, answer);
        } else if !self.settings.is_warming_up(event.progress()) {
            self.check(watch, event, answer);
        }
    }
}

impl EarlyStopping {
    fn check(&self, watch: &mut Watch, event: &Event, answer: &mut Answer) {
        let monitor = &self.settings.monitor;
        let Some(value) = event.get_or_tell(monitor, &mut watch.told_missing, answer) else { return };
        let epoch = settings::epoch_index(event.progress());
        let verdict = self.settings.rule.judge(&self.settings.terms(), &mut watch.memory, value, epoch);
        if verdict.improved {
            watch.best_step = Some(event.step());
            if self.settings.restore_best {
                answer.save(&self.settings.tag);
            }
        }
        if let Some(best) = watch.memory.best {
            answer.report("best", best);
        }
        answer.report("wait", f64::from(watch.memory.wait));
        if let Some(cause) = verdict.stop {
            answer.stop(self.reason(cause, watch, value));
        }
    }

    fn put_back(&self, watch: &Watch, event: &Event, answer: &mut Answer) {
        // The weights of this very step are the best ones already.
        let other = watch.best_step.filter(|step| *step != event.step());
        if self.settings.restore_best && other.is_some() {
            answer.restore(&self.settings.tag);
        }
    }

    fn reason(&self, cause: Cause, watch: &Watch, value: f64) -> String {
        let monitor = &self.settings.monitor;
        let best = match (watch.memory.best, watch.best_step) {
            (Some(best), Some(step)) => format!("best {best} at step {step}"),
            _ => "never a best".into(),
        };
        match cause {
            Cause::Patience => {
                format!("{monitor} has not improved for {} checks: now {value}, {best}", watch.memory.wait)
            }
            Cause::NotFinite => format!("{monitor} is {value}, which is not finite; {best}"),
            Cause::Reached => format!("{monitor} is {value} and has passed its stopping threshold; {best}"),
            Cause::Diverged => format!("{monitor} is {value} and has passed its divergence threshold; {best}"),
        }
    }
}

host_sdk::export!(EarlyStopping);
