//! Code that a program would write by hand with heed to keep the objects of the benchmarks. It
//! writes the same pairs as Permazen, with code that knows the only object type.
#![allow(dead_code, reason = "not every benchmark needs all of it")]

use std::hint::black_box;
use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn};
use permazen::ObjId;
use permazen::encoding::{Reader, long, string};
use rand::RngExt;
use rand::rngs::StdRng;

/// The number of objects in one measurement.
pub(crate) const SAMPLE: usize = 1000;
/// Keys in the file begin with a zero byte.
const ZERO: u8 = 0;

/// An object of type 10 with the fields 11 to 15; the age and the name are indexed.
#[derive(Clone, Default)]
pub(crate) struct Person {
    pub(crate) age: i32,
    pub(crate) email: String,
    pub(crate) name: String,
    pub(crate) score: i64,
    pub(crate) visits: i64,
}

impl Person {
    pub(crate) fn random(random: &mut StdRng) -> Person {
        let number: u32 = random.random();
        Person {
            age: random.random_range(1..100_000),
            email: format!("user{number}@example.org"),
            name: format!("Person {number}"),
            score: i64::from(number) * 1000,
            visits: 3,
        }
    }
}

/// An ID of a person that does not exist yet.
pub(crate) fn new_id(random: &mut StdRng) -> ObjId {
    let mut bytes: [u8; 8] = random.random();
    bytes[0] = 10;
    ObjId::from_bytes(bytes).unwrap()
}

/// The ages from `low` to below `high` that about [`SAMPLE`] of these people have.
pub(crate) fn ages(people: usize) -> (i32, i32) {
    (20_000, 20_000 + 100_000 * SAMPLE as i32 / people as i32)
}

/// An environment that only this benchmark uses.
pub(crate) struct ByHand {
    pub(crate) env: Env,
    pairs: heed::Database<'static, Bytes, Bytes>,
}

impl ByHand {
    pub(crate) fn open(path: &Path) -> ByHand {
        let mut options = EnvOpenOptions::new();
        options.map_size(8 << 30).max_dbs(1);
        // SAFETY: only this environment uses this file. Without flushes, it is not writable by its
        // map.
        let env = unsafe { options.flags(EnvFlags::NO_SYNC).open(path).unwrap() };
        let txn = env.read_txn().unwrap();
        let opened = env.open_databases_and_commit(txn, |opener, txn| {
            let pairs = opener.open_database::<Bytes, Bytes>(txn, Some("permazen"))?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(pairs))
        });
        let pairs = opened.unwrap().commit().flatten().unwrap();
        ByHand { env, pairs }
    }

    pub(crate) fn create(&self, txn: &mut RwTxn<'_>, id: ObjId, person: &Person) {
        let pairs = &self.pairs;
        assert!(pairs.get(txn, &object_key(id, &[])).unwrap().is_none());
        let (age, name) = (long_bytes(i64::from(person.age)), text_bytes(&person.name));
        pairs.put(txn, &object_key(id, &[]), &[1]).unwrap();
        pairs.put(txn, &object_key(id, &[11]), &age).unwrap();
        pairs.put(txn, &object_key(id, &[12]), &text_bytes(&person.email)).unwrap();
        pairs.put(txn, &object_key(id, &[13]), &name).unwrap();
        pairs.put(txn, &object_key(id, &[14]), &long_bytes(person.score)).unwrap();
        pairs.put(txn, &object_key(id, &[15]), &person.visits.to_be_bytes()).unwrap();
        pairs.put(txn, &schema_index_key(1, id), &[]).unwrap();
        pairs.put(txn, &index_key(11, &age, id), &[]).unwrap();
        pairs.put(txn, &index_key(13, &name, id), &[]).unwrap();
    }

    pub(crate) fn load(&self, txn: &RoTxn<'_>, id: ObjId) -> Person {
        let mut person = Person::default();
        let (min, max) = (object_key(id, &[]), after(id));
        for pair in self.pairs.range(txn, &bounds(&min, &max)).unwrap() {
            let (key, value) = pair.unwrap();
            match key.get(9) {
                Some(11) => person.age = long::decode(value).unwrap() as i32,
                Some(12) => person.email = string::read(&mut Reader::new(value)).unwrap(),
                Some(13) => person.name = string::read(&mut Reader::new(value)).unwrap(),
                Some(14) => person.score = long::decode(value).unwrap(),
                Some(15) => person.visits = i64::from_be_bytes(value.try_into().unwrap()),
                _ => {}
            }
        }
        person
    }

    pub(crate) fn age(&self, txn: &RoTxn<'_>, id: ObjId) -> i64 {
        long::decode(self.pairs.get(txn, &object_key(id, &[11])).unwrap().unwrap()).unwrap()
    }

    pub(crate) fn set_age(&self, txn: &mut RwTxn<'_>, id: ObjId, age: i32) {
        let key = object_key(id, &[11]);
        let old = self.pairs.get(txn, &key).unwrap().unwrap().to_vec();
        let new = long_bytes(i64::from(age));
        if old != new {
            self.pairs.put(txn, &key, &new).unwrap();
            self.pairs.delete(txn, &index_key(11, &old, id)).unwrap();
            self.pairs.put(txn, &index_key(11, &new, id), &[]).unwrap();
        }
    }

    pub(crate) fn set_score(&self, txn: &mut RwTxn<'_>, id: ObjId, score: i64) {
        let key = object_key(id, &[14]);
        let new = long_bytes(score);
        if self.pairs.get(txn, &key).unwrap() != Some(&new[..]) {
            self.pairs.put(txn, &key, &new).unwrap();
        }
    }

    /// Shows the ID of each person with an age from `low` to below `high`. Returns their number.
    pub(crate) fn visit_by_age(
        &self,
        txn: &RoTxn<'_>,
        (low, high): (i32, i32),
        mut visit: impl FnMut(ObjId),
    ) -> usize {
        let bound = |age: i32| [&[ZERO, 11], &long_bytes(i64::from(age))[..]].concat();
        let (min, max) = (bound(low), bound(high));
        let mut count = 0;
        for pair in self.pairs.range(txn, &bounds(&min, &max)).unwrap() {
            let (key, _) = pair.unwrap();
            let (_, id) = key.split_last_chunk::<8>().unwrap();
            visit(black_box(ObjId::from_bytes(*id).unwrap()));
            count += 1;
        }
        count
    }

    /// The first person with this name.
    pub(crate) fn first_by_name(&self, txn: &RoTxn<'_>, name: &str) -> Option<ObjId> {
        let min = [&[ZERO, 13], &text_bytes(name)[..]].concat();
        let (key, _) = self.pairs.get_greater_than_or_equal_to(txn, &min).unwrap()?;
        Some(ObjId::from_bytes(key.strip_prefix(&min[..])?.try_into().unwrap()).unwrap())
    }

    pub(crate) fn delete(&self, txn: &mut RwTxn<'_>, id: ObjId) {
        let (min, max) = (object_key(id, &[]), after(id));
        let mut entries = Vec::new();
        for pair in self.pairs.range(txn, &bounds(&min, &max)).unwrap() {
            let (key, value) = pair.unwrap();
            if let Some(field @ (11 | 13)) = key.get(9) {
                entries.push(index_key(*field, value, id));
            }
        }
        self.pairs.delete_range(txn, &bounds(&min, &max)).unwrap();
        for entry in entries {
            self.pairs.delete(txn, &entry).unwrap();
        }
        self.pairs.delete(txn, &schema_index_key(1, id)).unwrap();
    }

    /// The first objects of a schema.
    pub(crate) fn objects_in(&self, txn: &RoTxn<'_>, schema: u8, count: usize) -> Vec<ObjId> {
        let (min, max) = ([ZERO, 0, 0x80, schema], [ZERO, 0, 0x80, schema + 1]);
        let pairs = self.pairs.range(txn, &bounds(&min, &max)).unwrap().take(count);
        let id = |key: &[u8]| ObjId::from_bytes(*key.last_chunk().unwrap()).unwrap();
        pairs.map(|pair| id(pair.unwrap().0)).collect()
    }

    /// Moves an object from schema 1 to schema 2, in which its name has an index. If `age`, its age
    /// becomes field 16 there.
    pub(crate) fn move_object(&self, txn: &mut RwTxn<'_>, id: ObjId, age: bool) {
        let pairs = &self.pairs;
        if age {
            let old = pairs.get(txn, &object_key(id, &[11])).unwrap().unwrap().to_vec();
            pairs.delete(txn, &object_key(id, &[11])).unwrap();
            pairs.delete(txn, &index_key(11, &old, id)).unwrap();
            pairs.put(txn, &object_key(id, &[16]), &old).unwrap();
            pairs.put(txn, &index_key(16, &old, id), &[]).unwrap();
        }
        let name = pairs.get(txn, &object_key(id, &[13])).unwrap().unwrap().to_vec();
        pairs.put(txn, &index_key(13, &name, id), &[]).unwrap();
        pairs.put(txn, &object_key(id, &[]), &[2]).unwrap();
        pairs.delete(txn, &schema_index_key(1, id)).unwrap();
        pairs.put(txn, &schema_index_key(2, id), &[]).unwrap();
    }

    /// All pairs.
    pub(crate) fn content(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let txn = self.env.read_txn().unwrap();
        let pairs = self.pairs.iter(&txn).unwrap().map(Result::unwrap);
        pairs.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
    }
}

fn bounds<'k>(min: &'k [u8], max: &'k [u8]) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    (Bound::Included(min), Bound::Excluded(max))
}

fn object_key(id: ObjId, field: &[u8]) -> Vec<u8> {
    [&[ZERO], &id.as_bytes()[..], field].concat()
}

fn after(id: ObjId) -> Vec<u8> {
    let mut end = object_key(id, &[]);
    while end.last() == Some(&0xff) {
        end.pop();
    }
    *end.last_mut().unwrap() += 1;
    end
}

fn index_key(field: u8, value: &[u8], id: ObjId) -> Vec<u8> {
    [&[ZERO, field], value, id.as_bytes()].concat()
}

fn schema_index_key(schema: u8, id: ObjId) -> Vec<u8> {
    [&[ZERO, 0, 0x80, schema], &id.as_bytes()[..]].concat()
}

fn long_bytes(value: i64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(9);
    long::write(value, &mut bytes);
    bytes
}

fn text_bytes(value: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len() + 1);
    string::write(value, &mut bytes);
    bytes
}
