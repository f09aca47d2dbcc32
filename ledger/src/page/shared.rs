//! The state that all handles of a page share: its host, its rows, its caches and threads.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use permazen_kv::{KvRead, KvTransaction, TxOptions};

use super::cache::NodeCache;
use super::head_poller::{BranchHeads, HeadPoller};
use super::requests::Requests;
use crate::collect::maintenance::Maintenance;
use crate::collect::page_maintenance::PageMaintenance;
use crate::commit::encoding::Commit;
use crate::commit::time::CommitTime;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::lifecycle::open_registry::Registration;
use crate::node::view::Node;
use crate::process::open_page::OpenPage;
use crate::process::pins::Pin;
use crate::rows::page::Head;
use crate::rows::parameters::Parameters;
use crate::rows::retention::Pruned;
use crate::secret::Secret;
use crate::tree::boundaries::ByHash;
use crate::tree::nodes::NodeStore;
use crate::value::read::PieceStore;

/// A page. No transaction of the host stays open between two calls.
pub(crate) struct Shared {
    pub(crate) open: Arc<OpenPage>,
    pub(crate) maintenance: Arc<PageMaintenance>,
    pub(crate) secret: Secret,
    pub(crate) boundaries: ByHash,
    pub(super) cache: Arc<NodeCache>,
    /// The longest value that is put together in memory.
    pub(super) longest_whole: u64,
    pub(crate) head_poller: Arc<HeadPoller>,
    pub(super) requests: Arc<Requests>,
    /// The page is open until this is dropped.
    registration: Registration,
    _in_use: Arc<()>,
    /// Dropped after the rest, so that its threads hold nothing of the page any more.
    _threads: Arc<Maintenance>,
}

/// A parent of a commit.
#[derive(Debug)]
pub(crate) enum Parent {
    /// The first commit of the page.
    First,
    Here(Commit),
    /// Not kept any more.
    Pruned(Pruned),
}

/// The one head of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BranchState {
    pub(crate) head: CommitId,
    pub(crate) time: CommitTime,
    pub(crate) generation: u64,
    pub(crate) root: Digest,
    /// How often the branch was reset.
    pub(crate) resets: u64,
}

impl BranchState {
    /// The version of this state of the branch: each commit adds one, a reset makes a version that
    /// no state had.
    pub(crate) fn version(&self) -> u64 {
        (self.resets << 40).wrapping_add(self.generation)
    }
}

impl Shared {
    pub(crate) fn new(
        (maintenance, in_use): (Arc<PageMaintenance>, Arc<()>),
        (cache, longest_whole): (Arc<NodeCache>, u64),
        parameters: &Parameters,
        (threads, registration): (Arc<Maintenance>, Registration),
    ) -> Self {
        let secret = parameters.secret.clone();
        let boundaries = ByHash::new(&secret);
        let open = Arc::clone(&maintenance.page);
        let head_poller = Arc::new(HeadPoller::new(Arc::clone(&open.host), open.rows.clone()));
        Shared {
            open,
            maintenance,
            secret,
            boundaries,
            cache,
            longest_whole,
            head_poller,
            requests: Arc::default(),
            registration,
            _in_use: in_use,
            _threads: threads,
        }
    }

    /// A name that no other open page of this process has.
    pub(crate) fn name(&self) -> [u8; 16] {
        let mut name = [0; 16];
        name[..8].copy_from_slice(&self.cache.number().to_be_bytes());
        name[8..].copy_from_slice(&self.open.rows.number.to_be_bytes());
        name
    }

    /// The number of the page.
    pub(crate) fn number(&self) -> u64 {
        self.open.rows.number
    }

    /// The error about a commit that is not there.
    pub(crate) fn no_commit(&self, commit: &CommitId) -> LedgerError {
        LedgerError::NoCommit { page: self.number(), commit: *commit }
    }

    /// The error about a commit that is no longer kept.
    pub(crate) fn expired(&self, commit: &CommitId) -> LedgerError {
        LedgerError::SnapshotExpired { page: self.number(), commit: *commit }
    }

    pub(crate) fn read(&self) -> Result<Box<dyn KvTransaction + Send>> {
        self.open.read()
    }

    /// Begins a transaction of the host that changes the page.
    pub(crate) fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        self.complete_opening(options.wait)?;
        Ok(self.open.host.begin(options)?)
    }

    /// Writes that the page is open, and the device if this is the first time, unless opening the
    /// page has done so: the host may have had no room then. Called before each change of its
    /// branches, tags and settings.
    ///
    /// # Errors
    /// If that is not possible now either: without these rows, another process could delete the
    /// page, and a squash could not tell which changes came from elsewhere.
    pub(crate) fn complete_opening(&self, wait: Option<Duration>) -> Result<()> {
        self.registration.complete(&*self.open.host, wait)
    }

    /// Removes the mark of an eviction that another process has begun, which took this one for
    /// dead, and did not complete. If it was decided, the row of the page in the repository says
    /// so.
    pub(crate) fn open_again_if_marked(&self) -> Result<()> {
        match self.open.rows.is_marked_deleted(&self.read()?)? {
            true => self.registration.renew(&*self.open.host),
            false => Ok(()),
        }
    }

    /// The state of a branch with one head.
    pub(crate) fn state(&self, branch: &str) -> Result<BranchState> {
        self.state_in(&self.read()?, branch)
    }

    /// The state of a branch with one head, and a pin of the head.
    pub(crate) fn pinned_state(&self, branch: &str) -> Result<(Pin, BranchState)> {
        self.open.pinned(|tx| {
            let state = self.state_in(&tx, branch)?;
            Ok((state.head, state))
        })
    }

    /// A commit and its pin. `None` for the first one.
    pub(crate) fn pinned_commit(&self, id: &CommitId) -> Result<(Pin, Option<Commit>)> {
        self.open.pinned(|tx| Ok((*id, self.commit_in(&tx, id)?)))
    }

    /// The root of the tree of a commit, and its pin.
    pub(crate) fn pinned_root(&self, id: &CommitId) -> Result<(Pin, Digest)> {
        let (pin, commit) = self.pinned_commit(id)?;
        Ok((pin, commit.map_or(Node::empty().0, |commit| commit.root)))
    }

    /// The oldest of these heads, as if it were the only one. `None` without a head.
    pub(crate) fn oldest(&self, heads: &BranchHeads) -> Result<Option<BranchState>> {
        let head = heads.heads.first();
        head.map(|head| self.state_of(&self.read()?, head, heads.resets)).transpose()
    }

    pub(crate) fn state_in(&self, tx: &dyn KvRead, branch: &str) -> Result<BranchState> {
        let heads = self.open.rows.heads(tx, branch)?;
        let head = match heads[..] {
            [head] => head,
            [] => return Err(LedgerError::no_branch(self.number(), branch)),
            _ => {
                let count = heads.len();
                return Err(LedgerError::ManyHeads {
                    page: self.number(),
                    branch: branch.to_owned(),
                    count,
                });
            }
        };
        self.state_of(tx, &head, self.open.rows.resets(tx, branch)?)
    }

    fn state_of(&self, tx: &dyn KvRead, head: &Head, resets: u64) -> Result<BranchState> {
        let commit = self.commit_in(tx, &head.id)?;
        let (generation, root) = match commit {
            Some(commit) => (commit.generation, commit.root),
            None => (0, Node::empty().0),
        };
        Ok(BranchState { head: head.id, time: head.time, generation, root, resets })
    }

    /// A commit. `None` for the first one.
    pub(crate) fn commit(&self, id: &CommitId) -> Result<Option<Commit>> {
        self.commit_in(&self.read()?, id)
    }

    pub(crate) fn commit_in(&self, tx: &dyn KvRead, id: &CommitId) -> Result<Option<Commit>> {
        if *id == CommitId::FIRST {
            return Ok(None);
        }
        match self.open.rows.commit(tx, id)? {
            Some(commit) => Ok(Some(commit)),
            None => {
                self.open.rows.check_exists(tx)?;
                Err(self.no_commit(id))
            }
        }
    }

    /// A parent of a commit.
    ///
    /// # Errors
    /// If neither the parent nor a record of its pruning is stored although `child` is, or the host
    /// fails.
    pub(crate) fn parent(&self, id: &CommitId, child: &CommitId) -> Result<Parent> {
        let tx = self.read()?;
        if *id == CommitId::FIRST {
            return Ok(Parent::First);
        }
        if let Some(commit) = self.open.rows.commit(&tx, id)? {
            return Ok(Parent::Here(commit));
        }
        if let Some(pruned) = self.open.rows.pruned(&tx, id)? {
            return Ok(Parent::Pruned(pruned));
        }
        self.open.rows.check_exists(&tx)?;
        // The row of a pruned parent is removed with its last child, so a missing row is damage
        // only if the child is stored.
        match self.open.rows.has_commit(&tx, child)? {
            true => Err(self.no_commit(id)),
            false => Err(self.expired(child)),
        }
    }

    /// The root of the tree of a commit.
    pub(crate) fn root_of(&self, id: &CommitId) -> Result<Digest> {
        Ok(self.commit(id)?.map_or(Node::empty().0, |commit| commit.root))
    }
}

impl NodeStore for Shared {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        if let Some(node) = self.cache.get(digest) {
            return Ok(node);
        }
        let bytes = self.piece(Kind::Node, digest)?;
        let node = Node::checked(digest, bytes).map_err(|error| NodeStore::explain(self, error))?;
        let node = Arc::new(node);
        self.cache.insert(*digest, Arc::clone(&node));
        Ok(node)
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        error.needed(|by| by.page = self.number())
    }
}

impl PieceStore for Shared {
    fn piece(&self, kind: Kind, digest: &Digest) -> Result<Bytes> {
        match self.open.rows.piece(&self.read()?, kind, digest)? {
            Some(bytes) => Ok(Bytes::from(bytes)),
            None => Err(PieceStore::explain(self, LedgerError::missing(kind, digest))),
        }
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        NodeStore::explain(self, error)
    }
}

impl NodeStore for Arc<Shared> {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        Shared::load(self, digest)
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        NodeStore::explain(&**self, error)
    }
}
