//! People: fields, two indexes, and a counter.

use permazen::encoding::{Reader, long, string};

use super::{Id, index_key, last_id, long_bytes, object_key, put_object, remove_object};
use super::{SCHEMA, field_key};
use crate::data::Person;
use crate::pairs::{Key, Read, Write};

const AGE: u8 = 11;
const EMAIL: u8 = 12;
const NAME: u8 = 13;
const SCORE: u8 = 14;
const VISITS: u8 = 15;

fn text(value: &str, bytes: &mut Vec<u8>) {
    bytes.clear();
    string::write(value, bytes);
}

pub fn create<P: Write>(pairs: &mut P, id: Id, person: &Person) {
    let mut bytes = Vec::with_capacity(64);
    let age = long_bytes(i64::from(person.age));
    put_object(pairs, id);
    pairs.put(&field_key::<P>(id, AGE), &age);
    text(&person.email, &mut bytes);
    pairs.put(&field_key::<P>(id, EMAIL), &bytes);
    text(&person.name, &mut bytes);
    pairs.put(&field_key::<P>(id, NAME), &bytes);
    pairs.put(&field_key::<P>(id, SCORE), &long_bytes(person.score));
    pairs.put(&field_key::<P>(id, VISITS), &person.visits.to_be_bytes());
    pairs.put(&index_key::<P>(AGE, &age, id), &[]);
    pairs.put(&index_key::<P>(NAME, &bytes, id), &[]);
}

pub fn load<P: Read>(pairs: &P, id: Id) -> Person {
    let mut person = Person::default();
    let min = object_key::<P>(id);
    pairs.visit(&min, &min.after(), |key, value| {
        match key.get(P::START.len() + 8) {
            Some(&AGE) => person.age = long::decode(value).unwrap() as i32,
            Some(&EMAIL) => person.email = string::read(&mut Reader::new(value)).unwrap(),
            Some(&NAME) => person.name = string::read(&mut Reader::new(value)).unwrap(),
            Some(&SCORE) => person.score = long::decode(value).unwrap(),
            Some(&VISITS) => person.visits = i64::from_be_bytes(value.try_into().unwrap()),
            _ => {}
        }
        true
    });
    person
}

pub fn score<P: Read>(pairs: &P, id: Id) -> i64 {
    long::decode(pairs.get(&field_key::<P>(id, SCORE)).unwrap()).unwrap()
}

pub fn set_score<P: Write>(pairs: &mut P, id: Id, score: i64) {
    let key = field_key::<P>(id, SCORE);
    let new = long_bytes(score);
    if pairs.get(&key).unwrap() != &*new {
        pairs.put(&key, &new);
    }
}

pub fn set_age<P: Write>(pairs: &mut P, id: Id, age: i32) {
    let key = field_key::<P>(id, AGE);
    let new = long_bytes(i64::from(age));
    let old = Key::new(&[pairs.get(&key).unwrap()]);
    if *old != *new {
        pairs.put(&key, &new);
        pairs.remove(&index_key::<P>(AGE, &old, id));
        pairs.put(&index_key::<P>(AGE, &new, id), &[]);
    }
}

pub fn find_by_name<P: Read>(pairs: &P, name: &str) -> Option<Id> {
    let mut bytes = Vec::with_capacity(64);
    string::write(name, &mut bytes);
    let min = Key::new(&[P::START, &[NAME], &bytes]);
    let mut found = None;
    pairs.visit(&min, &min.after(), |key, _| {
        found = Some(last_id(key));
        false
    });
    found
}

/// Shows the age and ID of all people with an age from `low` to below `high`.
pub fn visit_by_age<P: Read>(pairs: &P, (low, high): (i32, i32), mut visit: impl FnMut(&[u8], Id)) {
    let bound = |age: i32| Key::new(&[P::START, &[AGE], &long_bytes(i64::from(age))]);
    visit_index(pairs, &bound(low), &bound(high), &mut visit);
}

/// The same for names.
pub fn visit_by_name<P: Read>(
    pairs: &P,
    (low, high): (&str, &str),
    mut visit: impl FnMut(&[u8], Id),
) {
    let bound = |name: &str| {
        let mut bytes = Vec::new();
        string::write(name, &mut bytes);
        Key::new(&[P::START, &[NAME], &bytes])
    };
    visit_index(pairs, &bound(low), &bound(high), &mut visit);
}

#[inline]
fn visit_index<P: Read>(pairs: &P, low: &[u8], high: &[u8], visit: &mut impl FnMut(&[u8], Id)) {
    pairs.visit(low, high, |key, _| {
        visit(&key[P::START.len() + 1..key.len() - 8], last_id(key));
        true
    });
}

pub fn decode_age(value: &[u8]) -> i32 {
    long::decode(value).unwrap() as i32
}

pub fn decode_name(value: &[u8]) -> String {
    string::read(&mut Reader::new(value)).unwrap()
}

/// How many people there are: the entries of the schema's objects that are people.
pub fn count<P: Read>(pairs: &P) -> usize {
    let start = Key::new(&[P::START, &[0, 0x80, SCHEMA, crate::model::PERSON]]);
    let mut count = 0;
    pairs.visit(&start, &start.after(), |_, _| {
        count += 1;
        true
    });
    count
}

pub fn delete<P: Write>(pairs: &mut P, id: Id) {
    let min = object_key::<P>(id);
    let mut entries = [None, None];
    pairs.visit(&min, &min.after(), |key, value| {
        match key.get(P::START.len() + 8) {
            Some(&AGE) => entries[0] = Some(index_key::<P>(AGE, value, id)),
            Some(&NAME) => entries[1] = Some(index_key::<P>(NAME, value, id)),
            _ => {}
        }
        true
    });
    remove_object(pairs, id);
    for entry in entries.iter().flatten() {
        pairs.remove(entry);
    }
}
