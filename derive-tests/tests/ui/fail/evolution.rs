//! Mistakes in what a struct or enum says about objects of other schemas.
use permazen::{NewValues, OldValues, PermazenEnum, PermazenObject, Ref, Result};

#[derive(PermazenObject)]
#[permazen(
    removed("age", "nickname", "nickname", "a b"),
    on_schema_change = "convert",
    default_upgrade = "attempt"
)]
struct Names {
    age: i32,
    #[permazen(was = "size")]
    size: i32,
    #[permazen(was = "age")]
    years: i32,
    #[permazen(was = ["first", "first"])]
    one: i32,
    #[permazen(was = ["old", "first"])]
    two: i32,
    #[permazen(was = [])]
    three: i32,
    #[permazen(was = "no name")]
    four: i32,
    #[permazen(was = 4)]
    five: i32,
    #[permazen(was)]
    six: i32,
}

#[derive(PermazenObject)]
#[permazen(removed = "name", on_schema_change)]
struct Forms {
    #[permazen(upgrade = "require")]
    a: i32,
    #[permazen(upgrade_with = make, was = "x")]
    b: i32,
    #[permazen(upgrade = "lossy", upgrade_with = make)]
    c: i32,
    #[permazen(upgrade_with = |_| Ok(5))]
    d: i32,
    #[permazen(upgrade_with)]
    e: i32,
    #[permazen(default(5))]
    f: i32,
    #[permazen(default = 5 5)]
    g: i32,
    #[permazen(default =)]
    h: i32,
    #[permazen(skip, default)]
    i: i32,
}

#[derive(PermazenObject)]
#[permazen(removed())]
struct Nothing {}

#[derive(PermazenObject)]
struct References {
    #[permazen(inverse_delete = "nullify")]
    boss: Ref<References>,
    #[permazen(with = Ref<References>, inverse_delete = "nullify")]
    converted: Mine,
    #[permazen(element(inverse_delete = "nullify"))]
    list: Vec<Ref<Self>>,
    #[permazen(inverse_delete = "nullify")]
    optional: Option<Ref<References>>,
}

type Boss = Ref<Hidden>;

#[derive(PermazenObject)]
struct Hidden {
    #[permazen(reference, inverse_delete = "nullify")]
    boss: Boss,
    #[permazen(element(reference, inverse_delete = "nullify"))]
    bosses: Vec<Boss>,
    #[permazen(reference, inverse_delete = "nullify")]
    optional: Option<Boss>,
}

#[derive(PermazenEnum, Debug, Clone)]
enum Variants {
    #[permazen(was = "B")]
    A,
    #[permazen(was = "B")]
    B,
    #[permazen(was = ["OLD", "OLDER"])]
    C,
    #[permazen(was = "OLDER")]
    D,
    #[permazen(default)]
    E,
    #[permazen(upgrade = "exact")]
    F,
    #[default]
    G,
    #[default]
    H,
}

#[derive(PermazenEnum, Debug, Clone)]
enum Form {
    #[default = 5]
    A,
}

#[derive(Clone)]
struct Mine(Ref<References>);

impl From<Ref<References>> for Mine {
    fn from(reference: Ref<References>) -> Self {
        Mine(reference)
    }
}

impl From<Mine> for Ref<References> {
    fn from(mine: Mine) -> Self {
        mine.0
    }
}

fn make(_: &OldValues<'_>) -> Result<i32> {
    Ok(5)
}

fn convert(_: &OldValues<'_>, _: &mut NewValues<'_, '_, Names>) -> Result<()> {
    Ok(())
}

fn main() {}
