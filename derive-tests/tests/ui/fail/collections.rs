use std::collections::{BTreeMap, BTreeSet};

use permazen::{Counter, PermazenObject, Ref};

#[derive(PermazenObject)]
struct Person {
    #[permazen(indexed)]
    tags: Vec<String>,
    #[permazen(key(indexed))]
    names: BTreeSet<String>,
    #[permazen(element(unique, rename = "x"))]
    pals: BTreeSet<Ref<Person>>,
    #[permazen(value(inverse_delete = "ignore"), key(forward_delete))]
    scores: BTreeMap<String, Ref<Person>>,
    #[permazen(indexed, unique)]
    hits: Counter,
}

fn main() {}
