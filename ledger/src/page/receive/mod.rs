//! Receives commits that were made elsewhere.
//!
//! `wanted.rs` finds missing pieces, `checks.rs` compares a commit with its parents and the clock,
//! `tree.rs` rebuilds the tree of a commit from received and stored pieces, `values.rs` adds its
//! values, `write.rs` writes it.

mod checks;
mod tree;
mod values;
mod wanted;
mod write;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use self::tree::{Arriving, Rebuilt, Tree};
use self::values::NewPieces;
use self::wanted::WantedSearch;
use super::Page;
use super::shared::Shared;
use super::whole_value::reference;
use super::write::Draft;
use crate::commit::encoding::Commit;
use crate::commit::time::CommitTime;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::items::Priority;
use crate::node::view::Node;
use crate::policy::merging::{PageMerging, Trigger};
use crate::process::pins::Pin;
use crate::rows::pieces::MAX_PIECE;
use crate::rows::process::PinReason;
use crate::rows::retention::Pruned;
use crate::value::index::Index;
use crate::value::reference::MAX_CHUNK;

/// The most pieces that one call of [`wanted`](Receiver::wanted) returns.
const WANTED: usize = 1_024;

/// Receives commits that were made elsewhere, on a page with the same secret: each after its
/// parents, with its nodes and values, of which the lazy ones may be absent while the page is
/// attached to a remote. [`Page::receive`] makes one.
///
/// Received bytes are compared with digests, IDs and the rules of the format: a malicious sender
/// can choose the content, and nothing else. A piece stays in memory until the first commit with it
/// is added, so a commit takes about as much memory as is new in it. The receiver pins the commits
/// that it has added: set a branch or a tag there before you drop the receiver.
pub struct Receiver {
    page: Arc<Shared>,
    merging: Arc<PageMerging>,
    from_remote: bool,
    accepts_future: bool,
    /// The added commits that are more than a day ahead of the clock.
    future_commits: Vec<CommitId>,
    nodes: HashMap<Digest, Arc<Node>>,
    value_pieces: HashMap<Digest, (Kind, Bytes)>,
    pruned: HashMap<CommitId, Pruned>,
    pins: Vec<Pin>,
    /// The search for missing pieces of a commit, with its pinned parents.
    search_of: Mutex<Option<(CommitId, Vec<KnownParent>, WantedSearch)>>,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = self.nodes.len() + self.value_pieces.len();
        f.debug_struct("Receiver").field("pieces", &pieces).finish_non_exhaustive()
    }
}

/// The content of a received commit.
struct Incoming {
    draft: Draft,
    /// Pieces of lazy values may be absent. Allowed only while the page is attached to a remote.
    needs_remote: bool,
}

/// A parent of a received commit.
enum KnownParent {
    First,
    /// It is stored here, and pinned.
    Here {
        commit: Box<Commit>,
        pin: Pin,
    },
    Pruned(Pruned),
}

impl KnownParent {
    fn time_and_generation(&self) -> (CommitTime, u64) {
        match self {
            KnownParent::First => (CommitTime::default(), 0),
            KnownParent::Here { commit, .. } => (commit.time, commit.generation),
            KnownParent::Pruned(pruned) => (pruned.time, pruned.generation),
        }
    }
}

impl Page {
    /// Begins to receive commits that were made elsewhere. For commits from the remote of the page
    /// use [`PageRemote::receive`](crate::PageRemote::receive): they then count as synced.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{MAIN, PageId, Repository, Secret};
    ///
    /// // Two copies of a page have one secret.
    /// let copy = || {
    ///     let repository = Repository::open_or_create(MemoryStore::new())?;
    ///     repository.create_page_with("phones", PageId::ROOT, Secret::new([7; 32]))
    /// };
    /// let (here, there) = (copy()?, copy()?);
    /// let db = there.database(MAIN)?;
    /// let mut tx = db.begin(&TxOptions::writing())?;
    /// tx.put(b"Ann", b"555-0101")?;
    /// tx.commit()?;
    ///
    /// let (id, remote) = (there.head(MAIN)?, there.remote());
    /// let commit = remote.commit_bytes(&id)?.expect("the commit");
    /// let mut receiver = here.receive();
    /// loop {
    ///     let wanted = receiver.wanted(&commit)?;
    ///     if wanted.is_empty() {
    ///         break;
    ///     }
    ///     for (kind, digest) in wanted {
    ///         receiver.add_piece(kind, remote.piece_bytes(&digest)?.expect("the piece"))?;
    ///     }
    /// }
    /// receiver.add_commit(&id, &commit)?;
    /// receiver.add_head(MAIN, &id)?;
    /// assert_eq!(here.snapshot(&here.head(MAIN)?)?.get(b"Ann")?.as_deref(), Some(&b"555-0101"[..]));
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    pub fn receive(&self) -> Receiver {
        Receiver::new(Arc::clone(&self.shared), Arc::clone(&self.merging), false)
    }

    /// The generation and time of a pruned commit that is a parent of a stored one, for
    /// [`Receiver::add_pruned`] on another copy. `None` for any other commit.
    ///
    /// # Errors
    /// If the page is gone, or the host fails.
    pub fn pruned_commit(&self, id: &CommitId) -> Result<Option<(u64, CommitTime)>> {
        let (rows, tx) = (&self.shared.open.rows, self.shared.read()?);
        rows.check_exists(&tx)?;
        let pruned = rows.pruned(&tx, id)?;
        Ok(pruned.map(|pruned| (pruned.generation, pruned.time)))
    }
}

impl Receiver {
    pub(crate) fn new(page: Arc<Shared>, merging: Arc<PageMerging>, from_remote: bool) -> Self {
        let (nodes, value_pieces, pruned) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (pins, search_of) = (Vec::new(), Mutex::default());
        let (accepts_future, future_commits) = (false, Vec::new());
        Receiver {
            page,
            merging,
            from_remote,
            accepts_future,
            future_commits,
            nodes,
            value_pieces,
            pruned,
            pins,
            search_of,
        }
    }

    /// Also accepts commits whose time is more than a day ahead of the clock here, which are
    /// [`LedgerError::ClockAhead`] otherwise. [`future_commits`](Receiver::future_commits) lists
    /// them.
    ///
    /// A change under a wrong clock can be brought to other copies this way. Where the later change
    /// wins, it wins over all changes until the clocks get there. Each change on it is one tick
    /// later, so it needs this, too. If no other copy has the change yet, it is better to give it
    /// the right time where it was made: set the clock, and [squash](Page::squash) the branch onto
    /// the commit before it.
    ///
    /// A time of 2⁶² ticks or more, which is November 4199 or later, is still refused, unless it is
    /// at most one tick after that of the later parent, and so is a commit that has a parent with a
    /// time of 2⁶² + 2⁴⁰ ticks or more.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{Clock, LedgerError, MAIN, PageId, Repository, Secret};
    ///
    /// #[derive(Debug)]
    /// struct NextYear;
    ///
    /// impl Clock for NextYear {
    ///     fn now(&self) -> SystemTime {
    ///         SystemTime::now() + Duration::from_secs(400 * 24 * 60 * 60)
    ///     }
    /// }
    ///
    /// let secret = Secret::new([7; 32]);
    /// let there = Repository::builder(MemoryStore::new()).clock(std::sync::Arc::new(NextYear)).open_or_create()?;
    /// let there = there.create_page_with("phones", PageId::ROOT, secret.clone())?;
    /// let here = Repository::open_or_create(MemoryStore::new())?;
    /// let here = here.create_page_with("phones", PageId::ROOT, secret)?;
    /// let db = there.database(MAIN)?;
    /// let mut tx = db.begin(&TxOptions::writing())?;
    /// tx.put(b"Ann", b"555-0101")?;
    /// tx.commit()?;
    ///
    /// let (id, remote) = (there.head(MAIN)?, there.remote());
    /// let commit = remote.commit_bytes(&id)?.expect("the commit");
    /// let mut receiver = here.receive().accepting_future_commits();
    /// for (kind, digest) in receiver.wanted(&commit)? {
    ///     receiver.add_piece(kind, remote.piece_bytes(&digest)?.expect("the piece"))?;
    /// }
    /// receiver.add_commit(&id, &commit)?;
    /// receiver.add_head(MAIN, &id)?;
    /// assert_eq!(receiver.future_commits(), [id]);
    /// # Ok::<(), LedgerError>(())
    /// ```
    #[must_use]
    pub fn accepting_future_commits(mut self) -> Self {
        self.accepts_future = true;
        self
    }

    /// The added commits that are more than a day ahead of the clock, in the order of their
    /// arrival. If such commits are not [accepted](Receiver::accepting_future_commits), these are
    /// only commits that this page had already.
    pub fn future_commits(&self) -> &[CommitId] {
        &self.future_commits
    }

    fn arriving(&self) -> Arriving<'_> {
        Arriving { page: &self.page, nodes: &self.nodes, value_pieces: &self.value_pieces }
    }

    /// Adds a received piece, and returns its digest. It is stored with the first commit that has
    /// it.
    ///
    /// # Errors
    /// [`LedgerError::Integrity`] if the bytes are no piece of this kind,
    /// [`LedgerError::InvalidArgument`] for [`Kind::Commit`].
    pub fn add_piece(&mut self, kind: Kind, bytes: Vec<u8>) -> Result<Digest> {
        let digest = kind.digest(&bytes);
        let page = self.page.number();
        let wrong = |found: &str| {
            let error = LedgerError::refused(kind, &digest, found);
            error.needed(|by| (by.page, by.received) = (page, true))
        };
        if bytes.len() > MAX_PIECE {
            return Err(wrong("it has more than 81,920 bytes"));
        }
        let bytes = Bytes::from(bytes);
        match kind {
            Kind::Node => {
                let node = Node::parse(bytes).map_err(wrong)?;
                self.nodes.insert(digest, Arc::new(node));
                return Ok(digest);
            }
            Kind::Index => drop(Index::parse(bytes.clone()).map_err(wrong)?),
            Kind::Chunk if bytes.is_empty() || bytes.len() > MAX_CHUNK => {
                return Err(wrong("it has no bytes, or more than 65,536"));
            }
            Kind::Chunk => {}
            Kind::Commit => {
                let what = "a commit is no piece: use Receiver::add_commit";
                return Err(LedgerError::InvalidArgument(what.to_owned()));
            }
        }
        self.value_pieces.insert(digest, (kind, bytes));
        Ok(digest)
    }

    /// Records that a commit is pruned on the other side, with its generation and time
    /// ([`Page::pruned_commit`]). A child of the commit can then be added even if this page does
    /// not have the commit either: history ends there.
    ///
    /// # Errors
    /// [`LedgerError::InvalidArgument`] if the generation or the time is 0, or 2⁶³ or more.
    pub fn add_pruned(&mut self, id: &CommitId, generation: u64, time: CommitTime) -> Result<()> {
        let pruned = Pruned { generation, time };
        if !pruned.is_valid() {
            let what = format!("commit {id} cannot have generation {generation} and time {time}");
            return Err(LedgerError::InvalidArgument(what));
        }
        self.pruned.insert(*id, pruned);
        Ok(())
    }

    /// The next pieces that must be received before this commit can be added, at most 1,024. Empty
    /// if no piece is missing. Pieces below a wanted one are not known yet, so call it again when
    /// these have been added.
    ///
    /// Lazy values are not wanted on a page that is attached to a remote.
    ///
    /// # Errors
    /// If these bytes are no commit, if a parent is neither stored here nor known as pruned
    /// ([`add_pruned`](Receiver::add_pruned)), if received pieces do not fit together, or if the
    /// host fails.
    pub fn wanted(&self, commit: &[u8]) -> Result<Vec<(Kind, Digest)>> {
        let id = Commit::id(commit);
        let commit = self.checked(&id, commit)?;
        {
            let (rows, tx) = (&self.page.open.rows, self.page.read()?);
            rows.check_exists(&tx)?;
            if rows.has_commit(&tx, &id)? {
                return Ok(Vec::new());
            }
        }
        self.missing(&id, &commit).map_err(|error| self.needed(&id, error))
    }

    /// The commit with these received bytes.
    fn checked(&self, id: &CommitId, bytes: &[u8]) -> Result<Commit> {
        let commit = Commit::checked(self.page.number(), id, bytes);
        commit.map_err(|error| error.needed(|by| by.received = true))
    }

    /// Explains an error about a missing piece: a parent may have been pruned meanwhile.
    fn explained(&self, parents: &[KnownParent], error: LedgerError) -> LedgerError {
        let here = parents.iter().filter_map(|parent| match parent {
            KnownParent::Here { pin, .. } => Some(pin.commit()),
            _ => None,
        });
        self.page.open.explained(error, &here.collect::<Vec<_>>())
    }

    /// Adds to an error that this commit needed the piece, and whether the piece was received.
    fn needed(&self, commit: &CommitId, error: LedgerError) -> LedgerError {
        let received = match &error {
            LedgerError::Integrity { digest, .. } => {
                self.nodes.contains_key(digest) || self.value_pieces.contains_key(digest)
            }
            _ => false,
        };
        error.needed(|by| {
            (by.page, by.commits) = (self.page.number(), vec![*commit]);
            by.received = received;
        })
    }

    /// The missing pieces of a commit, at most [`WANTED`].
    fn missing(&self, id: &CommitId, commit: &Commit) -> Result<Vec<(Kind, Digest)>> {
        let needs_lazy = !self.page.is_attached()?;
        let mut last = self.search_of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, parents, mut search)) = last.take().filter(|(of, ..)| of == id) {
            let wanted = self.search(&mut search, (commit, &parents), needs_lazy)?;
            if !wanted.is_empty() {
                *last = Some((*id, parents, search));
                return Ok(wanted);
            }
        }
        // Before this returns no piece, the search runs once more from the roots: stored pieces may
        // have been collected since it began.
        let parents = self.parents(commit)?;
        let mut search = WantedSearch::new(1 + usize::from(commit.conflicts.is_some()));
        let wanted = self.search(&mut search, (commit, &parents), needs_lazy)?;
        if !wanted.is_empty() {
            *last = Some((*id, parents, search));
        }
        Ok(wanted)
    }

    /// Continues the search for missing pieces.
    fn search(
        &self,
        search: &mut WantedSearch,
        (commit, parents): (&Commit, &[KnownParent]),
        needs_lazy: bool,
    ) -> Result<Vec<(Kind, Digest)>> {
        let trees = self.trees(commit, parents);
        let wanted = trees.and_then(|trees| search.next(&trees, needs_lazy, WANTED));
        wanted.map_err(|error| self.explained(parents, error))
    }

    /// Adds a commit with this ID, whose parents and pieces are stored here or were received. If
    /// the commit is stored already, only the grace times of it and its ancestors are cleared.
    /// Writes at most one transaction of the host.
    ///
    /// The commit does not become a head: use [`add_head`](Receiver::add_head),
    /// [`Page::create_branch`] or [`Page::set_tag`].
    ///
    /// # Errors
    /// - [`LedgerError::Integrity`] if the bytes do not have this ID, or if its generation, its
    ///   time, its parents, or the cuts of its tree or of a value are invalid.
    /// - [`LedgerError::NoCommit`] if a parent is neither stored here nor known as pruned
    ///   ([`add_pruned`](Receiver::add_pruned)), [`LedgerError::Missing`] if a piece was not
    ///   received.
    /// - [`LedgerError::ClockAhead`] if its time is more than a day ahead of the clock, unless the
    ///   receiver [accepts these](Receiver::accepting_future_commits).
    /// - [`LedgerError::InvalidArgument`] if its generation is 2⁴⁰ − 2³² or more, or if it is that
    ///   far ahead of the clock and its time is 2⁶² ticks or more and more than one tick after that
    ///   of its later parent, or if a parent has a time of 2⁶² + 2⁴⁰ ticks or more.
    /// - If the page is gone, or the host fails.
    ///
    /// Nothing is changed then, and it can be added again.
    pub fn add_commit(&mut self, id: &CommitId, bytes: &[u8]) -> Result<()> {
        let commit = self.checked(id, bytes)?;
        let rows = &self.page.open.rows;
        // Pinned before it is written, so that no collection of this process removes it before it
        // gets a head.
        let (pin, (is_here, is_expiring)) = self.page.open.pinned_for(PinReason::Base, |tx| {
            Ok((*id, (rows.has_commit(&tx, id)?, rows.is_expiring(&tx, id)?)))
        })?;
        // Another process that has decided to remove the commit does not know of the pin yet, so
        // the grace time of the commit is cleared.
        let stays =
            is_here && (!is_expiring || self.retrying(|wait| self.clear_grace_time(id, wait))?);
        if !stays {
            let draft = loop {
                let parents = self.parents(&commit)?;
                self.check_time_and_generation(id, &commit, &parents)?;
                let incoming = self.incoming(&commit, &parents);
                let incoming =
                    incoming.map_err(|error| self.needed(id, self.explained(&parents, error)))?;
                if self.retrying(|wait| self.write((id, &commit), &parents, &incoming, wait))? {
                    break incoming.draft;
                }
            };
            for node in &draft.nodes {
                self.nodes.remove(&node.digest);
            }
            for piece in &draft.pieces {
                self.value_pieces.remove(&piece.part.digest);
            }
            *self.search_of.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        }
        self.pins.push(pin);
        if self.is_ahead(commit.time) {
            self.future_commits.push(*id);
        }
        Ok(())
    }

    /// Makes a stored commit a head of a branch, in place of its ancestors among the heads. If it
    /// is an ancestor of a head itself, nothing changes. [Policies](crate::MergePolicy) then merge
    /// heads as always.
    ///
    /// # Errors
    /// If there is no such branch or commit, [`LedgerError::BaseMissing`] if pruned history hides
    /// whether a head is an ancestor, [`LedgerError::BranchMoved`] if the branch is changed again
    /// and again meanwhile, or if the host fails.
    pub fn add_head(&self, branch: &str, id: &CommitId) -> Result<()> {
        self.page.add_head(branch, id)?;
        // As after a commit of another process: heads that are merges wait for a moment.
        self.merging.wake(Trigger::Others);
        Ok(())
    }

    fn parents(&self, commit: &Commit) -> Result<Vec<KnownParent>> {
        let mut parents = Vec::new();
        for id in commit.parents() {
            parents.push(match self.page.pinned_commit(id) {
                Ok((_, None)) => KnownParent::First,
                Ok((pin, Some(commit))) => KnownParent::Here { commit: Box::new(commit), pin },
                Err(LedgerError::NoCommit { .. }) => {
                    // A record of this page counts more than what the sender says.
                    let known = self.page.open.rows.pruned(&self.page.read()?, id)?;
                    let pruned = known.or_else(|| self.pruned.get(id).copied());
                    KnownParent::Pruned(pruned.ok_or_else(|| self.page.no_commit(id))?)
                }
                Err(error) => return Err(error),
            });
        }
        Ok(parents)
    }

    /// The tree of a commit, and its tree of conflicts if it has one, each with those of the
    /// parents that are stored here.
    fn trees(&self, commit: &Commit, parents: &[KnownParent]) -> Result<Vec<Tree<'_>>> {
        let here = || {
            parents.iter().filter_map(|parent| match parent {
                KnownParent::Here { commit, .. } => Some(&**commit),
                _ => None,
            })
        };
        let roots: Vec<_> = here().map(|parent| parent.root).collect();
        let mut trees = vec![Tree::new(self.arriving(), commit.root, &roots)?];
        if let Some(conflicts) = commit.conflicts {
            let roots: Vec<_> = here().filter_map(|parent| parent.conflicts).collect();
            trees.push(Tree::new(self.arriving(), conflicts, &roots)?);
        }
        Ok(trees)
    }

    /// The nodes and pieces that must be written with a commit.
    fn incoming(&self, commit: &Commit, parents: &[KnownParent]) -> Result<Incoming> {
        let (from, is_attached) = (self.arriving(), self.page.is_attached()?);
        let (mut draft, mut needs_remote) = (Draft::unchanged(commit.root), false);
        let mut new = NewPieces::new(from, &self.page.secret);
        for tree in self.trees(commit, parents)? {
            let Rebuilt { edited, values } = tree.rebuild()?;
            draft.nodes.extend(edited.nodes);
            for (key, stored) in values {
                let payload = stored.payload();
                if tree.has_value(&key, payload)? {
                    continue;
                }
                let value = reference(payload)?;
                match payload.priority() {
                    Priority::Lazy if is_attached => {
                        needs_remote = true;
                        new.add_present(&value)?;
                    }
                    _ => new.add_all(&value)?,
                }
            }
        }
        draft.pieces = new.pieces;
        Ok(Incoming { draft, needs_remote })
    }
}

#[cfg(test)]
mod tests;
