//! `encoded()`, the access by resolved field and encoded bytes, does the same as access by names
//! and values.

use std::ops::Bound;
use std::sync::Arc;

use permazen::object::{
    Error, IndexView, ListView, MapView, Migrate, Result, SetView, Transaction,
};
use permazen::schema::ResolvedField;

use crate::changes::{field, fill, list, map, schema, set_of};
use crate::support::*;

fn filled(world: &World) -> Transaction {
    let tx = world.begin(&schema());
    fill(&tx);
    tx
}

/// Views and an iterator. The `Encoded`s and views they were made from no longer exist when this
/// returns.
fn made<'t>(
    tx: &'t Transaction,
) -> (
    SetView<'t>,
    ListView<'t>,
    MapView<'t>,
    IndexView<'t>,
    impl Iterator<Item = Result<Vec<u8>>> + use<'t>,
) {
    let set = tx.encoded().set_view(foo_id(1), &field(tx, "set")).unwrap();
    let list = tx.encoded().list_view(foo_id(1), &field(tx, "list")).unwrap();
    let map = tx.encoded().map_view(foo_id(1), &field(tx, "map")).unwrap();
    let index = tx.index_by_name("Foo", "i").unwrap();
    let elements = list.encoded().iter(|_, element| Ok(element.to_vec()));
    (
        set.encoded().range(Bound::Excluded(&[0x86]), Bound::Unbounded).unwrap(),
        list,
        map.encoded().range(Bound::Unbounded, Bound::Included(&[0x80])).unwrap(),
        index.encoded().with_value(0, &[0x80]).unwrap(),
        elements,
    )
}

#[test]
fn views_and_iterators_outlive_what_made_them() {
    let world = World::new();
    let tx = filled(&world);
    let (set, list, map, index, elements) = made(&tx);
    assert_eq!(set.to_vec().unwrap(), [int(9)]);
    assert_eq!(list.to_vec().unwrap(), texts(&["p", "q", "p"]));
    assert_eq!(map.to_vec().unwrap(), [(int(1), text("x"))]);
    assert_eq!(index.ids().collect::<Result<Vec<_>>>().unwrap(), [foo_id(1)]);
    let elements: Vec<Vec<u8>> = elements.collect::<Result<_>>().unwrap();
    assert_eq!(elements, [b"p\0", b"q\0", b"p\0"]);
}

#[test]
fn lists_get_the_same_elements_at_both_levels() {
    let (one, other) = (World::new(), World::new());
    let (one, other) = (filled(&one), filled(&other));
    let by_value = list(&one, 1).unwrap();
    assert!(by_value.insert_all(1, &texts(&["m", "n"])).unwrap());
    by_value.insert(0, &text("a")).unwrap();
    assert!(by_value.extend(&texts(&["y", "z"])).unwrap());
    assert!(!by_value.extend(&[]).unwrap());
    let by_bytes = list(&other, 1).unwrap();
    assert!(by_bytes.encoded().insert_all(1, &[b"m\0", b"n\0"]).unwrap());
    by_bytes.encoded().insert(0, b"a\0").unwrap();
    assert!(by_bytes.encoded().extend(&[b"y\0", b"z\0"]).unwrap());
    assert!(!by_bytes.encoded().extend(&[]).unwrap());
    assert_eq!(by_value.to_vec().unwrap(), texts(&["a", "p", "m", "n", "q", "p", "y", "z"]));
    assert_eq!(by_bytes.to_vec().unwrap(), by_value.to_vec().unwrap());
    let outside = by_bytes.encoded().insert(9, b"b\0");
    assert!(matches!(outside, Err(Error::OutOfRange { index: 9, size: 8, .. })), "{outside:?}");
    let invalid = by_bytes.encoded().extend(&[b"b\0", b"c"]);
    assert!(matches!(invalid, Err(Error::InvalidValue { .. })), "{invalid:?}");
    let middle = by_bytes.encoded().iter_range(2..4, |at, element| Ok((at, element.to_vec())));
    let middle: Vec<(u32, Vec<u8>)> = middle.collect::<Result<_>>().unwrap();
    assert_eq!(middle, [(2, b"m\0".to_vec()), (3, b"n\0".to_vec())]);
}

#[test]
fn the_ends_of_sets_and_maps_are_lent() {
    let world = World::new();
    let tx = filled(&world);
    let set = set_of(&tx, 1).unwrap();
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    assert_eq!(set.encoded().first(owned).unwrap(), Some(vec![0x86]));
    assert_eq!(set.encoded().last(owned).unwrap(), Some(vec![0x88]));
    let none = set.encoded().range(Bound::Included(&[0x90]), Bound::Unbounded).unwrap();
    assert_eq!(none.encoded().first(owned).unwrap(), None);
    assert_eq!(none.first().unwrap(), None);
    let map = map(&tx, 1).unwrap();
    let key = |entry: Option<(&[u8], &[u8])>| entry.map(|(key, _)| key.to_vec());
    assert_eq!(map.encoded().first(key).unwrap(), Some(vec![0x80]));
    assert_eq!(map.encoded().last(key).unwrap(), Some(vec![0x81]));
    assert!(map.encoded().contains_key(&[0x81]).unwrap());
    assert!(!map.encoded().contains_key(&[0x82]).unwrap());
    assert!(!map.encoded().contains_key(&[]).unwrap());
    let keys: Vec<_> = map.encoded().keys(|key| Ok(key.to_vec())).collect::<Result<_>>().unwrap();
    assert_eq!(keys, [[0x80], [0x81]]);
}

#[test]
fn a_field_of_another_kind_is_unknown() {
    type Use = fn(&Transaction, &Arc<ResolvedField>) -> Result<()>;
    let uses: [(&str, &str, Use); 8] = [
        ("get", "c", |tx, f| tx.encoded().get(foo_id(1), f, Migrate::No, |_| ())),
        ("set", "set", |tx, f| tx.encoded().set(foo_id(1), f, &[0x84], Migrate::No)),
        ("counter", "i", |tx, f| tx.encoded().counter(foo_id(1), f, Migrate::No).map(drop)),
        ("set_counter", "i", |tx, f| tx.encoded().set_counter(foo_id(1), f, 1, Migrate::No)),
        ("adjust_counter", "i", |tx, f| tx.encoded().adjust_counter(foo_id(1), f, 1, Migrate::No)),
        ("set_view", "list", |tx, f| tx.encoded().set_view(foo_id(1), f).map(drop)),
        ("list_view", "map", |tx, f| tx.encoded().list_view(foo_id(1), f).map(drop)),
        ("map_view", "set", |tx, f| tx.encoded().map_view(foo_id(1), f).map(drop)),
    ];
    let world = World::new();
    let tx = filled(&world);
    for (what, name, body) in uses {
        let refused = body(&tx, &field(&tx, name));
        assert!(matches!(refused, Err(Error::UnknownField { .. })), "{what}: {refused:?}");
    }
}
