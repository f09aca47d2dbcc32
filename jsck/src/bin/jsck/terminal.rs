//! All output of the program goes through this module. It escapes what comes from a database, a
//! path or an argument, so that this cannot control the terminal. It also remembers what could not
//! be written.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::sync::OnceLock;

pub(crate) use permazen::escape::path_text;
use permazen::escape::{Escaping, needs_escape};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::Failure;

/// Why the report is not complete.
static NOT_WRITTEN: OnceLock<String> = OnceLock::new();

/// A line that is being built.
#[derive(Default)]
pub(crate) struct Line(String);

impl Line {
    /// Adds text, escaped.
    pub(crate) fn text(mut self, text: impl Display) -> Line {
        // Writing to a string does not fail.
        let _ = write!(Escaping(&mut self.0), "{text}");
        self
    }

    /// Adds text between two sequences that tell the terminal how to show it.
    pub(crate) fn styled(mut self, [on, off]: [&'static str; 2], text: impl Display) -> Line {
        self.0.push_str(on);
        let mut line = self.text(text);
        line.0.push_str(off);
        line
    }

    /// Prints the line on standard output.
    pub(crate) fn say(mut self) {
        self.0.push('\n');
        out(self.0.as_bytes());
    }
}

/// Prints a line on standard output.
pub(crate) fn say(text: impl Display) {
    Line::default().text(text).say();
}

/// Prints a line on standard error. If that fails, only the exit code is left to tell.
pub(crate) fn complain(text: impl Display) {
    let Line(mut line) = Line::default().text(text);
    line.push('\n');
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Shows a question on standard error, without an end of the line.
pub(crate) fn ask(question: impl Display) -> io::Result<()> {
    let Line(question) = Line::default().text(question);
    let mut error = io::stderr();
    error.write_all(question.as_bytes())?;
    error.flush()
}

/// Prints a line of JSON on standard output.
pub(crate) fn json(line: &impl Serialize) {
    match json_line(line) {
        Ok(line) => out(&line),
        Err(error) => not_written(&error),
    }
}

/// A line of JSON with control and format characters escaped.
pub(crate) fn json_line(line: &impl Serialize) -> io::Result<Vec<u8>> {
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

/// Prints what the program generates, without escaping.
pub(crate) fn generated(text: &[u8]) {
    out(text);
}

fn out(bytes: &[u8]) {
    if !is_broken() {
        let _ = io::stdout().write_all(bytes).map_err(|error| not_written(&error));
    }
}

/// If the reader has gone away, that is not an error: it has seen what it wanted.
fn not_written(error: &io::Error) {
    if error.kind() != io::ErrorKind::BrokenPipe {
        // The first error counts.
        let _ = NOT_WRITTEN.set(error.to_string());
    }
}

/// Whether something could not be written.
pub(crate) fn is_broken() -> bool {
    NOT_WRITTEN.get().is_some()
}

/// Makes sure that the report so far has been written.
pub(crate) fn written() -> Result<(), Failure> {
    let _ = io::stdout().flush().map_err(|error| not_written(&error));
    match NOT_WRITTEN.get() {
        None => Ok(()),
        Some(error) => Err(format!("standard output: {error}; the report is not complete").into()),
    }
}

/// Prints an error of the command line, or its help. Returns the exit code.
pub(crate) fn usage(error: &clap::Error) -> u8 {
    let text = error.render().to_string();
    // The error repeats arguments, which may contain control characters: print it escaped.
    if error.use_stderr() && text.chars().any(|c| c != '\n' && needs_escape(c)) {
        text.lines().for_each(complain);
    } else if let Err(error) = error.print().and_then(|()| io::stdout().flush()) {
        not_written(&error);
    }
    match written() {
        Ok(()) => u8::try_from(error.exit_code()).unwrap_or(crate::FAILED),
        Err(failure) => {
            complain(format_args!("jsck: {failure}"));
            crate::FAILED
        }
    }
}
