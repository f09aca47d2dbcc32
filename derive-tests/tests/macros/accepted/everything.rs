#![deny(missing_docs, missing_debug_implementations, unused)]
//! Every attribute and kind of field, with the strictest lints.

use std::collections::{BTreeMap, BTreeSet};

use permazen::model::{Field, Indexed, Unindexed};
use permazen::{Any, Counter, NewValues, OldValues, PermazenEnum, PermazenObject, Ref, Result};

/// An enum.
#[derive(PermazenEnum, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[permazen(rename_all = "none")]
pub enum Size {
    /// Small.
    Small,
    /// Large.
    #[default]
    #[permazen(rename = "BIG", was = ["LARGE", "HUGE"])]
    Large,
}

/// A day count that is a `u32` in Rust.
#[derive(Debug, Clone)]
pub struct Days(u32);

impl TryFrom<i64> for Days {
    type Error = std::num::TryFromIntError;

    fn try_from(days: i64) -> std::result::Result<Self, Self::Error> {
        days.try_into().map(Days)
    }
}

impl From<Days> for i64 {
    fn from(days: Days) -> i64 {
        days.0.into()
    }
}

fn convert(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Person>) -> Result<()> {
    new.set(Person::NAME, old.take::<String>("nickname")?)
}

fn kind(old: &OldValues<'_>) -> Result<String> {
    old.take("kind")
}

type Friend = Option<Ref<Person>>;

/// A person.
#[derive(PermazenObject, Debug)]
#[permazen(
    name = "Human",
    storage_id = 10,
    rename_all = "camelCase",
    default_allow_deleted,
    default_upgrade = "exact",
    removed("nickname"),
    on_schema_change = convert,
    composite(name = "byNameAge", fields(name, age), unique, exclude(name(nulls), age(0..=3))),
    composite(name = "byAge", fields(age, r#type), storage_id = 99)
)]
pub struct Person {
    /// The name.
    #[permazen(
        indexed,
        unique,
        exclude(nulls, "unknown", range(gt = "x", le = "y")),
        storage_id = 11
    )]
    pub name: Option<String>,
    /// The age.
    #[permazen(upgrade = "reset", rename = "years", was = "age", default = 18)]
    pub age: i32,
    /// A keyword.
    #[permazen(upgrade_with = kind, default)]
    pub r#type: String,
    /// A friend, by an alias.
    #[permazen(reference, inverse_delete = "nullify")]
    pub friend: Friend,
    /// Required.
    #[permazen(inverse_delete = "delete", forward_delete, cascade(forward = ["a", "b"], inverse = "c"))]
    pub boss: Ref<Person>,
    /// Anything.
    #[permazen(inverse_delete = "ignore", allow_deleted)]
    pub anything: Option<Ref<Any>>,
    /// Visits.
    pub visits: Counter,
    /// Tags.
    #[permazen(element(indexed, storage_id = 20))]
    pub tags: Vec<String>,
    /// Not ordered in Rust.
    #[permazen(set)]
    pub weights: Vec<f32>,
    /// Not ordered in Rust.
    #[permazen(map, key(indexed), value(inverse_delete = "remove"))]
    pub near: Vec<(f64, Option<Ref<Person>>)>,
    /// Pals.
    #[permazen(element(inverse_delete = "remove", allow_deleted))]
    pub pals: BTreeSet<Ref<Person>>,
    /// Scores.
    #[permazen(value(indexed))]
    pub scores: BTreeMap<Option<String>, i64>,
    /// An array.
    pub codes: Option<Box<[i32]>>,
    /// An array.
    #[permazen(array)]
    pub flags: Vec<bool>,
    /// Sizes.
    pub sizes: Option<Box<[Option<Size>]>>,
    /// The size.
    #[permazen(indexed)]
    pub size: Option<Size>,
    /// Converted.
    #[permazen(with = i64, indexed)]
    pub days: Days,
    /// Another encoding id.
    #[permazen(encoding = "urn:fdc:example.com:2026:text")]
    pub text: String,
    /// Not stored.
    #[permazen(skip)]
    pub scratch: std::cell::Cell<u8>,
    private: bool,
}

/// Without fields.
#[derive(PermazenObject, Debug)]
pub struct Empty;

mod inner {
    #[derive(super::PermazenObject)]
    #[permazen(crate = "permazen")]
    pub(crate) struct Private {
        pub(crate) shown: i8,
    }
}

#[test]
fn constants_have_the_types_of_their_fields() {
    let _: Field<Person, Option<String>, Indexed> = Person::NAME;
    let _: Field<Person, i32, Unindexed> = Person::AGE;
    let _ = (Person::BY_NAME_AGE, Person::BY_AGE, Person::TYPE, Person::TAGS.positions());
    let _ = (Person::SCORES.value().with_keys(), Person::NEAR.key(), inner::Private::SHOWN);
    let _ = |person: &Person| person.private;
    let _ = |private: &inner::Private| private.shown;
}
