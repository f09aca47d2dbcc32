//! What can go wrong in a ledger.

use std::fmt;

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
    /// A piece or a commit is not what was written. Nothing was removed or made again.
    #[error(
        "damaged {kind} {digest}{needed_by}, row {}: expected {expected}, found {found}; get it from a copy of the page",
        row(*kind, digest)
    )]
    Integrity {
        /// What it should be.
        kind: Kind,
        /// Its digest. With `kind`, it tells the row.
        digest: Digest,
        /// What should be there.
        expected: Box<str>,
        /// What was found.
        found: Box<str>,
        /// Where it was needed.
        needed_by: Box<NeededBy>,
    },
    /// A row is not what was written. Nothing was removed or made again.
    #[error(
        "damaged row {row} of {}: expected {expected}, found: {found}; restore the repository from a backup",
        of(*page)
    )]
    DamagedRow {
        /// The number of the page; 0 if it is a row of the repository.
        page: u64,
        /// The key of the row in hexadecimal, without the prefix of the page.
        row: Box<str>,
        /// What should be there.
        expected: &'static str,
        /// What was found.
        found: Box<str>,
    },
    /// A piece that something refers to is not there.
    #[error(
        "{kind} {digest}{needed_by} is missing: no row {}; get it from a copy of the page",
        row(*kind, digest)
    )]
    Missing {
        /// What the piece should be.
        kind: Kind,
        /// Its digest. With `kind`, it tells the row.
        digest: Digest,
        /// Where it was needed.
        needed_by: Box<NeededBy>,
    },
    /// A lazy value is not here, and what was called does not get it. Nothing was asked of anybody.
    #[error(
        "the value of key {} in commit {commit} of page {page}, {len} bytes with digest {digest}, is not here: fetch it \
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
    #[error("no answer from source {name} of page {page}: {reason}; fetch again later")]
    Network {
        /// The number of the page.
        page: u64,
        /// The name of the source.
        name: String,
        /// What has happened.
        reason: String,
    },
    /// The source of a page does not have a piece.
    #[error("source {name} of page {page} does not have {kind} {digest}")]
    NotAtRemote {
        /// The number of the page.
        page: u64,
        /// The name of the source.
        name: String,
        /// What the piece should be.
        kind: Kind,
        /// Its digest.
        digest: Digest,
    },
    /// A commit from elsewhere is more than a day ahead of the clock. Add it again later, or set the clock.
    #[error(
        "commit {commit} for page {page} has a time {millis} ms after 1970, more than a day ahead of the clock here: \
         add it later, or set the clock"
    )]
    ClockAhead {
        /// The number of the page.
        page: u64,
        /// The commit.
        commit: CommitId,
        /// Its time.
        millis: u64,
    },
    /// The commit is not in the repository.
    #[error("there is no commit {commit} in page {page}")]
    NoCommit {
        /// The number of the page.
        page: u64,
        /// The commit.
        commit: CommitId,
    },
    /// The commit is no longer kept, so what it had is gone. A transaction can be run again; the content
    /// of a commit that was removed cannot be read any more.
    #[error(
        "commit {commit} of page {page} is no longer kept: read a newer one, or keep more history"
    )]
    SnapshotExpired {
        /// The number of the page.
        page: u64,
        /// The commit.
        commit: CommitId,
    },
    /// History was removed before it could tell what two commits have in common.
    #[error(
        "history of page {page} ends at commit {commit}, which is no longer kept: get it from a copy of the page"
    )]
    BaseMissing {
        /// The number of the page.
        page: u64,
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
    #[error("there is no {what} {name}{}", within(*page))]
    NoSuch {
        /// The number of the page; 0 if it is no such page.
        page: u64,
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
    #[error("there is a {what} {name} already{}", within(*page))]
    Exists {
        /// The number of the page; 0 if there is such a page.
        page: u64,
        /// What it is.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A branch has several heads, which must be merged before it can be changed in this way.
    #[error(
        "branch {branch} of page {page} has {count} heads: merge them first (Page::merge_heads)"
    )]
    ManyHeads {
        /// The number of the page.
        page: u64,
        /// The branch.
        branch: String,
        /// How many heads it has.
        count: usize,
    },
    /// The branch was changed at the same time, again and again. Run the operation again.
    #[error(
        "branch {branch} of page {page} was changed by others at the same time; run the operation again"
    )]
    BranchMoved {
        /// The number of the page.
        page: u64,
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
    #[error("a value that was written in parts is no longer there on page {page}: write it again")]
    ValueGone {
        /// The number of the page.
        page: u64,
    },
    /// The operating system gives no random bytes.
    #[error("no random bytes: {0}")]
    Random(String),
    /// The commits of a branch cannot be replaced by one. Nothing was changed.
    #[error("cannot squash at commit {commit} of page {page}: {reason}")]
    CannotSquash {
        /// The number of the page.
        page: u64,
        /// The commit that forbids it.
        commit: CommitId,
        /// Why.
        reason: String,
    },
    /// There is a transaction on the connection. It is not disturbed.
    #[error(
        "there is a transaction on this connection with branch {branch} of page {page}; end it first"
    )]
    TransactionInProgress {
        /// The number of the page.
        page: u64,
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
    #[error("branch {branch} of page {page}, which is watched, was removed")]
    BranchGone {
        /// The number of the page.
        page: u64,
        /// The branch.
        branch: String,
    },
    /// The operating system gives no thread.
    #[error("no thread to look for new commits: {0}")]
    Thread(String),
    /// The database has other data, and no repository.
    #[error("this is no ledger: a repository begins with an empty database")]
    NoRepository,
    /// A later version has written this.
    #[error(
        "row {row} of {} has {what} {found}, and this version knows {known}: use a later version",
        of(*page)
    )]
    UnknownFormat {
        /// The number of the page; 0 if it is a row of the repository.
        page: u64,
        /// The key of the row in hexadecimal, without the prefix of the page.
        row: Box<str>,
        /// What this version does not know.
        what: &'static str,
        /// What the row has of it.
        found: u64,
        /// What this version knows.
        known: &'static str,
    },
    /// An error of the host.
    #[error(transparent)]
    Host(KvError),
}

impl LedgerError {
    /// The error about a piece or commit, which does not say where it was needed.
    pub(crate) fn integrity(
        kind: Kind,
        digest: &Digest,
        expected: impl Into<Box<str>>,
        found: impl Into<Box<str>>,
    ) -> Self {
        let (expected, found, needed_by) = (expected.into(), found.into(), Box::default());
        LedgerError::Integrity { kind, digest: *digest, expected, found, needed_by }
    }

    /// The error about bytes that have another digest.
    pub(crate) fn other_digest(kind: Kind, digest: &Digest, found: &Digest) -> Self {
        Self::integrity(
            kind,
            digest,
            "bytes with this digest",
            format!("bytes with digest {found}"),
        )
    }

    /// The error about bytes that a decoder refuses.
    pub(crate) fn refused(kind: Kind, digest: &Digest, found: impl Into<Box<str>>) -> Self {
        Self::integrity(kind, digest, format!("the one encoding of a {kind}"), found)
    }

    /// The error about a piece that is not there, which does not say where it was needed.
    pub(crate) fn missing(kind: Kind, digest: &Digest) -> Self {
        LedgerError::Missing { kind, digest: *digest, needed_by: Box::default() }
    }

    /// The error about something that a later version has written into the row with this key in
    /// hexadecimal.
    pub(crate) fn unknown(
        (page, row): (u64, String),
        what: &'static str,
        found: impl Into<u64>,
        known: &'static str,
    ) -> Self {
        LedgerError::UnknownFormat { page, row: row.into(), what, found: found.into(), known }
    }

    /// The same error, if it is about a piece or commit, with what is known of who needed it.
    pub(crate) fn needed(mut self, note: impl FnOnce(&mut NeededBy)) -> Self {
        if let LedgerError::Integrity { needed_by, .. } | LedgerError::Missing { needed_by, .. } =
            &mut self
        {
            note(needed_by);
        }
        self
    }

    /// There is no such page.
    pub(crate) fn no_page(ledger: &str, id: &PageId) -> Self {
        LedgerError::NoSuch { page: 0, what: "page", name: format!("{ledger} {id}") }
    }

    /// There is no such branch in a page.
    pub(crate) fn no_branch(page: u64, branch: &str) -> Self {
        LedgerError::NoSuch { page, what: "branch", name: branch.to_owned() }
    }

    /// A branch of a page was changed at the same time.
    pub(crate) fn moved(page: u64, branch: &str) -> Self {
        LedgerError::BranchMoved { page, branch: branch.to_owned() }
    }

    /// There is such a page already.
    pub(crate) fn page_exists(ledger: &str, id: &PageId) -> Self {
        LedgerError::Exists { page: 0, what: "page", name: format!("{ledger} {id}") }
    }

    pub(crate) fn is_damage(&self) -> bool {
        match self {
            LedgerError::Host(error) => error.is_damage(),
            error => error.family() == ErrorFamily::Damage,
        }
    }

    /// Whether what is stored cannot be read: it is damaged, or of a later version.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.is_damage() || matches!(self, LedgerError::UnknownFormat { .. })
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
            | LedgerError::ValueGone { .. }
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

/// Where something was needed that is damaged or not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeededBy {
    /// The number of the page.
    pub page: u64,
    /// The commits that were read, if any were. At least one of them leads to it.
    pub commits: Vec<CommitId>,
    /// The key that was read, if it was one.
    pub key: Option<Vec<u8>>,
}

impl fmt::Display for NeededBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " of {}", of(self.page))?;
        let mut words = ", needed by commit";
        for commit in &self.commits {
            write!(f, "{words} {commit}")?;
            words = " or";
        }
        match &self.key {
            Some(key) => write!(f, ", for key {}", start(key)),
            None => Ok(()),
        }
    }
}

/// The page with a number, in words.
fn of(page: u64) -> String {
    match page {
        0 => "the repository".to_owned(),
        page => format!("page {page}"),
    }
}

/// In which page something is, if it is in one.
fn within(page: u64) -> String {
    match page {
        0 => String::new(),
        page => format!(" in page {page}"),
    }
}

/// The key of the row of a piece or commit in hexadecimal, without the prefix of the page.
pub(crate) fn row(kind: Kind, digest: &Digest) -> String {
    let first = if kind == Kind::Commit { "22" } else { "23" };
    format!("{first}{digest}")
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
        let (page, commit) = (3, CommitId(Digest([8; 32])));
        let note = |by: &mut NeededBy| {
            (by.page, by.commits, by.key) = (page, vec![commit], Some(vec![0xab; 40]));
        };
        vec![
            LedgerError::integrity(kind, &digest, "a root", "a node with one item").needed(note),
            LedgerError::DamagedRow {
                page,
                row: "20".into(),
                expected: "a head of a branch",
                found: "its checksum is wrong".into(),
            },
            LedgerError::missing(kind, &digest).needed(note),
            LedgerError::NeedsFetch { page, commit, key: [0xab; 40].into(), len: 9_000, digest },
            LedgerError::Network { page, name: name.clone(), reason: "too late".to_owned() },
            LedgerError::NotAtRemote { page, name: name.clone(), kind, digest },
            LedgerError::ClockAhead { page, commit, millis: 1 },
            LedgerError::NoCommit { page, commit },
            LedgerError::SnapshotExpired { page, commit },
            LedgerError::BaseMissing { page, commit },
            LedgerError::Busy { what: name.clone() },
            LedgerError::no_branch(page, &name),
            LedgerError::PageGone { page },
            LedgerError::PageInUse { page },
            LedgerError::Exists { page, what: "tag", name: name.clone() },
            LedgerError::ManyHeads { page, branch: name.clone(), count: 2 },
            LedgerError::moved(page, &name),
            LedgerError::BranchGone { page, branch: name.clone() },
            LedgerError::Resolver { reason: name.clone() },
            LedgerError::TransactionInProgress { page, branch: name.clone() },
            LedgerError::MergeEnded { reason: name.clone() },
            LedgerError::CannotSquash { page, commit, reason: name.clone() },
            LedgerError::InvalidArgument(name.clone()),
            LedgerError::KeyTooLong { len: 9_000, max: 8_192, start: "6162".into() },
            LedgerError::ValueTooLong,
            LedgerError::WrongPage { page },
            LedgerError::ValueGone { page },
            LedgerError::Random(name.clone()),
            LedgerError::Thread(name),
            LedgerError::NoRepository,
            LedgerError::unknown((page, "2f".to_owned()), "format", 9_u32, "1"),
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

    /// What a message says of a page, a commit, a piece and a key.
    #[test]
    fn messages_say_where() {
        let (commit, digest) = (CommitId(Digest([8; 32])).to_string(), Digest([7; 32]).to_string());
        let mut counts = [0; 4];
        for error in all() {
            let (debug, words) = (format!("{error:?}"), error.to_string());
            let has = [
                debug.contains("page: 3"),
                debug.contains(&commit),
                debug.contains(&digest),
                debug.contains("key: "),
            ];
            let key = "ab".repeat(32) + "…";
            let said = ["page 3", &commit, &digest, &key];
            for (at, (has, said)) in has.into_iter().zip(said).enumerate() {
                assert!(!has || words.contains(said), "{debug}: {words}");
                counts[at] += usize::from(has);
            }
        }
        assert_eq!(counts, [22, 8, 4, 3]);
        let words = |at: usize| all()[at].to_string();
        assert_eq!(
            words(0),
            format!(
                "damaged node {digest} of page 3, needed by commit {commit}, for key {}…, row 23{digest}: \
                 expected a root, found a node with one item; get it from a copy of the page",
                "ab".repeat(32)
            )
        );
        assert_eq!(
            words(1),
            "damaged row 20 of page 3: expected a head of a branch, found: its checksum is wrong; \
             restore the repository from a backup"
        );
        let of_repository = LedgerError::unknown((0, "00".to_owned()), "format", 2_u32, "1");
        assert_eq!(
            of_repository.to_string(),
            "row 00 of the repository has format 2, and this version knows 1: use a later version"
        );
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
