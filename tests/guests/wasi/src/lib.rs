//! A callback that asks for the outside world, as language runtimes do: time, randomness, output, files, network.
//!
//! Configuration: `{"mode": "clock", "from-step": 1}`. What it finds is its answer, as reports and notes; before
//! `from-step` it answers nothing. It has no state.

mod outside;

use std::cell::Cell;

use host_sdk::bindings::exports::train_host::callback::callback::Guest;
use host_sdk::bindings::train_host::callback::types::{
    Decision, Event, Hook, Lane, Manifest, Report, Requests, RunInfo, Subscription,
};
use serde::Deserialize;

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Config {
    mode: Mode,
    #[serde(default)]
    from_step: u64,
}

/// What it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// The time of both clocks, twice each.
    Clock,
    /// Random numbers of each kind, also those that it drew in `start`.
    Random,
    /// To wait for an hour in each way that there is.
    Rest,
    /// To be woken when there is input, and whether there is any.
    Input,
    /// To print some lines, the last one not complete.
    Print,
    /// To print without end.
    Flood,
    /// More random bytes than there is memory.
    RandomBomb,
    /// To print a message to standard error and trap; a line to standard output in `start`.
    Abort,
    /// To end the process.
    Exit,
    /// Environment, arguments, terminal, folders, a socket.
    Surroundings,
    /// What no host has.
    Future,
    /// To poll nothing.
    PollNothing,
    /// To wait for more things than there may be handles.
    Handles,
}

thread_local! {
    static CONFIG: Cell<Option<Config>> = const { Cell::new(None) };
    static DRAWN: Cell<u64> = const { Cell::new(0) };
}

struct Component;

impl Guest for Component {
    fn describe() -> Manifest {
        Manifest {
            name: "wasi".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: env!("CARGO_PKG_DESCRIPTION").into(),
            requests: Requests::empty(),
            knobs: Vec::new(),
            lane: Lane::Inline,
            order: 0,
            config_schema: String::new(),
            state_version: 1,
        }
    }

    fn start(config: String, _run: RunInfo) -> Result<Vec<Subscription>, String> {
        let config: Config = serde_json::from_str(&config).map_err(|error| error.to_string())?;
        CONFIG.set(Some(config));
        if config.mode == Mode::Abort {
            outside::print("begun\n");
        }
        DRAWN.set(outside::random().0);
        Ok(vec![Subscription { hook: Hook::StepEnd, every: 1, reads: Vec::new() }])
    }

    fn handle(event: Event) -> Result<Vec<Decision>, String> {
        let Some(Config { mode, from_step }) = CONFIG.get() else { return Err("not started".into()) };
        if event.progress.step < from_step {
            return Ok(Vec::new());
        }
        Ok(answer(mode))
    }

    fn save() -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }

    fn load(_state: Vec<u8>, _version: u32) -> Result<(), String> {
        Ok(())
    }
}

fn answer(mode: Mode) -> Vec<Decision> {
    let report = |name: &str, value: u64| Decision::Report(Report { name: name.into(), value: value as f64 });
    match mode {
        Mode::Clock => {
            let names = ["monotonic", "monotonic-again", "wall", "wall-again"];
            names.iter().zip(outside::clocks()).map(|(name, value)| report(name, value)).collect()
        }
        Mode::Random => {
            let (number, bytes, seed) = outside::random();
            vec![
                report("drawn-at-start", DRAWN.get() >> 12),
                report("number", number >> 12),
                report("bytes", bytes),
                report("seed", seed >> 12),
            ]
        }
        Mode::Rest => outside::rest().into_iter().map(|hours| report("hours", hours)).collect(),
        Mode::Input => vec![Decision::Note(outside::input())],
        Mode::Print => {
            outside::print("one\ntw");
            outside::print("o\n\nthree");
            outside::complain("careful");
            Vec::new()
        }
        Mode::Flood => loop {
            outside::print("x");
            outside::complain(&"y".repeat(100_000));
        },
        Mode::RandomBomb => vec![report("bytes", outside::random_bytes(u64::MAX))],
        Mode::Abort => {
            outside::complain("Traceback:\n  everything\nValueError: no such thing\n");
            std::process::abort()
        }
        Mode::Exit => {
            outside::exit();
            Vec::new()
        }
        Mode::Surroundings => outside::surroundings().into_iter().map(Decision::Note).collect(),
        Mode::Future => vec![report("disk", outside::disk_size())],
        Mode::PollNothing => vec![report("ready", outside::poll_nothing())],
        Mode::Handles => vec![report("waits", outside::wait_for_much())],
    }
}

host_sdk::bindings::export_component!(Component with_types_in host_sdk::bindings);
