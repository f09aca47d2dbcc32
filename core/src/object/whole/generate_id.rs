//! Generates random IDs that no object has, and checks IDs that the caller chose.

use crate::id::{ObjId, StorageId};
use crate::object::{Error, Result, Transaction};
use crate::schema::ResolvedType;

/// How many random IDs are tried.
const ATTEMPTS: u32 = 64;

impl Transaction<'_> {
    /// An ID that no object has, for an object of the type with that name in any recorded schema.
    /// The ID is not reserved. Cost: one get.
    ///
    /// # Errors
    /// [`Error::UnknownType`]; [`Error::NoFreeId`] after 64 attempts.
    pub fn generate_id(&self, type_name: &str) -> Result<ObjId> {
        let storage_id = self.type_storage_id(type_name)?;
        self.free_id(storage_id, type_name)
    }

    /// An ID that no object has, for an object of this type. Cost: one get for each ID that is tried.
    pub(in crate::object) fn free_id(
        &self,
        storage_id: StorageId,
        type_name: &str,
    ) -> Result<ObjId> {
        for _ in 0..ATTEMPTS {
            let id = self.shared.random_id(storage_id)?;
            let taken = self.store.contains(id.as_bytes());
            if !taken.map_err(|error| error.about(|| format!("new {}", self.named(id))))? {
                return Ok(id);
            }
        }
        Err(Error::NoFreeId { type_name: type_name.to_owned(), attempts: ATTEMPTS })
    }

    /// Refuses an ID that is not of this type.
    pub(in crate::object) fn check_id_of(
        &self,
        id: ObjId,
        object_type: &ResolvedType,
    ) -> Result<()> {
        if id.storage_id() == object_type.storage_id {
            return Ok(());
        }
        Err(Error::invalid_argument(format!(
            "object id {id} is not of type {:?}, whose storage id is {}",
            object_type.name, object_type.storage_id
        )))
    }
}
