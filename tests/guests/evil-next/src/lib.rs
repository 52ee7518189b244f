//! The next version of `evil`, for tests of swaps: it takes that one's place and has a state of version 2.
//! Misbehaves in no other way than its configuration says.
//!
//! Configuration: that of `evil`, of which it reads `mode` alone. In the mode `healthy` it takes a state of version 1,
//! a count in decimal digits, and goes on counting from 1,000 more; in the mode `load-error` it takes only its own.

use std::cell::RefCell;

use host_sdk::bindings::exports::train_host::callback::callback::Guest;
use host_sdk::bindings::train_host::callback::types::{
    Decision, Event, Hook, Lane, Manifest, Report, Requests, RunInfo, Subscription,
};
use serde::Deserialize;

#[derive(Default, Deserialize)]
struct Config {
    mode: String,
}

#[derive(Default)]
struct Next {
    config: Config,
    seen: u64,
}

thread_local! {
    static NEXT: RefCell<Next> = RefCell::default();
}

struct Component;

impl Guest for Component {
    fn describe() -> Manifest {
        Manifest {
            name: "evil".into(),
            version: "2.0.0".into(),
            summary: env!("CARGO_PKG_DESCRIPTION").into(),
            requests: Requests::all(),
            knobs: vec!["*".into()],
            lane: Lane::Inline,
            order: 0,
            config_schema: String::new(),
            state_version: 2,
        }
    }

    fn start(config: String, _run: RunInfo) -> Result<Vec<Subscription>, String> {
        let config = serde_json::from_str(&config).map_err(|error| error.to_string())?;
        NEXT.set(Next { config, seen: 0 });
        Ok(vec![Subscription { hook: Hook::StepEnd, every: 1, reads: Vec::new() }])
    }

    fn handle(_event: Event) -> Result<Vec<Decision>, String> {
        NEXT.with_borrow_mut(|next| {
            next.seen += 1;
            Ok(vec![Decision::Report(Report { name: "seen".into(), value: next.seen as f64 })])
        })
    }

    fn save() -> Result<Vec<u8>, String> {
        Ok(NEXT.with_borrow(|next| next.seen.to_string().into_bytes()))
    }

    fn load(saved: Vec<u8>, version: u32) -> Result<(), String> {
        let seen = String::from_utf8(saved).ok().and_then(|digits| digits.parse::<u64>().ok());
        let seen = seen.ok_or("state is not a number")?;
        NEXT.with_borrow_mut(|next| {
            next.seen = match (version, next.config.mode.as_str()) {
                (2, _) => seen,
                (1, "healthy") => seen + 1000,
                (other, _) => return Err(format!("a state of version {other} is not read any more")),
            };
            Ok(())
        })
    }
}

host_sdk::bindings::export_component!(Component with_types_in host_sdk::bindings);
