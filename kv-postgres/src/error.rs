//! What can go wrong between here and the server, as errors of a store.

use std::io;
use std::path::Path;

use permazen_kv::KvError;

/// An error that the server has sent.
#[derive(Debug, Default, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (SQLSTATE {code}{}{detail})", if detail.is_empty() { "" } else { "; " })]
pub struct ServerError {
    /// The SQLSTATE.
    pub code: String,
    /// What the server says.
    pub message: String,
    /// `ERROR`, `FATAL`, `WARNING` and so on, never translated.
    pub severity: String,
    /// More about it.
    pub detail: String,
    /// The constraint that was violated.
    pub constraint: String,
    /// The table it is about.
    pub table: String,
}

impl ServerError {
    /// Whether the connection ends with it.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(&self.severity[..], "FATAL" | "PANIC") || self.code.starts_with("57P")
    }

    /// Whether it is the warning that a commit did not wait for its replica.
    pub(crate) fn is_lost_replica(&self) -> bool {
        self.severity == "WARNING" && matches!(&self.code[..], "01000" | "57P01")
    }

    /// Whether this server cannot write now, as a standby.
    fn is_standby(&self) -> bool {
        matches!(&self.code[..], "25006" | "0A000")
    }

    /// Whether connections to this server are of no use any more.
    pub(crate) fn is_of_the_server(&self) -> bool {
        self.ends_connection() || self.is_standby()
    }

    fn to_kv(&self, what: &str, place: &Path) -> KvError {
        let class = self.code.get(..2).unwrap_or_default();
        match (class, &self.code[..]) {
            (_, "40003") => KvError::OutcomeUnknown(format!("{what}: {self}")),
            ("40" | "08", _)
            | (_, "23505" | "55P03" | "25P03" | "53000" | "53200" | "53300" | "53400") => {
                KvError::Retry(format!("{what}: {self}"))
            }
            (_, "57014") => KvError::Timeout(format!("{what}: {self}")),
            ("57", _) => KvError::Retry(format!("{what}: {self}")),
            (_, "25006" | "0A000") => KvError::Retry(format!(
                "{what}: the server does not write, as a standby does not: {self}; name all hosts in the URL"
            )),
            (_, "53100") => {
                KvError::Full { path: place.into(), reason: self.to_string().into_boxed_str() }
            }
            ("28", _) | (_, "3D000") => KvError::Open {
                path: place.into(),
                reason: format!("{self}; look at the user, the password and the database in the URL")
                    .into_boxed_str(),
            },
            (_, "42501") => KvError::Open {
                path: place.into(),
                reason: format!(
                    "{what}: {self}; the user needs SELECT, INSERT, UPDATE and DELETE on both tables"
                )
                .into_boxed_str(),
            },
            (_, "42P01") => KvError::Open {
                path: place.into(),
                reason: format!("{what}: {self}; has somebody dropped it?").into_boxed_str(),
            },
            _ => KvError::Store { context: what.into(), source: Box::new(self.clone()) },
        }
    }
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The connection is lost, or nobody answers.
    #[error("the connection to the server is lost: {0}")]
    Lost(#[from] io::Error),
    #[error(transparent)]
    Server(Box<ServerError>),
    /// Another reason.
    #[error("{0}")]
    Other(String),
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        Failure::Server(Box::new(error))
    }
}

impl Failure {
    pub(crate) fn other(what: impl Into<String>) -> Self {
        Failure::Other(what.into())
    }

    /// Whether the server has said this.
    pub(crate) fn is_of(&self, code: &str) -> bool {
        matches!(self, Failure::Server(error) if error.code == code)
    }

    /// Whether it is not known what the server has done.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Failure::Lost(_) => true,
            Failure::Server(error) => error.ends_connection(),
            Failure::Other(_) => false,
        }
    }

    /// The same as an error of the store: what was attempted, and on which server.
    pub(crate) fn to_kv(&self, what: &str, place: &Path) -> KvError {
        match self {
            Failure::Lost(_) => KvError::Retry(format!("{what}: {self}")),
            Failure::Server(error) => error.to_kv(what, place),
            Failure::Other(reason) => {
                KvError::Open { path: place.into(), reason: format!("{what}: {reason}").into() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> KvError {
        let error = ServerError { code: code.into(), message: "words".into(), ..<_>::default() };
        error.to_kv("cannot read", Path::new("postgres://host/db"))
    }

    #[test]
    fn each_state_has_its_family() {
        for code in [
            "23505", "25P03", "40001", "40P01", "55P03", "57P01", "57P02", "57P03", "57P05",
            "08000", "08003", "08006", "53200", "53300", "25006",
        ] {
            assert!(of(code).is_retryable(), "{code}: {}", of(code));
            assert!(of(code).to_string().contains(code));
        }
        assert!(of("40003").is_outcome_unknown());
        assert!(matches!(of("57014"), KvError::Timeout(_)));
        assert!(matches!(of("53100"), KvError::Full { .. }));
        for code in ["28000", "28P01", "42501", "42P01", "3D000"] {
            assert!(matches!(of(code), KvError::Open { .. }), "{code}");
            assert!(!of(code).is_retryable() && !of(code).is_outcome_unknown());
        }
        for code in ["25P02", "54000", "XX000", ""] {
            assert!(matches!(of(code), KvError::Store { .. }), "{code}");
        }
    }

    #[test]
    fn what_ends_a_connection_is_known() {
        let error = |code: &str, severity: &str| ServerError {
            code: code.into(),
            severity: severity.into(),
            ..<_>::default()
        };
        assert!(
            error("57P01", "FATAL").ends_connection() && error("25P03", "FATAL").ends_connection()
        );
        assert!(
            !error("40001", "ERROR").ends_connection()
                && !error("57014", "ERROR").ends_connection()
        );
        assert!(error("01000", "WARNING").is_lost_replica());
        assert!(error("57P01", "WARNING").is_lost_replica());
        assert!(!error("00000", "NOTICE").is_lost_replica());
    }
}
