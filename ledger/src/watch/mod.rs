//! Follows a branch and tells what has changed: `follow.rs` goes from commit to commit,
//! `notification.rs` has what is told, `subscription.rs` calls a function with it, `held.rs` keeps
//! what is to be compared, `unanswered.rs` knows what a connection has to wait for.

pub(crate) mod follow;
mod held;
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
use self::held::{Held, Kept};
use self::notification::Pending;
pub use self::notification::{NewValue, Notification, Part, Update};
pub use self::subscription::Subscription;
use self::target::Target;
use self::unanswered::Unanswered;
use crate::commit::time::CommitTime;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::view::Node;
use crate::page::Page;
use crate::page::lookout::{BranchHeads, Onlooker};
use crate::page::protected::Protected;
use crate::page::shared::Shared;
use crate::process::open_page::Holder;
use crate::process::pins::Pin;
use crate::store::branching::BranchingDatabase;

/// After so many failures in a row, the watcher gets the error.
const FAILURES: u32 = 3;

/// After a failure, it looks again so soon, whether others have committed or not.
const AGAIN: Duration = Duration::from_millis(100);

impl Page {
    /// Watches a branch: the watcher tells what is changed from here on in the entries whose keys
    /// start with `prefix`, whoever changes it.
    ///
    /// Commits of other handles and processes are seen within 100 ms, unless
    /// [`set_watch_interval`](Page::set_watch_interval) says otherwise: while there are watchers,
    /// one thread of the page asks the host for its version.
    ///
    /// # Errors
    /// If there is no such branch, the system gives no thread, or the host fails.
    pub fn watch(&self, branch: &str, prefix: &[u8]) -> Result<Watcher> {
        let heads = self.shared.lookout.heads(branch)?;
        let Some(position) = Position::first(&heads) else {
            return Err(LedgerError::no_branch(self.shared.page(), branch));
        };
        Watcher::new(&self.shared, (branch, prefix), position, None)
    }

    /// How often the host is asked for commits of others while somebody watches the page: every 100
    /// ms unless set.
    pub fn set_watch_interval(&self, interval: Duration) {
        self.shared.lookout.set_interval(interval);
    }
}

/// Tells what changes on a branch, one notification after the other.
///
/// It follows one path through the branch: from the oldest head along the commits that were made on
/// it, and through merges. A commit is never divided between two notifications that are not parts
/// of each other; several commits may be in one. A watcher that nobody asks for the next one costs
/// nothing but its place: it keeps commits, not contents. Once nobody has asked for ten minutes, it
/// keeps nothing: if what it has told last is gone when somebody asks again, it says so
/// ([`Notification::lost`]).
///
/// ```
/// use std::time::Duration;
///
/// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
/// use permazen_ledger::{MAIN, PageId, Repository};
///
/// let page = Repository::create(MemoryStore::new())?.create_page("phones", PageId::ROOT)?;
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
    news: Arc<News>,
    position: Position,
    /// The commit that was told last, and its root.
    last: (CommitId, Digest),
    /// Whether it is that of the position.
    told: bool,
    /// The branch has moved since then.
    moved: bool,
    /// It is no longer kept, so nobody can say what differs.
    lost: bool,
    /// While nobody asks, what keeps the last commit is here, and what is being told in parts.
    held: Arc<Held>,
    failures: u32,
    of: Option<Connected>,
    /// Something was told, and not dealt with.
    is_out: bool,
}

/// The connection that a watcher belongs to.
pub(crate) struct Connected {
    /// Where it goes. While a transaction is open, it stays.
    pub(crate) handle: BranchingDatabase,
    /// How often the handle had left its path when the watcher looked last.
    pub(crate) jumps: u64,
    pub(crate) unanswered: Arc<Unanswered>,
}

/// What a watcher has while it is asked.
struct Asked {
    /// Keeps the commit that was told last.
    last: Pin,
    pending: Option<Target>,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher")
            .field("branch", &self.news.branch)
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
        let held = Arc::new(Held::default());
        held.keep(pin, None, shared.open.process.now());
        shared.open.add_holder(Arc::downgrade(&held) as Weak<dyn Holder>);
        let news = Arc::new(News { branch: branch.to_owned(), ..News::default() });
        shared.lookout.add(Arc::clone(&news) as Arc<dyn Onlooker>, |_| false)?;
        Ok(Watcher {
            shared,
            prefix: prefix.to_vec(),
            news,
            position,
            last: (position.commit, root),
            moved: false,
            lost: false,
            told: true,
            held,
            of,
            is_out: false,
            failures: 0,
        })
    }
}

impl Watcher {
    /// The next notification. Waits for at most `timeout` until there is one; `None` if there is
    /// none by then. Asking for the next one means that the former one was dealt with.
    ///
    /// Gets the commits since the last one from the host, then loads what the two trees do not
    /// share below the prefix.
    ///
    /// # Errors
    /// [`LedgerError::BranchGone`] if the branch was removed. If the differences cannot be
    /// computed, nothing is told, and they are computed again a moment later; after three such
    /// times in a row it is the error. After an error the watcher continues where it was; what it
    /// has told in parts begins again.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Notification>> {
        let mut asked = self.asked()?;
        let told = self.next_kept(&mut asked, timeout);
        self.held.keep(asked.last, asked.pending, self.shared.open.process.now());
        told
    }

    /// Takes what was kept. If nobody has asked for so long that nothing is, looks for it again.
    fn asked(&mut self) -> Result<Asked> {
        if let Some(Kept { last, pending, .. }) = self.held.take() {
            return Ok(Asked { last, pending });
        }
        let last = match self.shared.pinned_commit(&self.last.0) {
            Err(LedgerError::NoCommit { .. }) => {
                (self.lost, self.told) = (true, false);
                self.shared.pinned_commit(&CommitId::FIRST)?.0
            }
            found => found?.0,
        };
        Ok(Asked { last, pending: None })
    }

    fn next_kept(&mut self, asked: &mut Asked, timeout: Duration) -> Result<Option<Notification>> {
        let begun = Instant::now();
        if asked.pending.is_none() {
            self.answer();
        }
        loop {
            if let Some(notification) = self.part(asked)? {
                if let Some(of) = self.of.as_ref().filter(|_| !self.is_out) {
                    of.unanswered.add();
                    self.is_out = true;
                }
                return Ok(Some(notification));
            }
            // The thread only says that it has looked: what it has seen can be older than what was
            // told.
            let heads = self.shared.lookout.heads(&self.news.branch)?;
            let advanced = self.advance(asked, &heads);
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
                Ok(false) => self.news.wait(timeout.saturating_sub(begun.elapsed())),
                Err(_) => self.news.wait(timeout.saturating_sub(begun.elapsed()).min(AGAIN)),
            }
        }
    }

    /// The commit up to which everything was told, or is being told.
    pub fn commit(&self) -> CommitId {
        self.position.commit
    }

    /// What was told was dealt with.
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
                before if before != jumps => Step::Moved(position),
                _ if position == self.position => Step::Stay,
                _ => Step::Along(position),
            }),
            Err(LedgerError::NoSuch { .. }) => Ok(Step::Gone),
            Err(error) => Err(error),
        }
    }

    /// Goes to the newest commit of its path. Whether there is something to tell.
    fn advance(&mut self, asked: &mut Asked, heads: &BranchHeads) -> Result<bool> {
        let (position, moved) = match self.step(heads)? {
            Step::Stay if self.told => return Ok(false),
            // The differences could not be computed last time.
            Step::Stay => (self.position, self.moved),
            Step::Along(position) => (position, self.moved),
            Step::Moved(position) => (position, true),
            Step::Gone => {
                let (page, branch) = (self.shared.page(), self.news.branch.clone());
                return Err(LedgerError::BranchGone { page, branch });
            }
        };
        (self.position, self.moved, self.told) = (position, moved, false);
        let (pin, commit) = self.shared.pinned_commit(&position.commit)?;
        let time = commit.as_ref().map_or(CommitTime::default(), |commit| commit.time);
        let root = commit.map_or(Node::empty().0, |commit| commit.root);
        let target = |differences, pin| {
            let (commit, version) = (position.commit, (pin, root));
            Some(Target { differences, commit, time, version, moved })
        };
        if self.lost {
            asked.pending = target(None, pin);
            return Ok(true);
        }
        let end = after_prefix(&self.prefix);
        let span = KeySpan::new(&self.prefix, end.as_deref());
        let pins = vec![asked.last.clone(), pin.clone()];
        let page = Arc::new(Protected::new(Arc::clone(&self.shared), pins));
        match Pending::new(&page, (&self.last.1, &root), span)? {
            Some(differences) => {
                asked.pending = target(Some(differences), pin);
                Ok(true)
            }
            None => {
                (self.last, self.told) = ((position.commit, root), true);
                asked.last = pin;
                Ok(false)
            }
        }
    }

    /// The next part of what is being told.
    fn part(&mut self, asked: &mut Asked) -> Result<Option<Notification>> {
        let Some(target) = &mut asked.pending else { return Ok(None) };
        let (updates, part) = match target.differences.as_mut().map(Pending::part) {
            None => (Vec::new(), Part::Whole),
            Some(Ok(part)) => part,
            Some(Err(error)) => {
                // They begin again with the next look.
                asked.pending = None;
                return Err(error);
            }
        };
        let Target { commit, time, moved, .. } = *target;
        let lost = self.lost;
        if target.differences.as_ref().is_none_or(Pending::is_done)
            && let Some(Target { version: (pin, root), .. }) = asked.pending.take()
        {
            (self.last, asked.last) = ((commit, root), pin);
            (self.told, self.moved, self.lost) = (true, false, false);
        }
        Ok(Some(Notification { updates, commit, time, part, moved, lost }))
    }
}

impl Watcher {
    fn closing(&self) -> Closing {
        Closing { news: Arc::clone(&self.news) }
    }

    fn is_closed(&self) -> bool {
        self.news.lock().closed
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.answer();
        self.closing().close();
        self.shared.lookout.call();
    }
}

/// Ends a watcher that another thread has.
struct Closing {
    news: Arc<News>,
}

impl Closing {
    fn close(&self) {
        self.news.lock().closed = true;
        self.news.found.notify_all();
    }
}

/// What the thread of the page has found for a watcher.
#[derive(Debug, Default)]
struct News {
    branch: String,
    state: Mutex<NewsState>,
    found: Condvar,
}

#[derive(Debug, Default)]
struct NewsState {
    /// The thread has looked since the watcher did.
    looked: bool,
    closed: bool,
}

impl News {
    fn lock(&self) -> MutexGuard<'_, NewsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the thread has looked, for at most `timeout`.
    fn wait(&self, timeout: Duration) {
        let waiting = |state: &mut NewsState| !state.looked && !state.closed;
        let waited = self.found.wait_timeout_while(self.lock(), timeout, waiting);
        waited.unwrap_or_else(PoisonError::into_inner).0.looked = false;
    }

    /// Waits for `time`, or until the watcher is closed.
    fn pause(&self, time: Duration) {
        let waiting = |state: &mut NewsState| !state.closed;
        drop(self.found.wait_timeout_while(self.lock(), time, waiting));
    }
}

impl Onlooker for News {
    fn branch(&self) -> &str {
        &self.branch
    }

    fn is_needed(&self) -> bool {
        !self.lock().closed
    }

    fn look(&self, _: &BranchHeads) {
        self.lock().looked = true;
        self.found.notify_all();
    }

    /// The watcher looks itself, and gives the error to who waits: else nobody would hear of it
    /// before the wait is over.
    fn look_failed(&self) {
        self.lock().looked = true;
        self.found.notify_all();
    }
}
