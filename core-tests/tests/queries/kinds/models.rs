//! The models of these tests.

use permazen::kv::memory::MemoryStore;
use permazen::{Counter, Obj, Permazen, PermazenFields, PermazenKind, PermazenObject, Ref};

/// A mix-in with an index and a counter.
#[derive(PermazenFields, Debug, Clone, Default, PartialEq)]
#[permazen(composite(name = "byNameRank", fields(name, rank)))]
pub(crate) struct Named {
    #[permazen(indexed)]
    pub name: String,
    #[permazen(default = 5)]
    pub rank: i32,
    pub views: Counter,
}

/// A mix-in without indexes.
#[derive(PermazenFields, Debug, Clone, Default, PartialEq)]
pub(crate) struct Dated {
    pub created_at: i64,
}

/// A mix-in with mix-ins.
#[derive(PermazenFields, Debug, Clone, Default, PartialEq)]
pub(crate) struct Entry {
    #[permazen(element(indexed))]
    pub tags: Vec<String>,
    #[permazen(flatten)]
    pub dated: Dated,
    #[permazen(flatten)]
    pub named: Named,
}

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
pub(crate) struct Dog {
    pub good: bool,
    #[permazen(flatten)]
    pub named: Named,
    #[permazen(indexed)]
    pub chip: Option<i64>,
}

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
#[permazen(composite(name = "byLives", fields(lives, indoors)))]
pub(crate) struct Cat {
    #[permazen(flatten)]
    pub dated: Dated,
    pub lives: i32,
    #[permazen(flatten)]
    pub named: Named,
    pub indoors: bool,
}

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
pub(crate) struct Snake {
    #[permazen(flatten)]
    pub entry: Entry,
    pub length: f64,
}

/// A model without mix-ins.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
pub(crate) struct Rock {
    pub name: String,
}

#[derive(PermazenKind)]
#[permazen(fields = Named)]
pub(crate) enum Reptile<'t> {
    Snake(Obj<'t, Snake>),
}

#[derive(PermazenKind)]
#[permazen(fields = Named)]
pub(crate) enum Pet<'t> {
    Dog(Obj<'t, Dog>),
    Cat(Obj<'t, Cat>),
    Reptile(Reptile<'t>),
}

#[derive(PermazenKind)]
#[permazen(kind = "Things")]
pub(crate) enum Thing<'a> {
    Rock(Obj<'a, Rock>),
    Dog(Obj<'a, Dog>),
}

#[derive(PermazenObject, Debug, Clone, PartialEq)]
pub(crate) struct Walk {
    pub pet: Ref<PetKind>,
    #[permazen(inverse_delete = "nullify")]
    pub found: Option<Ref<Things>>,
    #[permazen(element(inverse_delete = "remove"))]
    pub met: Vec<Ref<PetKind>>,
}

pub(crate) fn named(name: &str) -> Named {
    Named { name: name.into(), rank: 1, views: Counter(0) }
}

pub(crate) fn db() -> Permazen {
    Permazen::builder(MemoryStore::new())
        .kind::<PetKind>()
        .kind::<Things>()
        .model::<Walk>()
        .build()
        .unwrap()
}

/// Its kind is not registered.
#[derive(PermazenObject)]
pub(crate) struct WalkWithoutKind {
    pub(crate) pet: Ref<PetKind>,
}
