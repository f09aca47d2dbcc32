//! Objects of any type, whose fields are accessed by name.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::error::Result;
use super::reference::{Any, Ref};
use super::rules::Validation;
use super::target::{Handles, Target};
use super::tx::Tx;
use super::values::EncodeAs;
use crate::encoding::{self, Value};
use crate::id::ObjId;
use crate::object::{FieldValue, Migrate};
use crate::schema::{ResolvedField, ResolvedType, SchemaId};

/// Any object in a transaction, whether its model is registered or not. Fields are accessed by
/// name, with [`Value`]s.
///
/// The fields are those of the object's own schema. It never moves the object to the transaction's
/// schema, where [`Obj`](super::Obj) moves it if it must.
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

    /// Has all rules checked for this object. See [`Obj::revalidate`](super::Obj::revalidate).
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn revalidate(&self) -> Result<()> {
        self.tx.core.info(self.id)?;
        if self.tx.rule_options()?.validation != Validation::Off {
            self.tx.core.dirty_set.everything(self.id);
        }
        Ok(())
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

impl Tx {
    /// A handle on any object. Reads nothing.
    pub fn any(&self, id: impl Into<ObjId>) -> AnyObj<'_> {
        AnyObj::new(self, id.into())
    }
}

impl Target for Any {
    type Live<'t> = AnyObj<'t>;
    const TYPES: Option<&'static [&'static str]> = None;

    fn live<'t>(from: Handles<'t>, id: ObjId) -> Result<AnyObj<'t>> {
        Ok(from.tx.any(id))
    }
}

impl From<AnyObj<'_>> for Ref<Any> {
    fn from(object: AnyObj<'_>) -> Ref<Any> {
        object.to_ref()
    }
}

impl EncodeAs<Ref<Any>> for AnyObj<'_> {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> encoding::Result<()> {
        out.extend_from_slice(self.id.as_bytes());
        Ok(())
    }
}

impl EncodeAs<Option<Ref<Any>>> for AnyObj<'_> {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> encoding::Result<()> {
        out.extend_from_slice(self.id.as_bytes());
        Ok(())
    }
}

impl From<AnyObj<'_>> for ObjId {
    fn from(object: AnyObj<'_>) -> ObjId {
        object.id()
    }
}
