//! Models with fields of each kind, for the targets of the typed layer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use permazen::kv::memory::MemoryStore;
use permazen::model::{Detached, Permazen};
use permazen::{Any, Counter, ObjId, PermazenEnum, PermazenObject, Ref};

/// An enum.
#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Color {
    /// A constant.
    Red,
    /// Another.
    Green,
}

/// A field of each kind.
#[derive(PermazenObject, Default, Debug)]
#[permazen(storage_id = 16, composite(name = "byTextNumber", fields(text, number)))]
pub struct Thing {
    /// With an index.
    #[permazen(indexed)]
    pub text: String,
    /// May be null, and is unique otherwise.
    #[permazen(indexed, unique, exclude(nulls))]
    pub maybe: Option<String>,
    /// A whole number.
    pub number: i64,
    /// A number with a fraction.
    pub real: f64,
    /// A narrow one.
    pub narrow: Option<f32>,
    /// True or false.
    pub flag: Option<bool>,
    /// An array.
    pub bytes: Box<[i8]>,
    /// An enum.
    #[permazen(indexed)]
    pub color: Option<Color>,
    /// A counter.
    pub count: Counter,
    /// A reference.
    pub next: Option<Ref<Thing>>,
    /// A reference that may dangle.
    #[permazen(allow_deleted, inverse_delete = "ignore")]
    pub lost: Option<Ref<Any>>,
    /// A set.
    pub tags: BTreeSet<String>,
    /// A list.
    pub others: Vec<Ref<Thing>>,
    /// A map with indexes.
    #[permazen(key(indexed), value(indexed))]
    pub by_number: BTreeMap<i64, String>,
    /// A map with references as keys.
    pub by_thing: BTreeMap<Ref<Thing>, Option<i32>>,
}

/// Of which there is at most one.
#[derive(PermazenObject, Default, Debug)]
#[permazen(storage_id = 17, singleton)]
pub struct Settings {
    /// The object to which it refers.
    pub first: Option<Ref<Thing>>,
}

/// An empty database with the models.
pub static DATABASE: LazyLock<Permazen> = LazyLock::new(|| {
    let builder = Permazen::builder(MemoryStore::new()).model::<Thing>().model::<Settings>();
    builder.build().expect("the models are valid")
});

/// The ID of a thing.
pub fn thing(number: u8) -> ObjId {
    ObjId::from_bytes([16, 0, 0, 0, 0, 0, 0, number]).expect("an ID")
}

/// Two things and the settings as bytes.
pub static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let small = || -> permazen::Result<Vec<u8>> {
        let memory: Detached = DATABASE.write(|tx| tx.detached())?;
        let first = memory.create_with_id(thing(1), Thing::default())?.expect("a new ID");
        memory.create_with_id(
            thing(2),
            Thing {
                text: "two".into(),
                maybe: Some("maybe".into()),
                number: i64::MAX,
                real: -0.0,
                narrow: Some(1.5),
                flag: Some(true),
                bytes: [1, -1].into(),
                color: Some(Color::Green),
                count: Counter(7),
                next: Some(first.to_ref()),
                lost: Some(Ref::new(thing(9))),
                tags: ["a", "b"].map(String::from).into(),
                others: vec![first.to_ref(), first.to_ref()],
                by_number: [(-1, "minus".to_owned()), (1, "plus".to_owned())].into(),
                by_thing: [(first.to_ref(), None)].into(),
            },
        )?;
        let id = ObjId::from_bytes([17, 0, 0, 0, 0, 0, 0, 1])?;
        memory.create_with_id(id, Settings { first: Some(first.to_ref()) })?;
        memory.to_bytes()
    };
    small().expect("memory")
});
