//! Attaches a page to a remote, and detaches it.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::{KvRead, TxOptions};

use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::Page;
use crate::page::receive::Receiver;
use crate::page::shared::Shared;
use crate::policy::merging::PageMerging;
use crate::rows::page::Rows;
use crate::rows::statuses::Remote;

/// The most commits and pieces of a slice.
const SLICE: usize = 256;

/// How long a slice waits for the write lock of the host.
pub(super) const WAIT: Duration = Duration::from_secs(30);

/// Whether a page is attached to a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteState {
    /// Not attached. Everything is only stored here.
    Detached,
    /// It is being attached or detached. Everything counts as only stored here.
    Attaching,
    /// Attached.
    Attached,
}

/// Tracks the commits and pieces of a page that are not at its remote yet, for code that uploads
/// them.
///
/// A page that is attached to a remote records which commits and pieces are only stored here.
/// [Retention](Page::set_retention) and [eviction](crate::Repository::evict) remove only commits
/// and pieces that are at the remote.
///
/// ```
/// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
/// use permazen_ledger::{MAIN, PageId, Repository, Status};
///
/// let repository = Repository::open_or_create(MemoryStore::new())?;
/// let page = repository.create_page("films", PageId::ROOT)?;
/// let db = page.database(MAIN)?;
/// let mut tx = db.begin(&TxOptions::writing())?;
/// tx.put(b"Alien", b"1979")?;
/// tx.commit()?;
///
/// let remote = page.remote();
/// remote.attach()?;
/// let (commits, pieces) = (remote.unsynced_commits()?, remote.local_pieces(None, 100)?);
/// assert_eq!((commits.len(), pieces.len()), (1, 1));
/// // Here they are brought to the remote: the pieces first, then the commits, the oldest first.
/// let ids: Vec<_> = commits.iter().map(|commit| commit.id).collect();
/// let digests: Vec<_> = pieces.iter().map(|piece| piece.digest).collect();
/// remote.mark_synced(&ids, &digests, &[])?;
/// assert_eq!(page.commit_status(&ids[0])?, Status::Synced);
///
/// // Nothing is only here, so the page can go.
/// drop((db, remote, page));
/// assert!(repository.evict("films", PageId::ROOT)?);
/// # Ok::<(), permazen_ledger::LedgerError>(())
/// ```
#[derive(Clone)]
pub struct PageRemote {
    pub(super) page: Arc<Shared>,
    merging: Arc<PageMerging>,
}

impl fmt::Debug for PageRemote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageRemote").field("page", &self.page.open.rows.number).finish()
    }
}

impl Page {
    /// The tracking of the page's remote.
    pub fn remote(&self) -> PageRemote {
        PageRemote { page: Arc::clone(&self.shared), merging: Arc::clone(&self.merging) }
    }
}

impl PageRemote {
    /// Whether the page is attached to a remote.
    ///
    /// # Errors
    /// If the page is gone, or the host fails.
    pub fn state(&self) -> Result<RemoteState> {
        let (rows, tx) = (&self.page.open.rows, self.page.read()?);
        rows.check_exists(&*tx)?;
        Ok(match rows.remote(&*tx)? {
            Remote::None => RemoteState::Detached,
            Remote::Attaching(_) => RemoteState::Attaching,
            Remote::Attached => RemoteState::Attached,
        })
    }

    /// Attaches the page to a remote that has nothing of it yet. Nothing changes if it is attached
    /// already.
    ///
    /// Writes a row for each commit and each piece, in short transactions, with other writers in
    /// between. If the process ends before the last one, the next call continues there, in any
    /// process. Several calls can run at the same time.
    ///
    /// # Errors
    /// If the page is gone, or the host fails. Rows that were written until then stay.
    pub fn attach(&self) -> Result<()> {
        while self.attach_slice()? {}
        Ok(())
    }

    /// Does the next part of [`attach`](PageRemote::attach): for at most 256 commits and pieces.
    /// `false` after the last part.
    ///
    /// # Errors
    /// Those of [`attach`](PageRemote::attach).
    pub fn attach_slice(&self) -> Result<bool> {
        let rows = &self.page.open.rows;
        if rows.remote(&*self.page.read()?)? == Remote::Attached {
            return Ok(false);
        }
        let mut tx = self.page.begin(&TxOptions::writing().with_wait(WAIT))?;
        rows.check_exists(&tx)?;
        let remote = rows.remote(&tx)?;
        let (slice, next) = match remote {
            Remote::Attached => return Ok(false),
            Remote::None => (Slice::default(), Remote::Attaching(None)),
            Remote::Attaching(reached) => {
                let slice = Slice::find(rows, &tx, reached.as_ref())?;
                let next =
                    slice.last.map_or(Remote::Attached, |last| Remote::Attaching(Some(last)));
                (slice, next)
            }
        };
        let mut counts = rows.counts(&tx)?;
        for (id, generation) in slice.commits {
            rows.put_unsynced(&mut tx, &id, generation, &mut counts)?;
        }
        for digest in slice.pieces {
            rows.put_local(&mut tx, &digest, &mut counts)?;
        }
        rows.put_counts(&mut tx, &counts)?;
        rows.put_remote(&mut tx, next)?;
        if remote == Remote::None || next == Remote::Attached {
            // The keep set changes with the state of the remote.
            rows.raise_keep_version(&mut tx)?;
        }
        tx.commit()?;
        Ok(next != Remote::Attached)
    }

    /// Detaches the page from its remote: everything counts as only stored here again.
    ///
    /// Fetch everything that is only at the remote before: without a remote, absent pieces are
    /// missing, also those of commits that are not reachable from a branch or tag.
    /// [`Page::collect`] removes such commits unless they are being read.
    ///
    /// Removes the rows in slices. If the process ends in between, the page is in the state
    /// [`Attaching`](RemoteState::Attaching), and either can be continued.
    /// [Notes](PageRemote::note) stay.
    ///
    /// # Errors
    /// If the page is gone, or the host fails.
    pub fn detach(&self) -> Result<()> {
        while self.detach_slice()? {}
        Ok(())
    }

    /// Does the next part of [`detach`](PageRemote::detach): for at most 256 rows. `false` after
    /// the last part.
    ///
    /// # Errors
    /// Those of [`detach`](PageRemote::detach).
    pub fn detach_slice(&self) -> Result<bool> {
        let rows = &self.page.open.rows;
        let mut tx = self.page.begin(&TxOptions::writing().with_wait(WAIT))?;
        rows.check_exists(&tx)?;
        if rows.remote(&tx)? == Remote::None {
            return Ok(false);
        }
        let mut counts = rows.counts(&tx)?;
        let is_last = rows.remove_statuses(&mut tx, SLICE, &mut counts)?;
        // A call of `attach` meanwhile begins again, because rows are missing.
        rows.put_remote(&mut tx, if is_last { Remote::None } else { Remote::Attaching(None) })?;
        rows.put_counts(&mut tx, &counts)?;
        rows.raise_keep_version(&mut tx)?;
        tx.commit()?;
        Ok(!is_last)
    }

    /// Begins to receive commits from the remote. They count as [synced](crate::Status::Synced).
    /// [`Page::receive`] has the rest.
    pub fn receive(&self) -> Receiver {
        Receiver::new(Arc::clone(&self.page), Arc::clone(&self.merging), true)
    }

    /// Refuses a page that is not attached.
    pub(super) fn check_attached(&self, tx: &dyn KvRead) -> Result<()> {
        let rows = &self.page.open.rows;
        match rows.remote(tx)? {
            Remote::Attached => Ok(()),
            _ => {
                rows.check_exists(tx)?;
                let what = format!("page {} is not attached to a remote: attach it", rows.number);
                Err(LedgerError::InvalidArgument(what))
            }
        }
    }
}

/// The commits and pieces with the next digests.
#[derive(Debug, Default)]
struct Slice {
    commits: Vec<(CommitId, u64)>,
    pieces: Vec<Digest>,
    /// `None` if there are no more.
    last: Option<Digest>,
}

impl Slice {
    fn find(rows: &Rows, tx: &dyn KvRead, after: Option<&Digest>) -> Result<Self> {
        let (mut commits, mut pieces) = (Vec::new(), Vec::new());
        rows.visit_commits(tx, after.map(|after| CommitId(*after)).as_ref(), |id, commit, _| {
            commits.push((id, commit.generation));
            if commits.len() < SLICE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        rows.visit_pieces(tx, after, |digest, _| {
            pieces.push(digest);
            if pieces.len() < SLICE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        // Both ascend: the slice has the first ones of both together.
        let mut all: Vec<Digest> =
            commits.iter().map(|(id, _)| id.0).chain(pieces.clone()).collect();
        all.sort_unstable();
        let last = all.get(SLICE - 1).or(all.last()).copied();
        commits.retain(|(id, _)| Some(id.0) <= last);
        pieces.retain(|digest| Some(*digest) <= last);
        Ok(Slice { commits, pieces, last })
    }
}
