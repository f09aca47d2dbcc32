//! Blocks of hooks of mix-ins and kinds.

use permazen::model::{Changed, Path, With};
use permazen::{Obj, PermazenFields, PermazenKind, PermazenObject, Ref, Result};

#[derive(PermazenFields)]
#[permazen(hooks)]
struct NoBlock {
    a: i32,
}

#[derive(PermazenFields)]
struct NoMark {
    a: i32,
}

#[permazen::hooks]
impl NoMark {
    #[on_create]
    fn created(_: With<'_, Self>) -> Result<()> {
        Ok(())
    }
}

#[derive(PermazenFields)]
#[permazen(hooks)]
struct Stamps {
    at: i64,
    other: Option<Ref<Dog>>,
}

#[permazen::hooks]
impl Stamps {
    #[on_create]
    fn with_the_handle_of_a_model(_: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }

    #[on_change(fields(at))]
    fn of_another_type(_: With<'_, Self>, _: &Changed<'_, Self, String>) -> Result<()> {
        Ok(())
    }

    #[on_change(fields(missing))]
    fn of_no_field(_: With<'_, Self>) -> Result<()> {
        Ok(())
    }

    #[on_change(path = Path::of::<Self>().to(Self::OTHER))]
    fn along(_: With<'_, Self>) -> Result<()> {
        Ok(())
    }
}

#[derive(PermazenFields)]
#[permazen(hooks)]
struct Moving {
    at: i64,
}

#[permazen::hooks]
impl Moving {
    #[on_schema_change]
    fn moved(_: &permazen::OldValues<'_>, _: &mut permazen::NewValues<'_, '_, Self>) -> Result<()> {
        Ok(())
    }
}

#[derive(PermazenObject)]
struct Dog {
    good: bool,
}

#[derive(PermazenKind)]
#[permazen(hooks)]
enum NoBlockOfKind<'t> {
    Dog(Obj<'t, Dog>),
}

#[derive(PermazenKind)]
enum NoMarkOfKind<'t> {
    Dog(Obj<'t, Dog>),
}

#[permazen::hooks]
impl NoMarkOfKind<'_> {
    #[on_create]
    fn created(_: NoMarkOfKind<'_>) -> Result<()> {
        Ok(())
    }
}

#[derive(PermazenKind)]
#[permazen(hooks)]
enum Pet<'t> {
    Dog(Obj<'t, Dog>),
}

#[permazen::hooks]
impl Pet<'_> {
    #[on_create]
    fn with_the_handle_of_a_model(_: Obj<'_, Dog>) -> Result<()> {
        Ok(())
    }

    #[on_schema_change]
    fn moved(_: &permazen::OldValues<'_>) -> Result<()> {
        Ok(())
    }
}

fn main() {}
