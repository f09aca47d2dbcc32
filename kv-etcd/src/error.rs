//! Failures between this process and a cluster, as errors of a store.

use std::io;
use std::path::Path;

use permazen_kv::__internal::WithCauses;
use permazen_kv::KvError;
use permazen_kv::remote::{ServerHost, TlsError};

/// The codes of etcd for the kinds of its errors.
pub(crate) mod code {
    pub(crate) const INVALID: i64 = 3;
    pub(crate) const PERMISSION: i64 = 7;
    pub(crate) const EXHAUSTED: i64 = 8;
    pub(crate) const PRECONDITION: i64 = 9;
    pub(crate) const OUT_OF_RANGE: i64 = 11;
    pub(crate) const UNAUTHENTICATED: i64 = 16;
}

/// The remedy for a wrong user or password. Tools that take no password in a URL find `in the URL
/// or in ETCD_PASSWORD` in it, and leave the URL out.
const LOOK_AT_PASSWORD: &str =
    "look at the user in the URL, and at the password in the URL or in ETCD_PASSWORD";

/// An error that etcd has sent.
#[derive(Debug, Default, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct ServerError {
    /// The number of its kind, as gRPC has them.
    pub code: i64,
    /// The text of etcd.
    pub message: String,
}

/// A transaction that is larger than etcd takes. Nothing of it was committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the transaction is too large: it {what}, and {limit}; make several transactions of it, or raise {flag}"
)]
pub struct TooLarge {
    /// The quantity that is too large, with its number.
    pub what: String,
    /// The limit, as far as it is known.
    pub limit: String,
    /// The flag of the server, or the option of the store, that has the limit.
    pub flag: &'static str,
}

impl ServerError {
    fn says(&self, words: &str) -> bool {
        self.message.contains(words)
    }

    /// Whether the member does not have the revision yet.
    pub(crate) fn is_of_the_future(&self) -> bool {
        self.code == code::OUT_OF_RANGE && self.says("future")
    }

    fn is_compacted(&self) -> bool {
        self.code == code::OUT_OF_RANGE && self.says("compacted")
    }

    /// Whether the database of the cluster is full.
    pub(crate) fn is_full(&self) -> bool {
        self.code == code::EXHAUSTED && self.says("space exceeded")
    }

    /// Whether the member knows the session of the user no more.
    pub(crate) fn is_logged_out(&self) -> bool {
        self.code == code::UNAUTHENTICATED || self.says("revision of auth store is old")
    }

    fn is_busy(&self) -> bool {
        self.says("too many requests")
    }

    /// Whether a request has too many operations, or too many bytes.
    pub(crate) fn is_too_many(&self) -> bool {
        self.says("too many operations")
    }

    /// See [`is_too_many`](Self::is_too_many).
    pub(crate) fn is_too_large(&self) -> bool {
        self.says("request is too large") || self.says("larger than max")
    }

    /// Whether nothing was done, for certain. With other errors a request can still be carried out.
    fn is_definite(&self) -> bool {
        use code::{EXHAUSTED, INVALID, OUT_OF_RANGE, PERMISSION, PRECONDITION, UNAUTHENTICATED};
        match self.code {
            INVALID | PERMISSION | PRECONDITION | OUT_OF_RANGE | UNAUTHENTICATED => true,
            // A cluster that is full may have carried out the last request all the same.
            EXHAUSTED => !self.is_full(),
            _ => false,
        }
    }

    fn to_kv(&self, what: &str, place: &Path) -> KvError {
        let open = |hint: &str| KvError::Open {
            path: place.into(),
            reason: format!("{what}: {self}; {hint}").into(),
        };
        if self.is_compacted() {
            return KvError::Retry(format!(
                "{what}: the state that it reads was compacted meanwhile; if that comes often, let etcd keep more \
                 (--auto-compaction-retention)"
            ));
        }
        if self.is_full() {
            let reason = format!(
                "{what}: {self}; compact and defragment the cluster, or raise --quota-backend-bytes, then disarm its alarm"
            );
            return KvError::Full { path: place.into(), reason: reason.into() };
        }
        match self.code {
            _ if self.is_busy() || self.is_of_the_future() || !self.is_definite() => {
                KvError::Retry(format!("{what}: {self}"))
            }
            code::PERMISSION => open("the user needs to read and write all keys of the prefix"),
            code::UNAUTHENTICATED => open(LOOK_AT_PASSWORD),
            code::INVALID if self.says("user name is empty") => {
                open("the cluster asks for a user: name one in the URL")
            }
            code::INVALID if self.says("authentication failed") => open(LOOK_AT_PASSWORD),
            _ => KvError::Store { context: what.into(), source: Box::new(self.clone()) },
        }
    }
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// There is no server, so nothing was sent.
    #[error("no connection: {0}")]
    Unreachable(io::Error),
    /// The connection is lost, or there is no answer.
    #[error("the connection is lost: {}", WithCauses(.0))]
    Lost(io::Error),
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A record in etcd is not as a commit writes it.
    #[error("{0}")]
    Damaged(String),
    /// The bytes that came are no answer of etcd, so it is not known whether the request was
    /// carried out.
    #[error("{0}")]
    Garbled(String),
    /// Another reason, which does not pass by itself. Nothing was sent.
    #[error("{0}")]
    Other(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Lost(error)
    }
}

/// No request is sent before a connection is encrypted.
impl From<TlsError> for Failure {
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Refused(what) => Failure::Other(what),
            TlsError::Lost(error) => Failure::Unreachable(error),
        }
    }
}

impl Failure {
    pub(crate) fn other(what: impl Into<String>) -> Self {
        Failure::Other(what.into())
    }

    pub(crate) fn garbled(what: impl Into<String>) -> Self {
        Failure::Garbled(what.into())
    }

    /// Whether another member, or the same one later, may do it.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Failure::Unreachable(_) | Failure::Lost(_) => true,
            Failure::Server(error) => {
                !error.is_full()
                    && (!error.is_definite() || error.is_busy() || error.is_of_the_future())
            }
            Failure::Damaged(_) | Failure::Garbled(_) | Failure::Other(_) => false,
        }
    }

    /// Whether no host has the name in the URL.
    pub(crate) fn is_unknown_host(&self) -> bool {
        matches!(self, Failure::Unreachable(error) if ServerHost::is_unknown(error))
    }

    /// Whether nothing was done, for certain.
    pub(crate) fn is_definite(&self) -> bool {
        match self {
            Failure::Unreachable(_) => true,
            Failure::Lost(_) | Failure::Damaged(_) | Failure::Garbled(_) => false,
            Failure::Server(error) => error.is_definite(),
            Failure::Other(_) => true,
        }
    }

    /// The error that etcd has sent.
    pub(crate) fn server(&self) -> Option<&ServerError> {
        match self {
            Failure::Server(error) => Some(error),
            _ => None,
        }
    }

    /// The same as an error of the store: what was attempted, and on which cluster.
    pub(crate) fn to_kv(&self, what: &str, place: &Path) -> KvError {
        match self {
            Failure::Unreachable(_) | Failure::Lost(_) => {
                KvError::Retry(format!("{what}: {}: {self}", place.display()))
            }
            Failure::Server(error) => error.to_kv(what, place),
            Failure::Damaged(reason) => {
                KvError::Damaged { path: place.into(), reason: format!("{what}: {reason}").into() }
            }
            Failure::Garbled(reason) | Failure::Other(reason) => {
                KvError::Open { path: place.into(), reason: format!("{what}: {reason}").into() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each error of etcd: its code and words, the kind that it becomes, a word of what to do,
    /// whether nothing was done, and whether it may pass.
    const ERRORS: [(i64, &str, &str, &str, bool, bool); 15] = [
        (3, "etcdserver: duplicate key given in txn request", "store", "", true, false),
        (3, "etcdserver: user name is empty", "open", "name one in the URL", true, false),
        (
            3,
            "etcdserver: authentication failed, invalid user ID or password",
            "open",
            "the password",
            true,
            false,
        ),
        (7, "etcdserver: permission denied", "open", "read and write all keys", true, false),
        (
            8,
            "etcdserver: mvcc: database space exceeded",
            "full",
            "--quota-backend-bytes",
            false,
            false,
        ),
        (8, "etcdserver: too many requests", "retry", "", true, true),
        (9, "etcdserver: authentication is not enabled", "store", "", true, false),
        (
            11,
            "etcdserver: mvcc: required revision has been compacted",
            "retry",
            "--auto-compaction-retention",
            true,
            false,
        ),
        (11, "etcdserver: mvcc: required revision is a future revision", "retry", "", true, true),
        (14, "etcdserver: request timed out", "retry", "", false, true),
        (14, "etcdserver: leader changed", "retry", "", false, true),
        (14, "etcdserver: no leader", "retry", "", false, true),
        (16, "etcdserver: invalid auth token", "open", "the password", true, false),
        (2, "something else", "retry", "", false, true),
        (4, "context deadline exceeded", "retry", "", false, true),
    ];

    #[test]
    fn each_error_has_its_kind_and_says_what_to_do() {
        for (code, message, expected, advice, is_definite, may_pass) in ERRORS {
            let failure = Failure::from(ServerError { code, message: message.to_owned() });
            let error = failure.to_kv("cannot read", Path::new("etcd://host/prefix"));
            let kind = match &error {
                KvError::Retry(_) => "retry",
                KvError::Full { .. } => "full",
                KvError::Open { .. } => "open",
                KvError::Store { .. } => "store",
                _ => "other",
            };
            let text = error.to_string();
            assert_eq!(kind, expected, "{message}: {text}");
            assert!(text.contains("cannot read") && text.contains(advice), "{text}");
            assert_eq!(
                (failure.is_definite(), failure.may_pass()),
                (is_definite, may_pass),
                "{message}"
            );
        }
    }
}
