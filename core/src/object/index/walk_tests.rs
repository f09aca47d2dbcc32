use permazen_kv::memory::MemoryStore;
use proptest::prelude::*;

use super::*;
use crate::encoding::{EncodingRegistry, FieldType};
use crate::id::StorageId;
use crate::object::index::{IndexShape, IndexView};
use crate::object::store::Undo;
use crate::object::{Database, TransactionConfig};
use crate::schema::SchemaModel;

/// An entry as a walk gives it: the value or why it cannot be decoded, and the object.
type Row = std::result::Result<(std::result::Result<String, String>, ObjId), String>;

fn rows<V: FieldType + std::fmt::Debug>(
    view: &IndexView<'_>,
    decodes: bool,
    back: bool,
) -> Vec<Row> {
    let read = |entry: IndexEntryRef<'_, '_>| {
        let value = V::decode_all(entry.encoded(0));
        if decodes && value.is_err() {
            entry.check()?;
        }
        let value = value.map(|value| format!("{value:?}")).map_err(|error| error.to_string());
        Ok((value, entry.id()?))
    };
    let iter = IndexIter::new(view.source, view.selection.clone(), read, decodes);
    let text = |row: Result<_>| row.map_err(|error| error.to_string());
    if back { iter.rev().map(text).collect() } else { iter.map(text).collect() }
}

fn agree<V: FieldType + std::fmt::Debug>(
    encoding: &str,
    values: &[V],
    damaged: &[Vec<u8>],
    types: &[u32],
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
        for back in [false, true] {
            assert_eq!(rows::<V>(&view, true, back), rows::<V>(&view, false, back));
        }
    }
}

fn damage() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![Just(0u8), Just(1), Just(10), Just(0x80), Just(0xff), any::<u8>()];
    let key = prop::collection::vec(byte, 0..14);
    prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(key, 1..4)]
}

proptest! {
    /// Who decodes values gets the same entries and errors as who lets the walk find their ends.
    #[test]
    fn decoding_finds_what_cutting_finds(
        numbers in prop::collection::vec(any::<i32>(), 0..30),
        texts in prop::collection::vec("[a-c\u{0}\u{1}é]{0,9}", 0..30),
        damaged in damage(),
        types in prop::collection::vec(prop_oneof![Just(10u32), Just(11), Just(20), Just(258)], 0..3),
    ) {
        agree("int", &numbers, &damaged, &types);
        agree("String", &texts, &damaged, &types);
    }
}
