//! A callback that plays back decisions from its configuration, for tests of what a host does with them.
//! Covers every decision of the contract, at every hook.
//!
//! ```json
//! {"reads": ["loss"],
//!  "decisions": [
//!    {"hook": "step-end", "step": 10, "decide": [{"set": ["learning-rate", 0.01]}, {"save": "best"}]},
//!    {"hook": "evaluate-end", "occurrence": 2, "decide": [{"stop": "enough"}]},
//!    {"hook": "log", "decide": ["evaluate", "log", {"mute": "loss"}]},
//!    {"hook": "gradients", "when": ["loss", "above", 5.0], "decide": [{"skip": "too high"}]}]}
//! ```
//!
//! An entry without `step`, `occurrence` and `when` is played at every occurrence of its hook; `occurrence` counts from
//! 1, over resumes. State is the number of events by hook. Values can be the words `NaN`, `Infinity`, `-Infinity`.

mod entry;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use host_sdk::prelude::*;

use entry::Entry;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Script {
    /// The measurements to read, at each hook that an entry names.
    #[serde(default)]
    reads: Vec<String>,
    /// What to decide when.
    #[serde(default)]
    decisions: Vec<Entry>,
    /// An error to answer `start` with.
    #[serde(default)]
    fail_start: Option<String>,
}

impl Callback for Script {
    type Settings = Self;
    type State = BTreeMap<String, u64>;
    const MANIFEST: Manifest = manifest!()
        .requests(&[
            Request::Stop,
            Request::EndEpoch,
            Request::Evaluate,
            Request::Save,
            Request::Log,
            Request::Skip,
            Request::Restore,
            Request::Mute,
        ])
        .knobs(&["*"]);

    fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
        if let Some(error) = settings.fail_start {
            return Err(error);
        }
        let mut reads: Vec<&str> = settings.reads.iter().map(String::as_str).collect();
        reads.extend(settings.decisions.iter().filter_map(Entry::reads));
        let mut hooks: Vec<Hook> =
            settings.decisions.iter().map(|entry| Hook::named(&entry.hook)).collect::<Result<_, _>>()?;
        hooks.sort();
        hooks.dedup();
        let subscriptions = hooks.into_iter().fold(Subscriptions::new(), |all, hook| all.on(hook, &reads));
        Ok((settings, subscriptions))
    }

    fn handle(&self, events: &mut Self::State, event: &Event, answer: &mut Answer) {
        let occurrence = events.entry(event.hook().as_str().into()).or_default();
        *occurrence += 1;
        for entry in self.decisions.iter().filter(|entry| entry.is_due(event, *occurrence)) {
            entry.play(answer);
        }
    }
}

host_sdk::export!(Script);
