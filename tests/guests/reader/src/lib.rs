//! A callback that reads measurements by name, as most do, for the benchmark of one event.
//! Decides nothing; reports the sum of what it read when it is configured to.
//!
//! Configuration: `{"reads": ["loss", "gradient-norm"], "report": true}`. State is the number of events.

use host_sdk::prelude::*;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Reader {
    /// The measurements to read at the end of each step, by their full names.
    reads: Vec<String>,
    /// Report their sum as `sum`.
    #[serde(default)]
    report: bool,
}

impl Callback for Reader {
    type Settings = Self;
    type State = u64;
    const MANIFEST: Manifest = manifest!();

    fn start(settings: Self, _run: &Run) -> Result<(Self, Subscriptions), String> {
        let reads: Vec<&str> = settings.reads.iter().map(String::as_str).collect();
        let subscriptions = Subscriptions::new().on(Hook::StepEnd, &reads);
        Ok((settings, subscriptions))
    }

    fn step_end(&self, events: &mut u64, event: &Event, answer: &mut Answer) {
        *events += 1;
        let sum: f64 = self.reads.iter().filter_map(|name| event.get(name)).sum();
        // Not finite is what a guard looks for, so the sum is always needed.
        if self.report || !sum.is_finite() {
            answer.report("sum", sum);
        }
    }
}

host_sdk::export!(Reader);
