//! Random puts into sets and maps, compared with sets and maps in memory: values that are new,
//! there already or too long for the store, references that become null beside a null that is
//! there, and operations that fail after they have put something. The events that listeners get are
//! compared too.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::prefix::Prefixed;
use permazen::kv::{Durability, KeySpan, KvDatabase, KvDatabaseExt, KvRead, TxOptions};
use permazen::object::{Error, Migrate, Result, Transaction};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::peculiar_store::PeculiarStore;
use crate::support::*;

/// The longest key that the stores of this test can hold.
const KEY_LIMIT: usize = 30;

/// The sub-fields have the numbers that follow that of their field.
const SCHEMA: &str = r#"<Schema><ObjectType name="T" storageId="9"/><ObjectType name="A" storageId="10">
<SetField name="set" storageId="20"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="21"/></SetField>
<SetField name="setIndexed" storageId="22"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="23" indexed="true"/></SetField>
<SetField name="refs" storageId="24"><ReferenceField storageId="25" inverseDelete="NULLIFY"/></SetField>
<MapField name="map" storageId="30"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="31"/><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="32"/></MapField>
<MapField name="mapIndexed" storageId="33"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="34" indexed="true"/><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="35" indexed="true"/></MapField>
<MapField name="byRef" storageId="36"><ReferenceField storageId="37" inverseDelete="NULLIFY"/><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="38" indexed="true"/></MapField>
</ObjectType></Schema>"#;

const SETS: [(&str, u32); 3] = [("set", 20), ("setIndexed", 22), ("refs", 24)];
const MAPS: [(&str, u32); 3] = [("map", 30), ("mapIndexed", 33), ("byRef", 36)];

/// An object that sets and maps refer to.
fn referred(n: u8) -> ObjId {
    ObjId::from_bytes([9, 0, 0, 0, 0, 0, 0, n]).unwrap()
}

/// A word as a set, map or index takes it. The first ones are short, the last ones longer than keys
/// can be.
fn word(n: u8) -> String {
    let len = [0, 1, 1, 2, 9, 10, 10, 11, 19, 20, 21, 25];
    let n = usize::from(n);
    ["a", "b"][n % 2].repeat(len[n % len.len()])
}

#[derive(Debug, Clone)]
enum Step {
    /// Which set, and which element.
    Add(u8, u8),
    /// The same through a view of the elements from a first one on.
    AddInRange(u8, u8, u8),
    /// Which map, which key and which value.
    Put(u8, u8, u8),
    Remove(u8, u8),
    RemoveKey(u8, u8),
    /// Deletes an object that is referred to, and creates it again.
    Delete(u8),
    /// An operation that fails after these.
    Fails(Vec<Step>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = || {
        let (field, n) = (|| 0..3_u8, || 0..12_u8);
        prop_oneof![
            6 => (field(), n()).prop_map(|(field, n)| Step::Add(field, n)),
            2 => (field(), n(), n()).prop_map(|(field, n, from)| Step::AddInRange(field, n, from)),
            12 => (field(), n(), n()).prop_map(|(field, key, value)| Step::Put(field, key, value)),
            1 => (field(), n()).prop_map(|(field, n)| Step::Remove(field, n)),
            2 => (field(), n()).prop_map(|(field, n)| Step::RemoveKey(field, n)),
            2 => (0..3_u8).prop_map(Step::Delete),
        ]
    };
    let fails = prop::collection::vec(step(), 1..6).prop_map(Step::Fails);
    prop::collection::vec(prop_oneof![9 => step(), 1 => fails], 1..50)
}

/// The content of the fields of one object. A null comes after all others, as it is stored.
#[derive(Debug, Clone, Default)]
struct Model {
    sets: [BTreeSet<Sorted>; 3],
    maps: [BTreeMap<Sorted, String>; 3],
}

/// A value in the order of its encoding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Sorted {
    Word(String),
    Ref(u8),
    Null,
}

impl Sorted {
    /// An element of a set, or a key of a map.
    fn of(field: u8, n: u8) -> Sorted {
        match (field, n % 4) {
            (2, 3) => Sorted::Null,
            (2, n) => Sorted::Ref(n),
            _ => Sorted::Word(word(n)),
        }
    }

    fn value(&self) -> Value {
        match self {
            Sorted::Word(word) => text(word),
            Sorted::Ref(n) => Value::Ref(referred(*n)),
            Sorted::Null => Value::Null,
        }
    }

    /// How many bytes its encoding has.
    fn len(&self) -> usize {
        match self {
            Sorted::Word(word) => word.len() + 1,
            Sorted::Ref(_) => 8,
            Sorted::Null => 1,
        }
    }
}

/// Whether the store can hold the pair of a set or map: its key has the object and one byte for the
/// field.
fn fits(len: usize) -> bool {
    ObjId::LEN + 1 + len <= KEY_LIMIT
}

impl Model {
    fn add(&mut self, field: u8, element: Sorted, told: &mut Vec<String>) -> Option<bool> {
        if !fits(element.len()) {
            return None;
        }
        let event = format!("{}: add {}", SETS[usize::from(field)].0, show(&element.value()));
        let is_new = self.sets[usize::from(field)].insert(element);
        told.extend(is_new.then_some(event));
        Some(is_new)
    }

    fn put(
        &mut self,
        field: u8,
        key: Sorted,
        value: &str,
        told: &mut Vec<String>,
    ) -> Option<Option<String>> {
        let map = &mut self.maps[usize::from(field)];
        // The entry of a value has the key too.
        let entry = if field == 0 { 0 } else { key.len() + value.len() + 1 };
        if !fits(key.len()) || !fits(entry) {
            return None;
        }
        let (name, shown) = (MAPS[usize::from(field)].0, show(&key.value()));
        let old = map.insert(key, value.to_owned());
        match &old {
            Some(old) if old == value => {}
            Some(old) => told.push(format!("{name}: replace {shown}={old}->{value}")),
            None => told.push(format!("{name}: add {shown}={value}")),
        }
        Some(old)
    }

    fn remove_key(&mut self, field: u8, key: &Sorted, told: &mut Vec<String>) -> Option<String> {
        let old = self.maps[usize::from(field)].remove(key)?;
        let name = MAPS[usize::from(field)].0;
        told.push(format!("{name}: remove {}={old}", show(&key.value())));
        Some(old)
    }

    fn remove(&mut self, field: u8, element: &Sorted, told: &mut Vec<String>) -> bool {
        let was_there = self.sets[usize::from(field)].remove(element);
        let name = SETS[usize::from(field)].0;
        told.extend(was_there.then(|| format!("{name}: remove {}", show(&element.value()))));
        was_there
    }

    /// Makes a step in the transaction and in the model, and returns the events that listeners will
    /// get.
    fn step(&mut self, tx: &Transaction, step: &Step, told: &mut Vec<String>) {
        let set = |field: u8| tx.set_view(a(1), SETS[usize::from(field)].0, Migrate::No).unwrap();
        let map = |field: u8| tx.map_view(a(1), MAPS[usize::from(field)].0, Migrate::No).unwrap();
        match step {
            Step::Add(field, n) => {
                let element = Sorted::of(*field, *n);
                let added = set(*field).add(&element.value());
                assert_eq!(unless_too_long(added), self.add(*field, element, told), "{step:?}");
            }
            Step::AddInRange(field, n, from) => {
                let (element, from) = (Sorted::of(*field, *n), Sorted::of(*field, *from));
                let view = set(*field);
                let view = view.range(Bound::Included(&from.value()), Bound::Unbounded).unwrap();
                let added = view.add(&element.value());
                if element < from {
                    assert_invalid_argument(added);
                } else {
                    let expected = self.add(*field, element, told);
                    assert_eq!(unless_too_long(added), expected, "{step:?}");
                }
            }
            Step::Put(field, key, value) => {
                let (key, value) = (Sorted::of(*field, *key), word(*value));
                let old = unless_too_long(map(*field).put(&key.value(), &text(&value)));
                let expected = self.put(*field, key, &value, told);
                let expected = expected.map(|old| old.map(|old| text(&old)));
                assert_eq!(old, expected, "{step:?}");
            }
            Step::Remove(field, n) => {
                let element = Sorted::of(*field, *n);
                let removed = set(*field).remove(&element.value()).unwrap();
                assert_eq!(removed, self.remove(*field, &element, told));
            }
            Step::RemoveKey(field, key) => {
                let key = Sorted::of(*field, *key);
                let removed = map(*field).remove(&key.value()).unwrap();
                let expected = self.remove_key(*field, &key, told).map(|old| text(&old));
                assert_eq!(removed, expected);
            }
            Step::Delete(n) => {
                assert!(tx.delete(referred(*n)).unwrap());
                create(tx, referred(*n));
                let gone = Sorted::Ref(*n);
                if self.remove(2, &gone, told) {
                    self.add(2, Sorted::Null, told).unwrap();
                }
                // The value of null, if there was one, is replaced.
                if let Some(value) = self.remove_key(2, &gone, told) {
                    self.put(2, Sorted::Null, &value, told).unwrap();
                }
            }
            Step::Fails(steps) => {
                let mut forgotten = self.clone();
                let failed: Result<()> = tx.atomic(|tx| {
                    for step in steps {
                        // Listeners are called when a step ends, not when the whole operation does.
                        forgotten.step(tx, step, told);
                        forgotten.check(tx);
                    }
                    Err(Error::RollbackOnly)
                });
                assert!(matches!(failed, Err(Error::RollbackOnly)), "{failed:?}");
            }
        }
    }

    /// Compares the content with the object, and with the indexes.
    fn check(&self, tx: &Transaction) {
        for ((name, number), expected) in SETS.iter().zip(&self.sets) {
            let expected: Vec<Value> = expected.iter().map(Sorted::value).collect();
            let set = tx.set_view(a(1), name, Migrate::No).unwrap();
            assert_eq!(set.to_vec().unwrap(), expected, "{name}");
            if *number > 20 {
                let rows = expected.iter().map(|value| vec![value.clone(), Value::Ref(a(1))]);
                assert_eq!(rows_of(tx, number + 1), rows.collect::<Vec<_>>());
            }
        }
        for ((name, number), expected) in MAPS.iter().zip(&self.maps) {
            let entries = expected.iter().map(|(key, value)| (key.value(), text(value)));
            let map = tx.map_view(a(1), name, Migrate::No).unwrap();
            assert_eq!(map.to_vec().unwrap(), entries.collect::<Vec<_>>(), "{name}");
            if *number > 30 {
                let rows = expected.keys().map(|key| vec![key.value(), Value::Ref(a(1))]);
                assert_eq!(rows_of(tx, number + 1), rows.collect::<Vec<_>>());
                let mut rows: Vec<_> = expected.iter().map(|(key, value)| (value, key)).collect();
                rows.sort();
                let row = |(value, key): (&String, &Sorted)| {
                    vec![text(value), Value::Ref(a(1)), key.value()]
                };
                let rows: Vec<_> = rows.into_iter().map(row).collect();
                assert_eq!(rows_of(tx, number + 2), rows);
            }
        }
    }
}

fn rows_of(tx: &Transaction, field: u32) -> Vec<Vec<Value>> {
    let view = tx.index(sid(field)).unwrap();
    view.entries().map(|entry| entry.unwrap().to_values().unwrap()).collect()
}

/// The result; `None` if a key was too long.
fn unless_too_long<R>(result: Result<R>) -> Option<R> {
    match result {
        Err(Error::KeyTooLong { limit: KEY_LIMIT, .. }) => None,
        result => Some(result.unwrap()),
    }
}

/// Makes the steps in a new database, and returns its pairs.
fn run(store: Arc<dyn KvDatabase>, steps: &[Step], watched: bool) -> Vec<String> {
    let world = World::on(store);
    let tx = world.begin(SCHEMA);
    create(&tx, a(1));
    for n in 0..3 {
        create(&tx, referred(n));
    }
    tx.commit().unwrap();
    let mut model = Model::default();
    for steps in steps.chunks(12) {
        let tx = world.begin(SCHEMA);
        let fields = SETS.iter().chain(&MAPS);
        let events: Vec<_> = match watched {
            true => fields.map(|(name, number)| (name, Events::on(&tx, *number))).collect(),
            false => Vec::new(),
        };
        for step in steps {
            let mut expected = Vec::new();
            model.step(&tx, step, &mut expected);
            model.check(&tx);
            for (name, events) in &events {
                let of_field = expected.iter().filter_map(|event| event.split_once(": "));
                let of_field = of_field.filter(|(field, _)| field == *name).map(|(_, event)| event);
                assert_eq!(events.take(), of_field.collect::<Vec<_>>(), "{name} after {step:?}");
            }
        }
        tx.commit().unwrap();
        model.check(&world.begin(SCHEMA));
    }
    world.pairs()
}

#[test]
fn puts_agree_with_sets_and_maps_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
    let lmdb = lmdb.open(dir.path()).unwrap();
    // The prefix leaves keys of this length.
    let longest = lmdb.begin(&TxOptions::reading()).unwrap().max_key_len();
    let lmdb = Arc::new(Prefixed::new(lmdb, &vec![7; longest - KEY_LIMIT]));
    let wanted = std::env::var("PERMAZEN_HISTORIES").ok();
    let wanted = wanted.map_or(40, |text| text.parse().expect("PERMAZEN_HISTORIES is a number"));
    let config = Config { source_file: Some(file!()), ..Config::with_cases(wanted) };
    TestRunner::new(config)
        .run(&(steps(), any::<bool>()), |(steps, watched)| {
            let memory = run(Arc::new(PeculiarStore::with_short_keys(KEY_LIMIT)), &steps, watched);
            lmdb.write(|tx| tx.remove_span(KeySpan::FULL)).unwrap();
            prop_assert_eq!(&run(lmdb.clone(), &steps, watched), &memory);
            Ok(())
        })
        .unwrap();
}
