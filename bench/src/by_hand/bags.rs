//! Bags: collections whose elements are indexed. Positions stay below 251, where they are one byte.

use super::{Id, field_key, index_key, long_bytes};
use crate::pairs::{Key, Read, Write};

const LIST: u8 = 21;
const LIST_ELEMENT: u8 = 22;
const SET: u8 = 23;
const SET_ELEMENT: u8 = 24;
const MAP: u8 = 25;
const MAP_KEY: u8 = 26;
const MAP_VALUE: u8 = 27;

pub fn push<P: Write>(pairs: &mut P, id: Id, value: i32) {
    let mut key = field_key::<P>(id, LIST);
    let position = pairs.last(&key, &key.after()).map_or(0, |last| last[last.len() - 1] + 1);
    let value = long_bytes(i64::from(value));
    key.push(&[position]);
    pairs.put(&key, &value);
    let mut entry = index_key::<P>(LIST_ELEMENT, &value, id);
    entry.push(&[position]);
    pairs.put(&entry, &[]);
}

pub fn add<P: Write>(pairs: &mut P, id: Id, value: i32) -> bool {
    let mut key = field_key::<P>(id, SET);
    let value = long_bytes(i64::from(value));
    key.push(&value);
    let new = pairs.put_new(&key, &[]);
    if new {
        pairs.put(&index_key::<P>(SET_ELEMENT, &value, id), &[]);
    }
    new
}

pub fn insert<P: Write>(pairs: &mut P, id: Id, key: i32, value: i32) {
    let (map_key, value) = (long_bytes(i64::from(key)), long_bytes(i64::from(value)));
    let mut key = field_key::<P>(id, MAP);
    key.push(&map_key);
    let by_value = |value: &[u8]| {
        let mut entry = index_key::<P>(MAP_VALUE, value, id);
        entry.push(&map_key);
        entry
    };
    if !pairs.put_new(&key, &value) {
        let old = Key::new(&[Read::get(pairs, &key).unwrap()]);
        pairs.put(&key, &value);
        pairs.remove(&by_value(&old));
    } else {
        pairs.put(&index_key::<P>(MAP_KEY, &map_key, id), &[]);
    }
    pairs.put(&by_value(&value), &[]);
}
