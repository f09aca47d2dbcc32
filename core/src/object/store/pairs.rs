//! The pairs below the objects.

use permazen_kv::KvRead;

use crate::id::ObjId;
use crate::layout;
use crate::object::describe::unknown_field;
use crate::object::{Result, Transaction};
use crate::schema::ResolvedKind;

impl Transaction<'_> {
    /// Lends the key/value pairs for reading, as this transaction sees them: for tools that look at
    /// the layout itself. Nothing can be changed in the transaction while they are lent.
    ///
    /// # Errors
    /// Those of `body`; [`Error::Ended`](crate::object::Error::Ended).
    pub fn read_pairs<R>(&self, body: impl FnOnce(&dyn KvRead) -> Result<R>) -> Result<R> {
        self.check_open()?;
        self.store().read(body)
    }

    /// Runs `body` while what is read does not count in the detection of conflicts: should another transaction
    /// change it meanwhile, this one does not fail for it. For what need not be exact, as figures to show or where to
    /// begin a search.
    ///
    /// Changes may be made in `body`; what an operation reads to make its changes counts as ever. Iterators read when
    /// they are advanced, whichever way is in force then. In stores without conflict detection there is no difference.
    /// (transactions §3.3)
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use permazen::kv::memory::MemoryStore;
    /// # use permazen::object::{Database, TransactionConfig};
    /// # let db = Database::new(Arc::new(MemoryStore::new()));
    /// let tx = db.begin(&TransactionConfig::without_schema())?;
    /// let about = tx.untracked(|tx| tx.all_objects()?.count())?;
    /// # assert_eq!(about, 0);
    /// # Ok::<(), permazen::object::Error>(())
    /// ```
    pub fn untracked<R>(&self, body: impl FnOnce(&Self) -> R) -> R {
        self.store().untracked(|| body(self))
    }

    /// Waits for a later commit to write the pair with this key; see [`permazen_kv::KeyWatch`]. Watching begins at
    /// once and outlasts the transaction.
    ///
    /// # Errors
    /// [`Error::Ended`](crate::object::Error::Ended); the store may not support this, as a detached transaction does not.
    pub fn watch_key(&self, key: &[u8]) -> Result<permazen_kv::KeyWatch> {
        self.check_open()?;
        self.store()
            .transaction("watching a key of a detached transaction", |kv| Ok(kv.watch(key)?))
    }

    /// As [`Transaction::watch_key`], for the object's own pair: it is written when the object is created, deleted or
    /// moved to another schema.
    ///
    /// # Errors
    /// As [`Transaction::watch_key`].
    pub fn watch_object(&self, id: ObjId) -> Result<permazen_kv::KeyWatch> {
        self.watch_key(id.as_bytes())
    }

    /// As [`Transaction::watch_key`], for the pair of a simple field or counter. It is removed, which counts too, when
    /// the field is set to its default and when the object is deleted.
    ///
    /// # Errors
    /// [`Error::DeletedObject`](crate::object::Error::DeletedObject), [`Error::UnknownType`](crate::object::Error::UnknownType);
    /// [`Error::UnknownField`](crate::object::Error::UnknownField) also for collections, which have
    /// no pair of their own; as [`Transaction::watch_key`].
    pub fn watch_field(&self, id: ObjId, field: &str) -> Result<permazen_kv::KeyWatch> {
        let object_type = self.object_type(id)?;
        let field = object_type
            .field(field)
            .filter(|field| matches!(field.kind, ResolvedKind::Simple(_) | ResolvedKind::Counter))
            .ok_or_else(|| unknown_field(&object_type, field))?;
        self.watch_key(&layout::field_key(id, &field.key))
    }
}
