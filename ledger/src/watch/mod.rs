//! Watches a branch and notifies of changes: `follow.rs` goes from commit to commit,
//! `notification.rs` has the notifications, `subscription.rs` calls a function with them,
//! `idle_pins.rs` keeps the pins of an idle watcher, `target.rs` is a notification in parts,
//! `unanswered.rs` counts the notifications that a connection waits for.

pub(crate) mod follow;
mod idle_pins;
mod notification;
pub(crate) mod subscription;
mod target;
pub(crate) mod unanswered;

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use permazen_kv::KeySpan;
use permazen_kv::key::after_prefix;

use self::follow::{Position, Step};
use self::idle_pins::{Idle, IdlePins};
use self::notification::Pending;
pub use self::notification::{NewValue, Notification, NotificationPart, Update};
pub use self::subscription::Subscription;
use self::target::Target;
use self::unanswered::Unanswered;
use crate::commit::time::CommitTime;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::view::Node;
use crate::page::Page;
use crate::page::head_poller::{BranchHeads, HeadObserver};
use crate::page::pinned_page::PinnedPage;
use crate::page::shared::Shared;
use crate::process::open_page::PinHolder;
use crate::process::pins::Pin;
use crate::store::branching::BranchingDatabase;

/// After this number of failures in a row, `next` returns the error.
const FAILURES: u32 = 3;

/// After a failure, heads are read again this soon, even without a commit.
const AGAIN: Duration = Duration::from_millis(100);

impl Page {
    /// Watches a branch: the watcher notifies of changes from here on in the entries whose keys
    /// start with `prefix`, by any handle or process.
    ///
    /// Commits of other handles and processes are seen within 100 ms, unless
    /// [`set_watch_interval`](Page::set_watch_interval) says otherwise: while there are watchers,
    /// one thread of the page polls the version of the host.
    ///
    /// # Errors
    /// If there is no such branch, a thread cannot be started, or the host fails.
    pub fn watch(&self, branch: &str, prefix: &[u8]) -> Result<Watcher> {
        let heads = self.shared.head_poller.heads(branch)?;
        let Some(position) = Position::first(&heads) else {
            return Err(LedgerError::no_branch(self.shared.number(), branch));
        };
        Watcher::new(&self.shared, (branch, prefix), position, None)
    }

    /// Sets how often the host is polled for commits of others while the page has watchers: every
    /// 100 ms unless set.
    pub fn set_watch_interval(&self, interval: Duration) {
        self.shared.head_poller.set_interval(interval);
    }
}

/// Notifies of changes on a branch, one notification after the other.
///
/// It follows one path through the branch: from the oldest head along the commits that were made on
/// it, and through merges. A commit is never divided between two notifications that are not parts
/// of each other; several commits may be in one. An idle watcher costs little: it pins commits, and
/// holds no content. After ten minutes without a call of [`next`](Watcher::next) it drops its pins:
/// if the commit of its last notification is gone at the next call, the notification says so
/// ([`Notification::lost`]).
///
/// ```
/// use std::time::Duration;
///
/// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
/// use permazen_ledger::{MAIN, PageId, Repository};
///
/// let page = Repository::open_or_create(MemoryStore::new())?.create_page("phones", PageId::ROOT)?;
/// let mut watcher = page.watch(MAIN, b"home/")?;
///
/// let db = page.database(MAIN)?;
/// let mut tx = db.begin(&TxOptions::writing())?;
/// tx.put(b"home/Ann", b"555-0101")?;
/// tx.put(b"work/Bob", b"555-0102")?;
/// tx.commit()?;
///
/// let told = watcher.next(Duration::from_secs(10))?.expect("a notification");
/// assert_eq!(told.updates.len(), 1);
/// assert_eq!(told.updates[0].key, b"home/Ann");
/// assert_eq!(told.commit, page.head(MAIN)?);
/// assert!(watcher.next(Duration::ZERO)?.is_none());
/// # Ok::<(), permazen_ledger::LedgerError>(())
/// ```
pub struct Watcher {
    shared: Arc<Shared>,
    prefix: Vec<u8>,
    signal: Arc<PollSignal>,
    position: Position,
    /// The commit of the last notification, and its root.
    last: (CommitId, Digest),
    /// Whether the last notification is about the commit of the position.
    is_current: bool,
    /// The branch has moved since then.
    moved: bool,
    /// The last commit is no longer kept, so differences cannot be computed.
    lost: bool,
    /// The pins while the watcher is idle.
    idle_pins: Arc<IdlePins>,
    failures: u32,
    of: Option<Connected>,
    /// A notification was returned, and is not handled yet.
    is_out: bool,
}

/// The connection that a watcher belongs to.
pub(crate) struct Connected {
    /// The handle that the watcher follows. While a transaction is open, it stays.
    pub(crate) handle: BranchingDatabase,
    /// How often the handle had jumped when the watcher followed it last.
    pub(crate) jumps: u64,
    pub(crate) unanswered: Arc<Unanswered>,
}

/// The pins of a watcher during a call of `next`.
struct ActivePins {
    /// Pins the commit of the last notification.
    last: Pin,
    pending: Option<Target>,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher")
            .field("branch", &self.signal.branch)
            .field("commit", &self.position.commit)
            .finish_non_exhaustive()
    }
}

impl Watcher {
    /// Begins at a position. With a connection, it follows that one.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        (branch, prefix): (&str, &[u8]),
        position: Position,
        of: Option<Connected>,
    ) -> Result<Self> {
        let shared = Arc::clone(shared);
        let (pin, root) = shared.pinned_root(&position.commit)?;
        let idle_pins = Arc::new(IdlePins::default());
        idle_pins.begin(pin, None, shared.open.process.now());
        shared.open.add_holder(Arc::downgrade(&idle_pins) as Weak<dyn PinHolder>);
        let signal = Arc::new(PollSignal { branch: branch.to_owned(), ..PollSignal::default() });
        shared.head_poller.add(Arc::clone(&signal) as Arc<dyn HeadObserver>, |_| false)?;
        Ok(Watcher {
            shared,
            prefix: prefix.to_vec(),
            signal,
            position,
            last: (position.commit, root),
            moved: false,
            lost: false,
            is_current: true,
            idle_pins,
            of,
            is_out: false,
            failures: 0,
        })
    }
}

impl Watcher {
    /// The next notification. Waits for at most `timeout` until there is one; `None` if there is
    /// none by then. A call means that the former notification was handled.
    ///
    /// Gets the commits since the last one from the host, then loads the nodes that the two trees
    /// do not share below the prefix.
    ///
    /// # Errors
    /// [`LedgerError::BranchGone`] if the branch was removed. If the differences cannot be
    /// computed, they are computed again a moment later; after three failures in a row, the error
    /// is returned. After an error the watcher continues where it was; a notification in parts
    /// begins again.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Notification>> {
        let mut active = self.take_pins()?;
        let told = self.next_kept(&mut active, timeout);
        self.idle_pins.begin(active.last, active.pending, self.shared.open.process.now());
        told
    }

    /// Takes the pins back. If they were dropped, pins the last commit again, if it still exists.
    fn take_pins(&mut self) -> Result<ActivePins> {
        if let Some(Idle { last, pending, .. }) = self.idle_pins.end() {
            return Ok(ActivePins { last, pending });
        }
        let last = match self.shared.pinned_commit(&self.last.0) {
            Err(LedgerError::NoCommit { .. }) => {
                (self.lost, self.is_current) = (true, false);
                self.shared.pinned_commit(&CommitId::FIRST)?.0
            }
            found => found?.0,
        };
        Ok(ActivePins { last, pending: None })
    }

    fn next_kept(
        &mut self,
        active: &mut ActivePins,
        timeout: Duration,
    ) -> Result<Option<Notification>> {
        let begun = Instant::now();
        if active.pending.is_none() {
            self.answer();
        }
        loop {
            if let Some(notification) = self.part(active)? {
                if let Some(of) = self.of.as_ref().filter(|_| !self.is_out) {
                    of.unanswered.add();
                    self.is_out = true;
                }
                return Ok(Some(notification));
            }
            // The poller only signals that it has read heads: these can be older than the last
            // notification, so heads are read again.
            let heads = self.shared.head_poller.heads(&self.signal.branch)?;
            let advanced = self.advance(active, &heads);
            match advanced {
                Ok(_) => self.failures = 0,
                Err(LedgerError::BranchGone { .. }) => {}
                Err(_) => self.failures += 1,
            }
            match advanced {
                Ok(true) => {}
                Err(error)
                    if self.failures >= FAILURES
                        || matches!(error, LedgerError::BranchGone { .. }) =>
                {
                    self.failures = 0;
                    return Err(error);
                }
                _ if begun.elapsed() >= timeout || self.is_closed() => return Ok(None),
                Ok(false) => self.signal.wait(timeout.saturating_sub(begun.elapsed())),
                Err(_) => self.signal.wait(timeout.saturating_sub(begun.elapsed()).min(AGAIN)),
            }
        }
    }

    /// The commit of the last notification, or of the one that is being delivered.
    pub fn commit(&self) -> CommitId {
        self.position.commit
    }

    /// The last notification was handled.
    fn answer(&mut self) {
        if let Some(of) = self.of.as_ref().filter(|_| self.is_out) {
            self.is_out = false;
            of.unanswered.remove();
        }
    }

    /// Where the path leads.
    fn step(&mut self, heads: &BranchHeads) -> Result<Step> {
        let Some(of) = &mut self.of else { return self.position.follow(&self.shared, heads) };
        match of.handle.advance() {
            Ok((position, jumps)) => Ok(match std::mem::replace(&mut of.jumps, jumps) {
                before if before != jumps => Step::Jumped(position),
                _ if position == self.position => Step::Stay,
                _ => Step::Along(position),
            }),
            Err(LedgerError::NoSuch { .. }) => Ok(Step::Gone),
            Err(error) => Err(error),
        }
    }

    /// Moves to the newest commit of its path. Returns whether there are changes.
    fn advance(&mut self, active: &mut ActivePins, heads: &BranchHeads) -> Result<bool> {
        let (position, moved) = match self.step(heads)? {
            Step::Stay if self.is_current => return Ok(false),
            // The differences could not be computed last time, so they are computed now.
            Step::Stay => (self.position, self.moved),
            Step::Along(position) => (position, self.moved),
            Step::Jumped(position) => (position, true),
            Step::Gone => {
                let (page, branch) = (self.shared.number(), self.signal.branch.clone());
                return Err(LedgerError::BranchGone { page, branch });
            }
        };
        (self.position, self.moved, self.is_current) = (position, moved, false);
        let (pin, commit) = self.shared.pinned_commit(&position.commit)?;
        let time = commit.as_ref().map_or(CommitTime::default(), |commit| commit.time);
        let root = commit.map_or(Node::empty().0, |commit| commit.root);
        let target = |differences, pin| {
            let (commit, version) = (position.commit, (pin, root));
            Some(Target { differences, commit, time, version, moved })
        };
        if self.lost {
            active.pending = target(None, pin);
            return Ok(true);
        }
        let end = after_prefix(&self.prefix);
        let span = KeySpan::new(&self.prefix, end.as_deref());
        let pins = vec![active.last.clone(), pin.clone()];
        let page = Arc::new(PinnedPage::new(Arc::clone(&self.shared), pins));
        match Pending::new(&page, (&self.last.1, &root), span)? {
            Some(differences) => {
                active.pending = target(Some(differences), pin);
                Ok(true)
            }
            None => {
                (self.last, self.is_current) = ((position.commit, root), true);
                active.last = pin;
                Ok(false)
            }
        }
    }

    /// The next part of the notification that is being delivered.
    fn part(&mut self, active: &mut ActivePins) -> Result<Option<Notification>> {
        let Some(target) = &mut active.pending else { return Ok(None) };
        let (updates, part) = match target.differences.as_mut().map(Pending::part) {
            None => (Vec::new(), NotificationPart::Whole),
            Some(Ok(part)) => part,
            Some(Err(error)) => {
                // The differences are computed again at the next attempt.
                active.pending = None;
                return Err(error);
            }
        };
        let Target { commit, time, moved, .. } = *target;
        let lost = self.lost;
        if target.differences.as_ref().is_none_or(Pending::is_done)
            && let Some(Target { version: (pin, root), .. }) = active.pending.take()
        {
            (self.last, active.last) = ((commit, root), pin);
            (self.is_current, self.moved, self.lost) = (true, false, false);
        }
        Ok(Some(Notification { updates, commit, time, part, moved, lost }))
    }
}

impl Watcher {
    fn closing(&self) -> Closing {
        Closing { signal: Arc::clone(&self.signal) }
    }

    fn is_closed(&self) -> bool {
        self.signal.lock().closed
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.answer();
        self.closing().close();
        self.shared.head_poller.wake();
    }
}

/// Closes a watcher that another thread has.
struct Closing {
    signal: Arc<PollSignal>,
}

impl Closing {
    fn close(&self) {
        self.signal.lock().closed = true;
        self.signal.found.notify_all();
    }
}

/// The signal of the head poller to a watcher.
#[derive(Debug, Default)]
struct PollSignal {
    branch: String,
    state: Mutex<PollSignalState>,
    found: Condvar,
}

#[derive(Debug, Default)]
struct PollSignalState {
    /// The poller has read heads since the watcher did.
    polled: bool,
    closed: bool,
}

impl PollSignal {
    fn lock(&self) -> MutexGuard<'_, PollSignalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the poller has read heads, for at most `timeout`.
    fn wait(&self, timeout: Duration) {
        let waiting = |state: &mut PollSignalState| !state.polled && !state.closed;
        let waited = self.found.wait_timeout_while(self.lock(), timeout, waiting);
        waited.unwrap_or_else(PoisonError::into_inner).0.polled = false;
    }

    /// Waits for `time`, or until the watcher is closed.
    fn pause(&self, time: Duration) {
        let waiting = |state: &mut PollSignalState| !state.closed;
        drop(self.found.wait_timeout_while(self.lock(), time, waiting));
    }
}

impl HeadObserver for PollSignal {
    fn branch(&self) -> &str {
        &self.branch
    }

    fn is_needed(&self) -> bool {
        !self.lock().closed
    }

    fn heads_read(&self, _: &BranchHeads) {
        self.lock().polled = true;
        self.found.notify_all();
    }

    /// Wakes the watcher, which reads the heads itself and returns the error to its caller.
    /// Otherwise the caller would get it only at the end of the timeout.
    fn heads_unreadable(&self) {
        self.lock().polled = true;
        self.found.notify_all();
    }
}
