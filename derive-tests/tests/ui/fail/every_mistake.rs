//! Every mistake of a struct is reported, each once, where it stands.
use std::collections::BTreeMap;

use permazen::{Counter, PermazenEnum, PermazenObject, Ref};

#[derive(PermazenObject)]
#[permazen(
    name = 3,
    storage_id = 0,
    rename_all = "kebab-case",
    singleton = true,
    no_such_thing,
    composite(name = "byA", fields(a, missing)),
    composite(name = "by_a", fields(b, a)),
    composite(fields(a))
)]
struct Mistakes {
    #[permazen(indexed = yes, storage_id = -1, rename)]
    a: i32,
    #[permazen(= 3, unique, indexed, encoding = 5)]
    b: i32,
    #[permazen(inverse_delete = "forget")]
    c: Option<Ref<Self>>,
    #[permazen(element(indxed), key(indexed))]
    d: Vec<String>,
    #[permazen(simple, list)]
    e: Vec<i32>,
    #[permazen(indexed)]
    f: Counter,
    #[permazen(upgrade = "never")]
    g: BTreeMap<String, u128>,
    #[permazen(with = u8)]
    h: i32,
    #[permazen(skip, indexed)]
    i: u128,
}

#[derive(PermazenEnum, Debug, Clone)]
#[permazen(rename_all = "upper", nothing)]
enum Variants {
    A(i32),
    #[permazen(rename = "a b")]
    B,
    #[permazen(name = "X")]
    C = 5,
}

fn main() {}
