//! Access to the key/value pairs under a transaction: reads, watches, and reads without conflict
//! detection.

use permazen_kv::KvRead;

use crate::id::ObjId;
use crate::layout;
use crate::object::describe::unknown_field;
use crate::object::{Result, Transaction};
use crate::schema::ResolvedKind;

impl Transaction {
    /// Runs `body` without conflict detection for its reads: if another transaction changes the
    /// pairs that were read, this one does not fail for it. Use it for results that need not be
    /// exact, such as numbers to show, or where to begin a search.
    ///
    /// `body` may make changes; the reads of the operations that make them are tracked as usual.
    /// Iterators read when they are advanced, with or without conflict detection as set at that
    /// moment. In stores without conflict detection there is no difference.
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

    /// Watches the object's own pair; see [`KeyWatch`](permazen_kv::KeyWatch). It is written when
    /// the object is created, deleted or moved to another schema.
    ///
    /// # Errors
    /// [`Error::Ended`](crate::object::Error::Ended); [`Error::Kv`](crate::object::Error::Kv) with
    /// [`KvError::Unsupported`](permazen_kv::KvError::Unsupported) if the store cannot watch keys.
    pub fn watch_object(&self, id: ObjId) -> Result<permazen_kv::KeyWatch> {
        self.watch_key(id.as_bytes())
    }

    /// Watches the pair of a simple field or counter. The pair is removed when the field is set to
    /// its default and when the object is deleted; that counts as a write.
    ///
    /// # Errors
    /// The errors of [`Transaction::watch_object`];
    /// [`Error::DeletedObject`](crate::object::Error::DeletedObject);
    /// [`Error::UnknownType`](crate::object::Error::UnknownType);
    /// [`Error::UnknownField`](crate::object::Error::UnknownField), also for collections, which
    /// have no pair of their own.
    pub fn watch_field(&self, id: ObjId, field: &str) -> Result<permazen_kv::KeyWatch> {
        let object_type = self.object_type(id)?;
        let field = object_type
            .field(field)
            // A collection has no pair of its own that could be watched.
            .filter(|field| matches!(field.kind, ResolvedKind::Simple(_) | ResolvedKind::Counter))
            .ok_or_else(|| unknown_field(&object_type, field))?;
        self.watch_key(&layout::field_key(id, &field.key))
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// The key of an object's own pair. All keys of the object begin with it. The object need not
    /// exist.
    ///
    /// # Errors
    /// [`Error::UnknownType`](crate::object::Error::UnknownType).
    pub fn object_key(&self, id: ObjId) -> Result<[u8; 8]> {
        // An ID of an unknown type would make a key that belongs to no object.
        self.type_name(id.storage_id())?;
        Ok(id.to_bytes())
    }

    /// Lends the key/value pairs for reading, as this transaction sees them. This is for tools that
    /// read the layout itself. The transaction cannot be changed while they are lent.
    ///
    /// # Errors
    /// The errors of `body`; [`Error::Ended`](crate::object::Error::Ended).
    pub fn read_pairs<R>(&self, body: impl FnOnce(&dyn KvRead) -> Result<R>) -> Result<R> {
        self.check_open()?;
        self.store().read(body)
    }

    /// Waits for a later commit that writes the pair with this key; see [`permazen_kv::KeyWatch`].
    /// Watching begins at once and continues after the transaction.
    ///
    /// # Errors
    /// [`Error::Ended`](crate::object::Error::Ended).
    /// [`KvError::Unsupported`](permazen_kv::KvError::Unsupported) if the store does not support
    /// watching, or if the transaction is detached.
    pub fn watch_key(&self, key: &[u8]) -> Result<permazen_kv::KeyWatch> {
        self.check_open()?;
        self.store()
            .transaction("watching a key of a detached transaction", |kv| Ok(kv.watch(key)?))
    }
}
