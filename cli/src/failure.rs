//! How a command ends: its answer, or why it failed; and the exit codes.

use std::process::ExitCode;

use permazen::kv::KvError;
use permazen::object;
use permazen::open::OpenError;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Everything was done.
    Done = 0,
    /// Everything was done, and the answer is no: findings, differences, no such object, a damaged
    /// value.
    No = 1,
    /// It failed, and nothing was changed.
    Failed = 2,
    /// Others were in the way, and nothing was changed. It may work later.
    Busy = 3,
    /// It is not known whether the changes were committed.
    Unknown = 4,
    /// Ctrl-C, and nothing was changed.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// What a command that did not fail answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub(crate) enum Answer {
    /// Exit code 0.
    Yes,
    /// Exit code 1: findings, differences, no such object, a damaged value.
    No,
}

impl Answer {
    /// [`Answer::Yes`] if so.
    pub(crate) fn yes_if(so: bool) -> Answer {
        if so { Answer::Yes } else { Answer::No }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the program ends.
    pub(crate) exit: Exit,
    /// What was attempted and what to do, in one sentence. It is escaped when it is shown.
    pub(crate) message: String,
}

impl Failure {
    /// Nothing was changed.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Failed, message: message.into() }
    }

    /// The program was called in a wrong way.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(format!("{}; --help says more", message.into()))
    }

    /// Ctrl-C.
    pub(crate) fn interrupted() -> Failure {
        Failure { exit: Exit::Interrupted, message: "interrupted".to_owned() }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::new(message)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::new(error.to_string())
    }
}

impl From<KvError> for Failure {
    fn from(error: KvError) -> Failure {
        let exit = match &error {
            error if error.is_outcome_unknown() => Exit::Unknown,
            error if error.is_retryable() => Exit::Busy,
            _ => Exit::Failed,
        };
        Failure { exit, message: error.to_string() }
    }
}

impl From<object::Error> for Failure {
    fn from(error: object::Error) -> Failure {
        let exit = match &error {
            object::Error::Kv { source, .. } if source.is_outcome_unknown() => Exit::Unknown,
            error if error.is_retryable() => Exit::Busy,
            _ => Exit::Failed,
        };
        Failure { exit, message: error.to_string() }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        match error {
            OpenError::Store(error) => error.into(),
            error => Failure::new(error.to_string()),
        }
    }
}
