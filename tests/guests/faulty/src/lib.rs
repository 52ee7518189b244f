//! Early stopping with a fault to choose, for tests of `host plugin test`, which has to find each of them.
//!
//! Configuration: `{"fault": "nan-best", "patience": 3}`; without a fault it is right.

use std::cell::Cell;

use host_sdk::prelude::*;

#[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Fault {
    #[default]
    None,
    NeverStops,
    StopsEarly,
    LosesState,
    NanBest,
    Undeclared,
    Traps,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// What is wrong with it.
    fault: Fault,
    /// Checks without improvement after which it stops.
    patience: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { fault: Fault::None, patience: 3 }
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Seen {
    best: Option<f64>,
    without_improvement: u64,
}

struct Faulty {
    settings: Settings,
    /// Where a plugin that loses its state keeps it.
    forgotten: Cell<u64>,
}

impl Callback for Faulty {
    type Settings = Settings;
    type State = Seen;
    const MANIFEST: Manifest = manifest!().requests(&[Request::Stop]);

    fn start(settings: Settings, _run: &Run) -> Result<(Self, Subscriptions), String> {
        let subscriptions = Subscriptions::new().on(Hook::EvaluateEnd, &["eval/loss"]);
        Ok((Self { settings, forgotten: Cell::new(0) }, subscriptions))
    }

    fn evaluate_end(&self, seen: &mut Seen, event: &Event, answer: &mut Answer) {
        let fault = self.settings.fault;
        let Some(loss) = event.get("eval/loss") else { return };
        let is_better = match seen.best {
            None => loss.is_finite() || fault == Fault::NanBest,
            Some(best) if fault == Fault::NanBest => loss < best || loss.is_nan(),
            Some(best) => loss < best,
        };
        let mut count = if fault == Fault::LosesState { self.forgotten.get() } else { seen.without_improvement };
        count = if is_better { 0 } else { count + 1 };
        if is_better {
            seen.best = Some(loss);
        }
        self.forgotten.set(count);
        seen.without_improvement = count;
        let patience = if fault == Fault::StopsEarly { self.settings.patience - 1 } else { self.settings.patience };
        if fault == Fault::Undeclared {
            answer.evaluate();
        }
        assert!(fault != Fault::Traps || count == 0, "as asked for");
        if count >= patience && fault != Fault::NeverStops {
            answer.stop(format!("no improvement in {count} checks"));
        }
    }
}

host_sdk::export!(Faulty);
