//! Ctrl-C: the first one stops what is running, a second one ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Exit, Failure};

/// Waits for Ctrl-C. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    stop: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to wait. Only one can in a process.
    pub(crate) fn listen() -> Result<Interrupt, Failure> {
        let interrupt = Interrupt { stop: Arc::default() };
        let stop = Arc::clone(&interrupt.stop);
        ctrlc::set_handler(move || {
            if stop.swap(true, Ordering::Relaxed) {
                std::process::exit(Exit::Interrupted as i32);
            }
        })
        .map_err(|error| Failure::new(format!("Ctrl-C cannot be waited for: {error}")))?;
        Ok(interrupt)
    }

    /// Set by Ctrl-C: whoever works looks at it at least every few milliseconds, and stops.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Fails if Ctrl-C has come.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.stop.load(Ordering::Relaxed) { Err(Failure::interrupted()) } else { Ok(()) }
    }
}
