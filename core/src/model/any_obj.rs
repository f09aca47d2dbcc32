//! Objects of any type, whose fields are accessed by name.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::copy::Cascade;
use super::error::Result;
use super::kind::{Mixin, With};
use super::obj::Obj;
use super::objects::Objs;
use super::path::{self, Path, Plurality, ReferenceField};
use super::target::{Any, Model, Ref, Target};
use super::tx::Tx;
use crate::encoding::Value;
use crate::id::ObjId;
use crate::object::{FieldValue, Migrate};
use crate::schema::{ResolvedField, ResolvedType, SchemaId};

/// Any object in a transaction, whether its model is registered or not. Fields are accessed by
/// name, with [`Value`]s.
///
/// The fields are those of the object's own schema. It never moves the object to the transaction's
/// schema, where [`Obj`] moves it if it must.
#[derive(Clone, Copy)]
pub struct AnyObj<'t> {
    tx: &'t Tx,
    id: ObjId,
}

impl<'t> AnyObj<'t> {
    pub(crate) fn new(tx: &'t Tx, id: ObjId) -> Self {
        AnyObj { tx, id }
    }

    /// The object ID.
    pub fn id(&self) -> ObjId {
        self.id
    }

    /// The transaction.
    pub fn tx(&self) -> &'t Tx {
        self.tx
    }

    /// A reference to this object, which outlives the transaction.
    pub fn to_ref(&self) -> Ref<Any> {
        Ref::new(self.id)
    }

    /// Whether the object exists. Cost: one get, or none if the object is known in this
    /// transaction.
    pub fn exists(&self) -> Result<bool> {
        Ok(self.tx.core.exists(self.id)?)
    }

    /// The object's type, as the object's own schema defines it. This and the other questions about
    /// type and schema cost the same as [`exists`](AnyObj::exists).
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn object_type(&self) -> Result<Arc<ResolvedType>> {
        Ok(self.tx.core.object_type(self.id)?)
    }

    /// The name of the object's type.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn type_name(&self) -> Result<String> {
        Ok(self.object_type()?.name.to_string())
    }

    /// The ID of the object's schema.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn schema_id(&self) -> Result<SchemaId> {
        Ok(self.tx.core.object_schema(self.id)?.id)
    }

    /// The object as an object of model `M`, if it has that type.
    pub fn downcast<M: Model>(&self) -> Option<Obj<'t, M>> {
        Obj::of(self.tx, self.id).ok().flatten()
    }

    /// The object with the accessors of mix-in `X`, if a registered model of its type has it. Queries
    /// of the constants of a mix-in give `AnyObj`. No cost.
    ///
    /// ```
    /// # use permazen::{Permazen, PermazenFields, PermazenObject, kv::memory::MemoryStore};
    /// #[derive(PermazenFields, Default)]
    /// struct Named { #[permazen(indexed)] name: String }
    ///
    /// #[derive(PermazenObject, Default)]
    /// struct Dog { #[permazen(flatten)] named: Named }
    ///
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Dog>().build()?;
    /// db.write(|tx| {
    ///     tx.create_default::<Dog>()?.set_name("Rex")?;
    ///     for object in tx.index(Named::NAME)?.objects() {
    ///         if let Some(named) = object?.with::<Named>() {
    ///             named.set_name("Max")?;
    ///         }
    ///     }
    ///     assert_eq!(tx.index(Named::NAME)?.get("Max")?.count()?, 1);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), permazen::Error>(())
    /// ```
    pub fn with<X: Mixin>(&self) -> Option<With<'t, X>> {
        With::of(self.tx, self.id).ok()
    }

    /// Reads a simple field by name. Cost: one get.
    ///
    /// # Errors
    /// If the object or the field does not exist.
    pub fn get(&self, field: &str) -> Result<Value> {
        Ok(self.tx.core.get(self.id, field, Migrate::No)?)
    }

    /// Sets a simple field by name. For the cost see [`set`](crate::object::Transaction::set) of
    /// the object layer.
    ///
    /// # Errors
    /// If the object or the field does not exist, or the field cannot hold the value.
    pub fn set(&self, field: &str, value: &Value) -> Result<()> {
        Ok(self.tx.core.set(self.id, field, value, Migrate::No)?)
    }

    /// Reads all fields, in the order of their names. Cost: a scan of the object's
    /// pairs.
    ///
    /// # Errors
    /// If the object does not exist or is damaged.
    pub fn fields(&self) -> Result<Vec<(String, FieldValue)>> {
        let object_type = self.object_type()?;
        let data = self.tx.core.load(self.id, Migrate::No)?;
        let decode =
            |field: &Arc<ResolvedField>| Ok((field.name.to_string(), data.decode_field(field)?));
        object_type.fields.iter().map(decode).collect()
    }

    /// Has all rules checked for this object. See [`Obj::revalidate`].
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn revalidate(&self) -> Result<()> {
        self.tx.core.info(self.id)?;
        if self.tx.rule_options()?.validation != super::Validation::Off {
            self.tx.core.dirty_set.everything(self.id);
        }
        Ok(())
    }

    /// The objects that refer to this one through a field, each once. See
    /// [`Obj::referrers`] for costs and errors.
    pub fn referrers<F: ReferenceField>(&self, field: F) -> Result<Objs<'t, F::Owner>> {
        path::referrers(self.tx, field, self.id)
    }

    /// What a path finds from this object. See [`Obj::follow`].
    ///
    /// # Errors
    /// The errors of [`Path::follow`].
    pub fn follow<A: Target, B: Target, N: Plurality>(
        &self,
        path: &Path<A, B, N>,
    ) -> Result<N::Found<'t, B>> {
        N::found(path.follow_ids(self.tx, [Ok(self.id)])?)
    }

    /// The objects to which a named cascade leads from this one. See [`Cascade`].
    pub fn cascade(&self, name: impl Into<String>) -> Cascade<'t> {
        Cascade::new(self.tx, vec![self.id], vec![name.into()])
    }

    /// Copies the object, and those to which the cascades of `copy` lead. Returns the copy of this
    /// object. See [`Tx::copy_all`] for costs and errors.
    pub fn copy_to<'d>(&self, dest: &'d Tx, copy: super::copy::Copy) -> Result<AnyObj<'d>> {
        let copied = self.tx.copy_all([self.id], dest, copy)?;
        Ok(dest.any(copied.get(&self.id).copied().unwrap_or(self.id)))
    }

    /// Deletes the object. Returns false if it does not exist.
    ///
    /// # Errors
    /// [`ReferencedObject`](crate::object::Error::ReferencedObject) if a reference to it forbids
    /// the deletion.
    pub fn delete(&self) -> Result<bool> {
        Ok(self.tx.core.delete(self.id)?)
    }
}

impl PartialEq for AnyObj<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && std::ptr::eq(self.tx, other.tx)
    }
}

impl Eq for AnyObj<'_> {}

impl Hash for AnyObj<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for AnyObj<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyObj({})", self.id)
    }
}
