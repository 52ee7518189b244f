//! Freezes parameters and sets them free, stage by stage.
//! Does not know when a stage begins or ends; [`stages`] does, and this file turns that into knobs.

mod stages;
#[cfg(test)]
mod tests;

use host_sdk::prelude::*;

use stages::Settings;

struct LayerFreeze {
    settings: Settings,
    /// The names of all parameters; empty where the run does not tell them.
    parameters: Vec<String>,
}

/// Which stages were trainable when that was written last; empty before the first time.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Written(Vec<bool>);

impl Callback for LayerFreeze {
    type Settings = Settings;
    type State = Written;
    const MANIFEST: Manifest = manifest!().knobs(&["trainable/*"]);

    fn start(settings: Settings, run: &Run) -> Result<(Self, Subscriptions), String> {
        let groups = run.description()?.groups;
        let parameters: Vec<String> = groups.into_iter().flat_map(|group| group.parameters).collect();
        settings.check(&parameters)?;
        let subscriptions = Subscriptions::new().on(Hook::TrainBegin, &[]).on(Hook::StepBegin, &[]);
        Ok((Self { settings, parameters }, subscriptions))
    }

    fn train_begin(&self, written: &mut Written, event: &Event, answer: &mut Answer) {
        self.write(written, event, answer);
    }

    fn step_begin(&self, written: &mut Written, event: &Event, answer: &mut Answer) {
        self.write(written, event, answer);
    }
}

impl LayerFreeze {
    /// Writes which stages are trainable, if that is not what was written last.
    fn write(&self, written: &mut Written, event: &Event, answer: &mut Answer) {
        let trainable = self.settings.trainable(event.progress());
        if written.0 == trainable {
            return;
        }
        // All patterns and not only those that change, and what is trainable last: a parameter in several stages is
        // trainable while one of them is.
        for (value, wanted) in [(0.0, false), (1.0, true)] {
            for pattern in self.settings.patterns(&trainable, wanted) {
                answer.set(format!("trainable/{pattern}"), value);
            }
        }
        let free: Vec<&str> = self.settings.patterns(&trainable, true).collect();
        let frozen: Vec<&str> = self.settings.patterns(&trainable, false).collect();
        answer.note(format!("trainable: {}; frozen: {}", listed(&free), listed(&frozen)));
        if self.settings.freezes_all(&trainable, &self.parameters) {
            let line = "every parameter is frozen: the run learns nothing until a stage begins";
            log::warn(line);
            answer.note(line);
        }
        let count = trainable.iter().filter(|trainable| **trainable).count();
        answer.report("stages", count as f64);
        written.0 = trainable;
    }
}

fn listed(patterns: &[&str]) -> String {
    if patterns.is_empty() { "none".into() } else { patterns.join(", ") }
}

host_sdk::export!(LayerFreeze);
