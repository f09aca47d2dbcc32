//! An object to which many objects refer, and the effect of its deletion on those objects.

use super::{Id, field_key, index_key, last_id, long_bytes, object_key, put_object, remove_object};
use crate::pairs::{Key, Read, Write};

const LABEL: u8 = 31;
/// The reference of a note, which is made null.
pub const NOTE: u8 = 33;
/// The reference of a part, which is deleted.
pub const PART: u8 = 35;
/// An encoded reference to nothing.
const NULL: &[u8] = &[0xff];

pub fn create_target<P: Write>(pairs: &mut P, id: Id, label: i32) {
    put_object(pairs, id);
    pairs.put(&field_key::<P>(id, LABEL), &long_bytes(i64::from(label)));
}

pub fn create_referrer<P: Write>(pairs: &mut P, id: Id, field: u8, target: Id) {
    put_object(pairs, id);
    pairs.put(&field_key::<P>(id, field), &target);
    pairs.put(&index_key::<P>(field, &target, id), &[]);
}

fn referrers<P: Read>(pairs: &P, field: u8, target: Id) -> Vec<Id> {
    let start = Key::new(&[P::START, &[field], &target]);
    let mut found = Vec::new();
    pairs.visit(&start, &start.after(), |key, _| {
        found.push(last_id(key));
        true
    });
    found
}

/// Deletes a target. Notes lose their references, parts are deleted.
pub fn delete_target<P: Write>(pairs: &mut P, target: Id) {
    let notes = referrers(pairs, NOTE, target);
    let parts = referrers(pairs, PART, target);
    for note in notes {
        pairs.remove(&field_key::<P>(note, NOTE));
        pairs.put(&index_key::<P>(NOTE, NULL, note), &[]);
    }
    for part in parts {
        // Two pairs, of which both keys are known.
        pairs.remove(&object_key::<P>(part));
        pairs.remove(&field_key::<P>(part, PART));
        pairs.remove(&super::schema_key::<P>(part));
    }
    for field in [NOTE, PART] {
        let entries = Key::new(&[P::START, &[field], &target]);
        pairs.remove_range(&entries, &entries.after());
    }
    remove_object(pairs, target);
}
