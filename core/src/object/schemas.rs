//! Recording and removing schemas inside of a transaction (schema §7.8).

use std::sync::Arc;

use permazen_kv::KvRead;

use super::store::Undo;
use super::{Error, Result, Transaction};
use crate::layout::TABLES_SPAN;
use crate::schema::{
    Change, SchemaBundle, SchemaId, SchemaModel, SchemaTables, Stored, with_schemas, without_schema,
};

/// The schemas a transaction was begun with, and when.
pub(super) struct Begun {
    pub(super) bundle: Arc<SchemaBundle>,
    /// The version of the store, which writing transactions enter one after the other.
    pub(super) version: u64,
    /// Whether something was written already.
    pub(super) wrote: bool,
}

impl Transaction<'_> {
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
        self.schemas_changed.set(true);
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
        let begun = self.begun.take();
        let counts = begun.as_ref().is_some_and(|begun| {
            begun.wrote || self.store.wrote() || !Arc::ptr_eq(&begun.bundle, &self.bundle())
        });
        // What a read-only transaction has written is lost.
        let lost = counts
            && self
                .store
                .transaction("commit of a detached transaction", |kv| Ok(kv.is_read_only()))?;
        self.store.commit()?;
        if let Some(Begun { bundle, version, .. }) = begun.filter(|_| counts && !lost) {
            self.shared.state.committed(&bundle, &self.bundle(), version + 1);
        }
        Ok(())
    }

    /// Goes back to the schemas that are recorded, after changes of them may have been undone. If they
    /// cannot be read, nothing works any more.
    pub(super) fn restore_schemas(&self) {
        if !self.schemas_changed.get() {
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
