//! The statuses of pieces and commits.

use permazen_kv::KvRead;

use crate::digest::Digest;
use crate::error::Result;
use crate::ids::CommitId;
use crate::page::Page;
use crate::rows::page::Rows;
use crate::rows::statuses::Remote;

/// Where a piece (a node, or a part of a long value) or a commit is stored. It only rises, while
/// the piece or commit is stored and the page is not [detached](crate::PageRemote::detach).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Not stored here.
    Unknown,
    /// A piece of a value that was [written in parts](Page::write_value), and that no commit has
    /// yet.
    Transient,
    /// Stored here, and not known to be at a remote.
    Local,
    /// Stored here and at the remote.
    Synced,
}

/// The status of a piece.
pub(crate) fn of_piece(rows: &Rows, tx: &dyn KvRead, digest: &Digest) -> Result<Status> {
    if rows.number_of(tx, digest)?.is_none() {
        rows.check_exists(tx)?;
        return Ok(Status::Unknown);
    }
    if rows.is_transient(tx, digest)? {
        return Ok(Status::Transient);
    }
    Ok(match rows.remote(tx)? == Remote::Attached && !rows.is_local(tx, digest)? {
        true => Status::Synced,
        false => Status::Local,
    })
}

/// The status of a commit.
pub(crate) fn of_commit(rows: &Rows, tx: &dyn KvRead, id: &CommitId) -> Result<Status> {
    if !rows.has_commit(tx, id)? {
        rows.check_exists(tx)?;
        return Ok(Status::Unknown);
    }
    Ok(match rows.remote(tx)? == Remote::Attached && rows.unsynced(tx, id)?.is_none() {
        true => Status::Synced,
        false => Status::Local,
    })
}

impl Page {
    /// The status of a piece: a node, or a part of a value of more than 512 bytes. The empty node
    /// is never stored, so it is [`Unknown`](Status::Unknown).
    ///
    /// Gets three rows, and two for each stream that has the piece.
    ///
    /// # Errors
    /// If the page is gone, or the host fails.
    pub fn piece_status(&self, digest: &Digest) -> Result<Status> {
        of_piece(&self.shared.open.rows, &*self.shared.read()?, digest)
    }

    /// The status of a commit. Never [`Transient`](Status::Transient). The first commit, which is
    /// the same on all pages, is at the remote as soon as there is one.
    ///
    /// Gets three rows.
    ///
    /// # Errors
    /// If the page is gone, or the host fails.
    pub fn commit_status(&self, id: &CommitId) -> Result<Status> {
        of_commit(&self.shared.open.rows, &*self.shared.read()?, id)
    }
}
