//! The references of many objects to a deleted one become null together.

use std::cmp::Ordering;
use std::sync::Arc;

use permazen_kv::{KeySpan, Verdict};

use super::check::NULL;
use super::null_keys::NullKeys;
use super::referrers::TOGETHER;
use super::unreference::Unreference;
use crate::id::{ObjId, StorageId};
use crate::layout::{self, FieldKey, SchemaIndex, append_index_key, index_prefix};
use crate::object::store::Store;
use crate::object::{Result, Transaction};
use crate::schema::{ResolvedField, ResolvedType};

/// A search costs about as much as stepping over this many pairs that are not wanted.
const MOST_STEPS: usize = 8;

/// A reference field with an index of its own, in the objects of one type and schema.
struct ReferenceField {
    schema: SchemaIndex,
    object_type: Arc<ResolvedType>,
    field: Arc<ResolvedField>,
}

impl ReferenceField {
    /// Whether an object with this own pair is of the type and schema.
    #[inline]
    fn is_of(&self, id: ObjId, own: &[u8]) -> bool {
        id.storage_id() == self.object_type.storage_id
            && layout::parse_object_info(own) == Ok(self.schema)
    }
}

impl Transaction {
    /// Does the same as [`unreference`](Self::unreference) for each of `holders`, which have
    /// ascending IDs and entries in the index of the field.
    pub(super) fn unreference_all(
        &self,
        holders: &[ObjId],
        field: StorageId,
        target: ObjId,
        change: Unreference,
        null_keys: &mut NullKeys,
    ) -> Result<()> {
        let mut left = holders;
        while let Some(&first) = left.first() {
            // Objects of one type and schema are done by one walk. It ends at the first one of
            // another kind.
            let done = match self.place_to_nullify(first, field)? {
                Some(place) => {
                    self.nullify(&place, left.get(..TOGETHER).unwrap_or(left), target)?
                }
                None => 0,
            };
            // The first holder cannot be done by a walk, so it is done alone, and the walk begins
            // anew after it.
            if done == 0 {
                self.unreference(first, field, target, change, null_keys)?;
            }
            left = left.get(done.max(1)..).unwrap_or_default();
        }
        Ok(())
    }

    /// The field in the type of `holder`, if it can become null in many objects at once: no
    /// listener watches it, and no other index has its value.
    fn place_to_nullify(&self, holder: ObjId, field: StorageId) -> Result<Option<ReferenceField>> {
        // The walk also reads pairs of other objects. Where reads are checked for conflicts, or the
        // store is far away, these must not be read.
        if !self.store.reads_on_freely() {
            return Ok(None);
        }
        let Some(info) = self.find_info(holder)? else { return Ok(None) };
        let Some(object_type) = info.object_type else { return Ok(None) };
        let Some(field) = object_type.field_by_storage_id(field).map(Arc::clone) else {
            return Ok(None);
        };
        // The walk removes the pair and puts no null, so null must be the default.
        let is_plain = field.simple().is_some_and(|it| it.indexed && it.is_default(NULL))
            && field.indexes.is_empty()
            && !self.is_monitored(&object_type, &field);
        Ok(is_plain.then_some(ReferenceField { schema: info.schema, object_type, field }))
    }

    /// Makes the references null. Returns for how many of `holders`: the next one is another kind
    /// of object.
    fn nullify(&self, place: &ReferenceField, holders: &[ObjId], target: ObjId) -> Result<usize> {
        let mut walk =
            Walk { place, holders, target, done: 0, in_holder: false, referred: Vec::new() };
        walk.remove_references(&self.store)?;
        let Walk { done, referred, .. } = walk;
        let field = &place.field;
        let mut entry = index_prefix(&field.key, target.as_bytes());
        // The holders are those of all entries, except for damaged ones, which stay where they are.
        self.remove_entries_of(&entry, &referred)?;
        for &holder in &referred {
            entry.clear();
            // The null entries are put after the walk, because the walk has the store borrowed.
            append_index_key(&field.key, NULL, holder, &[], &mut entry);
            self.store.put_entry(&entry)?;
            // Rules may depend on the field, although no listener watches it.
            self.dirty_set.field(holder, field.storage_id, Some(NULL));
        }
        Ok(done)
    }
}

/// A walk over the pairs of objects with ascending IDs, which removes their references to a target.
struct Walk<'w> {
    place: &'w ReferenceField,
    holders: &'w [ObjId],
    target: ObjId,
    /// How many holders the search has passed.
    done: usize,
    /// Whether the own pair of the next holder was seen, and the search is for its field.
    in_holder: bool,
    /// The holders that did refer to the target.
    referred: Vec<ObjId>,
}

impl Walk<'_> {
    /// Removes references up to the first object that is not of the type and schema.
    fn remove_references(&mut self, store: &Store) -> Result<()> {
        // Where the last search has led to one holder only, the next one is mostly far away.
        let mut patience = MOST_STEPS;
        while let Some(&holder) = self.holders.get(self.done) {
            let from = self.done;
            let field_key = FieldKey::new(holder, &self.place.field.key);
            let start = if self.in_holder { &field_key[..] } else { &holder.as_bytes()[..] };
            let (mut skipped, mut is_other, mut stopped) = (0, false, false);
            // No upper end: the walk stops by itself, and the last holder is not known to exist.
            store.remove_where(KeySpan::new(start, None), |key, value| {
                match self.look_at(key, value) {
                    Seen::Wanted(verdict) => {
                        skipped = 0;
                        return verdict;
                    }
                    // After this many pairs, a new search is cheaper than more steps.
                    Seen::Between if skipped < patience => {
                        skipped += 1;
                        return Verdict::Keep;
                    }
                    Seen::Between | Seen::Last => {}
                    Seen::Other => is_other = true,
                }
                stopped = true;
                Verdict::Stop
            })?;
            if is_other {
                break;
            }
            if !stopped {
                // There are no more pairs, so that no holder is left.
                self.done = self.holders.len();
            }
            patience = if self.done - from > 1 { MOST_STEPS } else { 1 };
        }
        Ok(())
    }

    #[inline]
    fn look_at(&mut self, key: &[u8], value: &[u8]) -> Seen {
        while let Some(&holder) = self.holders.get(self.done) {
            if !self.in_holder {
                match key.cmp(holder.as_bytes()) {
                    Ordering::Less => return Seen::Between,
                    Ordering::Equal if self.place.is_of(holder, value) => {
                        self.in_holder = true;
                        return Seen::Wanted(Verdict::Keep);
                    }
                    Ordering::Equal => return Seen::Other,
                    // There is no such object.
                    Ordering::Greater => {}
                }
            } else {
                match key.cmp(&FieldKey::new(holder, &self.place.field.key)) {
                    Ordering::Less => return Seen::Between,
                    // The content decides. An index entry that led here without it is damage.
                    Ordering::Equal if value == self.target.as_bytes() => {
                        self.referred.push(holder);
                        self.next();
                        return Seen::Wanted(Verdict::Remove);
                    }
                    Ordering::Equal => {
                        self.next();
                        return Seen::Wanted(Verdict::Keep);
                    }
                    // The field is null.
                    Ordering::Greater => {}
                }
            }
            self.next();
        }
        Seen::Last
    }

    fn next(&mut self) {
        self.done += 1;
        self.in_holder = false;
    }
}

/// The role of a pair in a [`Walk`].
enum Seen {
    /// It belongs to a holder.
    Wanted(Verdict),
    /// It comes before the pair that is searched for.
    Between,
    /// The own pair of a holder of another type or schema.
    Other,
    /// It comes after all holders.
    Last,
}
