//! Counters (docs/src/objects.md).

use std::sync::Arc;

use super::describe::{damaged, describe, unknown_field};
use super::info::Migrate;
use super::store::Undo;
use super::{Encoded, Result, Transaction};
use crate::id::ObjId;
use crate::layout::FieldKey;
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType};

fn counter_field<'a>(object_type: &'a ResolvedType, name: &str) -> Result<&'a Arc<ResolvedField>> {
    object_type
        .field(name)
        .filter(|field| matches!(field.kind, ResolvedKind::Counter))
        .ok_or_else(|| unknown_field(object_type, name))
}

fn own_counter_field<'a>(
    object_type: &'a ResolvedType,
    field: &ResolvedField,
) -> Result<&'a Arc<ResolvedField>> {
    object_type
        .field_by_storage_id(field.storage_id)
        .filter(|own| matches!(own.kind, ResolvedKind::Counter))
        .ok_or_else(|| unknown_field(object_type, &field.full_name))
}

/// Counters. The costs are those for an object that is known in this transaction; for another
/// object, each is one get more.
impl Transaction {
    /// The value of a counter. Cost: one get.
    ///
    /// # Errors
    /// The errors of [`Transaction::get`], for counters.
    pub fn counter(&self, id: ObjId, field: &str, migrate: Migrate) -> Result<i64> {
        let object_type = self.type_for_reading(id, migrate)?;
        self.read_counter(id, counter_field(&object_type, field)?)
    }

    pub(super) fn read_counter(&self, id: ObjId, field: &ResolvedField) -> Result<i64> {
        let key = FieldKey::new(id, &field.key);
        let count = self.store.get(&key, |value| match value {
            // Writers store a counter even if it is 0. A pair that is missing all the same is no
            // error.
            None => Ok(0),
            Some(value) => self
                .store
                .decode_counter(value)?
                .ok_or_else(|| damaged(id, field, &key, value, &"a counter has 8 bytes")),
        });
        count.map_err(|error| error.about(|| describe(id, field)))?
    }

    fn write_counter(&self, id: ObjId, field: &ResolvedField, count: i64) -> Result<()> {
        let value = self.store.encode_counter(count)?;
        self.store.put(&FieldKey::new(id, &field.key), &value, Undo::Unread)?;
        self.dirty_set.field(id, field.storage_id, None);
        Ok(())
    }

    /// Sets a counter. Listeners are not called. Cost: one put.
    ///
    /// # Errors
    /// The errors of [`Transaction::get`], for counters.
    pub fn set_counter(&self, id: ObjId, field: &str, value: i64, migrate: Migrate) -> Result<()> {
        self.mutate(|| {
            self.info(id)?;
            let object_type = self.type_for_setting(id, migrate, |object_type| {
                let field = counter_field(object_type, field)?;
                Ok((field.storage_id, value.to_be_bytes().to_vec()))
            })?;
            self.write_counter(id, counter_field(&object_type, field)?, value)
        })
        .map_err(|error| error.about(|| format!("field {field} of {}", self.named(id))))
    }

    /// Adds to a counter, wrapping at 64 bits. Listeners are not called. Adding 0 does nothing,
    /// even if there is no such object. Cost: one get, without conflict detection, and one counter
    /// adjustment of the store.
    ///
    /// # Errors
    /// The errors of [`Transaction::get`], for counters. A store ignores a counter that it cannot
    /// adjust; the get finds out whether the counter is damaged. A missing counter counts as 0, as
    /// when it is read.
    pub fn adjust_counter(&self, id: ObjId, field: &str, by: i64, migrate: Migrate) -> Result<()> {
        self.mutate(|| {
            // Adding 0 is no change, so the object is not looked up.
            if by == 0 {
                return Ok(());
            }
            let object_type = self.type_for_reading(id, migrate)?;
            self.adjust(id, counter_field(&object_type, field)?, by)
        })
        .map_err(|error| error.about(|| format!("field {field} of {}", self.named(id))))
    }

    fn adjust(&self, id: ObjId, field: &ResolvedField, by: i64) -> Result<()> {
        let key = FieldKey::new(id, &field.key);
        // This get is untracked: two transactions that add to one counter must not be in conflict.
        // The store can only adjust a counter that has a pair.
        if self.store.has_counter(&key)? {
            self.store.adjust_counter(&key, by)?;
            self.dirty_set.field(id, field.storage_id, None);
            return Ok(());
        }
        // This get is tracked, because the sum that is written depends on it.
        let count = self.read_counter(id, field)?;
        self.write_counter(id, field, count.wrapping_add(by))
    }
}

/// Counters. A field may come from any schema. The object's own schema decides whether the object
/// has the field.
impl Encoded<'_, Transaction> {
    /// The value of a counter. Cost: one get.
    ///
    /// # Errors
    /// The errors of [`Transaction::counter`].
    pub fn counter(self, id: ObjId, field: &ResolvedField, migrate: Migrate) -> Result<i64> {
        let tx = self.0;
        let object_type = tx.type_for_reading(id, migrate)?;
        tx.read_counter(id, own_counter_field(&object_type, field)?)
    }

    /// Sets a counter. Listeners are not called. Cost: one put.
    ///
    /// # Errors
    /// The errors of [`Transaction::set_counter`].
    pub fn set_counter(
        self,
        id: ObjId,
        field: &ResolvedField,
        value: i64,
        migrate: Migrate,
    ) -> Result<()> {
        let tx = self.0;
        tx.mutate(|| {
            tx.info(id)?;
            let object_type = tx.type_for_setting(id, migrate, |object_type| {
                let field = own_counter_field(object_type, field)?;
                Ok((field.storage_id, value.to_be_bytes().to_vec()))
            })?;
            tx.write_counter(id, own_counter_field(&object_type, field)?, value)
        })
        .map_err(|error| error.about(|| describe(id, field)))
    }

    /// Adds to a counter. Costs as much as [`Transaction::adjust_counter`].
    ///
    /// # Errors
    /// The errors of [`Transaction::adjust_counter`].
    pub fn adjust_counter(
        self,
        id: ObjId,
        field: &ResolvedField,
        by: i64,
        migrate: Migrate,
    ) -> Result<()> {
        let tx = self.0;
        tx.mutate(|| {
            // Adding 0 is no change, so the object is not looked up.
            if by == 0 {
                return Ok(());
            }
            let object_type = tx.type_for_reading(id, migrate)?;
            tx.adjust(id, own_counter_field(&object_type, field)?, by)
        })
        .map_err(|error| error.about(|| describe(id, field)))
    }
}
