//! Code that a program would write by hand to keep the objects of [`model`](crate::model): it
//! stores the same pairs as Permazen, knows each type, and works over any sorted map.

pub mod bags;
pub mod people;
pub mod referrers;

use permazen::encoding::long;

use crate::pairs::{Key, Read, Write};

/// An object's ID as it is in keys.
pub type Id = [u8; 8];

/// All types are in the first schema of the database.
const SCHEMA: u8 = 1;

#[inline]
fn object_key<P: Read>(id: Id) -> Key {
    Key::new(&[P::START, &id])
}

#[inline]
fn field_key<P: Read>(id: Id, field: u8) -> Key {
    Key::new(&[P::START, &id, &[field]])
}

#[inline]
fn index_key<P: Read>(field: u8, value: &[u8], id: Id) -> Key {
    Key::new(&[P::START, &[field], value, &id])
}

#[inline]
fn schema_key<P: Read>(id: Id) -> Key {
    Key::new(&[P::START, &[0, 0x80, SCHEMA], &id])
}

/// Puts the pairs that say that there is an object. They must be absent.
#[inline]
fn put_object<P: Write>(pairs: &mut P, id: Id) {
    assert!(pairs.put_new(&object_key::<P>(id), &[SCHEMA]));
    pairs.put(&schema_key::<P>(id), &[]);
}

/// Removes all pairs of an object, but not its entries in indexes.
#[inline]
fn remove_object<P: Write>(pairs: &mut P, id: Id) {
    let key = object_key::<P>(id);
    pairs.remove_range(&key, &key.after());
    pairs.remove(&schema_key::<P>(id));
}

#[inline]
fn long_bytes(value: i64) -> Key {
    let mut bytes = Vec::with_capacity(9);
    long::write(value, &mut bytes);
    Key::new(&[&bytes])
}

#[inline]
fn last_id(key: &[u8]) -> Id {
    *key.last_chunk().unwrap()
}
