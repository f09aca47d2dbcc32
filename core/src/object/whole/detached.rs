//! Transactions in memory: empty ones, and snapshots (transactions §13.1).

use std::sync::Arc;

use permazen_kv::KvWrite;
use permazen_kv::memory::MemoryStore;
use permazen_kv::overlay::MutableView;

use crate::layout;
use crate::object::store::Store;
use crate::object::{Error, Result, Transaction};

impl Transaction<'_> {
    /// A transaction in memory with the recorded schemas and the user's meta-data of this one, without
    /// objects. It lives as long as it is wanted, and has no commit; references in it may be set to
    /// objects that do not exist. Listeners and callbacks stay behind, also those by which the typed layer converts
    /// values. Copies all meta-data but the object schema index: one scan for what
    /// stands before that index and one for what stands behind it.
    ///
    /// # Errors
    /// [`Error::Ended`]; those of the store.
    pub fn detached(&self) -> Result<Transaction<'static>> {
        self.check_open()?;
        let mut memory = MutableView::untracked(MemoryStore::new().snapshot());
        self.store.read(|kv| Ok(layout::copy_meta_data(kv, &mut memory)?))?;
        Ok(self.over(Box::new(memory)))
    }

    /// A transaction in memory that has all the content of this one as it is now. Changing either does
    /// not affect the other. It lives as long as it is wanted, and has no commit; references in it may be
    /// set to objects that do not exist. Listeners and callbacks stay behind, also those by which the typed layer
    /// converts values. One snapshot of the store; nothing is copied.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::Unsupported`] in a detached transaction; the store may not support
    /// snapshots.
    pub fn snapshot(&self) -> Result<Transaction<'static>> {
        self.check_open()?;
        if self.is_detached() {
            return Err(Error::Unsupported("a snapshot of a detached transaction"));
        }
        Ok(self.over(Box::new(MutableView::untracked(self.store.snapshot()?))))
    }

    fn over(&self, kv: Box<dyn KvWrite + Send>) -> Transaction<'static> {
        Transaction::new(
            Store::detached(kv),
            Arc::clone(&self.shared),
            self.bundle(),
            self.schema(),
        )
    }

    /// Removes all objects from a detached transaction, and keeps all other meta-data. Tells nobody. One
    /// scan of everything, which is kept in memory until it is done, and three range removals.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless this is a detached transaction; those of the store.
    pub fn reset(&self) -> Result<()> {
        self.check_open()?;
        if !self.is_detached() {
            return Err(Error::Unsupported("to reset a transaction that is not detached"));
        }
        let all = permazen_kv::KeySpan::FULL;
        self.operation(|| self.store.rewrite_span(all, |kv| Ok(layout::delete_object_data(kv)?)))?;
        self.infos.clear();
        Ok(())
    }
}
