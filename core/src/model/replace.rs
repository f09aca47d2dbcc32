//! Replacing the whole content of an object, field by field.

use crate::id::ObjId;
use crate::object::{Migrate, ObjectData, Result, Transaction};
use crate::schema::{ResolvedField, ResolvedKind};

/// Gives an object the content `new`, which is of the type the object has in the transaction's schema. Each field is
/// changed as if alone; what is equal is not written. All or nothing.
pub(crate) fn replace(tx: &Transaction<'_>, id: ObjId, new: &ObjectData) -> Result<()> {
    tx.atomic(|tx| {
        let old = tx.load_to_replace(id, new)?;
        for field in &new.object_type().fields {
            replace_field(tx, id, field, &old, new)?;
        }
        Ok(())
    })
}

fn replace_field(
    tx: &Transaction<'_>,
    id: ObjId,
    field: &std::sync::Arc<ResolvedField>,
    old: &ObjectData,
    new: &ObjectData,
) -> Result<()> {
    match &field.kind {
        ResolvedKind::Simple(_) => {
            let value = new.simple(field)?;
            if old.simple(field)? != value {
                tx.write_encoded(id, field, value, Migrate::Yes)?;
            }
        }
        ResolvedKind::Counter => {
            let number = new.counter(field)?;
            if old.counter(field)? != number {
                tx.write_counter_field(id, field, number, Migrate::Yes)?;
            }
        }
        ResolvedKind::Set { .. } => {
            let set = tx.set_of(id, field)?;
            for (element, ..) in both(old, new, field).filter(|(_, _, new)| new.is_none()) {
                set.remove_encoded(element)?;
            }
            for (element, ..) in both(old, new, field).filter(|(_, old, _)| old.is_none()) {
                set.add_encoded(element)?;
            }
        }
        ResolvedKind::Map { .. } => {
            let map = tx.map_of(id, field)?;
            for (key, ..) in both(old, new, field).filter(|(_, _, new)| new.is_none()) {
                map.remove_encoded(key)?;
            }
            for (key, _, value) in both(old, new, field).filter(|(_, old, new)| old != new) {
                if let Some(value) = value {
                    map.put_encoded(key, value)?;
                }
            }
        }
        ResolvedKind::List { .. } => {
            let list = tx.list_of(id, field)?;
            let elements: Vec<&[u8]> = new.pairs(field).map(|pair| pair.1).collect();
            let kept = old.pairs(field).len().min(elements.len());
            for ((at, old), new) in (0u32..).zip(old.pairs(field).map(|pair| pair.1)).zip(&elements)
            {
                if old != *new {
                    list.set_encoded(at, new)?;
                }
            }
            let (kept_len, old_len) = (as_position(kept), as_position(old.pairs(field).len()));
            if kept_len < old_len {
                list.remove_range(kept_len, old_len)?;
            }
            list.insert_all_encoded(None, elements.get(kept..).unwrap_or_default())?;
        }
    }
    Ok(())
}

/// List positions are 32-bit numbers.
fn as_position(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// A key of a field, with its value before and after where it has one.
type Change<'d> = (&'d [u8], Option<&'d [u8]>, Option<&'d [u8]>);

/// The keys that a field has before or after, in order: two walks side by side, as both are in key order.
fn both<'d>(
    old: &'d ObjectData,
    new: &'d ObjectData,
    field: &ResolvedField,
) -> impl Iterator<Item = Change<'d>> {
    let (mut old, mut new) = (old.pairs(field).peekable(), new.pairs(field).peekable());
    std::iter::from_fn(move || {
        let key = match (old.peek(), new.peek()) {
            (Some((old, _)), Some((new, _))) => *old.min(new),
            (Some((key, _)), None) | (None, Some((key, _))) => *key,
            (None, None) => return None,
        };
        let before = old.next_if(|pair| pair.0 == key).map(|pair| pair.1);
        let after = new.next_if(|pair| pair.0 == key).map(|pair| pair.1);
        Some((key, before, after))
    })
}
