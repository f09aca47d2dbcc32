//! Ctrl-C: the first one ends a check with what was found so far. A second one, or one while there
//! is nothing to sum up, ends the program at once.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Failure;

/// Exit code when Ctrl-C ends the program at once: 128 plus the number of the signal.
const INTERRUPTED: i32 = 130;

/// Waits for Ctrl-C.
pub(crate) struct Interrupt {
    stop: Arc<AtomicBool>,
    awaited: Arc<AtomicBool>,
}

impl Interrupt {
    pub(crate) fn listen() -> Result<Interrupt, Failure> {
        let interrupt = Interrupt { stop: Arc::default(), awaited: Arc::default() };
        let (stop, awaited) = (Arc::clone(&interrupt.stop), Arc::clone(&interrupt.awaited));
        ctrlc::set_handler(move || {
            if stop.swap(true, Ordering::Relaxed) || !awaited.load(Ordering::Relaxed) {
                restore_terminal();
                std::process::exit(INTERRUPTED);
            }
        })?;
        Ok(interrupt)
    }

    /// Set by the first Ctrl-C.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// From now on, the program looks at the flag.
    pub(crate) fn is_awaited(&self) {
        self.awaited.store(true, Ordering::Relaxed);
    }
}

/// Leaves an empty line and a visible cursor where the progress bar was.
fn restore_terminal() {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        let _ = terminal.write_all(b"\r\x1b[K\x1b[0m\x1b[?25h");
        let _ = terminal.flush();
    }
}
