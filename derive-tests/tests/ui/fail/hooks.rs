//! A mistake in a block of hooks is reported where it is written.
#![allow(unused_variables)]
use std::collections::BTreeSet;

use permazen::model::{Change, Changed, SetChanged};
use permazen::{Counter, NewValues, Obj, OldValues, PermazenObject, Result};

#[derive(PermazenObject)]
#[permazen(hooks)]
struct Syntax {
    n: i32,
}

#[permazen::hooks]
impl Syntax {
    #[on_update]
    fn unknown_event(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[cfg_attr(all(), on_create)]
    fn with_a_condition(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_create]
    fn with_self(&self) -> Result<()> {
        Ok(())
    }
    #[on_create]
    fn without_object() -> Result<()> {
        Ok(())
    }
    #[on_create(n)]
    fn with_argument(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_delete]
    fn too_much(this: Obj<'_, Self>, that: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(n)]
    fn no_fields(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields())]
    fn empty_fields(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields(n), except(n))]
    fn both(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change]
    fn three(this: Obj<'_, Self>, a: i32, b: i32) -> Result<()> {
        Ok(())
    }
    #[on_create]
    fn no_result(this: Obj<'_, Self>) {}
    #[on_create]
    async fn asynchronous(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_create]
    fn generic<T>(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_schema_change]
    fn only_old(old: &OldValues<'_>) -> Result<()> {
        Ok(())
    }
    #[on_validate(except(n))]
    fn all_but(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_validate]
    fn reports(this: Obj<'_, Self>, report: &mut Vec<String>) -> Result<()> {
        Ok(())
    }
    #[on_validate]
    fn of_plain_data(&self) -> Result<()> {
        Ok(())
    }
    #[on_validate(fields(n.))]
    fn half_a_field(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_create = "n"]
    fn value(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
}

#[derive(PermazenObject)]
#[permazen(hooks)]
struct WithoutBlock {
    n: i32,
}

#[derive(PermazenObject)]
struct WithoutAttribute {
    n: i32,
}

#[permazen::hooks]
impl WithoutAttribute {
    #[on_create]
    fn created(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
}

#[permazen::hooks]
impl Clone for WithoutAttribute {
    fn clone(&self) -> Self {
        WithoutAttribute { n: self.n }
    }
}

#[derive(PermazenObject)]
#[permazen(hooks)]
struct Types {
    n: i32,
    text: String,
    hits: Counter,
    tags: BTreeSet<String>,
    #[permazen(skip)]
    skipped: i32,
}

#[permazen::hooks]
impl Types {
    #[on_create]
    fn other_object(this: Obj<'_, Syntax>) -> Result<()> {
        Ok(())
    }
    #[on_create]
    fn number(this: Obj<'_, Self>) -> i32 {
        0
    }
    #[on_delete]
    fn value(this: Obj<'_, Self>) -> Result<i32> {
        Ok(0)
    }
    #[on_change(fields(unknown))]
    fn unknown_field(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields(skipped))]
    fn skipped_field(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields(hits))]
    fn counter(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields(n))]
    fn other_values(this: Obj<'_, Self>, change: &Changed<'_, Self, String>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields(n, text))]
    fn fits_one(this: Obj<'_, Self>, change: &Changed<'_, Self, i32>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields(n))]
    fn other_kind(this: Obj<'_, Self>, change: &SetChanged<'_, Self, i32>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields(n))]
    fn other_model(this: Obj<'_, Self>, change: &Changed<'_, Syntax, i32>) -> Result<()> {
        Ok(())
    }
    #[on_change]
    fn too_narrow(this: Obj<'_, Self>, change: &Changed<'_, Self, i32>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields(n))]
    fn no_change(this: Obj<'_, Self>, change: i32) -> Result<()> {
        Ok(())
    }
    #[on_validate(fields(hits, unknown))]
    fn unknown_to_validation(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_validate(fields(n.part))]
    fn no_mixin(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_validate]
    fn says_whether(this: Obj<'_, Self>) -> bool {
        true
    }
    #[on_validate]
    fn of_another_model(this: Obj<'_, Syntax>) -> Result<()> {
        Ok(())
    }
    #[on_schema_change]
    fn of_another(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Syntax>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields(n))]
    fn fine(this: Obj<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
        Ok(())
    }
}

fn main() {}
