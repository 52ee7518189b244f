//! Ctrl-C and SIGTERM: the first asks the run to stop after its step, the second ends the process at once.
//!
//! It does not know the run, only its [`StopFlag`].

use std::sync::atomic::{AtomicBool, Ordering};

use host_trainer::{Ending, StopFlag};

use crate::{exit::Exit, terminal};

/// Who asks for a stop then.
const A_SIGNAL: &str = "a signal";

/// Connects signals with a flag.
///
/// A system that takes no handler is told on stderr: the run goes on and Ctrl-C ends it at once.
pub(crate) fn connect(stop: StopFlag) {
    handle(stop, || terminal::err("stopping after this step; again to stop at once\n"));
}

/// The same for another rank than the first, which leaves talking to that one.
pub(crate) fn connect_rank(stop: StopFlag) {
    handle(stop, || {});
}

fn handle(stop: StopFlag, at_first: impl Fn() + Send + 'static) {
    let came = AtomicBool::new(false);
    let handler = move || {
        if came.swap(true, Ordering::Relaxed) {
            now();
        }
        stop.request(A_SIGNAL);
        at_first();
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        terminal::err(&format!("warning: signals cannot be handled ({error}); Ctrl-C will end the run at once\n"));
    }
}

/// Whether a run ended because of a signal, here or on another rank.
pub(crate) fn was_the_cause(ending: &Ending) -> bool {
    matches!(ending, Ending::Interrupted { by } if by.starts_with(A_SIGNAL))
}

#[expect(clippy::exit, reason = "a second signal means: without finishing anything; checkpoints are whole at any time")]
fn now() -> ! {
    std::process::exit(i32::from(Exit::Interrupted.code()))
}
