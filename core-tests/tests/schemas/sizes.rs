//! The sizes of everything in a database, against a count that looks at each pair for itself.

use std::ops::ControlFlow;

use permazen::__internal::schema::SchemaBundle;
use permazen::__internal::sizes::{Size, Sizes, sizes};
use permazen::kv::counting::CountingStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use proptest::prelude::*;

use crate::support::{reference, schemas_of};

fn counted(kv: &dyn KvRead, schemas: &SchemaBundle) -> Sizes {
    let sizes = sizes(kv, schemas, 3, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(sizes.complete);
    sizes
}

/// Pairs, bytes of keys, bytes of values, the largest pair and its key.
type Counted = (u64, u64, u64, u64, Option<Vec<u8>>);

fn all(size: &Size) -> Counted {
    let largest = size.largest_key.clone();
    (size.pairs, size.key_bytes, size.value_bytes, size.largest_pair, largest)
}

/// Counts the pairs whose keys are meant.
fn naive(kv: &dyn KvRead, is_meant: impl Fn(&[u8]) -> bool) -> Counted {
    let mut counted: Counted = Default::default();
    for pair in kv.scan(KeySpan::FULL, Direction::Forward).unwrap() {
        let (key, value) = pair.unwrap();
        if !is_meant(&key) {
            continue;
        }
        counted.0 += 1;
        counted.1 += key.len() as u64;
        counted.2 += value.len() as u64;
        let pair = (key.len() + value.len()) as u64;
        if counted.4.is_none() || pair > counted.3 {
            (counted.3, counted.4) = (pair, Some(key.to_vec()));
        }
    }
    counted
}

/// Compares with a count of each thing alone. The storage IDs of the reference database have one
/// byte.
fn assert_is_naive(kv: &dyn KvRead, schemas: &SchemaBundle) {
    let sizes = counted(kv, schemas);
    assert_eq!(all(&sizes.total), naive(kv, |_| true));
    let meta = &sizes.meta_data;
    let version = permazen::__internal::layout::FORMAT_VERSION_KEY;
    assert_eq!(all(&meta.format_version), naive(kv, |key| key == version));
    for (size, table) in [
        (&meta.schema_table, 1),
        (&meta.storage_id_table, 2),
        (&meta.object_schema_index, 0x80),
        (&meta.user, 0xff),
    ] {
        assert_eq!(all(size), naive(kv, |key| key.starts_with(&[0, table])), "{table}");
    }
    let known = [1, 2, 0x80, 0xff];
    let is_unknown = |key: &[u8]| {
        key.first() == Some(&0) && key != version && !key.get(1).is_some_and(|t| known.contains(t))
    };
    assert_eq!(all(&meta.unknown), naive(kv, is_unknown));
    let mut first_bytes = vec![0];
    let mut objects = Vec::new();
    for of_type in &sizes.types {
        let id = of_type.storage_id.get() as u8;
        first_bytes.push(id);
        let is_own = |key: &[u8]| key.first() == Some(&id);
        assert_eq!(all(&of_type.size), naive(kv, is_own), "{}", of_type.name);
        let themselves = naive(kv, |key| is_own(key) && key.len() == 8);
        assert_eq!(all(&of_type.objects_themselves), themselves);
        assert_eq!(of_type.objects, themselves.0);
        let fields: Vec<u8> = of_type.fields.iter().map(|f| f.storage_id.get() as u8).collect();
        for (field, &id) in of_type.fields.iter().zip(&fields) {
            let expected = naive(kv, |key| is_own(key) && key.get(8) == Some(&id));
            assert_eq!(all(&field.size), expected, "{}.{}", of_type.name, field.name);
        }
        let is_other = |key: &[u8]| {
            let is_field = key.get(8).is_some_and(|field| fields.contains(field));
            is_own(key) && key.len() != 8 && !is_field
        };
        assert_eq!(all(&of_type.unknown), naive(kv, is_other), "{}", of_type.name);
        let mut largest: Option<(Vec<u8>, u64)> = None;
        let mut last = None;
        for pair in kv.scan(KeySpan::FULL, Direction::Forward).unwrap() {
            let key = pair.unwrap().0;
            let Some(object) = key.get(..8).filter(|_| is_own(&key)) else { continue };
            let (pairs, keys, values, ..) = naive(kv, |key| key.starts_with(object));
            if last.as_deref() != Some(object) {
                objects.push((object.to_vec(), pairs, keys + values));
                last = Some(object.to_vec());
            }
            if largest.as_ref().is_none_or(|(_, bytes)| keys + values > *bytes) {
                largest = Some((object.to_vec(), keys + values));
            }
        }
        let found = of_type.largest_object.map(|found| (found.id.as_bytes().to_vec(), found.bytes));
        assert_eq!(found, largest, "{}", of_type.name);
    }
    objects.sort_by_key(|(id, _, bytes)| (std::cmp::Reverse(*bytes), id.clone()));
    objects.truncate(3);
    let found = sizes.largest_objects.iter();
    let found: Vec<_> = found.map(|o| (o.id.as_bytes().to_vec(), o.pairs, o.bytes)).collect();
    assert_eq!(found, objects);
    for index in &sizes.indexes {
        let id = index.storage_id.get() as u8;
        first_bytes.push(id);
        assert_eq!(
            all(&index.size),
            naive(kv, |key| key.first() == Some(&id)),
            "{:?}",
            index.names
        );
    }
    let is_foreign = |key: &[u8]| !key.first().is_some_and(|first| first_bytes.contains(first));
    assert_eq!(all(&sizes.unknown), naive(kv, is_foreign));
}

#[test]
fn the_reference_database() {
    let store = reference();
    let snapshot = store.snapshot();
    let schemas = schemas_of(&snapshot);
    assert_is_naive(&snapshot, &schemas);
    let sizes = counted(&snapshot, &schemas);
    assert_eq!(sizes.total.pairs, 65);
    let [person, pet] = &sizes.types[..] else { unreachable!() };
    assert_eq!((&*person.name, person.objects, &*pet.name, pet.objects), ("Person", 3, "Pet", 1));
    assert_eq!(person.largest_object.unwrap().id.to_string(), "1000000000000001");
    let names: Vec<_> = person.fields.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["name", "age", "spouse", "boss", "tags", "friends", "scores", "visits"]);
    let friends = &person.fields[5].size;
    assert_eq!((friends.pairs, friends.bytes(), friends.average()), (3, 3 * 18, 18.0));
    assert_eq!(sizes.indexes[0].names, ["Person.name", "Pet.name"]);
    let names: Vec<_> = sizes.indexes.iter().map(|index| &*index.names[0]).collect();
    assert!(names.contains(&"Person.scores.value") && names.contains(&"Person#nameAge"));
    assert_eq!((sizes.unknown.pairs, Size::default().average()), (0, 0.0));
}

#[test]
fn a_database_whose_schemas_are_lost() {
    let store = reference();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.put(&[0, 1, 1], b"damaged").unwrap();
    let schemas = schemas_of(&*tx);
    assert_is_naive(&*tx, &schemas);
    let sizes = counted(&*tx, &schemas);
    assert!(sizes.types.is_empty() && sizes.unknown.pairs > 30 && sizes.total.pairs == 65);
}

/// Counting costs one scan.
#[test]
fn it_is_one_scan() {
    let store = CountingStore::new(reference());
    let schemas = schemas_of(&store.inner().snapshot());
    let tx = store.begin(&TxOptions::reading()).unwrap();
    store.counter().take();
    counted(&*tx, &schemas);
    let operations = store.counter().take();
    assert_eq!((operations.seeks, operations.steps, operations.gets), (1, 65, 0));
}

#[test]
fn it_tells_how_far_it_is_and_can_be_stopped() {
    let store = reference();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for number in 0..20_000_u32 {
        tx.put(&[&[0, 0xff][..], &number.to_be_bytes()].concat(), b"value").unwrap();
    }
    tx.put(&[0xff], &vec![0; 3 << 20]).unwrap();
    let schemas = schemas_of(&*tx);
    let mut told = Vec::new();
    let complete = sizes(&*tx, &schemas, 0, &mut |size| {
        told.push(size.pairs);
        ControlFlow::Continue(())
    });
    assert!(complete.unwrap().complete);
    assert_eq!(told, [4096, 8192, 12288, 16384, 20066]);
    let stopped = sizes(&*tx, &schemas, 0, &mut |_| ControlFlow::Break(())).unwrap();
    assert!(!stopped.complete && stopped.total.pairs == 4096);
}

proptest! {
    /// Keys of all kinds in a database that makes no sense.
    #[test]
    fn any_pairs(
        pairs in prop::collection::vec(
            (
                prop::sample::select(vec![0, 16, 17, 21, 22, 31, 32, 99, 0xff]),
                prop::collection::vec(prop_oneof![0..3_u8, 16..34_u8, Just(0xff)], 0..14),
                prop::collection::vec(any::<u8>(), 0..5),
            ),
            0..40,
        ),
    ) {
        let store = reference();
        let schemas = schemas_of(&store.snapshot());
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        for (first, rest, value) in pairs {
            tx.put(&[&[first][..], &rest].concat(), &value).unwrap();
        }
        assert_is_naive(&*tx, &schemas);
    }
}
