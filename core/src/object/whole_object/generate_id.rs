//! Generates random IDs that no object has, and checks IDs that the caller chose.

use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::object::store::Undo;
use crate::object::{Error, Result, Transaction};
use crate::schema::ResolvedType;

/// The ID of an object that is created.
#[derive(Debug, Clone, Copy)]
pub(in crate::object) enum NewId {
    /// No object has it.
    Absent(ObjId),
    /// It was drawn, and an object may have it.
    Drawn(ObjId),
}

impl NewId {
    /// The ID, or the one that is tried first.
    pub(in crate::object) fn get(self) -> ObjId {
        match self {
            NewId::Absent(id) | NewId::Drawn(id) => id,
        }
    }
}

/// How many random IDs are tried.
const ATTEMPTS: u32 = 64;

impl Transaction {
    /// An ID that no object has, for an object of the type with that name in any recorded schema.
    /// The ID is not reserved. Cost: one get.
    ///
    /// # Errors
    /// [`Error::UnknownType`]; [`Error::NoFreeId`] after 64 attempts.
    pub fn generate_id(&self, type_name: &str) -> Result<ObjId> {
        let storage_id = self.type_storage_id(type_name)?;
        self.free_id(storage_id, type_name)
    }

    /// An ID that no object has, for an object of this type. Cost: one get for each ID that is
    /// tried.
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

    /// Puts the own pair of a new object, and returns its ID. If an object already has an ID that
    /// was drawn, another one is drawn. Cost: one put for each ID that is tried.
    pub(in crate::object) fn put_own_pair(
        &self,
        id: NewId,
        object_type: &ResolvedType,
    ) -> Result<ObjId> {
        let info = layout::object_info(object_type.schema);
        let mut id = match id {
            NewId::Absent(id) => {
                // `Absent` was looked up in this operation, so the put need not find it out.
                self.store.put(id.as_bytes(), &info, Undo::Absent)?;
                return Ok(id);
            }
            NewId::Drawn(id) => id,
        };
        // A random ID is nearly always free. A limit ends the search if the generator gives the
        // same ones.
        for _ in 0..ATTEMPTS {
            // The put itself finds out whether the ID is free, which saves a get for each new
            // object.
            if self.store.put_new(id.as_bytes(), &info)? {
                return Ok(id);
            }
            id = self.shared.random_id(object_type.storage_id)?;
        }
        Err(Error::NoFreeId { type_name: object_type.name.to_string(), attempts: ATTEMPTS })
    }

    /// Refuses an ID that is not of this type.
    pub(in crate::object) fn check_id_of(
        &self,
        id: ObjId,
        object_type: &ResolvedType,
    ) -> Result<()> {
        // An object with another storage ID in its ID would not be found among those of its type.
        if id.storage_id() == object_type.storage_id {
            return Ok(());
        }
        Err(Error::invalid_argument(format!(
            "object id {id} is not of type {:?}, whose storage id is {}",
            object_type.name, object_type.storage_id
        )))
    }
}
