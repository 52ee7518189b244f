//! Ctrl-C and SIGTERM: the first asks the run to stop after its step, the second ends the process at once.
//!
//! It does not know the run, only its [`StopFlag`].

use std::sync::atomic::{AtomicBool, Ordering};

use host_trainer::StopFlag;

use crate::{exit::Exit, terminal};

static STOPPED_BY_SIGNAL: AtomicBool = AtomicBool::new(false);

/// Connects signals with a flag. `once` runs at the first signal, before the flag is raised.
///
/// A system that takes no handler is told on stderr: the run goes on and Ctrl-C ends it at once.
pub(crate) fn connect(stop: StopFlag) {
    let handler = move || {
        if !stop.request("a signal") {
            now();
        }
        STOPPED_BY_SIGNAL.store(true, Ordering::Relaxed);
        terminal::err("stopping after this step; again to stop at once\n");
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        terminal::err(&format!("warning: signals cannot be handled ({error}); Ctrl-C will end the run at once\n"));
    }
}

/// Whether a signal asked for the end.
pub(crate) fn was_the_cause() -> bool {
    STOPPED_BY_SIGNAL.load(Ordering::Relaxed)
}

#[expect(clippy::exit, reason = "a second signal means: without finishing anything; checkpoints are whole at any time")]
fn now() -> ! {
    std::process::exit(i32::from(Exit::Interrupted.code()))
}
