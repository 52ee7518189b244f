//! A guard against numbers that are not finite: drops the update, then goes back, then stops.
//! Looks only at what it is shown at `gradients`; weights that are broken already show there at the next step.

#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

/// Drops updates whose loss or gradients are not finite, then goes back to a checkpoint, then stops the run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct NanGuard {
    /// The measurements that have to be finite, `*` allowed.
    watch: Vec<String>,
    /// How many updates in a row are dropped before going back to a checkpoint.
    skips: u32,
    /// How often the run goes back before it stops.
    restores: u32,
    /// The checkpoint to go back to.
    tag: String,
    /// What the learning rate is multiplied by when going back.
    #[schemars(range(min = 0, max = 1))]
    lr_factor: f64,
    /// After this many good updates in a row, going back does not count any more; 0 for never.
    forgive_after: u32,
}

impl Default for NanGuard {
    fn default() -> Self {
        Self {
            watch: vec!["loss".into(), "gradient-norm".into()],
            skips: 3,
            restores: 2,
            tag: "last".into(),
            lr_factor: 1.0,
            forgive_after: 1000,
        }
    }
}

/// What went wrong so far.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Trouble {
    /// Updates dropped in a row.
    skipped: u32,
    /// How often the run went back.
    restored: u32,
    /// Good updates in a row.
    healthy: u32,
    /// Updates dropped in the whole run.
    dropped: u64,
}

impl Callback for NanGuard {
    type Settings = Self;
    type State = Trouble;
    // Early, so that whoever comes after it at this hook can rely on it.
    const MANIFEST: Manifest = manifest!()
        .requests(&[Request::Skip, Request::Restore, Request::Stop])
        .knobs(&["learning-rate", "learning-rate/*"])
        .order(-100);

    fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
        if !(settings.lr_factor > 0.0 && settings.lr_factor <= 1.0) {
            return Err(format!("lr-factor is {}: it has to be above 0 and at most 1", settings.lr_factor));
        }
        if settings.watch.is_empty() {
            return Err("watch is empty: there is nothing to guard".into());
        }
        let reads: Vec<&str> = settings.watch.iter().map(String::as_str).collect();
        let subscriptions = Subscriptions::new().on(Hook::Gradients, &reads);
        Ok((settings, subscriptions))
    }

    fn gradients(&self, trouble: &mut Trouble, event: &Event, answer: &mut Answer) {
        match event.scalars().find(|(_, value)| !value.is_finite()) {
            Some((name, value)) => self.drop_update(trouble, &format!("{name} is {value}"), answer),
            None => self.note_health(trouble),
        }
    }
}

impl NanGuard {
    fn drop_update(&self, trouble: &mut Trouble, what: &str, answer: &mut Answer) {
        trouble.healthy = 0;
        trouble.skipped += 1;
        trouble.dropped += 1;
        // Also when the run goes back or ends: these gradients must not reach any weights.
        answer.skip(what).report("dropped", trouble.dropped as f64);
        if trouble.skipped <= self.skips {
            return;
        }
        if trouble.restored < self.restores {
            trouble.restored += 1;
            trouble.skipped = 0;
            answer.note(format!("{what} after {} dropped updates: going back to {}", self.skips, self.tag));
            answer.restore(&self.tag);
            if self.lr_factor < 1.0 {
                answer.scale("learning-rate", self.lr_factor);
            }
        } else {
            answer.stop(format!("{what}, also after going back {} times", trouble.restored));
        }
    }

    fn note_health(&self, trouble: &mut Trouble) {
        trouble.skipped = 0;
        trouble.healthy = trouble.healthy.saturating_add(1);
        if self.forgive_after > 0 && trouble.healthy >= self.forgive_after {
            trouble.restored = 0;
        }
    }
}

host_sdk::export!(NanGuard);
