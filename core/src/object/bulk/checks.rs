//! Checks of all objects together, before anything is written.

use super::lanes::Lanes;
use super::loader::Loaded;
use super::sorter::Records;
use crate::id::{ObjId, StorageId};
use crate::object::describe::describe;
use crate::object::reference::field_or_part;
use crate::object::{Error, Result};

impl Loaded {
    /// The IDs of all objects, in order: the object schema index.
    fn ids(&self) -> Result<Records<'_>> {
        // The object schema index has each object once, so two equal keys are one ID given twice.
        let lane = Lanes::SCHEMA_INDEX;
        self.sorted.lane(lane, self.lanes.common(lane)).map_err(Error::temporary_file)
    }

    /// Refuses two objects with one ID.
    pub(super) fn check_ids(&self) -> Result<()> {
        let mut ids = self.ids()?;
        let mut last = Vec::new();
        while let Some((key, _)) = ids.next().map_err(Error::temporary_file)? {
            if key == last {
                let id = id_at_end(key)?;
                return Err(Error::invalid_argument(format!(
                    "object {id} was given to the loader twice"
                )));
            }
            last.clear();
            last.extend_from_slice(key);
        }
        Ok(())
    }

    /// Refuses references to objects that were not given.
    pub(super) fn check_references(&self) -> Result<()> {
        // Both lists are sorted, so one walk through them finds every target.
        let mut ids = self.ids()?;
        let lane = self.lanes.of_references();
        let references = self.sorted.lane(lane, 0);
        let mut references = references.map_err(Error::temporary_file)?;
        let mut next_id = || match ids.next().map_err(Error::temporary_file)? {
            Some((key, _)) => id_at_end(key).map(Some),
            None => Ok(None),
        };
        // Several references can have the same target, so the ID is kept between them.
        let mut id = next_id()?;
        while let Some((target, from)) = references.next().map_err(Error::temporary_file)? {
            let target = id_at_end(target)?;
            while id.is_some_and(|id| id < target) {
                id = next_id()?;
            }
            if id != Some(target) {
                return Err(self.dangling(target, from));
            }
        }
        Ok(())
    }

    /// `from` is the object that has the reference, and the field.
    fn dangling(&self, target: ObjId, from: &[u8]) -> Error {
        // A damaged record still gives an error that names the target.
        let found = from.split_first_chunk().and_then(|(id, field)| {
            let id = ObjId::from_bytes(*id).ok()?;
            let field = StorageId::new(u32::from_be_bytes(field.try_into().ok()?))?;
            let object_type = self.schema.type_by_storage_id(id.storage_id())?;
            let (_, part) = field_or_part(object_type, field)?;
            Some(describe(id, part))
        });
        let target_type = self.schema.type_by_storage_id(target.storage_id());
        Error::DeletedObject {
            id: target,
            type_name: target_type.map(|it| it.name.clone()),
            attempted: format!(
                "{} may not be set to a missing object",
                found.unwrap_or_else(|| "a field".to_owned())
            ),
        }
    }
}

fn id_at_end(key: &[u8]) -> Result<ObjId> {
    // Only this program wrote the file, so another content is damage on disk.
    let damaged = || Error::temporary_file(std::io::ErrorKind::InvalidData.into());
    let bytes = key.last_chunk().ok_or_else(damaged)?;
    ObjId::from_bytes(*bytes).map_err(|_| damaged())
}
