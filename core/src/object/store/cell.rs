//! Access to the key/value pairs: short borrows, a change counter, savepoints. `writing.rs` has the
//! single writes.

pub(super) mod writing;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use permazen_kv::{Direction, KeySpan, KvError, KvRead, KvTransaction, KvWrite, SharedRead};

use super::journal::{Inverse, Journal, Mark};
use crate::object::error::{Error, Result, key_too_long};

/// The storage of the pairs.
enum Backing {
    /// A transaction of a database.
    Transaction(Box<dyn KvTransaction + Send>),
    /// The transaction's own store, without commit.
    Detached(Box<dyn OwnStore>),
    /// Committed or rolled back.
    Ended,
}

/// The store of a detached transaction, whose type is asked for when it is taken back.
trait OwnStore: KvWrite + Send {
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<S: KvWrite + Send + 'static> OwnStore for S {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The pairs of one transaction.
///
/// All methods take `&self`. The store is borrowed only for the length of one call, so code that
/// iterates can make changes between two steps. Closures that get borrowed bytes may read, but not
/// write ([`Error::Busy`]).
pub(crate) struct Store {
    backing: RefCell<Backing>,
    journal: RefCell<Journal>,
    depth: Cell<u32>,
    changes: Cell<u64>,
    /// Whether a pair was put, or an existing one was removed.
    wrote: Cell<bool>,
    undone: Cell<u64>,
    broken: Cell<bool>,
    /// Why the transaction is broken, if it may succeed when it is run again.
    passing: Cell<Option<Box<str>>>,
    /// Whether writes are refused.
    refusing: Cell<bool>,
    /// Whether reads outside of operations skip conflict detection.
    untracked: Cell<bool>,
    /// Whether the store of the pairs makes use of what will be read soon.
    prefetches: bool,
    /// Whether the commit fails if another transaction changes pairs that this one read.
    tracks_reads: bool,
    max_key_len: usize,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("changes", &self.changes.get())
            .field("broken", &self.broken.get())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// The pairs as a database transaction sees them.
    pub(crate) fn of_transaction(kv: Box<dyn KvTransaction + Send>) -> Self {
        // The hint without spans only asks whether the store makes use of hints.
        let (max_key_len, prefetches) = (kv.max_key_len(), kv.prefetch(&[]));
        // Only a store that checks reads has another way to read without the check.
        let tracks_reads = kv.untracked().is_some();
        Store { prefetches, tracks_reads, ..Store::new(Backing::Transaction(kv), max_key_len) }
    }

    /// The pairs of a store without commit.
    pub(crate) fn detached(kv: impl KvWrite + Send + 'static) -> Self {
        let max_key_len = kv.max_key_len();
        Store::new(Backing::Detached(Box::new(kv)), max_key_len)
    }

    fn new(backing: Backing, max_key_len: usize) -> Self {
        Store {
            backing: RefCell::new(backing),
            journal: RefCell::default(),
            depth: Cell::new(0),
            changes: Cell::new(0),
            wrote: Cell::new(false),
            undone: Cell::new(0),
            broken: Cell::new(false),
            passing: Cell::new(None),
            refusing: Cell::new(false),
            untracked: Cell::new(false),
            prefetches: false,
            tracks_reads: false,
            max_key_len,
        }
    }

    /// A counter that changes with every write.
    pub(crate) fn changes(&self) -> &Cell<u64> {
        &self.changes
    }

    /// Whether a pair was put, or an existing one was removed. Then the commit certainly changes
    /// the version of the store. There may have been other writes.
    pub(crate) fn wrote(&self) -> bool {
        self.wrote.get()
    }

    /// A number that changes whenever writes are undone, so that results derived from them can be
    /// forgotten.
    pub(crate) fn undone(&self) -> u64 {
        self.undone.get()
    }

    /// Whether this store has no commit.
    pub(crate) fn is_detached(&self) -> bool {
        self.backing.try_borrow().is_ok_and(|backing| matches!(*backing, Backing::Detached(_)))
    }

    /// Whether the store can hold keys of this length.
    pub(crate) fn fits(&self, key_len: usize) -> bool {
        key_len <= self.max_key_len
    }

    /// The length of the longest key that the store can hold.
    pub(crate) fn max_key_len(&self) -> usize {
        self.max_key_len
    }

    /// Refuses a key that the store cannot hold.
    pub(crate) fn check_key(&self, key: &[u8]) -> Result<()> {
        if !self.fits(key.len()) {
            return Err(key_too_long(key, self.max_key_len));
        }
        Ok(())
    }

    // ------------------------------------------------------------------ reading

    /// Lends the store for reading.
    pub(crate) fn read<R>(&self, body: impl FnOnce(&dyn KvRead) -> Result<R>) -> Result<R> {
        self.read_as(self.reads_untracked(), body)
    }

    fn read_as<R>(
        &self,
        untracked: bool,
        body: impl FnOnce(&dyn KvRead) -> Result<R>,
    ) -> Result<R> {
        // After a failed undo, the pairs are half of one state and half of another. None may be
        // shown.
        if self.broken.get() {
            return Err(self.broken_by());
        }
        let backing = self.backing.try_borrow().map_err(|_| Error::Busy)?;
        // One call of `body`, because the compiler makes each of them anew for every `body`.
        let kv: &dyn KvRead = match &*backing {
            Backing::Transaction(kv) if untracked => kv.untracked().unwrap_or(&**kv),
            Backing::Transaction(kv) => &**kv,
            Backing::Detached(kv) => &**kv,
            Backing::Ended => return Err(Error::Ended),
        };
        body(kv)
    }

    /// Runs `body`; its reads outside of operations skip conflict detection, if the store has it.
    pub(crate) fn untracked<R>(&self, body: impl FnOnce() -> R) -> R {
        let _before = Untracked { store: self, before: self.untracked.replace(true) };
        body()
    }

    /// Runs `body`, whose reads are tracked: an operation that begins after them depends on them.
    pub(crate) fn tracked<R>(&self, body: impl FnOnce() -> R) -> R {
        let _before = Untracked { store: self, before: self.untracked.replace(false) };
        body()
    }

    /// Whether a read now skips conflict detection. The reads of operations never do, because what
    /// an operation writes depends on them.
    #[inline]
    pub(crate) fn reads_untracked(&self) -> bool {
        self.untracked.get() && self.depth.get() == 0
    }

    /// The value of `key`. A key that is too long for the store is absent. Cost: one get.
    pub(crate) fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        // No pair can have such a key, and some stores refuse to look for it.
        if key.len() > self.max_key_len {
            return Ok(read(None));
        }
        self.read(|kv| Ok(read(kv.get(key)?.as_deref())))
    }

    /// The value of `key` and, if it is there, that of `near`, which comes soon after it. Cost: two
    /// gets, or one and a few steps.
    pub(crate) fn get_near<R>(
        &self,
        key: &[u8],
        near: &[u8],
        read: impl FnOnce(Option<(&[u8], Option<&[u8]>)>) -> R,
    ) -> Result<R> {
        self.read(|kv| {
            let found = kv.get_near(key, near)?;
            Ok(read(found.as_ref().map(|(value, near)| (&**value, near.as_deref()))))
        })
    }

    /// The same for a caller that will probably put pairs near these keys. `read` must not use the
    /// store.
    pub(crate) fn get_to_put<R>(
        &self,
        key: &[u8],
        near: &[u8],
        read: impl FnOnce(Option<(&[u8], Option<&[u8]>)>) -> R,
    ) -> Result<R> {
        // If the transaction may not write, or its store is lent, it only reads.
        if self.refusing.get() || self.reads_untracked() || self.check_not_lent().is_err() {
            return self.get_near(key, near, read);
        }
        // `get_near` has this check, but `lend_for_writing` has not.
        if self.broken.get() {
            return Err(self.broken_by());
        }
        self.lend_for_writing(|kv| {
            let found = kv.get_to_put(key, near)?;
            Ok(read(found.as_ref().map(|(value, near)| (&**value, near.as_deref()))))
        })
    }

    /// Whether `key` has a value. Cost: one get.
    pub(crate) fn contains(&self, key: &[u8]) -> Result<bool> {
        self.get(key, |value| value.is_some())
    }

    /// The first pair of `span` in the given direction. Cost: one seek.
    pub(crate) fn first<R>(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        read: impl FnOnce(Option<(&[u8], &[u8])>) -> R,
    ) -> Result<R> {
        self.read(|kv| {
            let pair = match direction {
                Direction::Forward => kv.at_least(span.min, span.max)?,
                Direction::Reverse => kv.at_most(span.min, span.max)?,
            };
            Ok(read(pair.as_ref().map(|(key, value)| (&key[..], &value[..]))))
        })
    }

    /// Whether `span` has any pair. Cost: one seek.
    pub(crate) fn any(&self, span: KeySpan<'_>) -> Result<bool> {
        self.first(span, Direction::Forward, |pair| pair.is_some())
    }

    /// Visits the pairs of `span` in ascending order, in one borrow. `visit` must not write. Cost:
    /// one seek, then one step per pair.
    pub(crate) fn each(
        &self,
        span: KeySpan<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.read(|kv| {
            visit_pairs(kv, span, |key, value| visit(key, value).map(ControlFlow::Continue))
        })
    }

    /// Whether it helps to say what will be read soon.
    #[inline]
    pub(crate) fn prefetches(&self) -> bool {
        self.prefetches
    }

    /// Says that these spans will be read soon, if that helps.
    #[inline]
    pub(crate) fn prefetch(&self, spans: &[KeySpan<'_>]) {
        // A hint is left out while the store is lent: it must not make an operation fail.
        if self.prefetches
            && let Ok(backing) = self.backing.try_borrow()
            && let Backing::Transaction(kv) = &*backing
        {
            kv.prefetch(spans);
        }
    }

    /// Whether to read more than is needed costs nothing but the steps: no other transaction can be
    /// in conflict with it, and the pairs are not far away.
    #[inline]
    pub(crate) fn reads_on_freely(&self) -> bool {
        !self.tracks_reads && !self.prefetches
    }

    /// The encoded form of the counter value `count`.
    pub(crate) fn encode_counter(&self, count: i64) -> Result<[u8; 8]> {
        self.read(|kv| Ok(kv.encode_counter(count)))
    }

    /// Decodes a counter; `None` if the value is not a counter.
    pub(crate) fn decode_counter(&self, value: &[u8]) -> Result<Option<i64>> {
        self.read(|kv| Ok(kv.decode_counter(value).ok()))
    }

    /// Whether `key` has a counter. The get is without conflict detection, so that adjustments of
    /// one counter do not conflict. Cost: one get.
    pub(crate) fn has_counter(&self, key: &[u8]) -> Result<bool> {
        // `true`: a tracked read would make adjustments of one counter conflict, which stores
        // merge.
        self.read_as(true, |kv| {
            Ok(kv.get(key)?.is_some_and(|value| kv.decode_counter(&value).is_ok()))
        })
    }

    // ------------------------------------------------------------------ writing

    fn write<R>(&self, body: impl FnOnce(&mut dyn KvWrite) -> Result<R>) -> Result<R> {
        if self.broken.get() {
            return Err(self.broken_by());
        }
        if self.refusing.get() {
            return Err(Error::ReadOnly);
        }
        self.write_anyway(body)
    }

    /// Whether writes are refused.
    pub(crate) fn refuses(&self) -> bool {
        self.refusing.get()
    }

    /// Sets whether writes are refused. Returns the old setting.
    pub(crate) fn set_refusing(&self, refusing: bool) -> bool {
        self.refusing.replace(refusing)
    }

    fn write_anyway<R>(&self, body: impl FnOnce(&mut dyn KvWrite) -> Result<R>) -> Result<R> {
        self.lend_for_writing(|kv| {
            // This is counted even if the write fails: a store may have changed some pairs by then.
            self.changes.set(self.changes.get().wrapping_add(1));
            body(kv)
        })
    }

    fn lend_for_writing<R>(&self, body: impl FnOnce(&mut dyn KvWrite) -> Result<R>) -> Result<R> {
        // A closure that was lent bytes is running. A write could move the bytes away.
        let mut backing = self.backing.try_borrow_mut().map_err(|_| Error::Busy)?;
        let kv: &mut dyn KvWrite = match &mut *backing {
            Backing::Transaction(kv) => &mut **kv,
            Backing::Detached(kv) => &mut **kv,
            Backing::Ended => return Err(Error::Ended),
        };
        body(kv)
    }

    /// Refuses a write while the store is lent for reading. This is checked before the journal
    /// records the write: a write that was not made needs no undo, which would also be refused.
    fn check_not_lent(&self) -> Result<()> {
        self.backing.try_borrow_mut().map(drop).map_err(|_| Error::Busy)
    }

    // ------------------------------------------------------------------ savepoints

    /// Whether an operation is running.
    pub(crate) fn is_in_operation(&self) -> bool {
        self.depth.get() > 0
    }

    /// The present state of the running operation.
    pub(crate) fn mark(&self) -> Mark {
        self.journal.borrow().mark()
    }

    /// Whether the running operation has written something since `mark` that was not undone.
    pub(crate) fn has_changed_since(&self, mark: Mark) -> bool {
        !self.journal.borrow().is_clear_since(mark)
    }

    /// Begins an operation, which must be [ended](Running::end). If it fails, everything written
    /// since it began is undone in reverse order. Operations can be nested. If the undo fails too,
    /// the transaction is broken: all later operations and the commit fail.
    pub(in crate::object) fn begin_operation(&self) -> Result<Running<'_>> {
        if self.broken.get() {
            return Err(self.broken_by());
        }
        let mark = self.journal.borrow().mark();
        self.depth.set(self.depth.get() + 1);
        Ok(Running { store: self, mark })
    }

    /// Undoes the writes since `mark`.
    #[cold]
    fn undo_since(&self, mark: Mark) {
        // `undone` must stay as it is: when it changes, callers forget what they know of objects.
        if self.journal.borrow().is_clear_since(mark) {
            return;
        }
        self.undone.set(self.undone.get().wrapping_add(1));
        // The journal stays borrowed while an inverse is applied: `write_anyway` records nothing.
        while let Some(undone) = self.journal.borrow_mut().pop(mark, |inverse, key, value| {
            // The undo writes even if changes are refused: a refused write was noted before its
            // refusal.
            self.write_anyway(|kv| {
                match inverse {
                    Inverse::Remove => kv.remove(key)?,
                    Inverse::Restore => kv.put(key, value)?,
                    // Others may have adjusted the counter too, so its old value must not be put
                    // back.
                    Inverse::Adjust(by) => kv.adjust_counter(key, by.wrapping_neg())?,
                    Inverse::RemoveSpan => {
                        let max = Some(value).filter(|max| !max.is_empty());
                        kv.remove_span(KeySpan::new(key, max))?;
                    }
                }
                Ok(())
            })
        }) {
            if let Err(error) = undone {
                // A half-undone state must not be committed.
                self.give_up(&error);
                break;
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn operation<R, E: From<Error>>(
        &self,
        body: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        let running = self.begin_operation()?;
        let result = body();
        running.end(result.is_ok());
        result
    }

    fn leave(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
        if self.depth.get() == 0 {
            // The outermost operation has ended, so nothing can be undone any more.
            self.journal.borrow_mut().clear();
        }
    }

    // ------------------------------------------------------------------ life-cycle

    /// Makes all later operations and the commit fail because of this error.
    pub(crate) fn give_up(&self, error: &Error) {
        self.broken.set(true);
        self.passing.set(error.is_retryable().then(|| error.to_string().into()));
    }

    /// The error of an operation on a broken transaction. If the cause is temporary, so that the
    /// transaction can succeed when it is run again, the error says so.
    #[cold]
    fn broken_by(&self) -> Error {
        // The cell cannot lend its text, so it is taken and put back.
        let Some(why) = self.passing.take() else { return Error::Broken };
        let error = KvError::Retry(format!("an earlier failure could not be undone: {why}"));
        self.passing.set(Some(why));
        error.into()
    }

    /// Lends the transaction of the key/value store. Detached stores have none.
    pub(crate) fn transaction<R>(
        &self,
        what: &'static str,
        body: impl FnOnce(&mut (dyn KvTransaction + Send)) -> Result<R>,
    ) -> Result<R> {
        match &mut *self.backing.try_borrow_mut().map_err(|_| Error::Busy)? {
            Backing::Transaction(kv) => body(&mut **kv),
            Backing::Detached(_) => Err(KvError::Unsupported(what).into()),
            Backing::Ended => Err(Error::Ended),
        }
    }

    /// A consistent view of the pairs as they are now.
    pub(crate) fn snapshot(&self) -> Result<SharedRead> {
        self.transaction("a snapshot of a detached transaction", |kv| Ok(kv.snapshot()?))
    }

    /// Commits the transaction of the store, and ends this one.
    pub(crate) fn commit(&self) -> Result<()> {
        if self.broken.get() {
            // An undo has failed, or the recorded schemas could not be read after one. So the
            // writes of the transaction must not be committed.
            self.rollback();
            return Err(self.broken_by());
        }
        match self.end()? {
            Backing::Transaction(kv) => Ok(kv.commit()?),
            Backing::Detached(_) => {
                Err(KvError::Unsupported("commit of a detached transaction").into())
            }
            Backing::Ended => Err(Error::Ended),
        }
    }

    /// Rolls back the transaction of the store, and ends this one.
    pub(crate) fn rollback(&self) {
        if let Ok(Backing::Transaction(kv)) = self.end() {
            kv.rollback();
        }
    }

    /// Takes the store without commit back, and ends this one.
    pub(crate) fn take_detached<S: 'static>(&self) -> Result<S> {
        // The caller would take a store that is in the middle of an operation for a good one.
        if self.broken.get() {
            return Err(self.broken_by());
        }
        let kv = match self.end()? {
            Backing::Detached(kv) => kv.into_any().downcast(),
            Backing::Transaction(_) => {
                return Err(Error::Unsupported("to take the store of a transaction of a database"));
            }
            Backing::Ended => return Err(Error::Ended),
        };
        kv.map(|kv| *kv).map_err(|_| Error::Unsupported("to take a store of another type"))
    }

    fn end(&self) -> Result<Backing> {
        // If it is lent, a closure of the caller is still using its bytes.
        let mut backing = self.backing.try_borrow_mut().map_err(|_| Error::Busy)?;
        Ok(std::mem::replace(&mut *backing, Backing::Ended))
    }
}

/// Visits the pairs of `span` in ascending order, until the first error or break.
pub(in crate::object) fn visit_pairs(
    kv: &dyn KvRead,
    span: KeySpan<'_>,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut result = Ok(());
    kv.visit(span, Direction::Forward, &mut |key, value| {
        visit(key, value).unwrap_or_else(|error| {
            result = Err(error);
            ControlFlow::Break(())
        })
    })?;
    result
}

/// Restores whether reads are tracked.
struct Untracked<'a> {
    store: &'a Store,
    before: bool,
}

impl Drop for Untracked<'_> {
    fn drop(&mut self) {
        self.store.untracked.set(self.before);
    }
}

/// An operation that is running. If it is dropped, there was a panic, which leaves it half done.
/// Nothing may be committed after that.
pub(in crate::object) struct Running<'a> {
    store: &'a Store,
    mark: Mark,
}

impl Running<'_> {
    /// Ends the operation. If it has failed, its writes are undone.
    pub(in crate::object) fn end(self, succeeded: bool) {
        if !succeeded {
            self.store.undo_since(self.mark);
        }
        self.store.leave();
        // `drop` stands for a panic, so it must not run.
        std::mem::forget(self);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // The operation is half done, and no undo runs during a panic.
        self.store.broken.set(true);
        self.store.depth.set(self.store.depth.get().saturating_sub(1));
    }
}

#[cfg(test)]
#[path = "cell_tests.rs"]
mod tests;
