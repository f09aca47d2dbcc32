//! All output of the program goes through this module. It escapes texts that come from a database,
//! a path or an argument, so that these cannot control the terminal. It also remembers what could
//! not be written.

use std::cell::RefCell;
use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

pub(super) use permazen::__internal::escape::path_text;
use permazen::__internal::escape::{Escaping, needs_escape};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::host::{Failure, Host};

/// After this time a message says that the program waits.
pub(super) const TOLD_AFTER: Duration = Duration::from_secs(1);

/// A line that is being built.
#[derive(Default)]
pub(super) struct Line(String);

impl Line {
    /// Adds text, escaped.
    pub(super) fn text(mut self, text: impl Display) -> Line {
        // Writing to a string does not fail.
        let _ = write!(Escaping(&mut self.0), "{text}");
        self
    }

    /// Adds text between two sequences that tell the terminal how to show it.
    pub(super) fn styled(mut self, [on, off]: [&'static str; 2], text: impl Display) -> Line {
        self.0.push_str(on);
        let mut line = self.text(text);
        line.0.push_str(off);
        line
    }
}

/// Where the report goes, and where questions go.
pub(super) struct Terminal<'o> {
    pub(super) host: &'o dyn Host,
    out: RefCell<&'o mut (dyn Write + 'o)>,
    /// Why the report is not complete.
    not_written: RefCell<Option<String>>,
}

impl<'o> Terminal<'o> {
    pub(super) fn new(host: &'o dyn Host, out: &'o mut (dyn Write + 'o)) -> Self {
        Terminal { host, out: RefCell::new(out), not_written: RefCell::default() }
    }

    /// Prints a line of the report.
    pub(super) fn print(&self, Line(mut line): Line) {
        line.push('\n');
        self.out(line.as_bytes());
    }

    /// Prints a line of the report, escaped.
    pub(super) fn say(&self, text: impl Display) {
        self.print(Line::default().text(text));
    }

    /// Prints a line of JSON.
    pub(super) fn json(&self, line: &impl Serialize) {
        match json_line(line) {
            Ok(line) => self.out(&line),
            Err(error) => self.not_written(&error),
        }
    }

    /// Prints a line on standard error, after the name of the program. If that fails, only the exit
    /// code is left to tell.
    pub(super) fn complain(&self, text: impl Display) {
        let _ = io::stderr().write_all(self.complaint(text).as_bytes());
    }

    fn complaint(&self, text: impl Display) -> String {
        let Line(mut line) = Line::default().text(self.host.name()).text(": ").text(text);
        line.push('\n');
        line
    }

    /// Runs something that may wait, and [complains](Self::complain) if that takes long.
    pub(super) fn telling<T>(&self, text: impl Display, run: impl FnOnce() -> T) -> T {
        let complaint = self.complaint(text);
        thread::scope(|scope| {
            let (running, ended) = channel::<()>();
            // Without the thread, there is no message.
            let _ = thread::Builder::new().spawn_scoped(scope, move || {
                if ended.recv_timeout(TOLD_AFTER) == Err(RecvTimeoutError::Timeout) {
                    let _ = io::stderr().write_all(complaint.as_bytes());
                }
            });
            let result = run();
            drop(running);
            result
        })
    }

    fn out(&self, bytes: &[u8]) {
        if !self.is_broken() {
            let written = self.out.borrow_mut().write_all(bytes);
            let _ = written.map_err(|error| self.not_written(&error));
        }
    }

    /// If the reader has gone away, that is not an error: it has seen what it wanted.
    fn not_written(&self, error: &io::Error) {
        if error.kind() != io::ErrorKind::BrokenPipe {
            // The first error counts.
            self.not_written.borrow_mut().get_or_insert_with(|| error.to_string());
        }
    }

    /// Whether something could not be written.
    pub(super) fn is_broken(&self) -> bool {
        self.not_written.borrow().is_some()
    }

    /// Makes sure that the report so far has been written.
    pub(super) fn written(&self) -> Result<(), Failure> {
        let flushed = self.out.borrow_mut().flush();
        let _ = flushed.map_err(|error| self.not_written(&error));
        match &*self.not_written.borrow() {
            None => Ok(()),
            Some(error) => {
                Err(format!("standard output: {error}; the report is not complete").into())
            }
        }
    }
}

/// A line of JSON in which control and format characters are escaped, also those that JSON allows.
///
/// # Errors
/// The errors of making JSON from `line`.
///
/// ```
/// let line = permazen_jsck::program::json_line(&["a\u{202e}b"])?;
/// assert_eq!(line, b"[\"a\\u202eb\"]\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn json_line(line: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    line.serialize(&mut Serializer::with_formatter(&mut text, EscapingJson))?;
    text.push(b'\n');
    Ok(text)
}

struct EscapingJson;

impl Formatter for EscapingJson {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| needs_escape(c)) {
            let (before, after) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = after.get(c.len_utf8()..).unwrap_or_default();
        }
        writer.write_all(rest.as_bytes())
    }
}
