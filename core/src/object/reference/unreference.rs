//! Nullifies or removes references to a deleted object in the objects that stay.

use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::check::{NULL, field_or_part};
use super::null_keys::NullKeys;
use crate::id::{ObjId, StorageId};
use crate::layout::{self, index_key};
use crate::object::collection::{ListView, MapView, SetView, Stays, position_in};
use crate::object::error::Result;
use crate::object::store::LiveScan;
use crate::object::transaction::Transaction;
use crate::schema::{ResolvedField, ResolvedKind, SubFieldRole};

/// The change of a reference when the object it refers to is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreference {
    /// It becomes null.
    Nullify,
    /// It is removed: the element, or the whole entry of a map. A simple field becomes null.
    Remove,
}

impl Transaction {
    /// Removes or nullifies the references to `target` in a field of `holder`, if both still exist.
    pub(super) fn unreference(
        &self,
        holder: ObjId,
        field: StorageId,
        target: ObjId,
        change: Unreference,
        null_keys: &mut NullKeys,
    ) -> Result<()> {
        // The holder may have gone earlier in the same deletion.
        if !self.exists(holder)? {
            return Ok(());
        }
        let object_type = self.object_type(holder)?;
        // If no field has the storage ID, it is that of a sub-field of a collection.
        let Some(own) = object_type.field_by_storage_id(field) else {
            return self.unreference_in_collection(holder, field, target, change, null_keys);
        };
        let Some(simple) = own.simple() else { return Ok(()) };
        let target = &target.as_bytes()[..];
        // Even where elements are removed, a simple field can only become null.
        self.mutate(|| self.exchange_simple(holder, &object_type, own, simple, target, NULL))
    }

    /// Removes or nullifies every reference to `target` in a set, list or map of `holder`. `field`
    /// is the storage ID of the sub-field. Does nothing if the holder has no such collection.
    ///
    /// Each change is an ordinary one of the collection: index entries are updated and listeners
    /// are called. References in the other half of a map entry are not checked.
    fn unreference_in_collection(
        &self,
        holder: ObjId,
        field: StorageId,
        target: ObjId,
        action: Unreference,
        null_keys: &mut NullKeys,
    ) -> Result<()> {
        let object_type = self.require_object_type(holder)?;
        let Some((collection, part)) = field_or_part(&object_type, field) else { return Ok(()) };
        let Some(parent) = &part.parent else { return Ok(()) };
        let null = match action {
            Unreference::Nullify => Some(NULL),
            Unreference::Remove => None,
        };
        match parent.role {
            SubFieldRole::SetElement => match SetView::new(self, holder, collection) {
                Some(set) => set.unreference(target.as_bytes(), null),
                None => Ok(()),
            },
            SubFieldRole::MapKey => match MapView::new(self, holder, collection) {
                Some(map) => unreference_key(&map, collection, target, null, null_keys),
                None => Ok(()),
            },
            SubFieldRole::MapValue => match MapView::new(self, holder, collection) {
                Some(map) => self.unreference_values(&map, part, target, null),
                None => Ok(()),
            },
            SubFieldRole::ListElement => match ListView::new(self, holder, collection) {
                Some(list) => self.unreference_elements(&list, part, target, null),
                None => Ok(()),
            },
        }
    }

    fn unreference_values(
        &self,
        map: &MapView<'_>,
        part: &Arc<ResolvedField>,
        target: ObjId,
        null: Option<&[u8]>,
    ) -> Result<()> {
        // The scan sees its own changes: each entry goes when its value becomes null.
        let prefix = index_key(&part.key, target.as_bytes(), map.id(), &[]);
        let mut entries = LiveScan::of_prefix(self.store(), &prefix, Direction::Forward, false);
        let mut key = Vec::new();
        while let Some((entry, _)) = entries.next()? {
            key.clear();
            key.extend_from_slice(entry.get(prefix.len()..).unwrap_or_default());
            // An index entry without matching content is damage, so the content decides.
            let refers = map.encoded().get(&key, |value| value == Some(&target.as_bytes()[..]))?;
            if refers {
                map.unreference_value(&key, null)?;
            }
        }
        Ok(())
    }

    fn unreference_elements(
        &self,
        list: &ListView<'_>,
        part: &Arc<ResolvedField>,
        target: ObjId,
        null: Option<&[u8]>,
    ) -> Result<()> {
        let prefix = index_key(&part.key, target.as_bytes(), list.id(), &[]);
        let end = layout::prefix_end(&prefix);
        let (mut first, mut last) = (None, None);
        let mut stray = Vec::new();
        // The positions are collected first: removing one element moves all after it.
        self.store().each(KeySpan::new(&prefix, end.as_deref()), |key, _| {
            let suffix = key.get(prefix.len()..).unwrap_or_default();
            match position_in(suffix) {
                Ok(position) => {
                    first = first.or(Some(position));
                    last = Some(position);
                }
                Err(_) => stray.push(suffix.to_vec()),
            }
            Ok(())
        })?;
        // Keys with no valid position have no place in the list, so no element moves for them.
        for suffix in stray {
            list.unreference_stray(&suffix, target.as_bytes(), null)?;
        }
        let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
        // The index says only where to look. The elements between decide, because entries may be
        // damaged.
        let positions = list.positions_between(first, last, target.as_bytes())?;
        match null {
            None => list.remove_positions(&positions),
            Some(null) => {
                positions.into_iter().try_for_each(|position| list.nullify(position, null))
            }
        }
    }
}

/// Handles a reference to a deleted object in a key of a map. If this is not the first one that
/// becomes null in the deletion, the values decide which entry stays: the order in which the
/// objects go must not.
fn unreference_key(
    map: &MapView<'_>,
    field: &ResolvedField,
    target: ObjId,
    null: Option<&[u8]>,
    null_keys: &mut NullKeys,
) -> Result<()> {
    let Some(null) = null else {
        return map.unreference_key(target.as_bytes(), None, None).map(drop);
    };
    let place = (map.id(), field.storage_id);
    let ResolvedKind::Map { value: values, .. } = &field.kind else { return Ok(()) };
    let again = null_keys.maps.contains(&place);
    let stays = |there: &[u8], value: &[u8]| null_keys.stays(values, there, value);
    let stays: Option<Stays<'_>> = if again { Some(&stays) } else { None };
    if map.unreference_key(target.as_bytes(), Some(null), stays)? {
        null_keys.maps.insert(place);
    }
    Ok(())
}
