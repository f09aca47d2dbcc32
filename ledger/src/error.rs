//! What can go wrong in a ledger.

use permazen_kv::{ErrorFamily, Hex, KvError};

use crate::digest::{Digest, Kind};
use crate::ids::{CommitId, PageId};

/// Result of an operation of a ledger.
pub type Result<T> = std::result::Result<T, LedgerError>;

/// What can go wrong in a ledger.
///
/// It becomes a [`KvError`] where a page is used as a store, and the same error again when that is
/// converted back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A piece is not what was written. Nothing was removed or made again.
    #[error("damaged {kind} {digest}: {found}; get it from a copy of the page")]
    Integrity {
        /// What the piece should be.
        kind: Kind,
        /// Its digest.
        digest: Digest,
        /// What was found.
        found: String,
    },
    /// A row is not what was written. Nothing was removed or made again.
    #[error("damaged row {row} of page {page}: {found}; restore the repository from a backup")]
    DamagedRow {
        /// The number of the page; 0 if it is a row of the repository.
        page: u64,
        /// The key of the row in hexadecimal, without the prefix of the page.
        row: Box<str>,
        /// What was found.
        found: Box<str>,
    },
    /// A piece that something refers to is not there.
    #[error("{kind} {digest} is missing; get it from a copy of the page")]
    Missing {
        /// What the piece should be.
        kind: Kind,
        /// Its digest.
        digest: Digest,
    },
    /// A lazy value is not here, and what was called does not get it. Nothing was asked of anybody.
    #[error(
        "the value of key {} in commit {commit} of page {page}, {len} bytes, is not here: fetch it \
         (PageSnapshot::fetch)",
        start(key)
    )]
    NeedsFetch {
        /// The number of the page.
        page: u64,
        /// A commit that has the value.
        commit: CommitId,
        /// The key.
        key: Box<[u8]>,
        /// The length of the value in bytes.
        len: u64,
        /// The digest of its top piece: equal values have equal digests.
        digest: Digest,
    },
    /// The source of a page has not answered, or not in time. What has come is kept. Fetch again later.
    #[error("no answer from source {name}: {reason}; fetch again later")]
    Network {
        /// The name of the source.
        name: String,
        /// What has happened.
        reason: String,
    },
    /// The source of a page does not have a piece.
    #[error("source {name} does not have {kind} {digest}")]
    NotAtRemote {
        /// The name of the source.
        name: String,
        /// What the piece should be.
        kind: Kind,
        /// Its digest.
        digest: Digest,
    },
    /// A commit from elsewhere is more than a day ahead of the clock. Add it again later, or set the clock.
    #[error(
        "commit {commit} has a time {millis} ms after 1970, more than a day ahead of the clock here"
    )]
    ClockAhead {
        /// The commit.
        commit: CommitId,
        /// Its time.
        millis: u64,
    },
    /// The commit is not in the repository.
    #[error("there is no commit {commit} in this page")]
    NoCommit {
        /// The commit.
        commit: CommitId,
    },
    /// The commit is no longer kept, so what it had is gone. A transaction can be run again; the content
    /// of a commit that was removed cannot be read any more.
    #[error("commit {commit} is no longer kept: read a newer one, or keep more history")]
    SnapshotExpired {
        /// The commit.
        commit: CommitId,
    },
    /// History was removed before it could tell what two commits have in common.
    #[error("history ends at commit {commit}, which is no longer kept")]
    BaseMissing {
        /// The commit that was removed.
        commit: CommitId,
    },
    /// Somebody else does what can be done once at a time. Run it again later.
    #[error("{what}; try again later")]
    Busy {
        /// What.
        what: String,
    },
    /// There is no such page, branch or tag.
    #[error("there is no {what} {name}")]
    NoSuch {
        /// What it should be.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The page was deleted while it was open. Nothing was written.
    #[error("page {page} was deleted; nothing was written")]
    PageGone {
        /// The number of the page.
        page: u64,
    },
    /// A page cannot be deleted while a handle of it is there. Nothing was changed.
    #[error(
        "page {page} is open: drop its handles, databases, snapshots and watchers first; another process closes a page \
         up to ten seconds after that"
    )]
    PageInUse {
        /// The number of the page.
        page: u64,
    },
    /// There is such a page, branch or tag.
    #[error("there is a {what} {name} already")]
    Exists {
        /// What it is.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A branch has several heads, which must be merged before it can be changed in this way.
    #[error("branch {branch} has {count} heads: merge them first (Page::merge_heads)")]
    ManyHeads {
        /// The branch.
        branch: String,
        /// How many heads it has.
        count: usize,
    },
    /// The branch was changed at the same time, again and again. Run the operation again.
    #[error("branch {branch} was changed by others at the same time; run the operation again")]
    BranchMoved {
        /// The branch.
        branch: String,
    },
    /// An argument cannot be; nothing was changed.
    #[error("invalid argument: {0}")]
    InvalidArgument(String),
    /// A key is too long; nothing was changed.
    #[error("key of {len} bytes is too long for a page, which takes at most {max}: {start}…")]
    KeyTooLong {
        /// Length of the key in bytes.
        len: usize,
        /// The longest key of a page.
        max: usize,
        /// The first bytes of the key in hexadecimal.
        start: Box<str>,
    },
    /// A value is too long; nothing was changed.
    #[error("a value of a page has at most 2⁴⁸ − 1 bytes")]
    ValueTooLong,
    /// A reference to a value that was written in parts was put on another page than the value, or with
    /// another handle of the repository. Nothing was changed.
    #[error("a reference was put on page {page}, and its value was written elsewhere")]
    WrongPage {
        /// The number of the page on which it was put.
        page: u64,
    },
    /// A value that was written in parts is not there any more: it was given up, the commit that took it
    /// is no longer kept, or its process did not renew its lease for an hour. Nothing was changed.
    #[error("a value that was written in parts is no longer there: write it again")]
    ValueGone,
    /// The operating system gives no random bytes.
    #[error("no random bytes: {0}")]
    Random(String),
    /// The commits of a branch cannot be replaced by one. Nothing was changed.
    #[error("cannot squash at commit {commit}: {reason}")]
    CannotSquash {
        /// The commit that forbids it.
        commit: CommitId,
        /// Why.
        reason: String,
    },
    /// There is a transaction on the connection. It is not disturbed.
    #[error("there is a transaction on this connection with branch {branch}; end it first")]
    TransactionInProgress {
        /// The branch.
        branch: String,
    },
    /// A merge was decided by nobody, because its resolver has failed. The heads stay, and it is tried
    /// again later.
    #[error("the heads were not merged: {reason}")]
    Resolver {
        /// What has happened to the resolver.
        reason: String,
    },
    /// A resolver decides about a merge that has ended.
    #[error("the merge has ended: {reason}")]
    MergeEnded {
        /// Why.
        reason: String,
    },
    /// The branch that a watcher follows was removed.
    #[error("branch {branch}, which is watched, was removed")]
    BranchGone {
        /// The branch.
        branch: String,
    },
    /// The operating system gives no thread.
    #[error("no thread to look for new commits: {0}")]
    Thread(String),
    /// The database has other data, and no repository.
    #[error("this is no ledger: a repository begins with an empty database")]
    NoRepository,
    /// The repository was written by a later version.
    #[error("the repository has format {found}, and this version knows format {known}")]
    UnknownFormat {
        /// The format of the repository.
        found: u32,
        /// The format of this version.
        known: u32,
    },
    /// An error of the host.
    #[error(transparent)]
    Host(KvError),
}

impl LedgerError {
    pub(crate) fn integrity(kind: Kind, digest: &Digest, found: impl Into<String>) -> Self {
        LedgerError::Integrity { kind, digest: *digest, found: found.into() }
    }

    /// There is no such page.
    pub(crate) fn no_page(ledger: &str, id: &PageId) -> Self {
        LedgerError::NoSuch { what: "page", name: format!("{ledger} {id}") }
    }

    /// There is such a page already.
    pub(crate) fn page_exists(ledger: &str, id: &PageId) -> Self {
        LedgerError::Exists { what: "page", name: format!("{ledger} {id}") }
    }

    pub(crate) fn is_damage(&self) -> bool {
        match self {
            LedgerError::Host(error) => error.is_damage(),
            error => error.family() == ErrorFamily::Damage,
        }
    }

    /// Whether the operation certainly had no effect and may succeed if it is run again.
    pub fn is_retryable(&self) -> bool {
        match self {
            LedgerError::Host(error) => error.is_retryable(),
            error => error.family() == ErrorFamily::Retry,
        }
    }

    /// What to do about it. Errors of the host say so themselves.
    fn family(&self) -> ErrorFamily {
        match self {
            LedgerError::BranchMoved { .. }
            | LedgerError::Busy { .. }
            | LedgerError::ClockAhead { .. }
            | LedgerError::Network { .. }
            | LedgerError::SnapshotExpired { .. } => ErrorFamily::Retry,
            LedgerError::PageGone { .. } => ErrorFamily::Stale,
            LedgerError::NoSuch { .. }
            | LedgerError::Exists { .. }
            | LedgerError::PageInUse { .. }
            | LedgerError::InvalidArgument(_)
            | LedgerError::KeyTooLong { .. }
            | LedgerError::CannotSquash { .. }
            | LedgerError::TransactionInProgress { .. }
            | LedgerError::WrongPage { .. }
            | LedgerError::ValueTooLong => ErrorFamily::Caller,
            LedgerError::Integrity { .. }
            | LedgerError::DamagedRow { .. }
            | LedgerError::Missing { .. } => ErrorFamily::Damage,
            LedgerError::NoCommit { .. }
            | LedgerError::NeedsFetch { .. }
            | LedgerError::NotAtRemote { .. }
            | LedgerError::BaseMissing { .. }
            | LedgerError::ManyHeads { .. }
            | LedgerError::ValueGone
            | LedgerError::Random(_)
            | LedgerError::Thread(_)
            | LedgerError::BranchGone { .. }
            | LedgerError::Resolver { .. }
            | LedgerError::MergeEnded { .. }
            | LedgerError::NoRepository
            | LedgerError::UnknownFormat { .. }
            | LedgerError::Host(_) => ErrorFamily::Failure,
        }
    }
}

/// At most 32 bytes of a key in hexadecimal.
fn start(key: &[u8]) -> String {
    match key.get(..32) {
        Some(start) if key.len() > 32 => format!("{}…", Hex(start)),
        _ => Hex(key).to_string(),
    }
}

/// There and back is the same error.
impl From<KvError> for LedgerError {
    fn from(error: KvError) -> Self {
        match error {
            KvError::Other { family, source } => match source.downcast::<LedgerError>() {
                Ok(error) => *error,
                Err(source) => LedgerError::Host(KvError::Other { family, source }),
            },
            KvError::KeyTooLong { len, max, start } => LedgerError::KeyTooLong { len, max, start },
            KvError::InvalidArgument(what) => LedgerError::InvalidArgument(what),
            error => LedgerError::Host(error),
        }
    }
}

impl From<LedgerError> for KvError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Host(error) => error,
            LedgerError::KeyTooLong { len, max, start } => KvError::KeyTooLong { len, max, start },
            LedgerError::InvalidArgument(what) => KvError::InvalidArgument(what),
            error => KvError::Other { family: error.family(), source: Box::new(error) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<LedgerError> {
        let (kind, digest, name) = (Kind::Node, Digest([7; 32]), "films".to_owned());
        vec![
            LedgerError::integrity(kind, &digest, "another digest"),
            LedgerError::DamagedRow { page: 1, row: "20".into(), found: "a wrong checksum".into() },
            LedgerError::Missing { kind, digest },
            LedgerError::NeedsFetch {
                page: 1,
                commit: CommitId::FIRST,
                key: [7; 40].into(),
                len: 9_000,
                digest,
            },
            LedgerError::Network { name: name.clone(), reason: "too late".to_owned() },
            LedgerError::NotAtRemote { name: name.clone(), kind, digest },
            LedgerError::ClockAhead { commit: CommitId::FIRST, millis: 1 },
            LedgerError::NoCommit { commit: CommitId::FIRST },
            LedgerError::SnapshotExpired { commit: CommitId::FIRST },
            LedgerError::BaseMissing { commit: CommitId::FIRST },
            LedgerError::Busy { what: name.clone() },
            LedgerError::NoSuch { what: "branch", name: name.clone() },
            LedgerError::PageGone { page: 1 },
            LedgerError::PageInUse { page: 1 },
            LedgerError::Exists { what: "tag", name: name.clone() },
            LedgerError::ManyHeads { branch: name.clone(), count: 2 },
            LedgerError::BranchMoved { branch: name.clone() },
            LedgerError::BranchGone { branch: name.clone() },
            LedgerError::Resolver { reason: name.clone() },
            LedgerError::TransactionInProgress { branch: name.clone() },
            LedgerError::MergeEnded { reason: name.clone() },
            LedgerError::CannotSquash { commit: CommitId::FIRST, reason: name.clone() },
            LedgerError::InvalidArgument(name.clone()),
            LedgerError::KeyTooLong { len: 9_000, max: 8_192, start: "6162".into() },
            LedgerError::ValueTooLong,
            LedgerError::WrongPage { page: 2 },
            LedgerError::ValueGone,
            LedgerError::Random(name.clone()),
            LedgerError::Thread(name),
            LedgerError::NoRepository,
            LedgerError::UnknownFormat { found: 9, known: 1 },
            LedgerError::Host(KvError::Timeout("10 s".to_owned())),
            LedgerError::Host(KvError::Other {
                family: ErrorFamily::Retry,
                source: "another layer below".into(),
            }),
        ]
    }

    #[test]
    fn there_and_back_is_the_same_error() {
        for error in all() {
            let (debug, retryable) = (format!("{error:?}"), error.is_retryable());
            let outside = KvError::from(error);
            assert_eq!(outside.is_retryable(), retryable, "{debug}");
            assert_eq!(format!("{:?}", LedgerError::from(outside)), debug);
        }
    }

    #[test]
    fn the_families_are_those_of_the_store() {
        let of = |asked: fn(&KvError) -> bool| {
            let words = |error: LedgerError| Some(KvError::from(error)).filter(asked);
            let found = all().into_iter().filter_map(words);
            found.map(|error| error.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of(KvError::is_retryable).len(), 6);
        assert_eq!(of(KvError::is_stale).len(), 2);
        assert_eq!(of(KvError::is_caller_error).len(), 9);
        assert_eq!(of(KvError::is_damage).len(), 3);
    }
}
