//! Mistakes in the values and functions for objects of other schemas are reported where they are
//! named.
use std::collections::BTreeMap;

use permazen::{Counter, NewValues, OldValues, PermazenObject, Ref, Result};

#[derive(PermazenObject)]
#[permazen(on_schema_change = of_another_type)]
struct Object {
    #[permazen(default = 5)]
    text: String,
    #[permazen(default = "text")]
    owned: String,
    #[permazen(default = 5)]
    optional: Option<i32>,
    #[permazen(default)]
    required: Ref<Self>,
    #[permazen(default = 5)]
    #[permazen(accessor = "counted")]
    counter: Counter,
    #[permazen(default = vec![1])]
    list: Vec<String>,
    #[permazen(default = unknown())]
    map: BTreeMap<String, i32>,
    #[permazen(default = "5".parse()?)]
    fails: i32,
    #[permazen(upgrade_with = number)]
    a: String,
    #[permazen(upgrade_with = without_result)]
    b: i32,
    #[permazen(upgrade_with = unknown)]
    c: i32,
    #[permazen(default)]
    not_stored: Mine,
    #[permazen(upgrade_with = mine)]
    not_stored_either: Mine,
}

#[derive(Default)]
struct Mine;

fn mine(_: &OldValues<'_>) -> Result<Mine> {
    Ok(Mine)
}

fn number(_: &OldValues<'_>) -> Result<i32> {
    Ok(5)
}

fn without_result(_: &OldValues<'_>) -> i32 {
    5
}

#[derive(PermazenObject)]
struct Other {}

fn of_another_type(_: &OldValues<'_>, _: &mut NewValues<'_, '_, Other>) -> Result<()> {
    Ok(())
}

fn main() {}
