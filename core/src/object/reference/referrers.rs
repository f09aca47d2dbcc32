//! The objects that refer to a deleted one are deleted too.

use std::cell::Cell;
use std::sync::Arc;

use super::cascade::Cascade;
use super::check::field_or_part;
use super::remove::AtOnce;
use crate::id::{ObjId, StorageId};
use crate::layout::index_prefix;
use crate::object::error::Result;
use crate::object::transaction::Transaction;
use crate::object::whole_object::ObjectData;

/// At most this number of referrers is changed or deleted before their index entries are removed,
/// so that little memory is needed for them.
pub(super) const TOGETHER: usize = 1024;

impl Transaction {
    /// Whether referrers can be read when they are deleted, and not before: until then, nothing can
    /// change what they refer to.
    pub(super) fn deletes_referrers_later(&self) -> bool {
        self.store.reads_on_freely() && self.has_no_listeners()
    }

    /// Deletes those of `holders` that refer to `target` through a field, and calls no listener.
    /// They have entries in its index.
    pub(super) fn delete_referrers(
        &self,
        holders: &[ObjId],
        field: StorageId,
        target: ObjId,
        cascade: &mut Cascade<'_>,
    ) -> Result<()> {
        let mut entry = index_prefix(&field.into(), target.as_bytes());
        let prefix_len = entry.len();
        for holders in holders.chunks(TOGETHER) {
            let mut removed = Vec::with_capacity(holders.len());
            for &holder in holders {
                entry.truncate(prefix_len);
                entry.extend_from_slice(holder.as_bytes());
                let mut left = false;
                match self.remove_referrer(holder, field, target, &entry, &mut left)? {
                    AtOnce::Removed(data, incoming) => {
                        // Entries of the deleted target are removed together below, with one
                        // search.
                        removed.extend(left.then_some(holder));
                        self.queue_after_removal(holder, &data, &incoming, cascade)
                            .map_err(self.in_deletion_of(holder))?;
                    }
                    AtOnce::Nothing => {}
                    AtOnce::No => {
                        let refers = self.refers(holder, field, target);
                        if refers.map_err(self.in_deletion_of(target))? {
                            self.delete_and_queue(holder, cascade)
                                .map_err(self.in_deletion_of(holder))?;
                        }
                    }
                }
            }
            entry.truncate(prefix_len);
            self.remove_entries_of(&entry, &removed).map_err(self.in_deletion_of(target))?;
        }
        Ok(())
    }

    /// Removes an object at once, if that is possible and it refers to `target`, but not its index
    /// entry with the key `but`. Sets `left` to whether there should be one.
    fn remove_referrer(
        &self,
        holder: ObjId,
        field: StorageId,
        target: ObjId,
        but: &[u8],
        left: &mut bool,
    ) -> Result<AtOnce> {
        // What can be forbidden or heard of needs the steps of `delete_and_queue`.
        let Some(incoming) = self.incoming_if_at_once(holder) else { return Ok(AtOnce::No) };
        if !self.is_object_type(holder.storage_id()) {
            return Ok(AtOnce::Nothing);
        }
        // An error before the own pair of the holder was parsed counts as one of the deletion of
        // the target, a later error as one of the deletion of the holder.
        let (seen, deleted) = (Cell::new(false), Cell::new(target));
        let mut lacks_type = false;
        let type_of = |own: &[u8]| {
            seen.set(true);
            let info = self.parse_info(holder, own)?;
            deleted.set(holder);
            lacks_type = info.object_type.is_none();
            self.type_of_info(holder, info)
        };
        // An operation of its own: an object that turns out not to refer must be put back.
        let removing = self.store.begin_operation().map_err(self.in_deletion_of(target))?;
        let removed = self.remove_pairs(holder, type_of);
        // An index entry without matching content is damage, so the content decides.
        // The caller removes the entry that led here, together with those of the other holders.
        let refers = matches!(&removed, Ok(Some(data)) if refers(data, field, target));
        // After an error the whole deletion is undone, so this step need not be.
        removing.end(refers || removed.is_err() && !lacks_type);
        let removed = match removed {
            Ok(Some(data)) if refers => self
                .remove_entries(holder, &data, but)
                .map(|entry_left| *left = entry_left)
                .map(|()| data),
            Ok(_) => return Ok(AtOnce::Nothing),
            // An object without a known type has no known fields, so it does not count as
            // referring.
            Err(_) if lacks_type => return Ok(AtOnce::Nothing),
            // After the own pair was found, an error already names the object.
            Err(error) if seen.get() => Err(error),
            Err(error) => Err(error.about(|| self.named(holder))),
        };
        match removed {
            Ok(data) => Ok(AtOnce::Removed(data, incoming)),
            Err(error) => Err(self.in_deletion_of(deleted.get())(error)),
        }
    }
}

/// Whether an object with this content refers to `target` through a field or sub-field.
fn refers(data: &ObjectData, field: StorageId, target: ObjId) -> bool {
    let object_type = Arc::clone(data.object_type());
    let Some((own, part)) = field_or_part(&object_type, field) else { return false };
    if part.parent.is_none() {
        return data.stored(own) == Some(&target.as_bytes()[..]);
    }
    data.values_of(own, part).any(|value| value == target.as_bytes())
}
