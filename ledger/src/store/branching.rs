//! A branch that can have several heads: a commit never fails because others have committed.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use permazen_kv::__internal::Deadline;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::overlay::MutableView;
use permazen_kv::{
    AtomicKvStore, Blob, Capabilities, Counters, Direction, KeySpan, KeyWatch, KvDatabase, KvError,
    KvRead, KvTransaction, KvWrite, Pair, Pending, Result, Scan, SharedRead, Statistics, TxOptions,
    Visitor, Watches, Writes,
};

use super::turn::{Permit, Turn, WAIT};
use super::watched_keys::{NotifiedState, Shown, WatchedKeys};
use crate::commit::time::CommitTime;
use crate::error::{LedgerError, Result as LedgerResult};
use crate::ids::CommitId;
use crate::node::view::Node;
use crate::page::shared::{BranchState, Shared};
use crate::page::snapshot::PageSnapshot;
use crate::policy::merging::{PageMerging, Trigger};
use crate::process::pins::Pin;
use crate::watch::follow::{Position, Step};

/// A branch as a database that lets the branch have several heads:
/// [`Page::branching_database`](crate::Page::branching_database).
///
/// A handle follows one path through the branch. It begins at the oldest head; after a commit of
/// its own it stands at that commit; and it moves along commits that others make on that one, such
/// as merges. So its own commits stay in the history that it shows, though a merge can undo their
/// writes. It jumps to another head only if the branch is reset, or if its commit or the history
/// between that and the heads was pruned.
///
/// Transactions that write through one handle take turns, so among themselves they are
/// serializable. Those of several handles do not wait for each other, and a merge can undo the
/// writes of one of them. While a writing transaction is open, the handle stays where it is. Clones
/// are the same handle.
#[derive(Clone)]
pub struct BranchingDatabase {
    handle: Arc<Handle>,
}

/// How often a transaction looks for its base again, because the commit is no longer a head or was
/// collected, or because another transaction has moved the handle.
const ATTEMPTS: usize = 100;

struct Handle {
    shared: Arc<Shared>,
    /// Merges the heads.
    merging: Arc<PageMerging>,
    branch: String,
    place: Mutex<Place>,
    turn: Arc<Turn>,
    /// How many transactions were begun.
    begun: AtomicU64,
    /// How many commits were made.
    commits: AtomicU64,
    /// Made with the first watch.
    watching: OnceLock<Watching>,
}

/// Where a handle stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    position: Position,
    /// How often it has moved: the version of its transactions.
    moves: u64,
    /// How often it has jumped to the oldest head: after a reset, or without a path to a head.
    jumps: u64,
    /// A writing transaction is open, so the handle stays.
    is_writing: bool,
}

/// The watches of a handle.
struct Watching {
    notified: NotifiedState,
    /// The database that manages watches. Its store is empty.
    watch_db: OptimisticDatabase<WatchStore>,
}

impl fmt::Debug for BranchingDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BranchingDatabase")
            .field("branch", &self.handle.branch)
            .field("commit", &self.commit())
            .finish_non_exhaustive()
    }
}

impl BranchingDatabase {
    pub(crate) fn new(
        shared: Arc<Shared>,
        merging: Arc<PageMerging>,
        branch: &str,
    ) -> LedgerResult<Self> {
        let heads = shared.head_poller.heads(branch)?;
        let Some(position) = Position::first(&heads) else {
            return Err(LedgerError::no_branch(shared.number(), branch));
        };
        let place = Mutex::new(Place { position, moves: 0, jumps: 0, is_writing: false });
        let (branch, turn, watching) = (branch.to_owned(), Arc::default(), OnceLock::new());
        Ok(BranchingDatabase {
            handle: Arc::new(Handle {
                shared,
                merging,
                branch,
                place,
                turn,
                begun: AtomicU64::new(0),
                commits: AtomicU64::new(0),
                watching,
            }),
        })
    }

    /// The commit at which the handle stands. The handle moves with each transaction and snapshot.
    /// While keys are watched through it, or a watcher of its connection is asked, it also moves
    /// between them, but never while a transaction writes.
    pub fn commit(&self) -> CommitId {
        self.handle.place().position.commit
    }
}

impl Handle {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves along new commits, and returns the state there. A writing transaction makes the handle
    /// stay.
    fn begin(&self, writes: bool) -> LedgerResult<(Pin, BranchState, Place)> {
        for _ in 0..ATTEMPTS {
            let before = *self.place();
            let mut after = before;
            if !before.is_writing {
                // Read after the state of the handle: older heads may lack its own commit.
                let heads = self.shared.head_poller.heads(&self.branch)?;
                let step = before.position.follow(&self.shared, &heads)?;
                after.jumps += u64::from(matches!(step, Step::Jumped(_)));
                match step {
                    Step::Stay => {}
                    Step::Along(position) | Step::Jumped(position) => {
                        (after.position, after.moves) = (position, before.moves + 1);
                    }
                    Step::Gone => {
                        return Err(LedgerError::no_branch(self.shared.number(), &self.branch));
                    }
                }
            }
            let found = match writes {
                true => self.shared.base(&self.branch, &after.position),
                false => self.shared.pinned_commit(&after.position.commit),
            };
            let (pin, commit) = match found {
                // Gone, or, for a writing transaction, no longer a head: follow the branch again.
                Err(LedgerError::NoCommit { .. }) => continue,
                found => found?,
            };
            let mut place = self.place();
            // Another transaction of the handle has moved it meanwhile, or has begun or ended.
            if *place != before {
                continue;
            }
            *place = Place { is_writing: after.is_writing || writes, ..after };
            let state = BranchState {
                head: after.position.commit,
                time: commit.as_ref().map_or(CommitTime::default(), |commit| commit.time),
                generation: commit.as_ref().map_or(0, |commit| commit.generation),
                root: commit.map_or(Node::empty().0, |commit| commit.root),
                resets: after.position.resets,
            };
            return Ok((pin, state, after));
        }
        Err(LedgerError::moved(self.shared.number(), &self.branch))
    }

    /// Makes a commit, and moves there.
    fn commit(
        &self,
        state: &BranchState,
        writes: &Writes,
        wait: Duration,
        mut writing: Writing,
    ) -> LedgerResult<()> {
        let shared = &self.shared;
        let draft = shared.draft(&state.root, writes);
        let draft = draft.map_err(|error| shared.open.explained(error, &[state.head]))?;
        // Writes that change nothing make no commit.
        if draft.root == state.root {
            return Ok(());
        }
        let commit = shared.change(state, draft.root)?;
        let (id, heads) = shared.commit_beside(&self.branch, state, &commit, &draft, wait)?;
        self.commits.fetch_add(1, Relaxed);
        let mut place = self.place();
        place.position = Position { commit: id, resets: state.resets };
        place.moves += 1;
        let shown = (place.moves, draft.root);
        // Ended before watches are notified, because a notified program may begin its next
        // transaction at once.
        writing.end(&mut place);
        drop(place);
        drop(writing);
        if let Some(watching) = self.watching.get() {
            watching.notified.advance(&state.root, shown);
            if let Some(watches) = watching.watch_db.store().watches() {
                // The database that manages watches has not seen these writes.
                watches.note_others(writes);
            }
        }
        if heads > 1 {
            self.merging.wake(Trigger::Own);
        }
        Ok(())
    }

    /// The content that the handle shows. `None` if the branch is gone or the host fails. The
    /// handle moves along new commits, so that the next poll does not read them again.
    fn shown(&self) -> Option<Shown> {
        self.begin(false).ok().map(|(_, state, place)| (place.moves, state.root))
    }

    fn watch(self: &Arc<Self>, key: &[u8]) -> Result<KeyWatch> {
        let watching = self.watching.get_or_init(|| {
            let (handle, notified, watches) =
                (Arc::downgrade(self), NotifiedState::default(), Mutex::default());
            let store = WatchStore { handle, notified: notified.clone(), watches };
            Watching { notified, watch_db: OptimisticDatabase::new(store) }
        });
        watching.watch_db.begin(&TxOptions::reading())?.watch(key)
    }
}

/// The empty store of the database that manages watches.
struct WatchStore {
    handle: Weak<Handle>,
    notified: NotifiedState,
    watches: Mutex<Option<Watches>>,
}

impl WatchStore {
    fn watches(&self) -> Option<Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl AtomicKvStore for WatchStore {
    fn snapshot(&self) -> Result<SharedRead> {
        Ok(Arc::new(MemoryStore::new().snapshot()))
    }

    fn apply(&self, _: &Writes, _: bool) -> Result<()> {
        Err(KvError::Unsupported("writing to the store of watches"))
    }

    fn watched(&self, watches: &Watches) -> Result<()> {
        let Some(handle) = self.handle.upgrade() else { return Ok(()) };
        if let Some(shown) = handle.shown() {
            self.notified.set(shown);
        }
        *self.watches.lock().unwrap_or_else(PoisonError::into_inner) = Some(watches.clone());
        // Weak, because watches must not keep the handle alive.
        let shown = Weak::clone(&self.handle);
        let keys = WatchedKeys {
            shared: Arc::clone(&handle.shared),
            branch: handle.branch.clone(),
            watches: watches.clone(),
            notified: self.notified.clone(),
            shown: Box::new(move |_| shown.upgrade()?.shown()),
        };
        Ok(keys.begin()?)
    }
}

impl BranchingDatabase {
    /// Begins a writing transaction, if no other one writes through this handle. The handle stays
    /// from here on.
    pub(super) fn try_begin(
        &self,
        options: &TxOptions,
    ) -> LedgerResult<Option<BranchingTransaction>> {
        match self.handle.turn.try_take(&self.handle.branch)? {
            None => Ok(None),
            Some(permit) => Ok(Some(self.transaction(Some(permit), options)?)),
        }
    }

    fn transaction(
        &self,
        permit: Option<Permit>,
        options: &TxOptions,
    ) -> LedgerResult<BranchingTransaction> {
        let (pin, state, place) = self.handle.begin(permit.is_some())?;
        let writing =
            permit.map(|permit| Writing { handle: Arc::clone(&self.handle), permit: Some(permit) });
        let snapshot = PageSnapshot::new(Arc::clone(&self.handle.shared), pin, &state.root)?;
        let base: SharedRead = Arc::new(snapshot);
        self.handle.begun.fetch_add(1, Relaxed);
        Ok(BranchingTransaction {
            state,
            version: place.moves,
            view: MutableView::untracked(base),
            writing,
            wait: options.wait.unwrap_or(WAIT),
            deadline: Deadline::new(options.timeout),
            handle: Arc::clone(&self.handle),
        })
    }

    /// Whether a transaction writes through this handle.
    pub(super) fn is_writing(&self) -> bool {
        self.handle.place().is_writing
    }

    /// Moves along new commits, unless a transaction writes. Returns the content there.
    pub(super) fn snapshot(&self) -> LedgerResult<PageSnapshot> {
        let (pin, state, _) = self.handle.begin(false)?;
        PageSnapshot::new(Arc::clone(&self.handle.shared), pin, &state.root)
    }

    /// Moves along new commits, unless a transaction writes. Returns also how often the handle has
    /// jumped to the oldest head: after a reset, or without a path to a head.
    pub(crate) fn advance(&self) -> LedgerResult<(Position, u64)> {
        let place = self.handle.begin(false)?.2;
        Ok((place.position, place.jumps))
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// The number of the page.
    pub(super) fn page(&self) -> u64 {
        self.handle.shared.number()
    }

    pub(super) fn branch(&self) -> &str {
        &self.handle.branch
    }
}

impl KvDatabase for BranchingDatabase {
    /// A writing transaction waits for others that write through this handle.
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        let permit = match options.read_only {
            true => None,
            false => {
                let Handle { shared, branch, turn, .. } = &*self.handle;
                Some(turn.take(options, (&*shared.open.host, branch))?)
            }
        };
        Ok(Box::new(self.transaction(permit, options)?))
    }

    fn capabilities(&self) -> Capabilities {
        let mut offered = Capabilities::none();
        offered.snapshots = true;
        offered.watches = true;
        offered.timeouts = true;
        offered.read_only_switch = true;
        offered.pending_writes = true;
        offered.persistent = self.handle.shared.open.host.capabilities().persistent;
        offered
    }

    fn verify(&self) -> Result<Vec<String>> {
        let report = crate::verify::page::verify(&self.handle.shared)?;
        Ok(report.findings.iter().map(ToString::to_string).collect())
    }

    fn statistics(&self) -> Result<Statistics> {
        let snapshot = self.snapshot()?;
        let host = &self.handle.shared.open.host;
        let mut statistics = host.statistics().unwrap_or_default();
        statistics.entries = Some(snapshot.count(KeySpan::FULL)?);
        Ok(statistics)
    }

    /// The transactions and commits of this handle. The waits and the figures of servers are those
    /// of the host. There are no conflicts.
    fn counters(&self) -> Counters {
        let mut counters = self.handle.shared.open.host.counters().of_store_below();
        counters.begun = Some(self.handle.begun.load(Relaxed));
        counters.commits = Some(self.handle.commits.load(Relaxed));
        counters
    }
}

/// The turn of a writing transaction: the handle stays, and no other transaction writes through it.
struct Writing {
    handle: Arc<Handle>,
    /// `None` once it is over.
    permit: Option<Permit>,
}

impl Writing {
    fn end(&mut self, place: &mut Place) {
        place.is_writing = false;
        self.permit = None;
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if self.permit.is_some() {
            let mut place = self.handle.place();
            place.is_writing = false;
            self.permit = None;
        }
        // The handle can move on to commits that others have made meanwhile, so its watches are
        // compared with these.
        self.handle.shared.head_poller.renotify();
    }
}

/// A transaction on a handle.
pub(super) struct BranchingTransaction {
    state: BranchState,
    version: u64,
    view: MutableView<SharedRead>,
    /// `None` if it is read-only.
    writing: Option<Writing>,
    /// How long to wait for the write lock of the host.
    wait: Duration,
    deadline: Deadline,
    /// Dropped last: it may be the last that keeps the handle.
    handle: Arc<Handle>,
}

impl BranchingTransaction {
    fn view(&self) -> Result<&MutableView<SharedRead>> {
        self.deadline.check()?;
        Ok(&self.view)
    }

    fn view_mut(&mut self) -> Result<&mut MutableView<SharedRead>> {
        self.deadline.check()?;
        Ok(&mut self.view)
    }
}

impl KvRead for BranchingTransaction {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.view()?.get(key)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.view()?.scan(span, direction)
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        self.view()?.visit(span, direction, visitor)
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.view()?.at_least(min, max)
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.view()?.at_most(min, max)
    }

    fn content_name(&self) -> Option<[u8; 48]> {
        self.view.content_name()
    }

    fn max_key_len(&self) -> usize {
        self.view.max_key_len()
    }
}

impl KvWrite for BranchingTransaction {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.view_mut()?.put(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.view_mut()?.remove(key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.view_mut()?.remove_span(span)
    }

    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        self.view_mut()?.adjust_counter(key, by)
    }
}

impl KvTransaction for BranchingTransaction {
    fn is_read_only(&self) -> bool {
        self.writing.is_none()
    }

    /// Possible at any time: the changes so far are not committed. Gives up the turn, so that other
    /// transactions can write.
    fn set_read_only(&mut self) -> Result<()> {
        self.deadline.check()?;
        self.writing = None;
        Ok(())
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.deadline.set(timeout)
    }

    fn version(&self) -> Option<u64> {
        Some(self.version)
    }

    fn snapshot(&self) -> Result<SharedRead> {
        Ok(self.view()?.snapshot())
    }

    fn watch(&mut self, key: &[u8]) -> Result<KeyWatch> {
        self.deadline.check()?;
        self.handle.watch(key)
    }

    fn pending(&self) -> Option<Pending<'_>> {
        Some(self.view.pending())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.deadline.check()?;
        let BranchingTransaction { handle, state, view, writing, wait, .. } = *self;
        match writing {
            Some(writing) if !view.writes().is_empty() => {
                Ok(handle.commit(&state, view.writes(), wait, writing)?)
            }
            _ => Ok(()),
        }
    }

    fn rollback(self: Box<Self>) {}
}
