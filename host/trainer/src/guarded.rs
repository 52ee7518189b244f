//! Work of a task and its backend, whose panics become errors of the run: a run is closed, whatever happens in it.
//!
//! It does not decide what follows. Main function: [`guarded`].

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use serde::{Deserialize, Serialize};

use crate::TrainError;

/// A panic's words, and whether they are about memory.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Panicked {
    pub(crate) message: String,
    pub(crate) is_out_of_memory: bool,
}

impl Panicked {
    /// The same as if it had happened here.
    pub(crate) fn of_rank(self, rank: usize) -> Self {
        Self { message: format!("rank {rank}: {}", self.message), ..self }
    }

    /// The error of the run that it is; `place` says where it happened.
    pub(crate) fn in_place(self, step: u64, place: impl FnOnce() -> String) -> TrainError {
        let Self { message, is_out_of_memory } = self;
        if is_out_of_memory {
            TrainError::OutOfMemory { step, message }
        } else {
            TrainError::Panic { place: place(), message }
        }
    }
}

/// Does something that may panic. Whoever calls it sees to it that nothing half done is used afterwards.
pub(crate) fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let message = words(&*panic);
        let is_out_of_memory = is_about_memory(&message);
        Panicked { message, is_out_of_memory }
    })
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no words").to_owned()
}

/// burn has no type for it: it panics with the words of the driver (`CUDA_ERROR_OUT_OF_MEMORY`), of CubeCL
/// (`BufferTooBig`, `OutOfMemory`) or of an embedding program's own backend.
fn is_about_memory(message: &str) -> bool {
    let plain: String = message.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    ["outofmemory", "buffertoobig", "memoryallocation", "cannotallocatememory", "allocationfailed"]
        .iter()
        .any(|sign| plain.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_about_memory_are_told_apart() {
        for (message, about_memory) in [
            ("DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")", true),
            ("called `Result::unwrap()` on an `Err` value: BufferTooBig { size: 17179869184 }", true),
            ("Ran out of memory while growing the pool", true),
            ("memory allocation of 64 bytes failed", true),
            ("index out of bounds: the len is 3 but the index is 7", false),
            ("", false),
        ] {
            assert_eq!(is_about_memory(message), about_memory, "{message}");
        }
    }

    #[test]
    fn a_panic_becomes_its_words() {
        assert_eq!(guarded(|| 3).unwrap(), 3);
        let panicked = guarded(|| -> () { std::panic::resume_unwind(Box::new("shapes differ")) }).unwrap_err();
        assert_eq!((panicked.message.as_str(), panicked.is_out_of_memory), ("shapes differ", false));
    }
}
