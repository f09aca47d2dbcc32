//! Access to the pairs below the objects: short borrows, a change counter, savepoints.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use permazen_kv::{Direction, KeySpan, KvRead, KvTransaction, KvWrite, SharedRead};

use super::journal::{Inverse, Journal};
use crate::object::error::{Error, Result, hex};

/// What the pairs lie in.
enum Backing<'db> {
    /// A transaction of a database.
    Transaction(Box<dyn KvTransaction + Send + 'db>),
    /// A store of its own, without commit.
    Detached(Box<dyn KvWrite + Send + 'db>),
    /// Committed or rolled back.
    Ended,
}

/// What is known about a key before it is written, from which the journal takes the inverse.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Undo<'a> {
    /// The key is absent.
    Absent,
    /// The key has this value.
    Old(&'a [u8]),
    /// Nobody has looked, and this is the only write of its operation. The key is read first if that
    /// operation is part of another one; otherwise there is nothing to undo.
    Unread,
}

/// The pairs of one transaction.
///
/// Everything takes `&self`: the store is borrowed for the length of one call only, so that whoever
/// iterates can change things between two steps. Closures that get borrowed bytes may read on, but
/// not write ([`Error::Busy`]).
pub(crate) struct Store<'db> {
    backing: RefCell<Backing<'db>>,
    journal: RefCell<Journal>,
    depth: Cell<u32>,
    changes: Cell<u64>,
    /// Whether a pair was put, or one that was there removed.
    wrote: Cell<bool>,
    undone: Cell<u64>,
    broken: Cell<bool>,
    /// Whether reads outside of operations are exempt from conflict detection.
    untracked: Cell<bool>,
    max_key_len: usize,
}

impl std::fmt::Debug for Store<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("changes", &self.changes.get())
            .field("broken", &self.broken.get())
            .finish_non_exhaustive()
    }
}

impl<'db> Store<'db> {
    /// The pairs as a database transaction sees them.
    pub(crate) fn of_transaction(kv: Box<dyn KvTransaction + Send + 'db>) -> Self {
        let max_key_len = kv.max_key_len();
        Store::new(Backing::Transaction(kv), max_key_len)
    }

    /// The pairs of a store without commit.
    pub(crate) fn detached(kv: Box<dyn KvWrite + Send + 'db>) -> Self {
        let max_key_len = kv.max_key_len();
        Store::new(Backing::Detached(kv), max_key_len)
    }

    fn new(backing: Backing<'db>, max_key_len: usize) -> Self {
        Store {
            backing: RefCell::new(backing),
            journal: RefCell::default(),
            depth: Cell::new(0),
            changes: Cell::new(0),
            wrote: Cell::new(false),
            undone: Cell::new(0),
            broken: Cell::new(false),
            untracked: Cell::new(false),
            max_key_len,
        }
    }

    /// A number that changes with every write.
    pub(crate) fn changes(&self) -> &Cell<u64> {
        &self.changes
    }

    /// Whether a pair was put, or one that was there removed, so that the store certainly counts the commit. There may
    /// have been other writes.
    pub(crate) fn wrote(&self) -> bool {
        self.wrote.get()
    }

    /// A number that changes whenever writes were taken back, so that what was derived from them
    /// can be forgotten.
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

    /// Refuses a key the store cannot hold.
    pub(crate) fn check_key(&self, key: &[u8]) -> Result<()> {
        if !self.fits(key.len()) {
            return Err(Error::KeyTooLong {
                of: String::new(),
                key: hex(key, 32),
                len: key.len(),
                limit: self.max_key_len,
            });
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
        if self.broken.get() {
            return Err(Error::Broken);
        }
        match &*self.backing.try_borrow().map_err(|_| Error::Busy)? {
            Backing::Transaction(kv) if untracked => body(kv.untracked().unwrap_or(&**kv)),
            Backing::Transaction(kv) => body(&**kv),
            Backing::Detached(kv) => body(&**kv),
            Backing::Ended => Err(Error::Ended),
        }
    }

    /// Runs `body` while reads outside of operations are exempt from conflict detection, if the store has any.
    pub(crate) fn untracked<R>(&self, body: impl FnOnce() -> R) -> R {
        let _before = Untracked { store: self, before: self.untracked.replace(true) };
        body()
    }

    /// Whether a read now is exempt from conflict detection. Those of operations never are: what an
    /// operation writes depends on them.
    #[inline]
    pub(crate) fn reads_untracked(&self) -> bool {
        self.untracked.get() && self.depth.get() == 0
    }

    /// The value of `key`. One get; a key the store could not hold is absent without asking.
    pub(crate) fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        if key.len() > self.max_key_len {
            return Ok(read(None));
        }
        self.read(|kv| Ok(read(kv.get(key)?.as_deref())))
    }

    /// Whether `key` is there. One get.
    pub(crate) fn contains(&self, key: &[u8]) -> Result<bool> {
        self.get(key, |value| value.is_some())
    }

    /// The first pair of `span` in the given direction. One seek.
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

    /// Whether `span` holds any pair. One seek.
    pub(crate) fn any(&self, span: KeySpan<'_>) -> Result<bool> {
        self.first(span, Direction::Forward, |pair| pair.is_some())
    }

    /// Visits the pairs of `span`, ascending, under one borrow; `visit` must not write.
    /// One seek, then one step per pair.
    pub(crate) fn each(
        &self,
        span: KeySpan<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.read(|kv| {
            visit_pairs(kv, span, |key, value| visit(key, value).map(ControlFlow::Continue))
        })
    }

    // ------------------------------------------------------------------ writing

    fn write<R>(&self, body: impl FnOnce(&mut dyn KvWrite) -> Result<R>) -> Result<R> {
        if self.broken.get() {
            return Err(Error::Broken);
        }
        self.write_anyway(body)
    }

    fn write_anyway<R>(&self, body: impl FnOnce(&mut dyn KvWrite) -> Result<R>) -> Result<R> {
        let mut backing = self.backing.try_borrow_mut().map_err(|_| Error::Busy)?;
        self.changes.set(self.changes.get().wrapping_add(1));
        match &mut *backing {
            Backing::Transaction(kv) => body(&mut **kv),
            Backing::Detached(kv) => body(&mut **kv),
            Backing::Ended => Err(Error::Ended),
        }
    }

    /// Sets the value of `key`. One put.
    pub(crate) fn put(&self, key: &[u8], value: &[u8], undo: Undo<'_>) -> Result<()> {
        self.check_key(key)?;
        self.note(key, undo)?;
        self.write(|kv| Ok(kv.put(key, value)?))?;
        self.wrote.set(true);
        Ok(())
    }

    /// Removes `key`. One delete.
    pub(crate) fn remove(&self, key: &[u8], undo: Undo<'_>) -> Result<()> {
        self.remove_unseen(key, undo)?;
        if matches!(undo, Undo::Old(_)) {
            self.wrote.set(true);
        }
        Ok(())
    }

    /// As [`Store::remove`], where nobody has seen that the key is there.
    fn remove_unseen(&self, key: &[u8], undo: Undo<'_>) -> Result<()> {
        if key.len() > self.max_key_len {
            return Ok(());
        }
        self.note(key, undo)?;
        self.write(|kv| Ok(kv.remove(key)?))
    }

    /// Puts an entry that has no value and that the pairs of the objects did not call for so far: an
    /// index entry. If it was there all the same, undoing removes it. One put.
    pub(crate) fn put_entry(&self, key: &[u8]) -> Result<()> {
        self.put(key, &[], Undo::Absent)
    }

    /// Removes an entry that has no value and that the pairs of the objects called for so far: an index
    /// entry. If it was missing, undoing puts it. One delete.
    pub(crate) fn remove_entry(&self, key: &[u8]) -> Result<()> {
        self.remove_unseen(key, Undo::Old(&[]))
    }

    /// The value that stands for the counter `count`.
    pub(crate) fn encode_counter(&self, count: i64) -> Result<[u8; 8]> {
        self.read(|kv| Ok(kv.encode_counter(count)))
    }

    /// The counter that a value stands for; none if it is no counter.
    pub(crate) fn decode_counter(&self, value: &[u8]) -> Result<Option<i64>> {
        self.read(|kv| Ok(kv.decode_counter(value).ok()))
    }

    /// Whether a counter stands at `key`. One get. Conflict detection does not see it: adjustments of
    /// one counter are not to conflict.
    pub(crate) fn has_counter(&self, key: &[u8]) -> Result<bool> {
        self.read_as(true, |kv| {
            Ok(kv.get(key)?.is_some_and(|value| kv.decode_counter(&value).is_ok()))
        })
    }

    /// Adds to the counter that stands at `key`, wrapping. Whatever the store does to adjust a counter.
    pub(crate) fn adjust_counter(&self, key: &[u8], by: i64) -> Result<()> {
        self.check_key(key)?;
        self.write(|kv| Ok(kv.adjust_counter(key, by)?))?;
        self.wrote.set(true);
        if self.depth.get() > 0 {
            self.journal.borrow_mut().adjusted(key, by);
        }
        Ok(())
    }

    /// Removes all pairs of `span`. One scan for the journal, one range removal.
    pub(crate) fn remove_span(&self, span: KeySpan<'_>) -> Result<()> {
        self.remove_span_with(span, |_, _| Ok(()))
    }

    /// As [`Store::remove_span`], showing every pair to `visit` (ascending) before it goes, in the
    /// same scan. If `visit` fails nothing was removed.
    pub(crate) fn remove_span_with(
        &self,
        span: KeySpan<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.check_not_lent()?;
        let mut found = false;
        let recording = self.depth.get() > 0;
        let mut journal = self.journal.borrow_mut();
        self.read(|kv| {
            visit_pairs(kv, span, |key, value| {
                found = true;
                if recording {
                    journal.present(key, value);
                }
                visit(key, value).map(ControlFlow::Continue)
            })
        })?;
        drop(journal);
        if found {
            self.write(|kv| Ok(kv.remove_span(span)?))?;
            self.wrote.set(true);
        }
        Ok(())
    }

    /// Lets `body` write within `span` (and nowhere else) without telling about each write. One scan of
    /// the span for the journal.
    pub(crate) fn rewrite_span<R>(
        &self,
        span: KeySpan<'_>,
        body: impl FnOnce(&mut dyn KvWrite) -> Result<R>,
    ) -> Result<R> {
        if self.depth.get() > 0 {
            self.check_not_lent()?;
            let mut journal = self.journal.borrow_mut();
            self.each(span, |key, value| {
                journal.present(key, value);
                Ok(())
            })?;
            journal.rewritten(span.min, span.max.unwrap_or_default());
        }
        self.write(body)
    }

    /// Refuses a write while the store is lent for reading, before the journal knows of it: what was not written
    /// needs no undoing, which would be refused as well.
    fn check_not_lent(&self) -> Result<()> {
        self.backing.try_borrow_mut().map(drop).map_err(|_| Error::Busy)
    }

    fn note(&self, key: &[u8], undo: Undo<'_>) -> Result<()> {
        let depth = self.depth.get();
        if depth == 0 {
            return Ok(());
        }
        self.check_not_lent()?;
        match undo {
            Undo::Absent => self.journal.borrow_mut().absent(key),
            Undo::Old(value) => self.journal.borrow_mut().present(key, value),
            Undo::Unread if depth == 1 => {}
            Undo::Unread => {
                let mut journal = self.journal.borrow_mut();
                self.get(key, |value| match value {
                    Some(value) => journal.present(key, value),
                    None => journal.absent(key),
                })?;
            }
        }
        Ok(())
    }

    // ------------------------------------------------------------------ savepoints

    /// Runs `body` as one operation: if it fails, everything written since it began is undone in
    /// reverse order. Operations nest. If undoing fails too, the transaction is broken, and every
    /// later operation and the commit fail.
    pub(crate) fn operation<R, E: From<Error>>(
        &self,
        body: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        if self.broken.get() {
            return Err(Error::Broken.into());
        }
        let mark = self.journal.borrow().mark();
        self.depth.set(self.depth.get() + 1);
        let unwinding = BreakOnUnwind(self);
        let result = body();
        std::mem::forget(unwinding);
        if result.is_err() && !self.journal.borrow().is_clear_since(mark) {
            self.undone.set(self.undone.get().wrapping_add(1));
            while let Some(undone) = self.journal.borrow_mut().pop(mark, |inverse, key, value| {
                self.write_anyway(|kv| {
                    match inverse {
                        Inverse::Remove => kv.remove(key)?,
                        Inverse::Restore => kv.put(key, value)?,
                        Inverse::Adjust(by) => kv.adjust_counter(key, by.wrapping_neg())?,
                        Inverse::RemoveSpan => {
                            let max = Some(value).filter(|max| !max.is_empty());
                            kv.remove_span(KeySpan::new(key, max))?;
                        }
                    }
                    Ok(())
                })
            }) {
                if undone.is_err() {
                    self.broken.set(true);
                    break;
                }
            }
        }
        self.leave();
        result
    }

    fn leave(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
        if self.depth.get() == 0 {
            self.journal.borrow_mut().clear();
        }
    }

    // ------------------------------------------------------------------ life-cycle

    /// Makes every further operation and the commit fail.
    pub(crate) fn give_up(&self) {
        self.broken.set(true);
    }

    /// Lends the transaction below, which detached stores have none of.
    pub(crate) fn transaction<R>(
        &self,
        what: &'static str,
        body: impl FnOnce(&mut (dyn KvTransaction + Send + 'db)) -> Result<R>,
    ) -> Result<R> {
        match &mut *self.backing.try_borrow_mut().map_err(|_| Error::Busy)? {
            Backing::Transaction(kv) => body(&mut **kv),
            Backing::Detached(_) => Err(permazen_kv::KvError::Unsupported(what).into()),
            Backing::Ended => Err(Error::Ended),
        }
    }

    /// A consistent view of the pairs as they are now.
    pub(crate) fn snapshot(&self) -> Result<SharedRead> {
        self.transaction("a snapshot of a detached transaction", |kv| Ok(kv.snapshot()?))
    }

    /// Ends the transaction: commits what is below.
    pub(crate) fn commit(&self) -> Result<()> {
        if self.broken.get() {
            self.rollback();
            return Err(Error::Broken);
        }
        match self.end()? {
            Backing::Transaction(kv) => Ok(kv.commit()?),
            Backing::Detached(_) => {
                Err(permazen_kv::KvError::Unsupported("commit of a detached transaction").into())
            }
            Backing::Ended => Err(Error::Ended),
        }
    }

    /// Ends the transaction: discards what is below.
    pub(crate) fn rollback(&self) {
        if let Ok(Backing::Transaction(kv)) = self.end() {
            kv.rollback();
        }
    }

    fn end(&self) -> Result<Backing<'db>> {
        let mut backing = self.backing.try_borrow_mut().map_err(|_| Error::Busy)?;
        Ok(std::mem::replace(&mut *backing, Backing::Ended))
    }
}

/// Shows the pairs of `span`, ascending, up to the first error or break.
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

/// Puts back whether reads are tracked.
struct Untracked<'a, 'db> {
    store: &'a Store<'db>,
    before: bool,
}

impl Drop for Untracked<'_, '_> {
    fn drop(&mut self) {
        self.store.untracked.set(self.before);
    }
}

/// A panic inside an operation leaves half of it done; nothing may be committed after that.
struct BreakOnUnwind<'a, 'db>(&'a Store<'db>);

impl Drop for BreakOnUnwind<'_, '_> {
    fn drop(&mut self) {
        self.0.broken.set(true);
        self.0.depth.set(self.0.depth.get().saturating_sub(1));
    }
}

#[cfg(test)]
#[path = "cell_tests.rs"]
mod tests;
