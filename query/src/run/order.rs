//! Keys by which objects are sorted.

use permazen::ObjId;

use super::fail::Result;
use super::reader::{Lookup, Reader};
use super::subject::{Flow, Subject};
use super::values::{Got, each_value};
use crate::check::CheckedOrder;

/// The kinds of values, in the order of sorting.
const VALUE: u8 = 0;
const NULL: u8 = 1;
const ABSENT: u8 = 2;
const DAMAGED: u8 = 3;

/// Puts a record into `out` that sorts as the object does, and ends with its ID.
///
/// An encoded value is not the beginning of another one of its encoding, so values can follow each
/// other.
pub(crate) fn record(
    reader: &Reader<'_>,
    order: &[CheckedOrder],
    subject: &Subject<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    // The buffer is used again for each object.
    out.clear();
    for by in order {
        let start = out.len();
        each_value(reader, &by.path, subject, &mut |kind, got| {
            let kind = by.path.kinds.get(kind);
            match (got, kind) {
                // Null is told apart, so that it comes after the values of all families.
                (Got::Value(bytes), Some(kind)) if kind.null.as_deref() == Some(bytes) => {
                    out.push(NULL);
                }
                // Bytes that cannot be decoded would sort as if they were a value.
                (Got::Value(bytes), Some(kind)) if kind.encoding.decode_all(bytes).is_ok() => {
                    out.push(VALUE);
                    // Values of different encodings compare by their family first, since their
                    // bytes do not compare.
                    out.extend_from_slice(&kind.family.to_be_bytes());
                    out.extend_from_slice(bytes);
                }
                _ => out.push(DAMAGED),
            }
            // Only the first value sorts: a path in an order has one value at most.
            Ok(Flow::Enough)
        })?;
        // Without a byte here, the next key of the order would take the place of the missing one.
        if out.len() == start {
            out.push(ABSENT);
        }
        if by.descending {
            // Inverted bytes compare in the opposite order, and no value is the beginning of
            // another one.
            out.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
        }
    }
    // The ID is not inverted: objects with equal keys come by ascending ID.
    out.extend_from_slice(subject.id.as_bytes());
    Ok(())
}

/// The bytes that are kept of an object whose schema is not known.
pub(crate) const DAMAGED_OBJECT: &[u8] = &[0];

/// Ends a record with the known content of its object, if that is at most `most` bytes.
pub(crate) fn pack(subject: &Subject<'_>, most: usize, out: &mut Vec<u8>) {
    let start = out.len();
    // The mark says that the damage was counted, so it is not counted again after the sort.
    if subject.known_version() == Some(Lookup::Damaged) {
        out.extend_from_slice(DAMAGED_OBJECT);
    } else if most > 0 {
        subject.pack(most, out);
    }
    let length = u32::try_from(out.len() - start).unwrap_or_else(|_| {
        // The known content of so large an object is read again.
        out.truncate(start);
        0
    });
    // The length comes after the ID, which decides the comparison before it.
    out.extend(length.to_le_bytes());
}

/// The object of a record that was packed, and its known content.
pub(crate) fn unpack(record: &[u8]) -> Option<(ObjId, &[u8])> {
    let (rest, length) = record.split_last_chunk()?;
    // A length that is too great would reach into the keys.
    let start = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
    let (rest, packed) = rest.split_at_checked(start)?;
    let (_, id) = rest.split_last_chunk::<{ ObjId::LEN }>()?;
    Some((ObjId::from_bytes(*id).ok()?, packed))
}
