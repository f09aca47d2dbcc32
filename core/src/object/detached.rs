//! Transactions in memory: empty ones and snapshots
//! (docs/src/transactions.md#snapshots-and-detached-transactions).

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen_kv::memory::MemoryStore;
use permazen_kv::overlay::MutableView;
use permazen_kv::{Direction, KeySpan, KvWrite};

use super::store::Store;
use super::{Error, Result, Transaction};
use crate::layout;

impl Transaction {
    /// A transaction in memory without objects. It gets the recorded schemas and the user's
    /// meta-data of this one. It lives as long as it is kept, and has no commit. References in it
    /// may be set to objects that do not exist. Listeners and callbacks are not copied. Objects
    /// that move to the transaction's schema are converted as in this transaction.
    ///
    /// Cost: all meta-data except the object schema index is copied, with one scan for the keys
    /// before that index and one for the keys after it.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn detached(&self) -> Result<Transaction> {
        self.check_open()?;
        let mut memory = MutableView::untracked(MemoryStore::new().snapshot());
        // The object schema index is left out: it has an entry for each object, and no object is
        // copied.
        self.store.read(|kv| Ok(layout::copy_meta_data(kv, &mut memory)?))?;
        Ok(self.over(memory))
    }

    /// A transaction in memory with all the present content of this one. Changes of one do not
    /// affect the other. It lives as long as it is kept, and has no commit. References in it may be
    /// set to objects that do not exist. Listeners and callbacks are not copied. Objects that move
    /// to the transaction's schema are converted as in this transaction. Cost: one snapshot of the
    /// store; nothing is copied.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::Unsupported`] in a detached transaction; an error of the store if
    /// it does not support snapshots.
    pub fn snapshot(&self) -> Result<Transaction> {
        self.check_open()?;
        // A snapshot needs a transaction of a store, and a detached one has only its own pairs.
        if self.is_detached() {
            return Err(Error::Unsupported("a snapshot of a detached transaction"));
        }
        Ok(self.over(MutableView::untracked(self.store.snapshot()?)))
    }

    fn over(&self, kv: impl KvWrite + Send + 'static) -> Transaction {
        let shared = Arc::clone(&self.shared);
        let tx = Transaction::new(Store::detached(kv), shared, self.bundle(), self.schema());
        // Objects that move lose no more here than they do in this transaction.
        if let Some(converter) = self.converter() {
            tx.convert_with(converter);
        }
        tx
    }

    /// All pairs of the transaction. Cost: one scan.
    pub(crate) fn all_pairs(&self) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        self.check_open()?;
        self.store.read(|kv| {
            let pairs = kv.scan(KeySpan::FULL, Direction::Forward)?;
            let owned = pairs.map(|pair| {
                let (key, value) = pair?;
                Ok((key.into_owned(), value.into_owned()))
            });
            owned.collect()
        })
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// Ends a transaction over its own store ([`Database::detached`](super::Database::detached)),
    /// and gives that store back, as it is. Free.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if this is a transaction of a database, or if its store is not an
    /// `S`; [`Error::Broken`] if the store is in the middle of an operation that could not be
    /// undone. The transaction is dropped then.
    pub fn into_store<S: KvWrite + 'static>(self) -> Result<S> {
        self.store.take_detached()
    }

    /// Removes all objects from a detached transaction, and keeps all other meta-data. Listeners
    /// are not called. Cost: one scan of everything, which is kept in memory until the end, and
    /// three range removals.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if this is not a detached transaction.
    pub fn reset(&self) -> Result<()> {
        self.check_open()?;
        if !self.is_detached() {
            return Err(Error::Unsupported("to reset a transaction that is not detached"));
        }
        let all = KeySpan::FULL;
        self.operation(|| self.store.rewrite_span(all, |kv| Ok(layout::delete_object_data(kv)?)))?;
        // The objects that are known are gone, and their IDs may be used again.
        self.infos.clear();
        Ok(())
    }
}
