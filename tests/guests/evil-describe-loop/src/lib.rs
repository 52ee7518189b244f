//! A hostile callback whose `describe` never returns: there is no configuration yet that could choose an attack.
//! Answers nothing else.

use host_sdk::bindings::exports::train_host::callback::callback::Guest;
use host_sdk::bindings::train_host::callback::types::{Decision, Event, Manifest, RunInfo, Subscription};

struct Component;

impl Guest for Component {
    fn describe() -> Manifest {
        loop {
            std::hint::spin_loop();
        }
    }

    fn start(_config: String, _run: RunInfo) -> Result<Vec<Subscription>, String> {
        Ok(Vec::new())
    }

    fn handle(_event: Event) -> Result<Vec<Decision>, String> {
        Ok(Vec::new())
    }

    fn save() -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }

    fn load(_state: Vec<u8>, _state_version: u32) -> Result<(), String> {
        Ok(())
    }
}

host_sdk::bindings::export_component!(Component with_types_in host_sdk::bindings);
