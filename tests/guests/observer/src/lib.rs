//! A callback that notes what it is shown, for tests of what a host shows when.
//! Decides nothing else, and asks for nothing.
//!
//! Configuration: `{"hooks": ["step-end", "evaluate-end"], "reads": ["loss", "eval/*"], "every": 2}`; without `hooks`
//! it listens to all of them. Each event becomes one note, a line of JSON:
//! `{"detail":"","epoch":0.5,"hook":"step-end","step":3,"total-steps":8,...,"loss":0.25}`, with NaN and the infinities
//! as words. State is the number of events by hook, and their sum is reported as `events`.

use std::collections::BTreeMap;

use host_sdk::prelude::*;
use serde_json::{Map, Value, json};

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Observer {
    /// The hooks to listen to; all of them if empty.
    hooks: Vec<String>,
    /// The measurements to read, at each of them.
    reads: Vec<String>,
    /// Listen to every n-th occurrence.
    every: u32,
    /// Leave a note for each event.
    note: bool,
}

impl Default for Observer {
    fn default() -> Self {
        Self { hooks: Vec::new(), reads: Vec::new(), every: 1, note: true }
    }
}

impl Callback for Observer {
    type Settings = Self;
    type State = BTreeMap<String, u64>;
    const MANIFEST: Manifest = manifest!();

    fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
        let reads: Vec<&str> = settings.reads.iter().map(String::as_str).collect();
        let hooks = match settings.hooks.as_slice() {
            [] => Hook::ALL.to_vec(),
            names => names.iter().map(|name| Hook::named(name)).collect::<Result<_, _>>()?,
        };
        let every = settings.every;
        let subscriptions = hooks.into_iter().fold(Subscriptions::new(), |all, hook| all.every(every, hook, &reads));
        Ok((settings, subscriptions))
    }

    fn handle(&self, events: &mut Self::State, event: &Event, answer: &mut Answer) {
        *events.entry(event.hook().as_str().into()).or_default() += 1;
        answer.report("events", events.values().sum::<u64>() as f64);
        if self.note {
            answer.note(describe(event).to_string());
        }
    }
}

fn describe(event: &Event) -> Value {
    let progress = event.progress();
    let mut line = Map::new();
    line.insert("hook".into(), event.hook().as_str().into());
    line.insert("step".into(), progress.step.into());
    line.insert("total-steps".into(), progress.total_steps.into());
    line.insert("epoch".into(), number(progress.epoch));
    line.insert("samples".into(), progress.samples.into());
    line.insert("tokens".into(), progress.tokens.into());
    line.insert("detail".into(), event.detail().into());
    line.extend(event.scalars().map(|(name, value)| (name.to_string(), number(value))));
    line.extend(event.vectors().map(|(name, values)| (name.to_string(), json!(values))));
    line.extend(event.texts().map(|(name, words)| (name.to_string(), words.into())));
    Value::Object(line)
}

/// JSON has no numbers that are not finite.
fn number(value: f64) -> Value {
    if value.is_finite() { value.into() } else { value.to_string().into() }
}

host_sdk::export!(Observer);
