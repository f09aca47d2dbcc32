//! Typed queries: finding one object, beginnings of strings, pages, and sets from several indexes.

mod costs;
mod find;
mod live_sets;
mod pages;
mod sets;
mod starts_with;

use std::collections::BTreeSet;

use permazen::kv::memory::MemoryStore;
use permazen::{Obj, ObjId, Permazen, PermazenObject, Result, Tx};
use proptest::prelude::*;

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
#[permazen(composite(name = "namePlace", fields(name, place)))]
#[permazen(composite(name = "rankName", fields(rank, name)))]
struct Person {
    #[permazen(indexed)]
    name: Option<String>,
    #[permazen(indexed)]
    place: String,
    #[permazen(indexed)]
    rank: i32,
    #[permazen(element(indexed))]
    tags: Vec<String>,
}

/// A type that shares indexes with [`Person`].
#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
struct Pet {
    #[permazen(indexed)]
    name: Option<String>,
    #[permazen(indexed)]
    rank: i32,
    #[permazen(element(indexed))]
    tags: Vec<String>,
}

fn db() -> Permazen {
    let db = Permazen::builder(MemoryStore::new());
    db.model::<Person>().model::<Pet>().build().unwrap()
}

/// An object as it is created.
#[derive(Debug, Clone)]
struct Plan {
    is_person: bool,
    name: Option<String>,
    place: String,
    rank: i32,
    tags: Vec<String>,
}

/// An object that was created.
#[derive(Debug, Clone)]
struct Made {
    id: ObjId,
    plan: Plan,
}

/// Strings in which every form of a character occurs: escaped ones, one to three bytes, and pairs
/// of surrogates, which sort below U+E000.
fn text() -> impl Strategy<Value = String> {
    let character = prop::sample::select(vec![
        '\0',
        '\u{1}',
        '\u{2}',
        'a',
        'b',
        '\u{7f}',
        '\u{fa}',
        '\u{fb}',
        '\u{1fa}',
        '\u{1fb}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{ffff}',
        '\u{10000}',
        '\u{10ffff}',
    ]);
    prop::collection::vec(character, 0..4).prop_map(String::from_iter)
}

fn plan() -> impl Strategy<Value = Plan> {
    let tags = prop::collection::vec(text(), 0..3);
    (any::<bool>(), prop::option::of(text()), text(), -2..3, tags).prop_map(
        |(is_person, name, place, rank, tags)| Plan { is_person, name, place, rank, tags },
    )
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    prop::collection::vec(plan(), 0..20)
}

fn create(tx: &Tx, plan: &Plan) -> Result<Made> {
    let Plan { is_person, name, place, rank, tags } = plan.clone();
    let id = match is_person {
        true => tx.create(Person { name, place, rank, tags })?.id(),
        false => tx.create(Pet { name, rank, tags })?.id(),
    };
    Ok(Made { id, plan: plan.clone() })
}

/// How Java compares strings; null is last.
type Key = (bool, Vec<u16>);

fn key(text: Option<&str>) -> Key {
    (text.is_none(), text.unwrap_or_default().encode_utf16().collect())
}

/// The different tags of an object, in order.
fn tags(plan: &Plan) -> BTreeSet<Key> {
    plan.tags.iter().map(|tag| key(Some(tag))).collect()
}

fn id(person: Obj<'_, Person>) -> ObjId {
    person.id()
}
