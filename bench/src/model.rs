//! The models of our side. The storage IDs are given, so that code written by hand knows the keys.

use std::collections::{BTreeMap, BTreeSet};

use permazen::{Counter, PermazenObject, Ref};

use crate::data;

pub const PERSON: u8 = 10;

#[derive(PermazenObject, Clone, Debug, Default)]
#[permazen(storage_id = 10)]
pub struct Person {
    #[permazen(indexed, storage_id = 11)]
    pub age: i32,
    #[permazen(storage_id = 12)]
    pub email: String,
    #[permazen(indexed, storage_id = 13)]
    pub name: String,
    #[permazen(storage_id = 14)]
    pub score: i64,
    #[permazen(storage_id = 15)]
    pub visits: Counter,
}

/// With indexes on everything in it.
#[derive(PermazenObject, Clone, Debug, Default)]
#[permazen(storage_id = 20)]
pub struct Bag {
    #[permazen(storage_id = 21, element(indexed, storage_id = 22))]
    pub list: Vec<i32>,
    #[permazen(storage_id = 23, element(indexed, storage_id = 24))]
    pub members: BTreeSet<i32>,
    #[permazen(storage_id = 25, key(indexed, storage_id = 26), value(indexed, storage_id = 27))]
    pub map: BTreeMap<i32, i32>,
}

#[derive(PermazenObject, Clone, Debug, Default)]
#[permazen(storage_id = 30)]
pub struct Target {
    #[permazen(storage_id = 31)]
    pub label: i32,
}

/// When its target is deleted, it loses the reference.
#[derive(PermazenObject, Clone, Debug, Default)]
#[permazen(storage_id = 32)]
pub struct Note {
    #[permazen(storage_id = 33, inverse_delete = "nullify")]
    pub target: Option<Ref<Target>>,
}

/// When its target is deleted, so is it.
#[derive(PermazenObject, Clone, Debug, Default)]
#[permazen(storage_id = 34)]
pub struct Part {
    #[permazen(storage_id = 35, inverse_delete = "delete")]
    pub whole: Option<Ref<Target>>,
}

/// A message that a person has written.
#[derive(PermazenObject, Clone, Debug)]
#[permazen(storage_id = 40)]
pub struct Message {
    #[permazen(storage_id = 41, inverse_delete = "delete")]
    pub author: Ref<Person>,
    #[permazen(storage_id = 42)]
    pub text: String,
}

impl From<&data::Person> for Person {
    fn from(person: &data::Person) -> Person {
        let data::Person { age, email, name, score, visits } = person.clone();
        Person { age, email, name, score, visits: Counter(visits) }
    }
}

impl From<Person> for data::Person {
    fn from(person: Person) -> data::Person {
        let Person { age, email, name, score, visits: Counter(visits) } = person;
        data::Person { age, email, name, score, visits }
    }
}
