//! Failures between this process and the server, as errors of a store.

use std::io;
use std::path::Path;

use fallible_iterator::FallibleIterator;
use permazen_kv::__internal::WithCauses;
use permazen_kv::remote::{OwnCertificate, ServerHost, TlsError};
use permazen_kv::{Conflict, KvError};
use postgres_protocol::message::backend::ErrorFields;

/// An error that the server has sent.
#[derive(Debug, Default, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (SQLSTATE {code}{}{detail})", if detail.is_empty() { "" } else { "; " })]
pub struct ServerError {
    /// The SQLSTATE.
    pub code: String,
    /// The text of the server.
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
    /// Whether the connection ends with it, here or at a proxy in between.
    pub(crate) fn ends_connection(&self) -> bool {
        let class = self.code.get(..2).unwrap_or_default();
        matches!(&self.severity[..], "FATAL" | "PANIC")
            || class == "08"
            || (class == "57" && self.code != "57014")
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

    /// The same as an error of the store, with what to do about it. Errors that are retryable say
    /// so themselves.
    fn to_kv(&self, what: &str, place: &Path) -> KvError {
        let class = self.code.get(..2).unwrap_or_default();
        let said = |hint: &str| match hint {
            "" => format!("{what}: {self}"),
            hint => format!("{what}: {self}; {hint}"),
        };
        let conflict = |hint: &str| Conflict::Reported(said(hint).into()).into();
        let open = |hint: &str| KvError::Open { path: place.into(), reason: said(hint).into() };
        let full = |hint: &str| KvError::Full { path: place.into(), reason: said(hint).into() };
        let failed = |hint: &str| KvError::Store {
            context: match hint {
                "" => what.into(),
                hint => format!("{what} ({hint})").into(),
            },
            source: Box::new(self.clone()),
        };
        match (class, &self.code[..]) {
            (_, "40003") => KvError::OutcomeUnknown(said(
                "look whether the changes are there before the transaction runs again",
            )),
            (_, "23505") => conflict("another transaction was first"),
            ("40", _) => conflict(""),
            ("08", _) => KvError::Retry(said("")),
            (_, "25P02") => KvError::Stale(said(
                "something has failed in it before: drop the transaction, and begin another one",
            )),
            (_, "25P03") => KvError::Retry(said(
                "if it needs pauses, raise idle_in_transaction_session_timeout for this user",
            )),
            (_, "55P03") => KvError::Retry(said(
                "if others hold locks for long, raise lock_timeout for this user",
            )),
            (_, "57014") => KvError::Timeout(said(
                "ask for less at once, or raise statement_timeout for this user",
            )),
            ("57", _) => KvError::Retry(said("")),
            (_, "25006" | "0A000") => KvError::Retry(said(
                "the server does not write, as a standby does not: name all hosts in the URL; \
                 default_transaction_read_only must be off for this user",
            )),
            (_, "53100") => full("make room on the disk of the server"),
            (_, "53400") => full("raise this limit of the server"),
            (_, "53200") => KvError::Retry(said(
                "if this stays so, give the server more memory, or more locks (max_locks_per_transaction, \
                 max_pred_locks_per_transaction)",
            )),
            (_, "53300") => KvError::Retry(said(
                "allow more connections (max_connections, or the limit of the user), or use fewer \
                 (PostgresBuilder::connections)",
            )),
            ("53", _) => KvError::Retry(said("")),
            (_, "28000") if self.message.contains("certificate") => {
                open("name a certificate that the server trusts and its key, as sslcert and sslkey")
            }
            ("28", _) | (_, "3D000") => open(
                "look at the user and the database in the URL, and at the password in the URL, in \
                      PGPASSWORD or in ~/.pgpass",
            ),
            (_, "42501") => open(
                "the user needs SELECT, INSERT, UPDATE and DELETE on both tables; if they are not there, their \
                 owner makes them by opening the store first",
            ),
            (_, "3F000") => open("the schema must be there: CREATE SCHEMA makes it"),
            (_, "42P01") => open("perhaps it was dropped; opening the store creates it"),
            (_, "26000" | "42P05") => open(
                "a pooler that gives each transaction another connection, such as PgBouncer, seems to stand between: \
                 write pooling=transaction in the URL (PostgresBuilder::transaction_pooling), let the pooler give each \
                 program connections of its own, or connect to the server itself",
            ),
            ("54", _) => failed(
                "a value, a transaction or the queue of notifications is larger than the server takes",
            ),
            _ => failed(""),
        }
    }
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The connection is lost, or no server answers.
    #[error("the connection to the server is lost: {}", WithCauses(.0))]
    Lost(io::Error),
    #[error(transparent)]
    Server(Box<ServerError>),
    /// Another reason.
    #[error("{0}")]
    Other(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Lost(error)
    }
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        Failure::Server(Box::new(error))
    }
}

impl From<TlsError> for Failure {
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Refused(what) => Failure::Other(what),
            TlsError::Lost(error) => Failure::Lost(error),
        }
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

    /// Whether the outcome on the server is unknown.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Failure::Lost(_) => true,
            Failure::Server(error) => error.ends_connection(),
            Failure::Other(_) => false,
        }
    }

    /// The same after an error of the server. If the server has ended the connection, the new one
    /// says why, which the system does not.
    pub(crate) fn because_of(self, error: Option<&ServerError>) -> Self {
        match (self, error) {
            (Failure::Lost(lost), Some(error)) if error.ends_connection() => {
                Failure::Lost(io::Error::new(lost.kind(), error.clone()))
            }
            (failure, _) => failure,
        }
    }

    /// The same while the user logs in. A certificate that the server refuses, or does not get,
    /// does not become another one when it is sent again.
    pub(crate) fn of_certificate(self, own: Option<&OwnCertificate>) -> Self {
        match (self, own) {
            (Failure::Lost(error), own) if error.kind() == io::ErrorKind::PermissionDenied => {
                Failure::Other(match own {
                    Some(own) => format!(
                        "the server refuses the certificate {} of sslcert: {error}",
                        own.certificate.display()
                    ),
                    None => format!(
                        "the server asks for a certificate that it trusts: name it and its key in the URL, as sslcert \
                         and sslkey ({error})"
                    ),
                })
            }
            (failure, _) => failure,
        }
    }

    /// Whether no host has the name in the URL.
    pub(crate) fn is_unknown_host(&self) -> bool {
        matches!(self, Failure::Lost(error) if ServerHost::is_unknown(error))
    }

    /// Whether another program has just made the same tables.
    pub(crate) fn is_second(&self) -> bool {
        ["23505", "42710", "42P07"].into_iter().any(|code| self.is_of(code))
    }

    /// Whether the time to wait is over without a word from the server.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(self, Failure::Lost(error) if error.kind() == io::ErrorKind::TimedOut)
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

/// The error in a message of the server.
pub(crate) fn server_error(mut fields: ErrorFields<'_>) -> io::Result<ServerError> {
    let mut error = ServerError::default();
    while let Some(field) = fields.next()? {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => error.code = value,
            b'M' => error.message = value,
            // Some proxies send only this field, which a server may translate.
            b'S' if error.severity.is_empty() => error.severity = value,
            b'V' => error.severity = value,
            b'D' => error.detail = value,
            b'n' => error.constraint = value,
            b't' => error.table = value,
            _ => {}
        }
    }
    Ok(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> KvError {
        let error = ServerError { code: code.into(), message: "words".into(), ..<_>::default() };
        error.to_kv("cannot read", Path::new("postgres://host/db"))
    }

    /// The kinds of errors that the states become.
    fn kind(error: &KvError) -> &'static str {
        match error {
            KvError::Conflict(_) => "conflict",
            KvError::Retry(_) => "retry",
            KvError::OutcomeUnknown(_) => "unknown",
            KvError::Stale(_) => "stale",
            KvError::Timeout(_) => "time-out",
            KvError::Full { .. } => "full",
            KvError::Open { .. } => "open",
            KvError::Store { .. } => "store",
            _ => "other",
        }
    }

    /// Each state: its kind, and a word of what to do.
    const STATES: [(&str, &str, &str); 43] = [
        ("08000", "retry", "must be retried"),
        ("08001", "retry", "must be retried"),
        ("08003", "retry", "must be retried"),
        ("08004", "retry", "must be retried"),
        ("08006", "retry", "must be retried"),
        ("08P01", "retry", "must be retried"),
        ("0A000", "retry", "name all hosts"),
        ("23505", "conflict", "must be retried"),
        ("25006", "retry", "name all hosts"),
        ("25P02", "stale", "begin another one"),
        ("25P03", "retry", "idle_in_transaction_session_timeout"),
        ("28000", "open", "look at the user"),
        ("28P01", "open", "look at the user"),
        ("3D000", "open", "the database in the URL"),
        ("40000", "conflict", "must be retried"),
        ("40001", "conflict", "must be retried"),
        ("40002", "conflict", "must be retried"),
        ("40003", "unknown", "look whether the changes are there"),
        ("40P01", "conflict", "must be retried"),
        ("3F000", "open", "CREATE SCHEMA"),
        ("26000", "open", "pooling=transaction"),
        ("42P05", "open", "pooling=transaction"),
        ("42501", "open", "needs SELECT, INSERT, UPDATE and DELETE"),
        ("42P01", "open", "opening the store creates it"),
        ("53000", "retry", "must be retried"),
        ("53100", "full", "make room"),
        ("53200", "retry", "max_pred_locks_per_transaction"),
        ("53300", "retry", "max_connections"),
        ("53400", "full", "raise this limit"),
        ("54000", "store", "larger than the server takes"),
        ("54001", "store", "larger than the server takes"),
        ("54023", "store", "larger than the server takes"),
        ("55P03", "retry", "lock_timeout"),
        ("57000", "retry", "must be retried"),
        ("57014", "time-out", "statement_timeout"),
        ("57P01", "retry", "must be retried"),
        ("57P02", "retry", "must be retried"),
        ("57P03", "retry", "must be retried"),
        ("57P04", "retry", "must be retried"),
        ("57P05", "retry", "must be retried"),
        ("22021", "store", ""),
        ("XX000", "store", ""),
        ("", "store", ""),
    ];

    #[test]
    fn each_state_has_its_kind_and_says_what_to_do() {
        for (code, expected, advice) in STATES {
            let error = of(code);
            let text = error.to_string();
            assert_eq!(kind(&error), expected, "{code}: {text}");
            assert_eq!(
                error.is_retryable(),
                matches!(expected, "retry" | "conflict"),
                "{code}: {text}"
            );
            assert_eq!(error.is_outcome_unknown(), expected == "unknown", "{code}: {text}");
            assert_eq!(
                error.is_stale(),
                matches!(expected, "stale" | "time-out"),
                "{code}: {text}"
            );
            // The text has the attempted action, the message of the server, and the advice.
            for part in ["cannot read", "words", &format!("SQLSTATE {code}"), advice] {
                assert!(text.contains(part), "{code}: {text}");
            }
            let names_server = matches!(expected, "open" | "full");
            assert_eq!(text.contains("postgres://host/db"), names_server, "{code}: {text}");
        }
    }

    #[test]
    fn a_lost_connection_says_why_the_server_has_ended_it() {
        let lost = || Failure::Lost(io::ErrorKind::TimedOut.into());
        let error = |severity: &str| ServerError {
            code: "XX000".into(),
            message: "words".into(),
            severity: severity.into(),
            ..<_>::default()
        };
        let failure = lost().because_of(Some(&error("FATAL")));
        assert!(failure.is_lost() && failure.is_silence(), "{failure:?}");
        let text = failure.to_kv("cannot read", Path::new("")).to_string();
        assert_eq!(text.matches("words (SQLSTATE XX000)").count(), 1, "{text}");
        assert!(
            text.contains("cannot read: the connection to the server is lost: words"),
            "{text}"
        );
        for other in [None, Some(&error("ERROR"))] {
            let text = lost().because_of(other).to_string();
            assert!(text.contains("timed out"), "{text}");
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
        assert!(error("08006", "ERROR").ends_connection());
        assert!(error("57000", "ERROR").ends_connection());
        assert!(
            !error("40001", "ERROR").ends_connection()
                && !error("57014", "ERROR").ends_connection()
        );
        assert!(error("01000", "WARNING").is_lost_replica());
        assert!(error("57P01", "WARNING").is_lost_replica());
        assert!(!error("00000", "NOTICE").is_lost_replica());
    }
}
