//! The exports of the contract's world, with the flat parameters that the binary interface gives them.
//! `handle` and `save` are attacked; the rest is what the bindings generate.

use crate::bindings::exports::train_host::callback::callback as generated;
use crate::bindings::train_host::callback::types::{
    Decision, Event, Hook, Lane, Manifest, Requests, RunInfo, Subscription,
};

use crate::{Attack, attack, choose};

/// What this callback is where it is not attacking.
struct Healthy;

impl generated::Guest for Healthy {
    fn describe() -> Manifest {
        Manifest {
            name: env!("CARGO_PKG_NAME").into(),
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
        choose(&config);
        Ok(vec![Subscription { hook: Hook::StepEnd, every: 1, reads: vec!["loss".into()] }])
    }

    fn handle(_event: Event) -> Result<Vec<Decision>, String> {
        Ok(vec![Decision::Note("healthy".into())])
    }

    fn save() -> Result<Vec<u8>, String> {
        Ok(b"state".to_vec())
    }

    fn load(_state: Vec<u8>, _state_version: u32) -> Result<(), String> {
        Ok(())
    }
}

/// `result<list<_>, string>` as it lies in memory.
#[repr(C)]
struct ListResult {
    /// 0 for a list, 1 for an error.
    tag: u32,
    start: usize,
    length: usize,
}

/// An address that no memory of a test reaches to.
const OUTSIDE: usize = 0xffff_0000;

/// Gives the host an answer that stays where it is.
fn answer(tag: u32, start: usize, length: usize) -> *mut u8 {
    Box::into_raw(Box::new(ListResult { tag, start, length })).cast()
}

/// Decisions as they lie in memory: the kind, then text by address and length in the next eight bytes.
fn decisions(count: usize, kind: u64, text: &str) -> usize {
    let place = text.as_ptr().addr() as u64 | (text.len() as u64) << 32;
    vec![[kind, place, 0]; count].leak().as_ptr().addr()
}

/// The number of `note` among the decisions.
const NOTE: u64 = 11;

#[unsafe(export_name = "train-host:callback/callback@0.1.0#describe")]
unsafe extern "C" fn describe() -> *mut u8 {
    // SAFETY: the parameters are passed on as the host gave them.
    unsafe { generated::_export_describe_cabi::<Healthy>() }
}

#[unsafe(export_name = "train-host:callback/callback@0.1.0#start")]
unsafe extern "C" fn start(
    config: *mut u8,
    config_length: usize,
    run: *mut u8,
    run_length: usize,
    seed: i64,
    rank: i32,
    world_size: i32,
    step: i64,
    description: *mut u8,
    description_length: usize,
) -> *mut u8 {
    // SAFETY: the parameters are passed on as the host gave them.
    unsafe {
        generated::_export_start_cabi::<Healthy>(
            config,
            config_length,
            run,
            run_length,
            seed,
            rank,
            world_size,
            step,
            description,
            description_length,
        )
    }
}

#[unsafe(export_name = "train-host:callback/callback@0.1.0#handle")]
unsafe extern "C" fn handle(
    hook: i32,
    step: i64,
    has_total: i32,
    total_steps: i64,
    epoch: f64,
    samples: i64,
    tokens: i64,
    shape: i32,
    values: *mut u8,
    values_length: usize,
) -> *mut u8 {
    match attack() {
        Attack::HugeList => return answer(0, 8, 1_000_000_000),
        Attack::Outside => return answer(0, OUTSIDE, 16),
        Attack::Misaligned => return answer(0, 9, 1),
        Attack::Amplified => return answer(0, decisions(1000, NOTE, "x".repeat(1 << 20).leak()), 1000),
        Attack::UnknownDecision => return answer(0, decisions(1, 99, ""), 1),
        Attack::UnknownResult => return answer(7, 8, 0),
        _ => {}
    }
    // SAFETY: the parameters are passed on as the host gave them.
    unsafe {
        generated::_export_handle_cabi::<Healthy>(
            hook,
            step,
            has_total,
            total_steps,
            epoch,
            samples,
            tokens,
            shape,
            values,
            values_length,
        )
    }
}

#[unsafe(export_name = "train-host:callback/callback@0.1.0#save")]
unsafe extern "C" fn save() -> *mut u8 {
    if attack() == Attack::HugeState {
        return answer(0, 8, 1 << 30);
    }
    // SAFETY: the parameters are passed on as the host gave them.
    unsafe { generated::_export_save_cabi::<Healthy>() }
}

#[unsafe(export_name = "train-host:callback/callback@0.1.0#load")]
unsafe extern "C" fn load(state: *mut u8, length: usize, version: i32) -> *mut u8 {
    // SAFETY: the parameters are passed on as the host gave them.
    unsafe { generated::_export_load_cabi::<Healthy>(state, length, version) }
}
