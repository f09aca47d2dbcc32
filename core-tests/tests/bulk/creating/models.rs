//! Models with fields of all kinds, random objects of them, and databases to compare.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, TxOptions};
use permazen::{Counter, Permazen, PermazenEnum, PermazenObject, Ref};
use proptest::prelude::*;

#[derive(PermazenEnum, Debug, Default, Clone, Copy, PartialEq)]
pub(crate) enum Color {
    #[default]
    Red,
    DarkGreen,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
#[permazen(composite(name = "byColorAge", fields(color, age)))]
pub(crate) struct Person {
    #[permazen(indexed)]
    pub(crate) name: String,
    pub(crate) age: i32,
    #[permazen(indexed, unique, exclude(nulls))]
    pub(crate) code: Option<i64>,
    #[permazen(indexed)]
    pub(crate) color: Color,
    pub(crate) visits: Counter,
    #[permazen(inverse_delete = "nullify")]
    pub(crate) friend: Option<Ref<Person>>,
    #[permazen(element(indexed))]
    pub(crate) tags: BTreeSet<String>,
    #[permazen(element(indexed))]
    pub(crate) scores: Vec<i32>,
    #[permazen(element(allow_deleted))]
    pub(crate) lost: Vec<Ref<Pet>>,
    #[permazen(key(indexed))]
    pub(crate) pets: BTreeMap<String, Ref<Pet>>,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
pub(crate) struct Pet {
    #[permazen(indexed)]
    pub(crate) name: Option<String>,
    pub(crate) owner: Option<Ref<Person>>,
}

/// An object to be made; references are places among the objects that are made before it or with
/// it.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    Person { person: Person, friend: Option<usize>, pets: Vec<usize>, lost: Vec<usize> },
    Pet { name: Option<String>, owner: Option<usize> },
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-c]{1,3}", "\\PC{0,12}", Just("\0\u{1}\0".to_owned())]
}

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let collections = (
        proptest::collection::btree_set(text(), 0..4),
        proptest::collection::vec(-2..3, 0..5),
        proptest::collection::vec(any::<usize>(), 0..3),
        proptest::collection::vec(any::<usize>(), 0..3),
    );
    let person = (text(), -3..3, any::<bool>(), -1i64..2, any::<Option<usize>>(), collections);
    let person = person.prop_map(|(name, age, green, visits, friend, collections)| {
        let (tags, scores, pets, lost) = collections;
        let color = if green { Color::DarkGreen } else { Color::Red };
        let visits = Counter(visits);
        let person = Person { name, age, color, visits, tags, scores, ..Person::default() };
        Plan::Person { person, friend, pets, lost }
    });
    let pet = (proptest::option::of(text()), any::<Option<usize>>())
        .prop_map(|(name, owner)| Plan::Pet { name, owner });
    prop_oneof![2 => person, 1 => pet]
}

/// One of these, by a random number.
pub(crate) fn pick<T: Copy>(of: &[T], number: usize) -> Option<T> {
    of.get(number.checked_rem(of.len())?).copied()
}

impl Plan {
    /// The person, with references to these objects.
    pub(crate) fn person(&self, people: &[Ref<Person>], others: &[Ref<Pet>]) -> Option<Person> {
        let Plan::Person { person, friend, pets, lost } = self else { return None };
        let mut person = person.clone();
        person.friend = friend.and_then(|number| pick(people, number));
        person.lost = lost.iter().filter_map(|number| pick(others, *number)).collect();
        let pets =
            pets.iter().filter_map(|number| Some((number.to_string(), pick(others, *number)?)));
        person.pets = pets.collect();
        Some(person)
    }

    /// The pet, with references to these objects.
    pub(crate) fn pet(&self, people: &[Ref<Person>]) -> Option<Pet> {
        let Plan::Pet { name, owner } = self else { return None };
        Some(Pet { name: name.clone(), owner: owner.and_then(|number| pick(people, number)) })
    }
}

/// A new database in memory.
pub(crate) fn database() -> (Arc<MemoryStore>, Permazen) {
    let store = Arc::new(MemoryStore::new());
    let db = on(store.clone());
    (store, db)
}

/// A database with the models on a store.
pub(crate) fn on(store: Arc<dyn KvDatabase>) -> Permazen {
    Permazen::builder_shared(store).model::<Person>().model::<Pet>().build().unwrap()
}

pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Everything in a store.
pub(crate) fn pairs(store: &dyn KvDatabase) -> Pairs {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    scan.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}
