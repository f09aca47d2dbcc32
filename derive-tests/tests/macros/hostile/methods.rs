//! Traits of the program, implemented for everything. Their methods have the names of methods that
//! generated code calls.
#![allow(
    dead_code,
    clippy::iter_not_returning_iterator,
    clippy::wrong_self_convention,
    clippy::new_ret_no_self,
    reason = "the names are what matters"
)]

use std::collections::{BTreeMap, BTreeSet};

use permazen::{Counter, NewValues, OldValues, PermazenEnum, PermazenObject, Ref, Result};

macro_rules! for_everything {
    ($($method:ident)*) => {
        /// A trait that wins where a method is first looked up by value.
        pub(crate) trait ForEverything: Sized {
            $(
                /// Takes all.
                fn $method(self) {
                    drop(self);
                }
            )*
        }

        impl<T> ForEverything for T {}
    };
}

for_everything! {
    iter map into_iter next collect clone get set get_converted set_converted reference required_reference set_of
    list_of map_of handle bind id tx live simple converted elements entries write read of ordinal
    identifier as_str to_owned into from try_from fields default was upgrade upgrade_with made new
    can_be_null take reset
}

/// An enum.
#[derive(PermazenEnum, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Low,
    High,
}

/// Every kind of field.
#[derive(PermazenObject, Debug)]
pub(crate) struct Item {
    pub(crate) text: String,
    pub(crate) level: Option<Level>,
    pub(crate) next: Option<Ref<Item>>,
    pub(crate) owner: Ref<Item>,
    pub(crate) count: Counter,
    pub(crate) tags: BTreeSet<String>,
    pub(crate) steps: Vec<String>,
    pub(crate) scores: BTreeMap<String, i32>,
}

/// Every kind of field, for objects of other schemas.
#[derive(PermazenObject, Debug)]
#[permazen(removed("old"), on_schema_change = convert)]
pub(crate) struct Evolved {
    #[permazen(default, was = "words", upgrade = "lossy")]
    pub(crate) text: String,
    #[permazen(default = Level::High)]
    pub(crate) level: Level,
    #[permazen(default, reference, inverse_delete = "nullify")]
    pub(crate) next: Option<Ref<Item>>,
    #[permazen(upgrade_with = owner)]
    pub(crate) owner: Ref<Item>,
    #[permazen(default)]
    pub(crate) count: Counter,
    #[permazen(default)]
    pub(crate) tags: BTreeSet<String>,
    #[permazen(default = vec![String::new()])]
    pub(crate) steps: Vec<String>,
    #[permazen(default)]
    pub(crate) scores: BTreeMap<String, i32>,
}

fn owner(old: &OldValues<'_>) -> Result<Ref<Item>> {
    OldValues::take(old, "owner")
}

fn convert(old: &OldValues<'_>, to: &mut NewValues<'_, '_, Evolved>) -> Result<()> {
    NewValues::set(to, Evolved::TEXT, OldValues::take::<String>(old, "old")?)
}

/// Beside a type with the name that its accessors would have.
#[derive(PermazenObject, Debug)]
#[permazen(accessors = "AccessorsOfPlayer")]
pub(crate) struct Player {
    pub(crate) text: String,
}

/// A type of the program.
#[derive(PermazenObject, Debug, Clone)]
pub(crate) struct PlayerFields {
    pub(crate) text: String,
}
