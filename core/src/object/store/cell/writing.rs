//! Writes to the pairs of a transaction, each with its inverse in the journal.

use std::ops::ControlFlow;

use permazen_kv::{KeySpan, KvWrite, Verdict};

use super::{Store, visit_pairs};
use crate::object::error::Result;

/// The facts known about a key before it is written. The journal needs them for the inverse.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Undo<'a> {
    /// The key is absent.
    Absent,
    /// The key has this value.
    Old(&'a [u8]),
    /// The key was not read, and this is the only write of its operation. If that operation is part
    /// of another one, the key is read first. Otherwise there is nothing to undo.
    Unread,
}

impl Store {
    /// Sets the value of `key`. Cost: one put.
    pub(crate) fn put(&self, key: &[u8], value: &[u8], undo: Undo<'_>) -> Result<()> {
        // This comes before the journal: a store may refuse to remove such a key too, and an undo
        // that fails breaks the transaction.
        self.check_key(key)?;
        self.note(key, undo)?;
        self.write(|kv| Ok(kv.put(key, value)?))?;
        self.wrote.set(true);
        Ok(())
    }

    /// Sets the value of a key that should be absent. Returns `false`, and does nothing, if it is
    /// there. A store that is far away may say so only at the commit. Cost: one put.
    pub(crate) fn put_new(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.check_key(key)?;
        self.check_not_lent()?;
        let is_new = self.write(|kv| Ok(kv.put_new(key, value)?))?;
        if is_new {
            // Only the write says whether the key was absent, so it is noted after the write.
            self.note(key, Undo::Absent)?;
            self.wrote.set(true);
        }
        Ok(is_new)
    }

    /// Sets the value of a key if it is absent; otherwise returns its value, and changes nothing.
    /// Cost: one put, or a get and a put.
    pub(crate) fn get_or_put(&self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.check_key(key)?;
        // The number is kept, to be put back if nothing was written.
        let changes = self.changes.get();
        let old = self.write(|kv| Ok(kv.get_or_put(key, value)?))?;
        match old {
            // Nothing was written. With another number, scans would read their batches again.
            Some(_) => self.changes.set(changes),
            None => {
                self.note(key, Undo::Absent)?;
                self.wrote.set(true);
            }
        }
        Ok(old)
    }

    /// Removes `key`. Cost: one delete.
    pub(crate) fn remove(&self, key: &[u8], undo: Undo<'_>) -> Result<()> {
        self.remove_unseen(key, undo)?;
        // The commit certainly changes the version only if a pair was there.
        if matches!(undo, Undo::Old(_)) {
            self.wrote.set(true);
        }
        Ok(())
    }

    /// Removes `key`, which may be absent.
    fn remove_unseen(&self, key: &[u8], undo: Undo<'_>) -> Result<()> {
        // Such a key cannot be in the store.
        if key.len() > self.max_key_len {
            return Ok(());
        }
        self.note(key, undo)?;
        self.write(|kv| Ok(kv.remove(key)?))
    }

    /// Puts an index entry, which has no value. So far the pairs of the objects did not require it.
    /// If it exists anyway, undoing removes it. Cost: one put.
    pub(crate) fn put_entry(&self, key: &[u8]) -> Result<()> {
        self.put(key, &[], Undo::Absent)
    }

    /// Removes an index entry, which has no value. So far the pairs of the objects required it. If
    /// it is missing, undoing puts it. Cost: one delete.
    pub(crate) fn remove_entry(&self, key: &[u8]) -> Result<()> {
        // The entry may be missing, so this does not prove that the version of the store changes.
        self.remove_unseen(key, Undo::Old(&[]))
    }

    /// Adds to the counter at `key`, wrapping. Cost: what the store does to adjust a counter.
    pub(crate) fn adjust_counter(&self, key: &[u8], by: i64) -> Result<()> {
        self.check_key(key)?;
        self.write(|kv| Ok(kv.adjust_counter(key, by)?))?;
        self.wrote.set(true);
        // It is noted after the write: the undo must not take back an adjustment that has failed.
        if self.depth.get() > 0 {
            self.journal.borrow_mut().adjusted(key, by);
        }
        Ok(())
    }

    /// Removes all pairs of `span`. Cost: one scan for the journal, one range removal.
    pub(crate) fn remove_span(&self, span: KeySpan<'_>) -> Result<()> {
        self.remove_span_with(span, |_, _| Ok(()))
    }

    /// Removes all pairs of `span`. In the same scan, shows each to `visit` before it is removed,
    /// in ascending order. If `visit` fails, nothing was removed.
    pub(crate) fn remove_span_with(
        &self,
        span: KeySpan<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.check_not_lent()?;
        let mut found = false;
        // Outside of an operation nothing can be undone, so nothing is copied.
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
        // Without pairs there is no write, which would make scans read their batches again.
        if found {
            self.write(|kv| Ok(kv.remove_span(span)?))?;
            self.wrote.set(true);
        }
        Ok(())
    }

    /// Shows the pairs of `span` to `judge` in ascending order, and removes those that it says.
    /// `judge` must not use the store. After an error, an operation must fail. Cost: one seek, one
    /// step for each pair shown, and one range removal, or one delete for each pair if some stay.
    pub(crate) fn remove_where(
        &self,
        span: KeySpan<'_>,
        mut judge: impl FnMut(&[u8], &[u8]) -> Verdict,
    ) -> Result<()> {
        self.check_not_lent()?;
        let recording = self.depth.get() > 0;
        let mut journal = self.journal.borrow_mut();
        let mut found = false;
        self.write(|kv| {
            kv.remove_where(span, &mut |key, value| {
                let verdict = judge(key, value);
                if verdict == Verdict::Remove {
                    found = true;
                    if recording {
                        journal.present(key, value);
                    }
                }
                verdict
            })?;
            Ok(())
        })?;
        if found {
            self.wrote.set(true);
        }
        Ok(())
    }

    /// Lets `body` write within `span`, and only there, without recording each write. Cost: one
    /// scan of the span for the journal.
    pub(crate) fn rewrite_span<R>(
        &self,
        span: KeySpan<'_>,
        body: impl FnOnce(&mut dyn KvWrite) -> Result<R>,
    ) -> Result<R> {
        // Outside of an operation nothing can be undone, so the scan is saved.
        if self.depth.get() > 0 {
            // This comes before the journal is filled: a refused write must leave no records.
            self.check_not_lent()?;
            let mut journal = self.journal.borrow_mut();
            self.each(span, |key, value| {
                journal.present(key, value);
                Ok(())
            })?;
            // This is noted last and so undone first: the span becomes empty, then the old pairs
            // return.
            journal.rewritten(span.min, span.max.unwrap_or_default());
        }
        self.write(body)
    }

    fn note(&self, key: &[u8], undo: Undo<'_>) -> Result<()> {
        let depth = self.depth.get();
        // Outside of an operation nothing can be undone.
        if depth == 0 {
            return Ok(());
        }
        // A refused write must not be noted. Its undo would be refused in the same way.
        self.check_not_lent()?;
        match undo {
            Undo::Absent => self.journal.borrow_mut().absent(key),
            Undo::Old(value) => self.journal.borrow_mut().present(key, value),
            // The only write of the outermost operation: if it fails, nothing was written. No
            // listener is called for it, so no hook fails after it.
            Undo::Unread if depth == 1 && self.journal.borrow().is_empty() => {}
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
}
