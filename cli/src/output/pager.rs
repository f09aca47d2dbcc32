//! The pager: a program that shows long output page by page.

use std::ffi::OsString;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A running pager.
pub(super) struct Pager(Child);

impl Pager {
    /// Starts what `PAGER` says, or `less`. `None` if there is no pager, or none is wanted.
    pub(super) fn start() -> Option<(Pager, ChildStdin)> {
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
        let input = child.stdin.take()?;
        Some((Pager(child), input))
    }

    /// Waits until the user has left it.
    pub(super) fn wait(mut self) {
        let _ = self.0.wait();
    }
}

/// A command with arguments, as users write it in `PAGER`.
fn of_shell(wanted: OsString) -> Command {
    let mut command = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
    command.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(wanted);
    command
}
