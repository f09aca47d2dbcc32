//! The errors of a ledger: `constructors.rs` constructs errors, `family.rs` classifies them and
//! converts them to errors of stores, `display.rs` formats parts of their messages.

mod constructors;
mod display;
mod family;
mod needed_by;
#[cfg(test)]
mod tests;

use permazen_kv::__internal::WithCauses;
use permazen_kv::KvError;

pub(crate) use self::display::row;
use self::display::{instead, merged, of, start, within};
pub use self::needed_by::NeededBy;
use crate::digest::{Digest, Kind};
use crate::ids::CommitId;

/// Result of an operation of a ledger.
pub type Result<T> = std::result::Result<T, LedgerError>;

/// An error of a ledger.
///
/// It becomes a [`KvError`] where a page is used as a store, and the same error again when that is
/// converted back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A piece or a commit does not have the bytes that were written. Nothing was removed or made
    /// again. If it was [received](NeededBy::received), the stored data is intact.
    #[error("{}", needed_by.mismatch(*kind, digest, (expected, found)))]
    Integrity {
        /// The expected kind.
        kind: Kind,
        /// Its digest. With `kind`, it tells the row.
        digest: Digest,
        /// The expected content.
        expected: Box<str>,
        /// The content that was found.
        found: Box<str>,
        /// Where it was needed.
        needed_by: Box<NeededBy>,
    },
    /// A row does not have the bytes that were written. Nothing was removed or made again.
    #[error(
        "damaged row {row} of {}: expected {expected}, found: {found}; restore the repository from a backup",
        of(*page)
    )]
    DamagedRow {
        /// The number of the page; 0 if it is a row of the repository.
        page: u64,
        /// The key of the row in hexadecimal, without the prefix of the page.
        row: Box<str>,
        /// The expected content.
        expected: &'static str,
        /// The content that was found.
        found: Box<str>,
    },
    /// A piece that something refers to is not there.
    #[error(
        "{kind} {digest}{needed_by} is missing: no row {}; get it from a copy of the page",
        row(*kind, digest)
    )]
    Missing {
        /// The expected kind of the piece.
        kind: Kind,
        /// Its digest. With `kind`, it tells the row.
        digest: Digest,
        /// Where it was needed.
        needed_by: Box<NeededBy>,
    },
    /// A lazy value is not stored here, and the called function does not fetch. No source was
    /// asked.
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
    /// The source of a page has not answered, or not in time. Pieces that have arrived are kept.
    /// Fetch again later.
    #[error("no answer from source {name} of page {page}: {reason}; fetch again later")]
    Network {
        /// The number of the page.
        page: u64,
        /// The name of the source.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The source of a page does not have a piece.
    #[error("source {name} of page {page} does not have {kind} {digest}")]
    NotAtSource {
        /// The number of the page.
        page: u64,
        /// The name of the source.
        name: String,
        /// The expected kind of the piece.
        kind: Kind,
        /// Its digest.
        digest: Digest,
    },
    /// A commit from elsewhere is more than a day ahead of the clock. Set the clock that is wrong,
    /// here or where the commit was made, and add it again; or add it with
    /// [`Receiver::accepting_future_commits`](crate::Receiver::accepting_future_commits).
    #[error(
        "commit {commit} for page {page} has a time {millis} ms after 1970, more than a day ahead of the clock here: \
         set the clock if it is wrong; otherwise squash the branch where the commit was made, or take it with \
         Receiver::accepting_future_commits"
    )]
    ClockAhead {
        /// The number of the page.
        page: u64,
        /// The commit.
        commit: CommitId,
        /// Its time.
        millis: u64,
    },
    /// Nothing can be committed on a commit, because it has the last time or the last generation
    /// that there is: a clock was far ahead, or it comes from elsewhere. Nothing was changed. Reset
    /// the branch to an earlier commit.
    #[error(
        "nothing can be committed on commit {commit} of page {page}, which has the last {what} that there is: \
         reset the branch to an earlier commit"
    )]
    LastCommit {
        /// The number of the page.
        page: u64,
        /// The commit.
        commit: CommitId,
        /// Whether it has the last `time` or the last `generation`.
        what: &'static str,
    },
    /// The commit is not in the repository.
    #[error("there is no commit {commit} in page {page}")]
    NoCommit {
        /// The number of the page.
        page: u64,
        /// The commit.
        commit: CommitId,
    },
    /// The commit is no longer kept, so its content may be gone. A transaction can be run again;
    /// the content of a commit that was removed cannot be read any more.
    #[error(
        "commit {commit} of page {page} is no longer kept: read a newer one, or keep more history"
    )]
    SnapshotExpired {
        /// The number of the page.
        page: u64,
        /// The commit.
        commit: CommitId,
    },
    /// History was removed, so the merge base of two commits cannot be found.
    #[error(
        "history of page {page} ends at commit {commit}, which is no longer kept here: if another copy of the page still \
         has it, receive it from there; otherwise keep what one side has (Page::reset, Page::restore)"
    )]
    BaseMissing {
        /// The number of the page.
        page: u64,
        /// The commit that was removed.
        commit: CommitId,
    },
    /// Another thread or process does the same, and only one can at a time. Run it again later.
    #[error("{what}; try again later")]
    Busy {
        /// The work that another thread or process does.
        what: String,
    },
    /// There is no such page, branch or tag.
    #[error("there is no {what} {name}{}", within(*page))]
    NoSuch {
        /// The number of the page; 0 if it is no such page.
        page: u64,
        /// The expected kind.
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
    /// A page cannot be deleted while a handle of it exists. Nothing was changed.
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
        /// Its kind.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A branch has several heads, which must be merged before it can be changed in this way.
    #[error(
        "branch {branch} of page {page} has {count} heads: wait until the policy of the page has merged them \
         (Page::wait_for_merges), or merge them first (Page::merge_heads)"
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
    /// A value is longer than the limit for whole values
    /// ([`RepositoryBuilder::longest_whole_value`](crate::RepositoryBuilder::longest_whole_value)),
    /// or there is no memory for it. Read it in parts, with
    /// [`PageSnapshot::get_partial`](crate::PageSnapshot::get_partial) or
    /// [`PageSnapshot::read_value`](crate::PageSnapshot::read_value).
    #[error(
        "{len} bytes of the value of key {} in commit {commit} of page {page} are more than the {max} that are returned \
         in one piece: read it in parts with `get_partial` or `read_value`, or set \
         `RepositoryBuilder::longest_whole_value`",
        start(key)
    )]
    WholeValueTooLong {
        /// The number of the page.
        page: u64,
        /// A commit that has the value.
        commit: CommitId,
        /// The key.
        key: Box<[u8]>,
        /// How many bytes of the value were requested.
        len: u64,
        /// The most bytes that are returned in one piece.
        max: u64,
    },
    /// A reference to a value that was written in parts was put on another page than the value, or
    /// with another handle of the repository. Nothing was changed.
    #[error("a reference was put on page {page}, and its value was written elsewhere")]
    WrongPage {
        /// The number of the page on which it was put.
        page: u64,
    },
    /// A value that was written in parts no longer exists: it was given up, the commit that
    /// attached it is no longer kept, or its process did not renew its lease for an hour. Nothing
    /// was changed.
    #[error("a value that was written in parts is no longer there on page {page}: write it again")]
    ValueGone {
        /// The number of the page.
        page: u64,
    },
    /// The operating system gives no random bytes.
    #[error("no random bytes: {0}")]
    Random(String),
    /// The commits of a branch cannot be replaced by one. Nothing was changed.
    #[error("cannot squash at commit {commit} of page {page}: {reason}{}", instead(.onto))]
    CannotSquash {
        /// The number of the page.
        page: u64,
        /// The commit that forbids it.
        commit: CommitId,
        /// Why.
        reason: String,
        /// The oldest commit of the branch onto which it can be squashed: where the ref that the
        /// reason names forks from the branch, or a later commit if more refs forbid the squash.
        /// `None` if only the head is left.
        onto: Option<CommitId>,
    },
    /// Commits were uploaded to the remote, and are [marked](crate::PageRemote::mark_synced) so,
    /// but are reachable from no branch or tag: a branch was squashed, reset or removed meanwhile.
    /// Another copy may have made commits on them. After a squash, a merge with these could bring
    /// old values back.
    #[error(
        "commit {commit} of page {page} is at the remote, and is marked as that, but is reachable from no branch or tag, as \
         after a squash, a reset or a removal; after a squash, merge it into the branch, before a commit that \
         another copy has made on it"
    )]
    LeftBehind {
        /// The number of the page.
        page: u64,
        /// The newest of them.
        commit: CommitId,
    },
    /// The connection has a transaction, which stays as it is.
    #[error(
        "there is a transaction on this connection with branch {branch} of page {page}; end it first"
    )]
    TransactionInProgress {
        /// The number of the page.
        page: u64,
        /// The branch.
        branch: String,
    },
    /// A merge was not made, because its resolver has failed. The heads stay, and the merge is
    /// tried again later.
    #[error("{} were not merged: {reason}", merged(*page, commits))]
    Resolver {
        /// The number of the page; 0 if it is not known.
        page: u64,
        /// The commits that were to be merged, the older one last. Empty if they are not known.
        commits: Vec<CommitId>,
        /// How the resolver has failed.
        reason: String,
    },
    /// A call about a merge that has ended.
    #[error("the merge of {} has ended: {reason}", merged(*page, commits))]
    MergeEnded {
        /// The number of the page.
        page: u64,
        /// The commits that were to be merged: the older one last.
        commits: Vec<CommitId>,
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
    /// The system cannot start a thread.
    #[error("the system cannot start a thread: {0}")]
    Thread(String),
    /// The database has no repository: it is empty, or it has other data.
    #[error("{}", match is_empty {
        true => "the host has no repository yet: Repository::open_or_create makes one",
        false => "the host has other data and no repository: a repository begins with an empty database",
    })]
    NoRepository {
        /// Whether nothing is in it.
        is_empty: bool,
    },
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
        /// The part that this version does not know.
        what: &'static str,
        /// The value in the row.
        found: u64,
        /// The values that this version knows.
        known: &'static str,
    },
    /// Two commits were not merged, because a [`Merger`](crate::Merger) such as
    /// [`WholeRanges`](crate::WholeRanges) refuses it. Nothing was changed.
    #[error("{} cannot be merged because of key {}: {reason}", merged(*page, commits), start(key))]
    CannotMerge {
        /// The number of the page.
        page: u64,
        /// The commits that were to be merged: the older one last.
        commits: Vec<CommitId>,
        /// A key that both sides have changed.
        key: Box<[u8]>,
        /// Why, and what to do.
        reason: String,
    },
    /// An error of a [`Merger`](crate::Merger), a [`Resolver`](crate::Resolver), a
    /// [`MergeFactory`](crate::MergeFactory) or a [`PieceSource`](crate::PieceSource):
    /// [`LedgerError::other`].
    #[error("{}", WithCauses(&**source))]
    Other {
        /// The error.
        r#source: Box<dyn std::error::Error + Send + Sync>,
        /// Whether it can help to run the operation again.
        retryable: bool,
    },
    /// An error of the host.
    #[error(transparent)]
    Host(KvError),
}
