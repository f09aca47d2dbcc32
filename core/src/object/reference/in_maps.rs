//! Changes of a deletion in maps whose entries hold two references each.

use std::sync::Arc;

use permazen_kv::Direction;

use super::check::{NULL, field_or_part};
use super::unreference::Unreference;
use crate::id::{ObjId, StorageId};
use crate::layout::index_key;
use crate::object::collection::MapView;
use crate::object::store::LiveScan;
use crate::object::{Result, Transaction};
use crate::schema::{ResolvedField, SubFieldRole};

/// Changes of a field in the objects that refer to a deleted one.
pub(super) struct InMaps {
    pub(super) holders: Vec<ObjId>,
    pub(super) field: StorageId,
    pub(super) target: ObjId,
    pub(super) change: Unreference,
    /// The entries that refer to the deleted object, if a listener may create another one with its
    /// ID: only these refer to the deleted one.
    entries: Vec<MapEntry>,
    /// Whether only `entries` change, and they refer by their values. If they refer by their keys,
    /// each holder has one.
    pub(super) only_entries: bool,
}

/// An entry of a map of an object, encoded.
struct MapEntry {
    holder: ObjId,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Transaction {
    /// The changes in the maps of `holders`, as they are when the target was just deleted.
    pub(super) fn changes_in_maps(
        &self,
        holders: Vec<ObjId>,
        field: StorageId,
        target: ObjId,
        change: Unreference,
    ) -> Result<InMaps> {
        let mut entries = Vec::new();
        // Without listeners, no object gets the ID of the deleted one.
        if self.notifier.watches_deletions() {
            for &holder in &holders {
                self.add_entries(holder, field, target, &mut entries)?;
            }
        }
        Ok(InMaps { holders, field, target, change, entries, only_entries: false })
    }

    /// The map of an object that has this sub-field, and the sub-field.
    fn map_with(
        &self,
        holder: ObjId,
        field: StorageId,
    ) -> Result<Option<(MapView<'_>, Arc<ResolvedField>)>> {
        let object_type = self.find_info(holder)?.and_then(|info| info.object_type);
        let Some(object_type) = object_type else { return Ok(None) };
        let Some((map, half)) = field_or_part(&object_type, field) else { return Ok(None) };
        Ok(MapView::new(self, holder, map).map(|map| (map, Arc::clone(half))))
    }

    /// Adds the entries of a map of `holder` that refer to `target` by the sub-field.
    fn add_entries(
        &self,
        holder: ObjId,
        field: StorageId,
        target: ObjId,
        entries: &mut Vec<MapEntry>,
    ) -> Result<()> {
        let Some((map, half)) = self.map_with(holder, field)? else { return Ok(()) };
        let target = &target.as_bytes()[..];
        if is_key(&half) {
            let value = map.encoded().get(target, |value| value.map(<[u8]>::to_vec))?;
            entries.extend(value.map(|value| MapEntry { holder, key: target.to_vec(), value }));
            return Ok(());
        }
        let prefix = index_key(&half.key, target, holder, &[]);
        let mut scan = LiveScan::of_prefix(self.store(), &prefix, Direction::Forward, false);
        while let Some((entry, _)) = scan.next()? {
            let key = entry.get(prefix.len()..).unwrap_or_default().to_vec();
            // An index entry without matching content is damage, so the content decides.
            if map.encoded().get(&key, |value| value == Some(target))? {
                entries.push(MapEntry { holder, key, value: target.to_vec() });
            }
        }
        Ok(())
    }

    /// A listener has created another object with the ID of the deleted one. So only the entries
    /// that are still the same refer to the deleted one.
    pub(super) fn keep_same_entries(&self, it: &mut InMaps) -> Result<()> {
        let mut same = Vec::new();
        for entry in std::mem::take(&mut it.entries) {
            let Some((map, half)) = self.map_with(entry.holder, it.field)? else { continue };
            if map.encoded().get(&entry.key, |value| value == Some(&entry.value[..]))? {
                it.only_entries = !is_key(&half);
                same.push(entry);
            }
        }
        it.holders = same.iter().map(|entry| entry.holder).collect();
        it.holders.dedup();
        it.entries = same;
        Ok(())
    }

    /// Makes the values of the entries null, or removes the entries. Calls `tell` with each holder.
    pub(super) fn unreference_entries(
        &self,
        it: &InMaps,
        mut tell: impl FnMut(ObjId) -> Result<()>,
    ) -> Result<()> {
        let null = match it.change {
            Unreference::Nullify => Some(NULL),
            Unreference::Remove => None,
        };
        let mut told = None;
        for MapEntry { holder, key, value } in &it.entries {
            let Some((map, _)) = self.map_with(*holder, it.field)? else { continue };
            // The deletion may have removed it by its key.
            if !map.encoded().get(key, |present| present == Some(&value[..]))? {
                continue;
            }
            map.unreference_value(key, null)?;
            if told.replace(*holder) != Some(*holder) {
                tell(*holder)?;
            }
        }
        Ok(())
    }
}

/// Whether a sub-field has the keys of a map.
pub(super) fn is_key(half: &ResolvedField) -> bool {
    half.parent.as_ref().is_some_and(|parent| parent.role == SubFieldRole::MapKey)
}
