//! Which objects exist.
//!
//! An object exists if its meta-data says so. Only that decides, whatever its fields look like.
//! References and index entries are judged by it. The existence of objects to which references may
//! lead is found out first; that of other objects is read from the store where something is wrong.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use permazen::__internal::schema::SchemaBundle;
use permazen::kv::KvRead;
use permazen::{ObjId, StorageId};

use crate::objects::info::{Meta, MetaReader};
use crate::report::output::{Checked, Output};
use crate::running::parts::{Part, PartContent};
use crate::running::workers::{Readers, visit};

/// The objects that exist, by their object IDs as numbers.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The types whose objects are known here. For other types, the store is read.
    types: BTreeSet<StorageId>,
    /// In ascending order.
    chunks: Vec<Chunk>,
}

/// The types of the objects to which there are references that must not dangle, in any schema.
pub(crate) fn referents(bundle: &SchemaBundle) -> BTreeSet<StorageId> {
    let types = bundle.schemas().iter().flat_map(|schema| &schema.types);
    let fields = types.flat_map(|object_type| object_type.all_fields());
    let references = fields.filter_map(|field| field.simple()?.reference.as_ref());
    let allowed = references
        .filter(|reference| !reference.allow_deleted)
        .map(|reference| reference.allowed.as_ref().map(|allowed| allowed.iter().copied()));
    union(allowed, || bundle.type_ids().collect())
}

/// All that is allowed somewhere. Where one reference allows everything, the union is everything,
/// and the rest is not read.
fn union<T: Ord>(
    allowed: impl Iterator<Item = Option<impl Iterator<Item = T>>>,
    everything: impl FnOnce() -> BTreeSet<T>,
) -> BTreeSet<T> {
    let mut union = BTreeSet::new();
    for allowed in allowed {
        match allowed {
            Some(allowed) => union.extend(allowed),
            None => return everything(),
        }
    }
    union
}

/// How many object IDs are kept in memory; with more objects, the store is read.
const KEPT: usize = 12 << 20;

impl Known {
    /// Scans the ranges of these object types, which are given in parts in the order of their keys.
    pub(crate) fn scan(
        readers: &mut Readers<'_>,
        bundle: &SchemaBundle,
        types: BTreeSet<StorageId>,
        parts: &[Part],
        out: &mut Output<'_>,
    ) -> Checked<Known> {
        let count = AtomicUsize::new(0);
        let chunks = readers.run(parts, out, &|part, kv, out| {
            let PartContent::Objects(type_id) = part.content else { return Ok(Vec::new()) };
            let mut reader = MetaReader::new(bundle, type_id);
            let mut ids: Vec<u64> = Vec::new();
            visit(kv, part.span(), |key, value| {
                out.read()?;
                // Only the meta-data of an object has a key as long as an object ID.
                let Ok(id) = <[u8; 8]>::try_from(key) else { return Ok(()) };
                // Beyond the limit, object IDs are only counted: the list is not used then.
                if reader.read(value).object_type().is_some()
                    && count.fetch_add(1, Ordering::Relaxed) < KEPT
                {
                    ids.push(u64::from_be_bytes(id));
                }
                Ok(())
            })?;
            ids.shrink_to_fit();
            Ok(ids)
        })?;
        match count.into_inner() <= KEPT {
            true => {
                Ok(Known { types, chunks: chunks.into_iter().filter_map(Chunk::new).collect() })
            }
            false => Ok(Known::in_store()),
        }
    }

    /// Looks up existence in the store each time.
    pub(crate) fn in_store() -> Known {
        Known::default()
    }

    /// Whether the object exists.
    pub(crate) fn contains(
        &self,
        kv: &dyn KvRead,
        bundle: &SchemaBundle,
        id: ObjId,
    ) -> Checked<bool> {
        // A pair under another form of the storage ID is no object of the type.
        if !id.is_shortest() {
            return Ok(false);
        }
        if self.types.contains(&id.storage_id()) {
            let number = u64::from_be_bytes(id.to_bytes());
            let after = self.chunks.partition_point(|chunk| chunk.first <= number);
            let chunk = after.checked_sub(1).and_then(|at| self.chunks.get(at));
            return Ok(chunk.is_some_and(|chunk| chunk.contains(number)));
        }
        let value = kv.get(id.as_bytes())?;
        Ok(value.is_some_and(|value| {
            Meta::read(bundle, id.storage_id(), &value).object_type().is_some()
        }))
    }
}

/// Some ascending object IDs, at least one. They are mostly random or in sequence, so they are
/// spread evenly, and a table says where to look for one. Even if they are not, a search takes
/// logarithmic time.
#[derive(Debug)]
struct Chunk {
    first: u64,
    ids: Vec<u64>,
    /// How many low bits of the distance from the first object ID are ignored in the table.
    shift: u32,
    /// How many object IDs come before those of each distance; the last entry is the number of all.
    starts: Vec<u32>,
}

impl Chunk {
    /// About how many object IDs there are for each place of the table.
    const IDS_PER_PLACE: usize = 4;

    fn new(ids: Vec<u64>) -> Option<Self> {
        let (&first, &last) = (ids.first()?, ids.last()?);
        let places = (ids.len() / Self::IDS_PER_PLACE).max(2) as u64;
        let shift = (0..u64::BITS).find(|&shift| (last - first) >> shift < places)?;
        #[allow(clippy::cast_possible_truncation, reason = "it is less than `places`")]
        let count = ((last - first) >> shift) as usize + 1;
        let mut starts = Vec::with_capacity(count + 1);
        for (number, &id) in (0u32..).zip(&ids) {
            #[allow(clippy::cast_possible_truncation, reason = "it is less than `count`")]
            let place = ((id - first) >> shift) as usize;
            starts.resize(starts.len().max(place + 1), number);
        }
        starts.push(u32::try_from(ids.len()).ok()?);
        Some(Chunk { first, ids, shift, starts })
    }

    fn contains(&self, id: u64) -> bool {
        let Some(distance) = id.checked_sub(self.first) else { return false };
        // After the last place, there is no object.
        let Ok(place) = usize::try_from(distance >> self.shift) else { return false };
        let (Some(&start), Some(&end)) =
            (self.starts.get(place), self.starts.get(place.saturating_add(1)))
        else {
            return false;
        };
        let ids = self.ids.get(start as usize..end as usize).unwrap_or_default();
        ids.binary_search(&id).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use super::{Chunk, union};

    /// Many references may lead to objects of any type: the types are still collected once, not
    /// once for each.
    #[test]
    fn references_to_all_types_cost_no_more_than_one() {
        let (looked_at, collected) = (Cell::new(0), Cell::new(0));
        let everything = || (0..8000).inspect(|_| collected.set(collected.get() + 1)).collect();
        let references = (0..8000).map(|number| {
            looked_at.set(looked_at.get() + 1);
            (number < 3).then_some([number].into_iter())
        });
        assert_eq!(union(references, everything), (0..8000).collect());
        assert_eq!((looked_at.get(), collected.get()), (4, 8000));
        let named = [Some([1, 2]), Some([2, 3])].map(|named| named.map(|named| named.into_iter()));
        assert_eq!(union(named.into_iter(), BTreeSet::new), BTreeSet::from([1, 2, 3]));
    }

    #[test]
    fn ids_are_found_however_they_are_spread() {
        let lists: [Vec<u64>; 6] = [
            vec![7],
            (100..1000).collect(),
            (0..64).map(|n| 1 << n).collect(),
            (0..500).map(|n| n * n * n).chain([u64::MAX - 1, u64::MAX]).collect(),
            (0..999).chain([u64::MAX]).collect(),
            vec![0, u64::MAX],
        ];
        for list in lists {
            let chunk = Chunk::new(list.clone()).expect("not empty");
            for id in list.iter().flat_map(|&n| [n.saturating_sub(1), n, n.saturating_add(1)]) {
                assert_eq!(chunk.contains(id), list.contains(&id), "{id} in {list:?}");
            }
            assert_eq!(chunk.contains(0), list.contains(&0));
            assert_eq!(chunk.contains(u64::MAX), list.contains(&u64::MAX));
        }
        assert!(Chunk::new(Vec::new()).is_none());
    }
}
