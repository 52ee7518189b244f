//! Stops a run whose loss stays too high.

use host_sdk::prelude::*;

/// What stands in `[plugin.config]`. The texts are shown to whoever configures a run.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Settings {
    /// A loss above this is too high.
    ceiling: f64,
    /// The run stops after so many steps in a row.
    #[serde(default = "three")]
    #[schemars(range(min = 1))]
    patience: u32,
}

fn three() -> u32 {
    3
}

struct LossCeiling {
    settings: Settings,
}

/// What is learned on the way. It is saved in checkpoints.
#[derive(Default, Serialize, Deserialize)]
struct State {
    /// Steps in a row with a loss that was too high.
    strikes: u32,
}

impl Callback for LossCeiling {
    type Settings = Settings;
    type State = State;
    const MANIFEST: Manifest = manifest!().requests(&[Request::Stop]);

    fn start(settings: Settings, _run: &Run) -> Result<(Self, Subscriptions), String> {
        Ok((Self { settings }, Subscriptions::new().on(Hook::StepEnd, &["loss"])))
    }

    fn step_end(&self, state: &mut State, event: &Event, answer: &mut Answer) {
        let Settings { ceiling, patience } = self.settings;
        let Some(loss) = event.get("loss") else { return };
        state.strikes = if loss > ceiling { state.strikes + 1 } else { 0 };
        if state.strikes == patience {
            answer.stop(format!("the loss was above {ceiling} {patience} times in a row: now {loss}"));
        }
    }
}

host_sdk::export!(LossCeiling);

#[cfg(test)]
mod tests {
    use super::*;
    use host_sdk::testing::{Harness, Moment};

    #[test]
    fn a_loss_that_stays_too_high_stops_the_run() {
        let mut harness = Harness::<LossCeiling>::start(&serde_json::json!({"ceiling": 5, "patience": 2})).unwrap();
        for (step, loss) in [(1, 6.0), (2, 4.0), (3, 7.0)] {
            assert_eq!(harness.send(Moment::at(Hook::StepEnd, step).scalar("loss", loss)).unwrap(), []);
        }
        harness.resume(3).unwrap();
        let decisions = harness.send(Moment::at(Hook::StepEnd, 4).scalar("loss", 8.0)).unwrap();
        assert_eq!(decisions, [Decision::Stop("the loss was above 5 2 times in a row: now 8".into())]);
    }
}
