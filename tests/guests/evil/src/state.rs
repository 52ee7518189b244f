//! State that can't be saved or taken back.
//! In most other modes it is the count of events, in decimal digits.

use crate::config::Mode;
use crate::{pull, trap};

pub(crate) fn save(mode: Mode, seen: u64) -> Result<Vec<u8>, String> {
    match mode {
        Mode::SaveError => Err("save failed on purpose".into()),
        Mode::SaveTrap => trap::now(),
        Mode::Pull => Ok(pull::everything().into_bytes()),
        Mode::SaveGigabyte => Ok(vec![b'1'; 1 << 30]),
        _ => Ok(seen.to_string().into_bytes()),
    }
}

pub(crate) fn load(mode: Mode, saved: &[u8]) -> Result<u64, String> {
    match mode {
        Mode::LoadError => Err("load failed on purpose".into()),
        Mode::LoadTrap => trap::now(),
        _ => {
            let digits = std::str::from_utf8(saved).map_err(|error| error.to_string())?;
            digits.parse().map_err(|_| format!("state is not a number: {digits:?}"))
        }
    }
}
