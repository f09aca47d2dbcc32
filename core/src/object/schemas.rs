//! The schemas a transaction sees, and recording and removing them inside of it (schema §7.8).

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
    Change, Schema, SchemaBundle, SchemaId, SchemaModel, SchemaTables, Stored, with_schemas,
    without_schema,
};

/// The schemas a transaction was begun with, and when.
pub(super) struct Begun {
    pub(super) bundle: Arc<SchemaBundle>,
    /// The version of the store, which writing transactions enter one after the other.
    pub(super) version: u64,
    /// Whether something was written already.
    pub(super) wrote: bool,
}

/// The recorded schemas as a transaction sees them, and its own among them.
pub(super) struct Schemas {
    bundle: RefCell<Arc<SchemaBundle>>,
    own: RefCell<Arc<Schema>>,
    own_index: Cell<SchemaIndex>,
    /// Whether schemas were added or removed in this transaction.
    changed: Cell<bool>,
    /// The indexes asked for so far.
    indexes: RefCell<HashMap<StorageId, Arc<IndexShape>>>,
    /// With which schemas it was begun in which version of the store, where its commit leads to the next version.
    begun: RefCell<Option<Begun>>,
}

impl Schemas {
    pub(super) fn new(bundle: Arc<SchemaBundle>, own: Arc<Schema>) -> Self {
        Schemas {
            bundle: RefCell::new(bundle),
            own_index: Cell::new(own.index),
            own: RefCell::new(own),
            changed: Cell::new(false),
            indexes: RefCell::default(),
            begun: RefCell::default(),
        }
    }

    /// Says with which schemas the transaction was begun in which version of the store.
    pub(super) fn begun(&self, begun: Option<Begun>) {
        self.begun.replace(begun);
    }

    fn set_bundle(&self, bundle: Arc<SchemaBundle>) {
        let id = self.own.borrow().id;
        let own = bundle.schema_by_id(id).unwrap_or_else(|| bundle.empty_schema());
        self.own_index.set(own.index);
        self.own.replace(Arc::clone(own));
        self.bundle.replace(bundle);
        self.indexes.borrow_mut().clear();
    }

    /// The index with this storage ID, which is looked up once; `None` if there is none.
    pub(super) fn index(&self, storage_id: StorageId) -> Option<Arc<IndexShape>> {
        if let Some(known) = self.indexes.borrow().get(&storage_id) {
            return Some(Arc::clone(known));
        }
        let shape = Arc::new(IndexShape::find(&self.bundle.borrow(), storage_id)?);
        self.indexes.borrow_mut().insert(storage_id, Arc::clone(&shape));
        Some(shape)
    }
}

impl Transaction<'_> {
    /// The schema of the transaction: that of new objects and the one objects are moved to. The empty
    /// schema if the transaction was begun without one.
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schemas.own.borrow())
    }

    #[inline]
    pub(crate) fn schema_index(&self) -> SchemaIndex {
        self.schemas.own_index.get()
    }

    /// All schemas recorded in the database, as this transaction sees them.
    pub fn bundle(&self) -> Arc<SchemaBundle> {
        Arc::clone(&self.schemas.bundle.borrow())
    }

    /// Continues with other recorded schemas; the transaction's own becomes the empty one if it is
    /// not among them.
    fn set_bundle(&self, bundle: Arc<SchemaBundle>) {
        self.notifier.set_bundle(&bundle);
        self.schemas.set_bundle(bundle);
        self.infos.clear();
    }

    /// Records a further schema, whether or not new schemas are allowed. The schema of the transaction
    /// stays the same. False if it was recorded before. One put for the schema and for each new storage id.
    ///
    /// # Errors
    /// [`Error::Schema`] if the model is empty or invalid, or contradicts a
    /// recorded storage id.
    pub fn add_schema(&self, model: &SchemaModel) -> Result<bool> {
        self.add_schemas(std::slice::from_ref(model))
    }

    /// Records further schemas, as [`Transaction::add_schema`] would one after the other. True if any
    /// of them was not recorded before.
    ///
    /// # Errors
    /// As [`Transaction::add_schema`]; none is recorded then.
    pub fn add_schemas(&self, models: &[SchemaModel]) -> Result<bool> {
        self.change_schemas(|_, bundle| with_schemas(&self.shared.state, bundle, models))
    }

    /// Removes a recorded schema. If it is the transaction's own, that becomes the empty schema. False
    /// if there is no such schema. One seek for its objects, and one delete for the schema and for each storage id that
    /// only it has.
    ///
    /// # Errors
    /// [`Error::Schema`] if there are objects of it.
    pub fn remove_schema(&self, id: SchemaId) -> Result<bool> {
        self.change_schemas(|kv, bundle| without_schema(kv, &self.shared.state, bundle, id))
    }

    fn change_schemas(
        &self,
        change: impl FnOnce(&dyn KvRead, &SchemaBundle) -> crate::schema::Result<Option<SchemaBundle>>,
    ) -> Result<bool> {
        self.check_open()?;
        let old = self.bundle();
        let new = self.operation(|| {
            let new = self.store.read(|kv| Ok(change(kv, &old)?))?;
            if let Some(new) = &new {
                self.write_tables(old.tables(), new.tables())?;
            }
            Ok::<_, Error>(new)
        })?;
        let Some(new) = new else { return Ok(false) };
        self.schemas.changed.set(true);
        self.set_bundle(Arc::new(new));
        Ok(true)
    }

    /// Turns the recorded schemas `old` into `new`.
    fn write_tables(&self, old: &SchemaTables, new: &SchemaTables) -> Result<()> {
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

    /// Commits what is below. Its schemas are those of the version of the store it leads to, if it is known to lead to
    /// one.
    pub(super) fn commit_store(&self) -> Result<()> {
        let begun = self.schemas.begun.take();
        let counts = begun.as_ref().is_some_and(|begun| {
            begun.wrote || self.store.wrote() || !Arc::ptr_eq(&begun.bundle, &self.bundle())
        });
        // What a read-only transaction has written is lost.
        let lost = counts
            && self
                .store
                .transaction("commit of a detached transaction", |kv| Ok(kv.is_read_only()))?;
        self.store.commit()?;
        if let Some(Begun { bundle, version, wrote }) = begun.filter(|_| counts && !lost) {
            let now = self.bundle();
            // With a change of the recorded schemas the next transaction looks: SQLite can give a number of its own to
            // the state that a large transaction has before its commit.
            let same = !wrote && bundle.tables() == now.tables();
            self.shared.state.committed(&bundle, &now, same.then_some(version + 1));
        }
        Ok(())
    }

    /// Goes back to the schemas that are recorded, after changes of them may have been undone. If they
    /// cannot be read, nothing works any more.
    pub(super) fn restore_schemas(&self) {
        if !self.schemas.changed.get() {
            return;
        }
        let known = self.bundle();
        let read = self.store.read(|kv| {
            if matches!(known.tables().compare(kv)?, Stored::These) {
                return Ok(None);
            }
            let recorded = known.recorded().changed_to(SchemaTables::read(kv)?)?;
            Ok(Some(self.shared.state.resolve(Some(&known), Arc::new(recorded))?))
        });
        match read {
            Ok(None) => {}
            Ok(Some(bundle)) => self.set_bundle(Arc::new(bundle)),
            Err(_) => self.store.give_up(),
        }
    }
}
