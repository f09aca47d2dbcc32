//! Resolvers: the program, or a person that it asks, decides a whole merge.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use permazen_kv::KeySpan;

use crate::error::{LedgerError, Result};
use crate::merge::content::{Changed, changed};
use crate::merge::merger::{KeyClass, Merger};
use crate::merge::sides::{SideChange, changes};
use crate::merge::strategy::ThreeVersions;
use crate::node::items::{MAX_KEY_LEN, Priority};
use crate::page::pinned_page::PinnedPage;
use crate::page::shared::Shared;
use crate::page::snapshot::PageSnapshot;
use crate::tree::lookup::find;
use crate::tree::nodes::root;
use crate::tree::three_way::ThreeWayDiff;

/// Decides about merges of a page: a program, or a person that it asks.
///
/// It must be deterministic, or copies of a page that merge the same heads differ.
pub trait Resolver: Send + Sync {
    /// Decides about one merge. `newer` is the content of the newer head, with which the merge
    /// begins, `older` that of the older head, and `common` the base. The merge is made when
    /// [`done`](MergeResult::done) was called on `result` or on a clone of it, here or later.
    ///
    /// Called on a thread of its own, one call at a time for each page, without any lock and
    /// outside of any transaction of the host.
    ///
    /// # Errors
    /// After an error or a panic, or if the last clone of `result` is dropped before `done`, the
    /// heads stay as they are. The merge is tried again later with another resolver of the factory.
    fn resolve(
        &self,
        newer: &PageSnapshot,
        older: &PageSnapshot,
        common: &PageSnapshot,
        result: &MergeResult,
    ) -> Result<()>;
}

/// A merge that a [`Resolver`] decides about. Clones are the same merge.
///
/// Keys that are not [set](MergeResult::set) stay as they are on the newer side.
#[derive(Clone)]
pub struct MergeResult {
    merge: Arc<OpenMerge>,
    /// The last one that is dropped ends the merge.
    _held: Arc<GiveUpOnDrop>,
}

/// The result of a merge for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Merged<'a> {
    /// The value of the older side, which must have the key.
    Older,
    /// This value: bytes, or a reference to a value that was written in parts
    /// ([`ValueRef::as_bytes`](crate::ValueRef::as_bytes)). It is eager, unless the reference is
    /// [lazy](crate::ValueRef::lazy).
    New(&'a [u8]),
    /// The same as a lazy value: [`Priority::Lazy`].
    NewLazy(&'a [u8]),
    /// There is no entry.
    Delete,
}

/// A merge that waits for its resolver.
pub(super) struct OpenMerge {
    shared: Arc<Shared>,
    versions: ThreeVersions,
    /// Makes mergers, which know the classes of keys.
    merger: Box<dyn Fn() -> Box<dyn Merger> + Send + Sync>,
    state: Mutex<OpenMergeState>,
    ended: Condvar,
}

#[derive(Default)]
struct OpenMergeState {
    decisions: Decisions,
    end: Option<End>,
}

/// The decisions of a resolver.
#[derive(Debug, Clone, Default)]
pub(super) struct Decisions {
    pub(super) keys: BTreeMap<Vec<u8>, Decision>,
    /// Changes that only the older side has made are taken too.
    pub(super) rest: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Decision {
    Older,
    New(Vec<u8>, Priority),
    Delete,
}

/// How a merge has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Done,
    /// An invalid call.
    Misused(String),
    TimedOut,
    /// The policy of the page has changed.
    Cancelled,
    /// The resolver has failed, or given up.
    Failed(String),
}

impl End {
    pub(super) fn reason(&self) -> String {
        match self {
            End::Done => "it is done".to_owned(),
            End::Misused(what) => format!("a call was invalid: {what}"),
            End::TimedOut => "its time limit has passed".to_owned(),
            End::Cancelled => "the policy of the page has changed".to_owned(),
            End::Failed(why) => why.clone(),
        }
    }
}

impl OpenMerge {
    pub(super) fn new(
        shared: Arc<Shared>,
        versions: ThreeVersions,
        merger: Box<dyn Fn() -> Box<dyn Merger> + Send + Sync>,
    ) -> Arc<Self> {
        let (state, ended) = (Mutex::default(), Condvar::new());
        Arc::new(OpenMerge { shared, versions, merger, state, ended })
    }

    /// The handle that the resolver gets.
    pub(super) fn result(self: &Arc<Self>) -> MergeResult {
        let held = Arc::new(GiveUpOnDrop(Arc::clone(self)));
        MergeResult { merge: Arc::clone(self), _held: held }
    }

    fn lock(&self) -> MutexGuard<'_, OpenMergeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it, unless it has ended.
    pub(super) fn end(&self, end: End) {
        self.lock().end.get_or_insert(end);
        self.ended.notify_all();
    }

    /// Waits until it has ended. When the time is over, it ends.
    pub(super) fn wait(&self, limit: Option<Duration>) -> (End, Decisions) {
        let is_open = |state: &mut OpenMergeState| state.end.is_none();
        let state = self.lock();
        let mut state = match limit {
            None => self.ended.wait_while(state, is_open).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                let waited = self.ended.wait_timeout_while(state, limit, is_open);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        let end = state.end.get_or_insert(End::TimedOut).clone();
        (end, std::mem::take(&mut state.decisions))
    }

    fn check_open(&self, state: &OpenMergeState) -> Result<()> {
        match &state.end {
            None => Ok(()),
            Some(end) => Err(LedgerError::MergeEnded {
                page: self.shared.number(),
                commits: self.versions.commits(),
                reason: end.reason(),
            }),
        }
    }

    fn new_value(&self, value: &[u8], priority: Priority) -> Result<Decision> {
        self.shared.streamed(value).map_err(|error| self.misused(error))?;
        Ok(Decision::New(value.to_vec(), priority))
    }

    /// Ends the merge because of an invalid call.
    fn misused(&self, error: LedgerError) -> LedgerError {
        self.end(End::Misused(error.to_string()));
        error
    }
}

/// Shared by the clones of the result: the merge ends as failed when the last one is dropped.
struct GiveUpOnDrop(Arc<OpenMerge>);

impl Drop for GiveUpOnDrop {
    fn drop(&mut self) {
        self.0.end(End::Failed("the resolver has given up".to_owned()));
    }
}

impl fmt::Debug for MergeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = &self.merge.versions;
        f.debug_struct("MergeResult")
            .field("newer", &versions.newer.commit)
            .field("older", &versions.older.commit)
            .finish_non_exhaustive()
    }
}

/// All methods fail with [`LedgerError::MergeEnded`] after the merge has ended: it is done, its
/// time is over, the policy of the page has changed, or a call was invalid.
impl MergeResult {
    /// The entries that a side has changed, from this key on, by their keys, without
    /// [derived](KeyClass::Derived) ones.
    ///
    /// Loads only nodes that the sides do not share with the base, and one entry at a time.
    ///
    /// # Errors
    /// If the merge has ended, or something cannot be loaded.
    pub fn changes(&self, from: &[u8]) -> Result<ResolverChanges> {
        self.compare(from, false)
    }

    /// The entries that both sides have changed in different ways, from this key on, by their keys.
    ///
    /// # Errors
    /// As [`changes`](MergeResult::changes).
    pub fn conflicts(&self, from: &[u8]) -> Result<ResolverChanges> {
        self.compare(from, true)
    }

    fn compare(&self, from: &[u8], conflicts: bool) -> Result<ResolverChanges> {
        let merge = &self.merge;
        merge.check_open(&merge.lock())?;
        let ThreeVersions { base, older, newer } = &merge.versions;
        let diff = changes(&merge.shared, &merge.versions, KeySpan::new(from, None))?;
        let pins = [base, older, newer].map(|version| version.pin.clone());
        let page = PinnedPage::new(Arc::clone(&merge.shared), pins.into());
        let (merge, merger) = (Arc::clone(merge), (merge.merger)());
        Ok(ResolverChanges { merge, page, diff, merger, conflicts, failed: false })
    }

    /// Decides the result for an entry. The last call for a key counts. The key need not be one
    /// that a side has changed.
    ///
    /// # Errors
    /// [`LedgerError::InvalidArgument`] for [`Merged::Older`] if the older side does not have the
    /// key, [`LedgerError::KeyTooLong`], and the errors of a commit about a reference:
    /// [`LedgerError::WrongPage`], [`LedgerError::ValueGone`]. These end the merge: the heads stay
    /// as they are, and it is tried again later. [`LedgerError::MergeEnded`] if the merge has
    /// ended, or a node cannot be loaded.
    pub fn set(&self, key: &[u8], becomes: Merged<'_>) -> Result<()> {
        let merge = &self.merge;
        merge.check_open(&merge.lock())?;
        if key.len() > MAX_KEY_LEN {
            let error = permazen_kv::KvError::KeyTooLong {
                len: key.len(),
                max: MAX_KEY_LEN,
                start: permazen_kv::Hex(&key[..32]).to_string().into(),
            };
            return Err(merge.misused(error.into()));
        }
        let decision = match becomes {
            Merged::New(value) => merge.new_value(value, Priority::Eager)?,
            Merged::NewLazy(value) => merge.new_value(value, Priority::Lazy)?,
            Merged::Delete => Decision::Delete,
            Merged::Older => {
                let older = root(&*merge.shared, &merge.versions.older.root)?;
                if find(&*merge.shared, &older, key)?.is_none() {
                    let key = permazen_kv::Hex(&key[..key.len().min(32)]);
                    let what = format!("the older side of the merge has no key {key}");
                    return Err(merge.misused(LedgerError::InvalidArgument(what)));
                }
                Decision::Older
            }
        };
        let mut state = merge.lock();
        merge.check_open(&state)?;
        state.decisions.keys.insert(key.to_vec(), decision);
        Ok(())
    }

    /// Takes all changes of the older side that are no conflicts, including removed entries, except
    /// for keys that were or will be [set](MergeResult::set).
    ///
    /// # Errors
    /// If the merge has ended.
    pub fn take_rest(&self) -> Result<()> {
        let mut state = self.merge.lock();
        self.merge.check_open(&state)?;
        state.decisions.rest = true;
        Ok(())
    }

    /// Ends the merge with the decisions so far. If both are still heads, the merge is made.
    ///
    /// # Errors
    /// If the merge has ended before.
    pub fn done(&self) -> Result<()> {
        let mut state = self.merge.lock();
        self.merge.check_open(&state)?;
        state.end = Some(End::Done);
        drop(state);
        self.merge.ended.notify_all();
        Ok(())
    }

    /// Ends the merge because the resolver has failed.
    pub(super) fn fail(&self, why: String) {
        self.merge.end(End::Failed(why));
    }
}

/// The iterator of [`MergeResult::changes`] and [`MergeResult::conflicts`]. An error ends it.
pub struct ResolverChanges {
    merge: Arc<OpenMerge>,
    page: PinnedPage,
    diff: ThreeWayDiff<Arc<Shared>>,
    merger: Box<dyn Merger>,
    conflicts: bool,
    failed: bool,
}

impl fmt::Debug for ResolverChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolverChanges")
            .field("conflicts", &self.conflicts)
            .finish_non_exhaustive()
    }
}

impl ResolverChanges {
    fn find(&mut self) -> Result<Option<SideChange>> {
        loop {
            self.merge.check_open(&self.merge.lock())?;
            let Some(found) = self.diff.next()? else { return Ok(None) };
            let class = self.merger.class(&found.key);
            let is_wanted = match self.conflicts {
                true => changed(&found, class) == Changed::Both,
                false => class != KeyClass::Derived,
            };
            if is_wanted {
                return Ok(Some(SideChange::read(&self.page, &self.merge.versions, found)?));
            }
        }
    }
}

impl Iterator for ResolverChanges {
    type Item = Result<SideChange>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let found = self.find().transpose();
        self.failed = !matches!(found, Some(Ok(_)));
        found
    }
}
