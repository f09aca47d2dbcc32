//! Which references may be set, and those that an object holds.

use std::sync::Arc;

use permazen_kv::KeySpan;

use crate::encoding::{self, EncodingError};
use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::object::describe::describe;
use crate::object::error::hex;
use crate::object::{Error, Result, Transaction};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType, SubFieldRole};

/// The encoded null reference.
pub(in crate::object) const NULL: &[u8] = &[encoding::NULL];

/// The object to which an encoded reference refers; `None` for null.
pub(crate) fn target_of(bytes: &[u8]) -> Result<Option<ObjId>, EncodingError> {
    match bytes {
        NULL => Ok(None),
        _ => ObjId::from_slice(bytes).map(Some),
    }
}

/// A field and its sub-field with this storage ID. If a field itself has the storage ID, that field
/// twice.
pub(crate) fn field_or_part(
    object_type: &ResolvedType,
    storage_id: StorageId,
) -> Option<(&Arc<ResolvedField>, &Arc<ResolvedField>)> {
    if let Some(field) = object_type.field_by_storage_id(storage_id) {
        return Some((field, field));
    }
    // A sub-field is found by its own storage ID, but its pairs are under the key of its field.
    object_type.fields.iter().find_map(|field| {
        field.sub_fields().find(|part| part.storage_id == storage_id).map(|part| (field, part))
    })
}

/// Refuses a reference to an object of a type that the field does not allow.
pub(in crate::object) fn check_reference_type(
    id: ObjId,
    field: &ResolvedField,
    bytes: &[u8],
) -> Result<()> {
    let Some(reference) = field.reference() else { return Ok(()) };
    let invalid = |source| Error::InvalidValue { field: describe(id, field), source };
    match target_of(bytes).map_err(invalid)? {
        Some(target) if !reference.allows(target.storage_id()) => {
            Err(invalid(EncodingError::InvalidReference {
                id: target,
                storage_id: target.storage_id(),
            }))
        }
        _ => Ok(()),
    }
}

impl Transaction {
    /// Refuses a reference to an object that does not exist. `bytes` is an encoded value of the
    /// reference field or sub-field `field`. The reference is accepted if the field allows it, if
    /// the object refers to itself, or if this transaction is detached. Cost: nothing for null,
    /// otherwise as much as [`Transaction::exists`].
    pub(crate) fn check_reference_exists(
        &self,
        id: ObjId,
        field: &ResolvedField,
        bytes: &[u8],
    ) -> Result<()> {
        let Some(reference) = field.reference() else { return Ok(()) };
        // A detached transaction holds copies of some objects, so it cannot say which targets
        // exist.
        if reference.allow_deleted || self.is_detached() {
            return Ok(());
        }
        let target = target_of(bytes)
            .map_err(|source| Error::InvalidValue { field: describe(id, field), source })?;
        // An object may refer to itself while it is being created.
        let Some(target) = target.filter(|target| *target != id) else { return Ok(()) };
        // A copy notes what is missing and decides at its end, when all its objects are there.
        if self.exists(target)? || self.missing.note(target, field) {
            return Ok(());
        }
        Err(Error::DeletedObject {
            id: target,
            type_name: self.type_name_of(target),
            attempted: format!("{} may not be set to a missing object", describe(id, field)),
        })
    }

    /// Visits the objects to which an object refers through the reference field or sub-field with
    /// this storage ID. Visits nothing if there is no such object or it does not have the field.
    /// Cost: one get, or one seek and a step per element.
    pub(crate) fn each_reference(
        &self,
        id: ObjId,
        field: StorageId,
        mut visit: impl FnMut(ObjId),
    ) -> Result<()> {
        let object_type = self.find_info(id)?.and_then(|info| info.object_type);
        let Some(object_type) = object_type else { return Ok(()) };
        let Some((field, part)) = field_or_part(&object_type, field) else { return Ok(()) };
        if !part.is_reference() {
            return Ok(());
        }
        let key = layout::field_key(id, &field.key);
        let mut check = |key: &[u8], bytes: &[u8]| {
            let target = target_of(bytes).map_err(|reason| {
                Error::inconsistent(format!(
                    "{}: key {}: {reason}",
                    describe(id, part),
                    hex(key, 64)
                ))
            })?;
            if let Some(target) = target {
                visit(target);
            }
            Ok(())
        };
        if let ResolvedKind::Simple(_) = field.kind {
            return self.store.get(&key, |value| match value {
                Some(value) => check(&key, value),
                // Null is the default of references, so it has no pair.
                None => Ok(()),
            })?;
        }
        let end = layout::prefix_end(&key);
        // Set elements and map keys are in the key of a pair; list elements and map values are its
        // value.
        let in_key = part.parent.as_ref().is_some_and(|parent| {
            matches!(parent.role, SubFieldRole::SetElement | SubFieldRole::MapKey)
        });
        self.store.each(KeySpan::new(&key, end.as_deref()), |full, value| {
            check(full, if in_key { full.get(key.len()..).unwrap_or_default() } else { value })
        })
    }
}
