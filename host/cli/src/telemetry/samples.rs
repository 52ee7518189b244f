//! Events for tests of telemetry and report. Not part of the program.

use std::{sync::Arc, time::Duration};

use host_callback::{
    CallbackFailure, Change, Consequence, Decision, FailureKind, FailureRecord, Identity, Progress, Record, Standing,
    Summary, Value, Verdict,
};

/// A run of 100 steps, 10 an epoch, 4 samples each.
pub(crate) fn at(step: u64) -> Progress {
    Progress { step, total_steps: Some(100), epoch: step as f64 / 10.0, samples: step * 4, tokens: 0 }
}

pub(crate) fn identity() -> Arc<Identity> {
    let instance = "a".parse().unwrap();
    Arc::new(Identity { instance, plugin: "plug".into(), version: "1.2.3".into(), sha256: Some("ab".repeat(32)) })
}

pub(crate) fn record(decision: Decision, verdict: Verdict) -> Record {
    let changes = match &decision {
        Decision::Set { knob, value } if verdict == Verdict::Applied => {
            vec![Change { knob: format!("{knob}/all"), before: 0.1, after: *value }]
        }
        _ => Vec::new(),
    };
    Record { by: identity(), decision, verdict, changes }
}

pub(crate) fn failure(message: &str) -> FailureRecord {
    let failure = CallbackFailure {
        kind: FailureKind::Trap,
        message: message.into(),
        fuel: 1234,
        time: Duration::from_millis(2),
        consequence: Consequence::Restart,
    };
    FailureRecord { by: identity(), failure }
}

pub(crate) fn summary(instance: &str, seconds: f64) -> Summary {
    let by = Identity { instance: instance.parse().unwrap(), ..identity().as_ref().clone() };
    Summary {
        by: Arc::new(by),
        state: Standing::Running,
        calls: 100,
        decisions: 12,
        failures: 1,
        dropped: 0,
        fuel: 60_000,
        seconds,
    }
}

pub(crate) fn values(values: &[(&str, f64)]) -> Vec<(String, Value)> {
    values.iter().map(|(name, value)| ((*name).to_owned(), Value::Scalar(*value))).collect()
}
