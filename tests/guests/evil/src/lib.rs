//! A hostile callback: healthy but for the one attack that its configuration names, at the steps that it names.
//! Written against the contract itself, because the SDK would not let it do most of this. One attack a file.
//!
//! Configuration: `{"mode": "loop", "hook": "step-end", "from-step": 3, "to-step": 3, "work": 1000}`. Only `mode` is
//! needed; the attack is then made at every step. Otherwise it counts its events, keeps the count as state and reports
//! it as `seen`.

mod config;
mod decisions;
mod flood;
mod memory;
mod pull;
mod recursion;
mod spin;
mod state;
mod trap;
mod words;

use std::cell::RefCell;

use host_sdk::bindings::exports::train_host::callback::callback::Guest;
use host_sdk::bindings::train_host::callback::types::{
    Decision, Event, Lane, Manifest, Report, Requests, RunInfo, Subscription,
};

use config::{Config, Mode};

/// The callback after `start`.
struct Evil {
    config: Config,
    seen: u64,
    /// What the host gave when there was no event.
    without_event: Option<String>,
}

thread_local! {
    static EVIL: RefCell<Option<Evil>> = const { RefCell::new(None) };
}

struct Component;

impl Guest for Component {
    fn describe() -> Manifest {
        Manifest {
            name: "evil".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: env!("CARGO_PKG_DESCRIPTION").into(),
            requests: Requests::all(),
            knobs: vec!["*".into()],
            lane: Lane::Inline,
            order: 0,
            config_schema: String::new(),
            state_version: 1,
        }
    }

    fn start(config: String, _run: RunInfo) -> Result<Vec<Subscription>, String> {
        let config: Config = serde_json::from_str(&config).map_err(|error| error.to_string())?;
        match config.mode {
            Mode::StartLoop => spin::forever(),
            Mode::StartTrap => trap::now(),
            Mode::StartMemory => memory::grow(),
            Mode::StartError => return Err("start failed on purpose".into()),
            _ => {}
        }
        let subscription = Subscription { hook: config.hook()?, every: 1, reads: config.reads.clone() };
        let without_event = (config.mode == Mode::Pull).then(pull::everything);
        EVIL.set(Some(Evil { config, seen: 0, without_event }));
        Ok(vec![subscription])
    }

    fn handle(event: Event) -> Result<Vec<Decision>, String> {
        with_evil(|evil| {
            evil.seen += 1;
            let mut decisions = vec![Decision::Report(Report { name: "seen".into(), value: evil.seen as f64 })];
            decisions.extend(evil.without_event.clone().map(Decision::Note));
            if evil.config.is_due(event.progress.step) {
                attack(&evil.config, &mut decisions)?;
            }
            Ok(decisions)
        })
    }

    fn save() -> Result<Vec<u8>, String> {
        with_evil(|evil| state::save(evil.config.mode, evil.seen))
    }

    fn load(saved: Vec<u8>, _version: u32) -> Result<(), String> {
        with_evil(|evil| {
            evil.seen = state::load(evil.config.mode, &saved)?;
            Ok(())
        })
    }
}

/// What `handle` does when the attack is due. Attacks on the other calls do nothing here.
fn attack(config: &Config, decisions: &mut Vec<Decision>) -> Result<(), String> {
    match config.mode {
        Mode::Trap => trap::now(),
        Mode::Panic => trap::panic(),
        Mode::Loop => spin::forever(),
        Mode::Slow => spin::for_a_while(config.work),
        Mode::Memory => memory::grow(),
        Mode::Recursion => recursion::dive(),
        Mode::Flood => flood::log(config.work),
        Mode::Error => return Err("handle failed on purpose".into()),
        Mode::BadNumbers => decisions.extend(decisions::bad_numbers()),
        Mode::UnknownNames => decisions.extend(decisions::unknown_names()),
        Mode::ManyDecisions => decisions.extend(decisions::many(config.work)),
        Mode::LongWords => decisions.extend(words::long(config.work)),
        Mode::BadWords => decisions.extend(words::bad()),
        Mode::Pull => decisions.push(Decision::Note(pull::everything())),
        Mode::PullForever => pull::forever(),
        _ => {}
    }
    Ok(())
}

fn with_evil<T>(call: impl FnOnce(&mut Evil) -> Result<T, String>) -> Result<T, String> {
    EVIL.with_borrow_mut(|evil| call(evil.as_mut().ok_or("called before start")?))
}

host_sdk::bindings::export_component!(Component with_types_in host_sdk::bindings);
