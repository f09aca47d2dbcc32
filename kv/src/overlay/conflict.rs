//! Whether changes affect reads.

use std::ops::Bound::{Excluded, Included, Unbounded};

use crate::{Conflict, Direction, KeyRanges, KeySpan, KvRead, Result, Writes};

/// The conflicts between the reads of one transaction and the writes of another one that committed
/// after the first began: first removes, then puts, then adjusts.
///
/// Writes never conflict with writes. Keys decide, not values: a put of the same value conflicts.
/// Costs a search for each range read or for each change, whichever are fewer.
pub(crate) fn conflicts<'a>(
    reads: &'a KeyRanges,
    writes: &'a Writes,
) -> impl Iterator<Item = Conflict> + 'a {
    removed(reads, &writes.removes)
        .chain(read_keys(reads, &writes.puts).map(read_write))
        .chain(read_keys(reads, &writes.adjusts).map(read_adjust))
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

/// The first difference, by value, between `old` and `new` in the ranges of `reads`.
/// [`KvRead::first_difference`] does the same for contents without a faster way. Costs a scan of
/// both over everything that was read.
///
/// # Errors
/// The errors of reading `old` or `new`.
pub fn difference_by_scan(
    old: &(impl KvRead + ?Sized),
    new: &(impl KvRead + ?Sized),
    reads: &KeyRanges,
) -> Result<Option<Conflict>> {
    for span in reads.iter() {
        let conflict = match span.is_single_key() {
            true => compare_key(old, new, span.min)?,
            false => compare(old, new, span)?,
        };
        if conflict.is_some() {
            return Ok(conflict);
        }
    }
    Ok(None)
}

fn read_remove(key: &[u8]) -> Conflict {
    let max = Some(crate::key::next_key(key).into());
    Conflict::ReadRemove { min: key.to_vec().into(), max }
}

fn compare_key(
    old: &(impl KvRead + ?Sized),
    new: &(impl KvRead + ?Sized),
    key: &[u8],
) -> Result<Option<Conflict>> {
    Ok(match (old.get(key)?, new.get(key)?) {
        (old, new) if old == new => None,
        (Some(_), None) => Some(read_remove(key)),
        _ => Some(read_write(key)),
    })
}

fn compare(
    old: &(impl KvRead + ?Sized),
    new: &(impl KvRead + ?Sized),
    span: KeySpan<'_>,
) -> Result<Option<Conflict>> {
    let mut new = new.scan(span, Direction::Forward)?;
    for pair in old.scan(span, Direction::Forward)? {
        let (old_key, old_value) = pair?;
        let Some((new_key, new_value)) = new.next().transpose()? else {
            return Ok(Some(read_remove(&old_key)));
        };
        // A key that only the old state has was removed.
        if old_key < new_key {
            return Ok(Some(read_remove(&old_key)));
        }
        // A key that only the new state has was put. Otherwise its value has changed.
        if old_key > new_key || old_value != new_value {
            return Ok(Some(read_write(&new_key)));
        }
    }
    Ok(new.next().transpose()?.map(|(key, _)| read_write(&key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(spans: &[(u8, u8)]) -> KeyRanges {
        spans.iter().fold(KeyRanges::new(), |mut set, (min, max)| {
            set.add(KeySpan::new(&[*min], Some(&[*max])));
            set
        })
    }

    #[test]
    fn t091_conflicts_come_in_order() {
        let mut reads = ranges(&[(0x10, 0x20)]);
        reads.add_key(&[0x30]);
        let writes = Writes {
            removes: ranges(&[(0x00, 0x12), (0x1e, 0x31)]),
            puts: [(vec![0x15], vec![]), (vec![0x20], vec![])].into(),
            adjusts: [(vec![0x30], 1)].into(),
        };
        let texts: Vec<String> =
            conflicts(&reads, &writes).map(|conflict| conflict.to_string()).collect();
        let expected = [
            "read/remove conflict at [10,12)",
            "read/remove conflict at [1e,20)",
            "read/remove conflict at [30]",
            "read/write conflict at 15",
            "read/adjust conflict at 30",
        ];
        assert_eq!(texts, expected);
    }
}
