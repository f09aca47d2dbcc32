//! How a command ends: its answer, or why it failed; and the exit codes.

use std::fmt;
use std::process::ExitCode;

use permazen::__internal::escape::{path_text, without_password_in_url};
use permazen::kv::{Hex, KvError};
use permazen::object;
use permazen::object_xml::ObjectXmlError;
use permazen::open::OpenError;
use permazen::schema::SchemaError;
use permazen_jsck::program::without_numbers;
use permazen_query::{Mistake, QueryError};

/// The advice for objects that would lose something.
pub(crate) const HOW_TO_LOSE: &str = "the shell takes over values by the names of their fields alone; a program can convert or rename them \
     (`upgrade_with`, `was`), and its `upgrade_all` moves the objects with them; `lossy` at the end of `migrate` \
     accepts that they are lost, and moves the objects without these values";

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Everything was done.
    Done,
    /// Everything was done, and the answer is no: findings, differences, no such object, a damaged
    /// value.
    No,
    /// It failed, and nothing was changed.
    Failed,
    /// Other programs were in the way, and nothing was changed. It may work later.
    Busy,
    /// It is not known whether the changes were committed.
    Unknown,
    /// Ctrl-C, and nothing was changed.
    Interrupted,
    /// A script has chosen this code.
    Chosen(u8),
}

impl Exit {
    /// The code that the system gets.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Failed => 2,
            Exit::Busy => 3,
            Exit::Unknown => 4,
            Exit::Interrupted => 130,
            Exit::Chosen(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// The answer of a command that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub(crate) enum Answer {
    /// Exit code 0.
    Yes,
    /// Exit code 1: findings, differences, no such object, a damaged value.
    No,
    /// The exit code that a script has chosen.
    Leave(u8),
}

impl Answer {
    /// [`Answer::Yes`] if so.
    pub(crate) fn yes_if(so: bool) -> Answer {
        if so { Answer::Yes } else { Answer::No }
    }
}

/// Why a command failed. It is escaped when it is shown.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the program ends.
    pub(crate) exit: Exit,
    /// The attempted action and the advice, in one sentence. Empty if it was said already.
    pub(crate) message: String,
    /// A name that is nearly the one that was written.
    pub(crate) nearest: Option<String>,
    /// Where in the statements the cause is.
    pub(crate) position: Option<SourcePosition>,
    /// Whether the same may succeed in a new transaction.
    pub(crate) is_retryable: bool,
}

/// A position in the text of statements.
#[derive(Debug)]
pub(crate) struct SourcePosition {
    /// The file, if it is one.
    pub(crate) file: Option<String>,
    /// Its line, from 1.
    pub(crate) line: usize,
    /// Its column in characters, from 1.
    pub(crate) column: usize,
    /// The message with the position, the line and a caret below it.
    pub(crate) shown: String,
}

impl Failure {
    /// A failure that ends the program with this code.
    pub(crate) fn with(exit: Exit, message: impl Into<String>) -> Failure {
        let message = message.into();
        Failure { exit, message, nearest: None, position: None, is_retryable: false }
    }

    /// Nothing was changed.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure::with(Exit::Failed, message)
    }

    /// The program was called in a wrong way.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(format!("{}; --help says more", message.into()))
    }

    /// A failure that was said already.
    pub(crate) fn said() -> Failure {
        Failure::new("")
    }

    /// Ctrl-C.
    pub(crate) fn interrupted() -> Failure {
        Failure::with(Exit::Interrupted, "interrupted")
    }

    /// A mistake at a position in `source`, which is the text of `file`.
    pub(crate) fn mistake(mistake: &Mistake, source: &str, file: Option<&str>) -> Failure {
        let before = source.get(..mistake.span.start.min(source.len())).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).map_or(0, |text| text.chars().count()) + 1;
        let shown = mistake.shown_in(source);
        let position = SourcePosition {
            file: file.map(str::to_owned),
            line: before.matches('\n').count() + 1,
            column,
            shown: match file {
                Some(file) => format!("{file}, {shown}"),
                None => shown,
            },
        };
        let nearest = mistake.nearest.clone();
        Failure { nearest, position: Some(position), ..Failure::new(mistake.to_string()) }
    }

    /// Adds further text.
    #[must_use]
    pub(crate) fn but(mut self, more: &str) -> Failure {
        self.message = match self.message.is_empty() {
            true => more.to_owned(),
            false => format!("{}; {more}", self.message),
        };
        if let Some(position) = &mut self.position {
            position.shown = format!("{}\n{more}", position.shown);
        }
        self
    }
}

/// For people; several lines if there is a position.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.position.as_ref().map_or(&self.message, |position| &position.shown))
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::new(message)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::new(without_numbers(&error.to_string()))
    }
}

impl From<KvError> for Failure {
    fn from(error: KvError) -> Failure {
        let is_retryable = error.is_retryable();
        let (exit, message) = match &error {
            KvError::OutcomeUnknown(why) => (
                Exit::Unknown,
                format!(
                    "it is not known whether the changes were committed: {why}; look before you run \
                     it again"
                ),
            ),
            KvError::Retry(why) => (Exit::Busy, format!("{why}; try again")),
            KvError::Conflict(conflict) => (
                Exit::Busy,
                format!("another program has changed what was read here ({conflict}); try again"),
            ),
            KvError::ReadersFull { path, max } => (
                Exit::Busy,
                format!(
                    "{}: all {max} reader slots are in use by other programs; end one of them, and \
                     try again",
                    path_text(path)
                ),
            ),
            error @ KvError::InUse { .. } => (Exit::Busy, error.to_string()),
            error if is_retryable => (Exit::Busy, format!("{error}; try again")),
            error => (Exit::Failed, error.to_string()),
        };
        // A table may be opened, and a user log in, with any operation: so each error comes here.
        let message = without_password_in_url(&without_numbers(&message));
        Failure { is_retryable, ..Failure::with(exit, message) }
    }
}

impl From<object::Error> for Failure {
    fn from(error: object::Error) -> Failure {
        match error {
            object::Error::Kv { of, source } => {
                let mut failure = Failure::from(source);
                if !of.is_empty() {
                    failure.message = format!("{of}: {}", failure.message);
                }
                failure
            }
            object::Error::Schema(SchemaError::Store(source)) => source.into(),
            error @ object::Error::MoveRefused(_) => {
                Failure::new(error.to_string()).but(HOW_TO_LOSE)
            }
            error => {
                let is_retryable = error.is_retryable();
                let exit = if is_retryable { Exit::Busy } else { Exit::Failed };
                Failure { is_retryable, ..Failure::with(exit, error.to_string()) }
            }
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        match error {
            OpenError::Store(error) => error.into(),
            error => Failure::new(without_numbers(&error.to_string())),
        }
    }
}

impl From<ObjectXmlError> for Failure {
    fn from(error: ObjectXmlError) -> Failure {
        let (position, failure) = match error {
            ObjectXmlError::Transaction(error) => return error.into(),
            ObjectXmlError::Object { line, column, id, source } => {
                (format!("line {line}, column {column}: object {id}"), Failure::from(source))
            }
            ObjectXmlError::Schema { line, column, source } => {
                let failure = Failure::from(object::Error::Schema(source));
                (format!("line {line}, column {column}"), failure)
            }
            ObjectXmlError::NoText { id, field, encoded } => {
                return Failure::new(format!(
                    "object {id}, field {field}: the value x'{}' has no text that is read back as the same value; \
                     `save --encoded-values` writes it, in a form that Permazen for Java cannot load",
                    Hex(&encoded)
                ));
            }
            error => return Failure::new(error.to_string()),
        };
        // Whether the store was in the way stays known.
        Failure { message: format!("{position}: {}", failure.message), ..failure }
    }
}

/// A mistake has its position only with the text of the statement: see [`Failure::mistake`].
impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Failure {
        match error {
            QueryError::Object(error) => error.into(),
            error => {
                let is_retryable = error.is_retryable();
                let exit = if is_retryable { Exit::Busy } else { Exit::Failed };
                Failure { is_retryable, ..Failure::with(exit, error.to_string()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_of_the_errors_of_stores() {
        let path = || std::path::Path::new("db").into();
        let exit = |error: KvError| {
            let retryable = error.is_retryable();
            let failure = Failure::from(object::Error::from(error));
            assert_eq!(failure.is_retryable, retryable);
            failure.exit
        };
        assert_eq!(exit(KvError::Retry("busy".into())), Exit::Busy);
        assert_eq!(exit(KvError::OutcomeUnknown("gone".into())), Exit::Unknown);
        assert_eq!(exit(KvError::ReadersFull { path: path(), max: 3 }), Exit::Busy);
        assert_eq!(exit(KvError::InUse { path: path(), reason: "by Java".into() }), Exit::Busy);
        assert_eq!(exit(KvError::Full { path: path(), reason: "the disk".into() }), Exit::Failed);
        assert_eq!(exit(KvError::Stale("ended".into())), Exit::Failed);
        let conflict = permazen::kv::Conflict::ReadWrite(b"k".to_vec().into());
        assert_eq!(exit(conflict.into()), Exit::Busy);
    }
}
