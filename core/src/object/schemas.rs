//! The schemas that a transaction sees, and how it records and removes schemas.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use permazen_kv::KvRead;

use super::index::IndexShape;
use super::store::Undo;
use super::{Error, Result, Transaction};
use crate::id::StorageId;
use crate::layout::{SchemaIndex, TABLES_SPAN};
use crate::schema::{
    Change, Schema, SchemaBundle, SchemaId, SchemaModel, SchemaTables, Stored, changes_unnumbered,
    with_schemas, without_schema,
};

/// The schemas and the store version with which a transaction began.
pub(super) struct Begun {
    pub(super) bundle: Arc<SchemaBundle>,
    /// The version of the store. Each commit of a writing transaction adds 1 to it.
    pub(super) version: u64,
    /// Whether something was written while the transaction began.
    pub(super) wrote: bool,
    /// See [`unnumbered`](crate::schema::unnumbered).
    pub(super) unnumbered: u64,
}

/// The recorded schemas as a transaction sees them, and its own schema.
pub(super) struct Schemas {
    bundle: RefCell<Arc<SchemaBundle>>,
    own: RefCell<Arc<Schema>>,
    own_index: Cell<SchemaIndex>,
    /// Whether this transaction added or removed schemas.
    changed: Cell<bool>,
    /// How often an object was put in another schema than the transaction's own.
    put_elsewhere: Cell<u64>,
    /// The indexes that were looked up so far.
    indexes: RefCell<HashMap<StorageId, Arc<IndexShape>>>,
    /// The schemas and store version at the beginning. `None` if the commit may not lead to the
    /// next version.
    begun: RefCell<Option<Begun>>,
}

impl Schemas {
    pub(super) fn new(bundle: Arc<SchemaBundle>, own: Arc<Schema>) -> Self {
        Schemas {
            bundle: RefCell::new(bundle),
            own_index: Cell::new(own.index),
            own: RefCell::new(own),
            changed: Cell::new(false),
            put_elsewhere: Cell::new(0),
            indexes: RefCell::default(),
            begun: RefCell::default(),
        }
    }

    /// Notes the schemas and store version at the beginning of the transaction.
    pub(super) fn begun(&self, begun: Option<Begun>) {
        self.begun.replace(begun);
    }

    fn set_bundle(&self, bundle: Arc<SchemaBundle>) {
        let id = self.own.borrow().id;
        // The schema of the transaction itself may be the one that was removed.
        let own = bundle.schema_by_id(id).unwrap_or_else(|| bundle.empty_schema());
        self.own_index.set(own.index);
        self.own.replace(Arc::clone(own));
        self.bundle.replace(bundle);
        // The shapes of the indexes come from all recorded schemas, so each may be another one now.
        self.indexes.borrow_mut().clear();
    }

    /// Makes a recorded schema that of the transaction. Returns whether it was another one before.
    fn set_own(&self, index: SchemaIndex) -> bool {
        if self.own_index.get() == index {
            return false;
        }
        let bundle = self.bundle.borrow();
        let Some(schema) = bundle.schema(index) else { return false };
        self.own_index.set(index);
        self.own.replace(Arc::clone(schema));
        true
    }

    /// The index with this storage ID; `None` if there is none. It is searched only once.
    pub(super) fn index(&self, storage_id: StorageId) -> Option<Arc<IndexShape>> {
        if let Some(known) = self.indexes.borrow().get(&storage_id) {
            return Some(Arc::clone(known));
        }
        let shape = Arc::new(IndexShape::find(&self.bundle.borrow(), storage_id)?);
        self.indexes.borrow_mut().insert(storage_id, Arc::clone(&shape));
        Some(shape)
    }
}

impl Transaction {
    /// The schema of the transaction. New objects get it, and objects are moved to it. It is the
    /// empty schema if the transaction was begun without one.
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schemas.own.borrow())
    }

    #[inline]
    pub(crate) fn schema_index(&self) -> SchemaIndex {
        self.schemas.own_index.get()
    }

    /// Notes that an object was put in a schema.
    pub(super) fn note_put_in(&self, schema: SchemaIndex) {
        if schema != self.schema_index() {
            self.schemas.put_elsewhere.set(self.schemas.put_elsewhere.get() + 1);
        }
    }

    /// Numbers that change whenever an object may have come to be in another schema than the
    /// transaction's own.
    pub(crate) fn put_elsewhere(&self) -> (u64, u64) {
        (self.schemas.put_elsewhere.get(), self.store.undone())
    }

    /// A number that changes with every write.
    pub(crate) fn changes(&self) -> u64 {
        self.store.changes().get()
    }

    /// Whether reads are now checked for conflicts, if the store does that.
    pub(crate) fn reads_tracked(&self) -> bool {
        !self.store.reads_untracked()
    }

    /// Lends the result of [`bundle`](Transaction::bundle), so that threads need not count their
    /// references to it.
    #[inline]
    pub(crate) fn with_bundle<R>(&self, read: impl FnOnce(&SchemaBundle) -> R) -> R {
        read(&self.schemas.bundle.borrow())
    }

    /// Whether these are the recorded schemas that the transaction uses.
    #[inline]
    pub(crate) fn has_bundle(&self, bundle: &Arc<SchemaBundle>) -> bool {
        Arc::ptr_eq(&self.schemas.bundle.borrow(), bundle)
    }

    /// Whether this is the schema of the transaction.
    pub(crate) fn has_schema(&self, schema: &Arc<Schema>) -> bool {
        Arc::ptr_eq(&self.schemas.own.borrow(), schema)
    }

    /// Makes a recorded schema that of the transaction, in which nothing was done yet. Returns
    /// `false` if it is not recorded.
    pub(crate) fn use_schema(&self, id: SchemaId) -> bool {
        let bundle = self.bundle();
        let Some(schema) = bundle.schema_by_id(id) else { return false };
        self.schemas.own_index.set(schema.index);
        self.schemas.own.replace(Arc::clone(schema));
        // What is known of an object includes whether it has the schema of the transaction.
        self.infos.clear();
        true
    }

    /// Continues with other recorded schemas. If the transaction's own schema is not among them,
    /// the empty schema replaces it.
    fn set_bundle(&self, bundle: Arc<SchemaBundle>) {
        // The listeners follow their items first: their storage IDs may be other ones now.
        self.notifier.set_bundle(&bundle);
        self.schemas.set_bundle(bundle);
        self.infos.clear();
    }

    /// Records another schema, even if new schemas are not allowed. The schema of the transaction
    /// stays the same. Returns `false` if it was recorded before. Cost: one put for the schema and
    /// one for each new storage ID.
    ///
    /// # Errors
    /// [`Error::Schema`] if the model is empty or invalid, or if it contradicts a recorded storage
    /// ID.
    pub fn add_schema(&self, model: &SchemaModel) -> Result<bool> {
        self.add_schemas(std::slice::from_ref(model))
    }

    fn change_schemas(
        &self,
        change: impl FnOnce(&dyn KvRead, &SchemaBundle) -> crate::schema::Result<Option<SchemaBundle>>,
    ) -> Result<bool> {
        self.check_open()?;
        let old = self.bundle();
        let new = self.operation(|| {
            let Some(new) = self.store.read(|kv| Ok(change(kv, &old)?))? else { return Ok(None) };
            // This can fail, so it comes before the first write.
            let watched = self.watched_with(&new)?;
            // The commit may lead to the version of another transaction; see `unnumbered`.
            if self.schemas.begun.borrow().is_none() {
                changes_unnumbered();
            }
            self.write_tables(old.tables(), new.tables())?;
            Ok::<_, Error>(Some((new, watched)))
        })?;
        // The operation has succeeded, so the memory follows the store from here on.
        let Some((new, watched)) = new else { return Ok(false) };
        self.schemas.changed.set(true);
        self.set_bundle(Arc::new(new));
        self.dirty_set.watch(&Arc::new(watched));
        Ok(true)
    }

    /// Changes the recorded schemas from `old` to `new`.
    fn write_tables(&self, old: &SchemaTables, new: &SchemaTables) -> Result<()> {
        // Some keys have a number in more bytes than it needs. Writing the entries one by one would
        // not replace these keys.
        if old.is_over_long() {
            return self.store.rewrite_span(TABLES_SPAN, |kv| Ok(new.write_over(old, kv)?));
        }
        for Change { key, old, new } in new.differences(old) {
            let undo = old.map_or(Undo::Absent, Undo::Old);
            match new {
                Some(new) => self.store.put(&key, new, undo)?,
                None => self.store.remove(&key, undo)?,
            }
        }
        Ok(())
    }

    /// Commits the transaction of the store. If the store version after it is known, remembers the
    /// schemas for that version.
    pub(super) fn commit_store(&self) -> Result<()> {
        // It is taken, because a commit that fails must leave nothing to remember.
        let begun = self.schemas.begun.take();
        // A commit that writes nothing may leave the version as it was, so `version + 1` would be
        // wrong.
        let counts = begun.as_ref().is_some_and(|begun| {
            begun.wrote || self.store.wrote() || !Arc::ptr_eq(&begun.bundle, &self.bundle())
        });
        // The writes of a read-only transaction are discarded.
        let lost = counts
            && self
                .store
                .transaction("commit of a detached transaction", |kv| Ok(kv.is_read_only()))?;
        self.store.commit()?;
        if let Some(Begun { bundle, version, wrote, unnumbered }) =
            begun.filter(|_| counts && !lost)
        {
            self.shared.state.committed(&bundle, wrote, &self.bundle(), version + 1, unnumbered);
        }
        Ok(())
    }

    /// Returns to the schemas that are recorded, and to `own` as the transaction's schema, because
    /// changes of them may have been undone. If they cannot be read, the transaction cannot be used
    /// any more.
    pub(super) fn restore_schemas(&self, own: SchemaIndex) {
        // Without a change of schemas there is nothing to read again, however often operations
        // fail.
        if !self.schemas.changed.get() {
            return;
        }
        let known = self.bundle();
        let read = self.store.read(|kv| {
            // The undo may have been of something else. Then the decoded schemas stay.
            if matches!(known.tables().compare(kv)?, Stored::These) {
                return Ok(None);
            }
            let recorded = known.recorded().changed_to(SchemaTables::read(kv)?)?;
            Ok(Some(self.shared.state.resolve(Some(&known), Arc::new(recorded))?))
        });
        let watching =
            |bundle: SchemaBundle| self.watched_with(&bundle).map(|watched| (bundle, watched));
        match read.and_then(|bundle| bundle.map(watching).transpose()) {
            Ok(None) => {}
            Ok(Some((bundle, watched))) => {
                self.set_bundle(Arc::new(bundle));
                self.dirty_set.watch(&Arc::new(watched));
            }
            // The memory and the pairs may not agree now, so the transaction must not go on.
            Err(error) => self.store.give_up(&error),
        }
        // The schema may have been removed and recorded again, so this is independent of the rest.
        if self.schemas.set_own(own) {
            self.infos.clear();
        }
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// All schemas recorded in the database, as this transaction sees them.
    pub fn bundle(&self) -> Arc<SchemaBundle> {
        Arc::clone(&self.schemas.bundle.borrow())
    }

    /// Records several schemas, one after the other, as [`Transaction::add_schema`] does. Returns
    /// `true` if any of them was not recorded before.
    ///
    /// # Errors
    /// The errors of [`Transaction::add_schema`]; then no schema is recorded.
    pub fn add_schemas(&self, models: &[SchemaModel]) -> Result<bool> {
        self.change_schemas(|_, bundle| with_schemas(&self.shared.state, bundle, models))
    }

    /// Removes a recorded schema. If it is the transaction's own, the empty schema replaces it.
    /// Returns `false` if there is no such schema. Cost: one seek for its objects, one delete for
    /// the schema and one for each storage ID that only it has.
    ///
    /// # Errors
    /// [`Error::Schema`] if objects have that schema.
    pub fn remove_schema(&self, id: SchemaId) -> Result<bool> {
        self.change_schemas(|kv, bundle| without_schema(kv, &self.shared.state, bundle, id))
    }
}
