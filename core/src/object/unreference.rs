//! Taking references to a deleted object out of collections (transactions §9.3).

use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::error::{Error, Result, hex};
use super::id_set::{IdSet, any_id};
use super::list_view::ListView;
use super::map_view::MapView;
use super::references::field_or_part;
use super::scan::LiveScan;
use super::set_view::SetView;
use super::transaction::Transaction;
use crate::encoding::uint;
use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::schema::{ResolvedField, SubFieldRole};

/// The encoded null reference.
const NULL: &[u8] = &[0xff];

/// What becomes of a reference in a collection when the object it refers to is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreference {
    /// It becomes null.
    Nullify,
    /// It goes: the element, or the whole entry of a map.
    Remove,
}

impl Transaction<'_> {
    /// The objects that refer to `target` through the reference field or sub-field with this storage
    /// id, ascending: a live set over the index. Holders of all types and schemas are in it. Nothing is
    /// read before the set is; that is one seek and a step per entry.
    pub fn referrers(&self, field: StorageId, target: ObjId) -> IdSet<'_> {
        let mut prefix = field.prefix();
        prefix.extend_from_slice(target.as_bytes());
        IdSet::of_keys(self.store(), prefix, any_id())
    }

    /// Takes every reference to `target` out of a set, list or map of `holder`. `field` is the storage id
    /// of the sub-field. Nothing happens if the holder has no such collection.
    ///
    /// Each change is an ordinary one of the collection: indexed and told. References in the other half
    /// of a map entry are not looked at.
    pub(crate) fn unreference_in_collection(
        &self,
        holder: ObjId,
        field: StorageId,
        target: ObjId,
        action: Unreference,
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
                Some(map) => map.unreference_key(target.as_bytes(), null),
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
        map: &MapView<'_, '_>,
        part: &Arc<ResolvedField>,
        target: ObjId,
        null: Option<&[u8]>,
    ) -> Result<()> {
        let prefix = entry_prefix(part, target, map.id());
        let mut entries = LiveScan::of_prefix(self.store(), &prefix, Direction::Forward, false);
        let mut key = Vec::new();
        while let Some((entry, _)) = entries.next()? {
            key.clear();
            key.extend_from_slice(entry.get(prefix.len()..).unwrap_or_default());
            map.unreference_value(&key, null)?;
        }
        Ok(())
    }

    fn unreference_elements(
        &self,
        list: &ListView<'_, '_>,
        part: &Arc<ResolvedField>,
        target: ObjId,
        null: Option<&[u8]>,
    ) -> Result<()> {
        let prefix = entry_prefix(part, target, list.id());
        let end = layout::prefix_end(&prefix);
        let Some(null) = null else {
            let mut positions = Vec::new();
            self.store().each(KeySpan::new(&prefix, end.as_deref()), |key, _| {
                positions.push(position_of(key, prefix.len())?);
                Ok(())
            })?;
            return list.remove_positions(&positions);
        };
        // One change at a time, looking again each time: listeners may do anything.
        let mut min = prefix.clone();
        loop {
            let span = KeySpan::new(&min, end.as_deref());
            let found = self.store().first(span, Direction::Forward, |pair| {
                pair.map(|(key, _)| position_of(key, prefix.len())).transpose()
            })??;
            let Some(position) = found else { return Ok(()) };
            list.nullify(position, null)?;
            min.truncate(prefix.len());
            uint::write(position, &mut min);
            min.push(0);
        }
    }
}

/// What the index entries of one value of one object start with.
fn entry_prefix(part: &ResolvedField, target: ObjId, holder: ObjId) -> Vec<u8> {
    let mut prefix = part.key.to_vec();
    prefix.extend_from_slice(target.as_bytes());
    prefix.extend_from_slice(holder.as_bytes());
    prefix
}

fn position_of(key: &[u8], prefix_len: usize) -> Result<u32> {
    uint::decode(key.get(prefix_len..).unwrap_or_default()).map_err(|reason| {
        Error::inconsistent(format!("index key {} has no list position: {reason}", hex(key, 64)))
    })
}
