//! Messages on standard error: failures, notes and questions. All are escaped, and show no
//! password. With `--json`, each is a line of JSON.

use std::cell::RefCell;
use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use permazen::__internal::escape::Escaping;
use permazen_jsck::program::json_line;
use serde::Serialize;

use crate::failure::Failure;
use crate::secrets;

/// Whether messages are JSON. It belongs to the process, as standard error does.
static JSON: AtomicBool = AtomicBool::new(false);

/// A message.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Message<'m> {
    /// Something worth knowing.
    Note { message: &'m str },
    /// Why the program failed.
    Error {
        message: &'m str,
        /// The exit code.
        exit: u8,
        /// Where in the statements: their file, line and column.
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<&'m str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        column: Option<usize>,
        /// A name that is nearly the one that was written.
        #[serde(skip_serializing_if = "Option::is_none")]
        nearest: Option<&'m str>,
    },
}

/// From now on, messages are lines of JSON.
pub(crate) fn use_json() {
    JSON.store(true, Ordering::Relaxed);
}

thread_local! {
    /// Notes about a transaction that is not committed; `None` if they are said at once.
    static HELD: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// From now on, the notes of this thread are held back.
pub(super) fn hold() {
    HELD.with_borrow_mut(|held| _ = held.get_or_insert_default());
}

/// Prints the notes that were held back. From now on, no note is held back.
pub(super) fn release() {
    HELD.take().into_iter().flatten().for_each(note_now);
}

/// Forgets the notes that were held back. From now on, no note is held back.
pub(super) fn forget() {
    HELD.set(None);
}

/// Says something worth knowing, perhaps only [when a transaction is
/// committed](super::Output::hold).
pub(crate) fn note(text: impl Display) {
    let held = HELD.with_borrow_mut(|held| match held {
        Some(held) => {
            held.push(text.to_string());
            true
        }
        None => false,
    });
    if !held {
        note_now(text);
    }
}

/// Prints a note at once.
pub(crate) fn note_now(text: impl Display) {
    let text = secrets::hidden(&text.to_string()).into_owned();
    if JSON.load(Ordering::Relaxed) {
        json(&Message::Note { message: &text });
    } else {
        lines(&format!("permazen: {text}"));
    }
}

/// Says why something failed, unless it was said already.
pub(crate) fn failure(failure: &Failure) {
    if failure.message.is_empty() {
        return;
    }
    if JSON.load(Ordering::Relaxed) {
        let message = secrets::hidden(&failure.message);
        let position = failure.position.as_ref();
        json(&Message::Error {
            message: &message,
            exit: failure.exit.code(),
            file: position.and_then(|position| position.file.as_deref()),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            nearest: failure.nearest.as_deref(),
        });
    } else {
        lines(&secrets::hidden(&format!("permazen: {failure}")));
    }
}

/// Shows a question, without an end of the line.
pub(crate) fn ask(question: impl Display) -> io::Result<()> {
    let mut error = io::stderr();
    error.write_all(escaped(&question.to_string()).as_bytes())?;
    error.flush()
}

/// Prints lines of text. If that fails, only the exit code is left to tell.
fn lines(text: &str) {
    let mut out = String::new();
    for line in text.split('\n') {
        out.push_str(&escaped(line));
        out.push('\n');
    }
    let _ = io::stderr().write_all(out.as_bytes());
}

fn json(message: &Message<'_>) {
    let _ = json_line(message).and_then(|line| io::stderr().write_all(&line));
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write!(Escaping(&mut out), "{text}");
    out
}
