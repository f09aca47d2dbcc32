//! A process that does nothing but check.
//!
//! The first Ctrl-C ends a check with the findings so far. A second one, or one while there is
//! nothing to sum up, ends the process at once.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::host::Host;

/// Exit code when Ctrl-C ends the program at once: 128 plus the number of the signal.
const INTERRUPTED: i32 = 130;

/// How often to check whether the question was interrupted.
const BEAT: Duration = Duration::from_millis(50);

/// The [`Host`] for a process that does nothing but check. It waits for Ctrl-C, and asks on
/// standard error.
#[derive(Debug)]
pub struct Process {
    name: String,
    stop: Arc<AtomicBool>,
    awaited: Arc<AtomicBool>,
}

impl Process {
    /// Begins to wait for Ctrl-C. `name` is the beginning of messages.
    ///
    /// # Errors
    /// If something else in this process waits for Ctrl-C already.
    pub fn listen(name: impl Display) -> io::Result<Process> {
        let process =
            Process { name: name.to_string(), stop: Arc::default(), awaited: Arc::default() };
        let (stop, awaited) = (Arc::clone(&process.stop), Arc::clone(&process.awaited));
        ctrlc::set_handler(move || {
            if stop.swap(true, Ordering::Relaxed) || !awaited.load(Ordering::Relaxed) {
                restore_terminal();
                std::process::exit(INTERRUPTED);
            }
        })
        .map_err(io::Error::other)?;
        // Without this, a file that is larger than the system allows would end the process without
        // a word.
        #[cfg(unix)]
        signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
        Ok(process)
    }
}

impl Host for Process {
    fn name(&self) -> &str {
        &self.name
    }

    /// On a terminal, unless `NO_COLOR` is set.
    fn shows_colours(&self) -> bool {
        io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
    }

    fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    fn stop_is_checked(&self) {
        self.awaited.store(true, Ordering::Relaxed);
    }

    fn can_ask(&self) -> bool {
        io::stdin().is_terminal()
    }

    fn confirm(&self, question: &str) -> io::Result<bool> {
        let mut error = io::stderr();
        error.write_all(question.as_bytes())?;
        error.flush()?;
        // A signal does not end the reading of a line, so another thread reads.
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut answer = String::new();
            let read = io::stdin().lock().read_line(&mut answer);
            let _ = sender.send(read.map(|_| answer));
        });
        while !self.stop.load(Ordering::Relaxed) {
            match answers.recv_timeout(BEAT) {
                Ok(answer) => return Ok(matches!(answer?.trim(), "y" | "Y" | "yes")),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let _ = error.write_all(b"\n");
        Ok(false)
    }
}

/// Leaves an empty line and a visible cursor where the progress bar was.
fn restore_terminal() {
    let mut terminal = io::stderr();
    if terminal.is_terminal() {
        let _ = terminal.write_all(b"\r\x1b[K\x1b[0m\x1b[?25h");
        let _ = terminal.flush();
    }
}
