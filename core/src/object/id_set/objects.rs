//! Which objects exist.

use permazen_kv::key::after_prefix;
use permazen_kv::{Direction, KeySpan};

use super::set::{IdSet, any_id, ids_of_types};
use crate::object::error::{Error, Result};
use crate::object::index::{ColumnFilter, OwnedSpan};
use crate::object::transaction::Transaction;

use crate::id::{ObjId, StorageId};
use crate::layout::{self, SchemaIndex, StorageIdKey};

/// Enumeration of objects. The sets are live. Cost of reading one: one seek, and a step per key of
/// the objects; for objects with many keys, a seek per object. To remove an object, delete it.
impl Transaction {
    /// All objects of a type in any schema, by ascending ID. Any recorded schema may have the type.
    ///
    /// ```compile_fail
    /// // a set is only read: objects come and go by create and delete
    /// # fn f(tx: &permazen::object::Transaction) -> permazen::object::Result<()> {
    /// tx.objects("Person")?.add("0a00000000000001".parse().unwrap());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownType`] if no recorded schema has such a type, [`Error::Ended`].
    pub fn objects(&self, type_name: &str) -> Result<IdSet<'_>> {
        self.check_open()?;
        match self.bundle().type_storage_id(type_name) {
            Some(id) => self.objects_of([id]),
            None => Err(Error::UnknownType { name: format!("{type_name:?}"), schema: None }),
        }
    }

    /// All objects of all types in all recorded schemas, by ascending ID. So the objects of a type
    /// are together.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn all_objects(&self) -> Result<IdSet<'_>> {
        self.objects_of(self.bundle().type_ids())
    }

    /// How many objects a filter wants, by the object schema index, which has one key for each.
    /// Cost: one seek for each wanted type in each recorded schema that has it, and a step for each
    /// object.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub(crate) fn count_objects(&self, wanted: &ColumnFilter) -> Result<usize> {
        self.check_open()?;
        let mut spans: Vec<OwnedSpan> = Vec::new();
        for schema in self.bundle().schemas() {
            let prefix = layout::object_schema_prefix(schema.index);
            for object_type in &schema.types {
                // A filter without IDs of this type gives no span.
                let wanted = wanted.intersect(&ids_of_types([object_type.storage_id]));
                spans.extend(wanted.each_span(&prefix));
            }
        }
        let spans: Vec<_> =
            spans.iter().map(|(min, max)| KeySpan::new(min, max.as_deref())).collect();
        // All spans are known, so a store far away can fetch them at once.
        self.store().prefetch(&spans);
        let mut count = 0;
        for span in spans {
            self.store().each(span, |_, _| {
                count += 1;
                Ok(())
            })?;
        }
        Ok(count)
    }

    /// Whether any object of a type has a schema. Cost: one seek.
    pub(crate) fn has_objects_in(&self, schema: SchemaIndex, of_type: StorageId) -> Result<bool> {
        self.check_open()?;
        let mut min = layout::object_schema_prefix(schema);
        min.extend_from_slice(&StorageIdKey::from(of_type));
        let max = after_prefix(&min);
        self.store().any(KeySpan::new(&min, max.as_deref()))
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// All objects of these types in any schema, by ascending ID.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn objects_of(&self, types: impl IntoIterator<Item = StorageId>) -> Result<IdSet<'_>> {
        self.check_open()?;
        Ok(IdSet::of_keys(self.store(), Vec::new(), ids_of_types(types)))
    }

    /// A set of these IDs, which can be combined with other sets.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn id_set(&self, ids: impl IntoIterator<Item = ObjId>) -> Result<IdSet<'_>> {
        self.check_open()?;
        Ok(IdSet::of_ids(self.store(), ids.into_iter().collect()))
    }

    /// The objects that have a schema, from the object schema index. Cost: one seek and a step per
    /// object.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn objects_in_schema(&self, schema: SchemaIndex) -> Result<IdSet<'_>> {
        self.check_open()?;
        Ok(IdSet::of_keys(self.store(), layout::object_schema_prefix(schema), any_id()))
    }

    /// The schemas that have objects, in ascending order. Cost: one seek for each of them, and one
    /// more.
    ///
    /// # Errors
    /// [`Error::Ended`], [`Error::Inconsistent`] if a key of the object schema index is damaged.
    pub fn schemas_in_use(&self) -> Result<Vec<SchemaIndex>> {
        self.check_open()?;
        let mut schemas = Vec::new();
        let KeySpan { min, max } = layout::OBJECT_SCHEMA_INDEX_SPAN;
        let mut min = min.to_vec();
        loop {
            let found =
                self.store().first(KeySpan::new(&min, max), Direction::Forward, |pair| {
                    pair.map(|(key, _)| schema_of_key(key)).transpose()
                })??;
            let Some(schema) = found else { return Ok(schemas) };
            schemas.push(schema);
            match layout::prefix_end(&layout::object_schema_prefix(schema)) {
                // The start must grow, so that the loop ends.
                Some(end) if end > min => min = end,
                _ => return Ok(schemas),
            }
        }
    }
}

fn schema_of_key(key: &[u8]) -> Result<SchemaIndex> {
    layout::split_object_schema(key)
        .map(|(schema, _)| schema)
        .filter(|schema| key.starts_with(&layout::object_schema_prefix(*schema)))
        .ok_or_else(|| {
            Error::inconsistent(format!(
                "key {} is none of the object schema index",
                crate::object::error::hex(key, 32)
            ))
        })
}
