//! Random operations on collections, compared with sets, vectors and maps in memory. The indexes
//! are compared with the content of the collections.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use permazen::encoding::Value;
use permazen::object::{Migrate, Transaction};
use proptest::prelude::*;

use crate::support::*;

#[derive(Debug, Clone)]
enum Step {
    SetAdd(i32),
    SetRemove(i32),
    SetPop(bool),
    SetClear(i32, i32),
    SetRetain(i32),
    ListInsert(u32, Vec<u8>),
    ListSet(u32, u8),
    ListRemove(u32, u32),
    ListRetain(u8),
    ListRemoveValue(u8),
    MapPut(i32, u8),
    MapRemove(i32),
    MapPop(bool),
    MapClear(i32, i32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = -4i32..12;
    let value = 0u8..5;
    let step = prop_oneof![
        3 => key.clone().prop_map(Step::SetAdd),
        1 => key.clone().prop_map(Step::SetRemove),
        1 => any::<bool>().prop_map(Step::SetPop),
        1 => (key.clone(), key.clone()).prop_map(|(a, b)| Step::SetClear(a.min(b), a.max(b))),
        1 => (2i32..5).prop_map(Step::SetRetain),
        3 => (any::<u32>(), prop::collection::vec(value.clone(), 0..6))
            .prop_map(|(at, values)| Step::ListInsert(at, values)),
        1 => (any::<u32>(), value.clone()).prop_map(|(at, value)| Step::ListSet(at, value)),
        2 => (any::<u32>(), any::<u32>()).prop_map(|(a, b)| Step::ListRemove(a, b)),
        1 => value.clone().prop_map(Step::ListRetain),
        1 => value.clone().prop_map(Step::ListRemoveValue),
        3 => (key.clone(), value).prop_map(|(key, value)| Step::MapPut(key, value)),
        1 => key.clone().prop_map(Step::MapRemove),
        1 => any::<bool>().prop_map(Step::MapPop),
        1 => (key.clone(), key).prop_map(|(a, b)| Step::MapClear(a.min(b), a.max(b))),
    ];
    prop::collection::vec(step, 1..40)
}

#[derive(Debug, Default)]
struct Model {
    set: BTreeSet<i32>,
    list: Vec<u8>,
    map: BTreeMap<i32, u8>,
}

/// Value 4 stands for null.
fn word(value: u8) -> Value {
    if value == 4 { Value::Null } else { text(&"abcd"[usize::from(value)..=usize::from(value)]) }
}

impl Model {
    fn step(&mut self, tx: &Transaction, n: u8, step: &Step) {
        let id = foo_id(n);
        let set = tx.set_view(id, "set", Migrate::No).unwrap();
        let list = tx.list_view(id, "list", Migrate::No).unwrap();
        let map = tx.map_view(id, "map", Migrate::No).unwrap();
        let len = self.list.len() as u32;
        match step {
            Step::SetAdd(value) => {
                assert_eq!(set.add(&int(*value)).unwrap(), self.set.insert(*value));
            }
            Step::SetRemove(value) => {
                assert_eq!(set.remove(&int(*value)).unwrap(), self.set.remove(value));
            }
            Step::SetPop(first) => {
                let (found, expected) = if *first {
                    (set.pop_first().unwrap(), self.set.pop_first())
                } else {
                    (set.pop_last().unwrap(), self.set.pop_last())
                };
                assert_eq!(found, expected.map(int));
            }
            Step::SetClear(from, to) => {
                let bounds = (Bound::Included(&int(*from)), Bound::Excluded(&int(*to)));
                set.range(bounds.0, bounds.1).unwrap().clear().unwrap();
                self.set.retain(|value| !(from..to).contains(&value));
            }
            Step::SetRetain(by) => {
                let kept = |value: i32| value % by == 0;
                set.retain(|value| matches!(value, Value::Int(value) if kept(*value))).unwrap();
                self.set.retain(|value| kept(*value));
            }
            Step::ListInsert(at, values) => {
                let at = at % (len + 1);
                let words: Vec<_> = values.iter().map(|value| word(*value)).collect();
                assert_eq!(list.insert_all(at, &words).unwrap(), !values.is_empty());
                self.list.splice(at as usize..at as usize, values.iter().copied());
            }
            Step::ListSet(at, value) if len > 0 => {
                let at = at % len;
                let old = std::mem::replace(&mut self.list[at as usize], *value);
                assert_eq!(list.set(at, &word(*value)).unwrap(), word(old));
            }
            Step::ListSet(at, value) => assert_out_of_range(list.set(*at, &word(*value))),
            Step::ListRemove(a, b) => {
                let (a, b) = (a % (len + 1), b % (len + 1));
                let (from, to) = (a.min(b), a.max(b));
                list.remove_range(from, to).unwrap();
                self.list.drain(from as usize..to as usize);
            }
            Step::ListRetain(value) => {
                let before = self.list.len();
                self.list.retain(|other| other != value);
                let removed = list.retain(|other| *other != word(*value)).unwrap();
                assert_eq!(removed as usize, before - self.list.len());
            }
            Step::ListRemoveValue(value) => {
                let at = self.list.iter().position(|other| other == value);
                assert_eq!(list.position(&word(*value)).unwrap(), at.map(|at| at as u32));
                assert_eq!(list.remove_value(&word(*value)).unwrap(), at.is_some());
                at.map(|at| self.list.remove(at));
            }
            Step::MapPut(key, value) => {
                let old = map.put(&int(*key), &word(*value)).unwrap();
                assert_eq!(old, self.map.insert(*key, *value).map(word));
            }
            Step::MapRemove(key) => {
                assert_eq!(map.remove(&int(*key)).unwrap(), self.map.remove(key).map(word));
            }
            Step::MapPop(first) => {
                let (found, expected) = if *first {
                    (map.pop_first().unwrap(), self.map.pop_first())
                } else {
                    (map.pop_last().unwrap(), self.map.pop_last())
                };
                assert_eq!(found, expected.map(|(key, value)| (int(key), word(value))));
            }
            Step::MapClear(from, to) => {
                let bounds = (Bound::Included(&int(*from)), Bound::Excluded(&int(*to)));
                map.range(bounds.0, bounds.1).unwrap().clear().unwrap();
                self.map.retain(|key, _| !(from..to).contains(&key));
            }
        }
    }

    fn check(&self, tx: &Transaction, n: u8) {
        let id = foo_id(n);
        let set = tx.set_view(id, "set", Migrate::No).unwrap();
        let list = tx.list_view(id, "list", Migrate::No).unwrap();
        let map = tx.map_view(id, "map", Migrate::No).unwrap();
        let elements: Vec<_> = self.set.iter().copied().map(int).collect();
        let words: Vec<_> = self.list.iter().copied().map(word).collect();
        let entries: Vec<_> =
            self.map.iter().map(|(key, value)| (int(*key), word(*value))).collect();
        assert_eq!(set.to_vec().unwrap(), elements);
        assert_eq!(list.to_vec().unwrap(), words);
        assert_eq!(map.to_vec().unwrap(), entries);
        assert_eq!(list.len().unwrap() as usize, words.len());
        let reverse = |values: &[Value]| values.iter().rev().cloned().collect::<Vec<_>>();
        assert_eq!(set.iter().rev().map(Result::unwrap).collect::<Vec<_>>(), reverse(&elements));
        assert_eq!(list.iter().rev().map(Result::unwrap).collect::<Vec<_>>(), reverse(&words));
        assert_eq!(
            set.range(Bound::Excluded(&int(3)), Bound::Unbounded).unwrap().first().unwrap(),
            self.set.range(4..).next().copied().map(int)
        );
        assert_eq!(
            set.range(Bound::Unbounded, Bound::Excluded(&int(3))).unwrap().last().unwrap(),
            self.set.range(..3).next_back().copied().map(int)
        );
    }
}

/// The rows of the four indexes on collections, as the models have them.
fn expected_rows(models: &BTreeMap<u8, Model>) -> [Vec<Vec<Value>>; 4] {
    let mut rows: [Vec<Vec<Value>>; 4] = Default::default();
    for (n, model) in models {
        let id = || Value::Ref(foo_id(*n));
        rows[0].extend(model.set.iter().map(|value| vec![int(*value), id()]));
        rows[1].extend((0..).zip(&model.list).map(|(at, value)| vec![word(*value), id(), int(at)]));
        rows[2].extend(model.map.keys().map(|key| vec![int(*key), id()]));
        rows[3].extend(model.map.iter().map(|(key, value)| vec![word(*value), id(), int(*key)]));
    }
    rows.iter_mut().for_each(|rows| rows.sort());
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn collections_and_their_indexes_agree_with_the_models(
        steps in prop::collection::vec((1u8..=2, steps()), 1..4),
        watched in any::<bool>(),
    ) {
        let world = World::new();
        let tx = world.foo();
        let mut models = BTreeMap::new();
        for n in 1..=2 {
            create(&tx, foo_id(n));
            models.insert(n, Model::default());
        }
        let events = watched.then(|| [20, 22, 24].map(|field| Events::on(&tx, field)));
        for (n, steps) in &steps {
            let model = models.get_mut(n).unwrap();
            for step in steps {
                model.step(&tx, *n, step);
                model.check(&tx, *n);
            }
        }
        for (index, expected) in [21, 23, 25, 26].into_iter().zip(expected_rows(&models)) {
            let view = tx.index(sid(index)).unwrap();
            let rows: Vec<_> =
                view.entries().map(|entry| entry.unwrap().to_values().unwrap()).collect();
            prop_assert_eq!(rows, expected);
        }
        drop(events);
        tx.commit().unwrap();
        // Emptied collections leave no pairs.
        let tx = world.foo();
        for n in 1..=2 {
            tx.set_view(foo_id(n), "set", Migrate::No).unwrap().clear().unwrap();
            tx.list_view(foo_id(n), "list", Migrate::No).unwrap().clear().unwrap();
            tx.map_view(foo_id(n), "map", Migrate::No).unwrap().clear().unwrap();
        }
        tx.commit().unwrap();
        let fresh = World::new();
        let tx = fresh.foo();
        create(&tx, foo_id(1));
        create(&tx, foo_id(2));
        tx.commit().unwrap();
        prop_assert_eq!(world.pairs(), fresh.pairs());
    }
}

/// Lists that are longer than the part moved at a time.
#[test]
fn long_lists_agree_with_the_model() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    let list = tx.list_view(foo_id(1), "list", Migrate::No).unwrap();
    let mut model: Vec<Value> = (0..3000).map(|n| text(&n.to_string())).collect();
    list.extend(&model).unwrap();
    let inserted: Vec<Value> = (0..1300).map(|n| text(&format!("i{n}"))).collect();
    list.insert_all(700, &inserted).unwrap();
    model.splice(700..700, inserted);
    list.remove_range(1500, 2700).unwrap();
    model.drain(1500..2700);
    list.insert(1, &text("one")).unwrap();
    model.insert(1, text("one"));
    list.remove_range(100, 103).unwrap();
    model.drain(100..103);
    let kept = |value: &Value| !show(value).ends_with('7');
    list.retain(kept).unwrap();
    model.retain(kept);
    assert!(list.to_vec().unwrap() == model);
    let rows = tx.list_element_index(sid(23)).unwrap();
    let mut expected: Vec<_> = (0..).zip(&model).map(|(at, v)| (v.clone(), at)).collect();
    expected.sort();
    let found: Vec<(Value, u32)> = rows
        .iter_with(|entry| Ok((entry.value(0)?, entry.position()?)))
        .map(Result::unwrap)
        .collect();
    assert!(found == expected);
}

/// A failed operation takes back all changes it has made, however many.
#[test]
fn a_failed_move_is_undone() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    tx.list_view(foo_id(1), "list", Migrate::No).unwrap().extend(&texts(&["x"; 2000])).unwrap();
    tx.commit().unwrap();
    // A hole in the chunk that an insertion at the front moves last.
    world.raw("0a111111111111111605", None);
    let before = world.pairs();
    let tx = world.foo();
    let list = tx.list_view(foo_id(1), "list", Migrate::No).unwrap();
    assert!(list.insert(0, &text("y")).is_err());
    assert!(list.remove_range(0, 2).is_err());
    assert!(list.remove_range(0, 1500).is_err());
    tx.commit().unwrap();
    assert!(world.pairs() == before);
}
