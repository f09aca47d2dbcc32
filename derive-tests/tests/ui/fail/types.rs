use std::collections::{BTreeMap, HashMap, HashSet};

use permazen::{Counter, PermazenObject};

#[derive(PermazenObject)]
struct Person<'a> {
    unsigned: u128,
    byte: Option<u8>,
    letter: char,
    size: usize,
    bytes: Vec<u8>,
    sets: Vec<HashSet<String>>,
    maps: Option<HashMap<String, i32>>,
    #[permazen(list)]
    no_list_either: HashSet<String>,
    nested: Vec<Vec<String>>,
    nested_map: BTreeMap<String, Vec<i32>>,
    counters: Vec<Counter>,
    no_list: Option<Vec<String>>,
    twice: Option<Option<i32>>,
    borrowed: &'a str,
    pair: (i32, i32),
    pairs: Vec<(String, i32)>,
    pairs_by_number: BTreeMap<i32, Option<(String, i32)>>,
    fixed: [i32; 4],
    boxed: Box<String>,
    #[permazen(set)]
    not_a_set: String,
    #[permazen(list, set)]
    both: Vec<i32>,
}

#[derive(PermazenObject)]
struct Tuple(i32);

#[derive(PermazenObject)]
enum Enum {
    A,
}

fn main() {}
