//! A mistake in a type that only the compiler can know is one error for each field.
use std::collections::{BTreeMap, BTreeSet};

use permazen::{PermazenObject, Ref};

#[derive(Debug, Clone)]
enum Counter {}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mine;

#[derive(PermazenObject)]
#[permazen(composite(name = "two", fields(simple, reference)))]
struct Object {
    #[permazen(accessor = "counted")]
    counter: Counter,
    #[permazen(indexed)]
    simple: Mine,
    optional: Option<Mine>,
    array: Box<[Mine]>,
    list: Vec<Mine>,
    #[permazen(accessor = "elements")]
    set: BTreeSet<Mine>,
    map: BTreeMap<Mine, i32>,
    map_value: BTreeMap<i32, Mine>,
    reference: Option<Ref<Mine>>,
    required: Ref<Mine>,
    references: Vec<Ref<Mine>>,
    counters: Vec<permazen::Counter>,
    #[permazen(with = i64)]
    converted: Mine,
    #[permazen(with = Mine)]
    disk: i32,
}

fn main() {}
