use permazen_kv::memory::MemoryStore;
use proptest::prelude::*;

use super::*;
use crate::encoding::{EncodingRegistry, FieldType};
use crate::id::{ObjId, StorageId};
use crate::object::index::{IndexKind, IndexShape, IndexView};
use crate::object::store::Undo;
use crate::object::{Database, TransactionConfig};
use crate::schema::SchemaModel;

/// An entry as a walk gives it: the value or why it cannot be decoded, and the object.
type Row = std::result::Result<(std::result::Result<String, String>, ObjId), String>;

fn read<V: FieldType + std::fmt::Debug>(
    entry: &IndexEntryRef<'_, '_>,
) -> std::result::Result<String, String> {
    let value = V::decode_all(entry.encoded(0));
    value.map(|value| format!("{value:?}")).map_err(|error| error.to_string())
}

/// Which ends of a walk are read, in turn.
type Ends = Vec<bool>;

fn taken<T>(mut rows: impl DoubleEndedIterator<Item = T>, ends: &Ends) -> Vec<T> {
    let next = |back: &bool| if *back { rows.next_back() } else { rows.next() };
    // Once more at the end: there is nothing.
    ends.iter().cycle().map(next).take(200).flatten().collect()
}

/// The rows as the walk finds them that cuts each key.
fn cut<V: FieldType + std::fmt::Debug>(view: &IndexView<'_>, ends: &Ends) -> Vec<Row> {
    let rows = view.iter_with(|entry| Ok((read::<V>(&entry), entry.id()?)));
    taken(rows.map(|row| row.map_err(|error| error.to_string())), ends)
}

/// The rows as their decoder finds them.
fn decoded<V: FieldType + std::fmt::Debug>(view: &IndexView<'_>, ends: &Ends) -> Vec<Row> {
    /// An error of the decoder, or one of the walk.
    struct Failed(std::result::Result<(String, ObjId), String>);
    impl From<Error> for Failed {
        fn from(error: Error) -> Self {
            Failed(Err(error.to_string()))
        }
    }
    let rows = view.rows(|entry| {
        let id = entry.id()?;
        read::<V>(&entry).map(|value| (value, id)).map_err(|error| Failed(Ok((error, id))))
    });
    let row = |row: std::result::Result<(String, ObjId), Failed>| match row {
        Ok((value, id)) => Ok((Ok(value), id)),
        Err(Failed(Ok((error, id)))) => Ok((Err(error), id)),
        Err(Failed(Err(error))) => Err(error),
    };
    taken(rows.map(row), ends)
}

fn agree<V: FieldType + std::fmt::Debug>(
    encoding: &str,
    values: &[V],
    damaged: &[Vec<u8>],
    types: &[u32],
    ends: &Ends,
) {
    let db = Database::new(Arc::new(MemoryStore::new()));
    let tx = db.begin(&TransactionConfig::new(SchemaModel::new()).unwrap()).unwrap();
    let encoding = EncodingRegistry::new().find_alias(encoding).unwrap().unwrap();
    let (index, name) = (StorageId::new(30).unwrap(), "Person.it".to_owned());
    let shape = IndexShape::new(index, name, IndexKind::Field, vec![encoding], Vec::new());
    let shape = Arc::new(shape);
    let put = |rest: &[u8]| {
        let key = [shape.prefix(), rest].concat();
        tx.store().put(&key, &[], Undo::Absent).unwrap();
    };
    for (number, value) in (0u8..).zip(values) {
        let mut rest = Vec::new();
        value.encode_to(&mut rest).unwrap();
        // Objects of types with short and long storage IDs.
        let id = [[10, 11, 20, 0xfb][usize::from(number % 4)], 7, 0, 0, 0, 0, 0, number];
        put(&[&rest[..], &id].concat());
    }
    damaged.iter().for_each(|rest| put(rest));
    let all = tx.index_view(Arc::clone(&shape)).unwrap();
    let of_types = all.of_types(types.iter().map(|id| StorageId::new(*id).unwrap()));
    for view in [all, of_types] {
        let rows = cut::<V>(&view, ends);
        assert_eq!(decoded::<V>(&view, ends), rows);
        let ids = taken(view.ids().map(|id| id.map_err(|error| error.to_string())), ends);
        let of_rows = rows.into_iter().map(|row| row.map(|(_, id)| id));
        assert!(ids.into_iter().eq(of_rows));
    }
}

fn damage() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![Just(0u8), Just(1), Just(10), Just(0x80), Just(0xff), any::<u8>()];
    let key = prop::collection::vec(byte, 0..14);
    prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(key, 1..4)]
}

proptest! {
    /// A caller that decodes values, or wants only IDs, gets the same entries and errors as one
    /// that lets the walk cut each key.
    #[test]
    fn decoding_finds_what_cutting_finds(
        numbers in prop::collection::vec(any::<i32>(), 0..30),
        texts in prop::collection::vec("[a-c\u{0}\u{1}é]{0,9}", 0..30),
        damaged in damage(),
        types in prop::collection::vec(prop_oneof![Just(10u32), Just(11), Just(20), Just(258)], 0..3),
        ends in prop_oneof![
            Just(vec![false]),
            Just(vec![true]),
            prop::collection::vec(any::<bool>(), 1..5),
        ],
    ) {
        agree("int", &numbers, &damaged, &types, &ends);
        agree("String", &texts, &damaged, &types, &ends);
    }
}
