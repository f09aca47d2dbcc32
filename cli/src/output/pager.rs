//! The pager: a program that shows long output page by page.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much is kept in case that there is no pager. No pipe takes that many bytes without a reader.
const KEPT: usize = 1 << 20;

/// A running pager.
pub(super) struct Pager(Arc<Mutex<Running>>);

/// The input of the pager. If it turns out that there is no pager, the text goes to standard
/// output.
pub(super) struct Input(Arc<Mutex<Running>>);

struct Running {
    child: Child,
    /// `None` after the end.
    input: Option<ChildStdin>,
    /// The text written so far, as long as a pipe could hold it.
    kept: Option<Vec<u8>>,
    /// Whether there is no pager.
    missing: bool,
}

impl Pager {
    /// Starts the pager that `PAGER` names, or `less`. `None` if there is no pager, or the user
    /// wants none.
    pub(super) fn start() -> Option<(Pager, Input)> {
        let mut command = match std::env::var_os("PAGER") {
            Some(wanted) if wanted.is_empty() || wanted == "cat" => return None,
            Some(wanted) => of_shell(wanted),
            None => Command::new("less"),
        };
        if std::env::var_os("LESS").is_none() {
            // Ends by itself if everything fits on one page, and leaves the page on the screen.
            command.env("LESS", "FRX");
        }
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let input = child.stdin.take();
        let running = Running { child, input, kept: Some(Vec::new()), missing: false };
        let running = Arc::new(Mutex::new(running));
        Some((Pager(Arc::clone(&running)), Input(running)))
    }

    /// Waits until the user has left it.
    pub(super) fn wait(self) -> io::Result<()> {
        lock(&self.0).end()
    }
}

fn lock(running: &Mutex<Running>) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Running {
    /// Waits for its end. If there was no pager, shows the text that was kept.
    fn end(&mut self) -> io::Result<()> {
        if self.missing {
            return Ok(());
        }
        drop(self.input.take());
        let ended = self.child.wait()?;
        // The exit codes of a shell that cannot run a command.
        if matches!(ended.code(), Some(126 | 127))
            && let Some(kept) = self.kept.take()
        {
            self.missing = true;
            io::stdout().write_all(&kept)?;
        }
        Ok(())
    }
}

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut running = lock(&self.0);
        if let Some(input) = &mut running.input {
            match input.write(bytes) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => running.end()?,
                written => {
                    let written = written?;
                    running.kept = running.kept.take().filter(|kept| kept.len() < KEPT);
                    if let (Some(kept), Some(bytes)) = (&mut running.kept, bytes.get(..written)) {
                        kept.extend_from_slice(bytes);
                    }
                    return Ok(written);
                }
            }
        }
        match running.missing {
            true => io::stdout().write(bytes),
            false => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut running = lock(&self.0);
        match &mut running.input {
            Some(input) => input.flush(),
            None => io::stdout().flush(),
        }
    }
}

/// A command with arguments, as users write it in `PAGER`.
fn of_shell(wanted: OsString) -> Command {
    let mut command = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
    command.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(wanted);
    command
}
