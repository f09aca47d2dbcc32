//! Recording and removing schemas inside of a transaction (schema §7.8).

use std::sync::Arc;

use permazen_kv::KvWrite;

use super::{Result, Transaction};
use crate::layout::TABLES_SPAN;
use crate::schema::{
    RecordedSchemas, SchemaBundle, SchemaId, SchemaModel, SchemaTables, Stored, add_schemas,
    remove_schema,
};

impl Transaction<'_> {
    /// Records a further schema, whether or not new schemas are allowed. The schema of the transaction
    /// stays the same. False if it was recorded before. One scan of the recorded schemas, and one put for the
    /// schema and for each new storage id.
    ///
    /// # Errors
    /// [`Error::Schema`](super::Error::Schema) if the model is empty or invalid, or contradicts a
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
        self.change_schemas(|kv, bundle| add_schemas(kv, &self.shared.state, bundle, models))
    }

    /// Removes a recorded schema. If it is the transaction's own, that becomes the empty schema. False
    /// if there is no such schema. One seek for its objects, one scan of the recorded schemas, and one delete for the
    /// schema and for each storage id that only it has.
    ///
    /// # Errors
    /// [`Error::Schema`](super::Error::Schema) if there are objects of it.
    pub fn remove_schema(&self, id: SchemaId) -> Result<bool> {
        self.change_schemas(|kv, bundle| remove_schema(kv, &self.shared.state, bundle, id))
    }

    fn change_schemas(
        &self,
        change: impl FnOnce(
            &mut dyn KvWrite,
            &SchemaBundle,
        ) -> crate::schema::Result<Option<Arc<SchemaBundle>>>,
    ) -> Result<bool> {
        self.check_open()?;
        let old = self.bundle();
        let new =
            self.operation(|| self.store.rewrite_span(TABLES_SPAN, |kv| Ok(change(kv, &old)?)))?;
        match new {
            None => Ok(false),
            Some(bundle) => {
                self.schemas_changed.set(true);
                self.set_bundle(bundle);
                Ok(true)
            }
        }
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
            let recorded = RecordedSchemas::decode(SchemaTables::read(kv)?)?;
            Ok(Some(self.shared.state.resolve(Some(&known), recorded)?))
        });
        match read {
            Ok(None) => {}
            Ok(Some(bundle)) => self.set_bundle(Arc::new(bundle)),
            Err(_) => self.store.give_up(),
        }
    }
}
