//! A callback of the background lane: it counts the steps that it was shown, and wants to stop the run at the first.
//! The loop does not wait for it, and takes its reports and notes only. State is the number of steps.

use host_sdk::prelude::*;

struct Aside;

impl Callback for Aside {
    type Settings = NoSettings;
    type State = u64;
    const MANIFEST: Manifest = manifest!().requests(&[Request::Stop]).background();

    fn start(_settings: NoSettings, _run: &Run) -> Result<(Self, Subscriptions), String> {
        Ok((Self, Subscriptions::new().on(Hook::StepEnd, &["loss"]).on(Hook::TrainEnd, &[])))
    }

    fn step_end(&self, seen: &mut u64, event: &Event, answer: &mut Answer) {
        if event.get("loss").is_some() {
            *seen += 1;
        }
        // Not at the run's first step: of that one the event may have been dropped.
        if *seen == 1 {
            answer.stop("a background callback steers nothing");
        }
    }

    fn train_end(&self, seen: &mut u64, _event: &Event, answer: &mut Answer) {
        answer.report("seen", *seen as f64).note("that was all");
    }
}

/// It takes none.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoSettings {}

host_sdk::export!(Aside);
