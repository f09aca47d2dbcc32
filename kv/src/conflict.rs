//! Whether changes disturb what was read (kv §8.2).

use std::ops::Bound::{Excluded, Included, Unbounded};

use crate::{Conflict, KeyRanges, KeySpan, Writes};

/// The first conflict between what a transaction read and what another one, committed after the
/// first began, wrote: removes come before puts, puts before adjusts.
///
/// Writes never conflict with writes. Keys decide, not values: a put of the same value conflicts.
/// Costs a search for each range read or each change, whichever are fewer.
pub fn find_conflict(reads: &KeyRanges, writes: &Writes) -> Option<Conflict> {
    let removed = || removed(reads, &writes.removes).next();
    let put = || read_keys(reads, &writes.puts).next().map(read_write);
    let adjusted = || read_keys(reads, &writes.adjusts).next().map(read_adjust);
    removed().or_else(put).or_else(adjusted)
}

/// Every conflict, in the order of [`find_conflict`].
pub fn find_conflicts(reads: &KeyRanges, writes: &Writes) -> Vec<Conflict> {
    let removed = removed(reads, &writes.removes);
    let put = read_keys(reads, &writes.puts).map(read_write);
    let adjusted = read_keys(reads, &writes.adjusts).map(read_adjust);
    removed.chain(put).chain(adjusted).collect()
}

fn read_write(key: &[u8]) -> Conflict {
    Conflict::ReadWrite(key.to_vec().into())
}

fn read_adjust(key: &[u8]) -> Conflict {
    Conflict::ReadAdjust(key.to_vec().into())
}

/// The parts of `removes` that were read.
fn removed<'a>(
    reads: &'a KeyRanges,
    removes: &'a KeyRanges,
) -> impl Iterator<Item = Conflict> + 'a {
    let (fewer, more) =
        if reads.len() < removes.len() { (reads, removes) } else { (removes, reads) };
    fewer.iter().flat_map(|span| more.overlapping(span)).map(|common| Conflict::ReadRemove {
        min: common.min.to_vec().into(),
        max: common.max.map(|max| max.to_vec().into()),
    })
}

/// The keys of `map` that were read, in order.
fn read_keys<'a, V>(
    reads: &'a KeyRanges,
    map: &'a std::collections::BTreeMap<Vec<u8>, V>,
) -> Box<dyn Iterator<Item = &'a [u8]> + 'a> {
    if map.len() <= reads.len() {
        return Box::new(map.keys().map(Vec::as_slice).filter(|key| reads.contains(key)));
    }
    let keys_in = |span: KeySpan<'a>| {
        let bounds = (Included(span.min), span.max.map_or(Unbounded, Excluded));
        map.range::<[u8], _>(bounds).map(|(key, _)| &key[..])
    };
    Box::new(reads.iter().flat_map(keys_in))
}
