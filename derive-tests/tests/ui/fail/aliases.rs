//! Mistakes in aliases of generic structs.

use permazen::{Model, PermazenFields, PermazenObject, Ref};

#[derive(PermazenObject, Default)]
struct Person {
    name: String,
}

#[derive(PermazenObject)]
struct Without<T: Model> {
    about: Ref<T>,
}

#[derive(PermazenFields)]
struct MixinWithout<T> {
    value: T,
}

#[derive(PermazenObject)]
#[permazen(aliases())]
struct Empty<T: Model> {
    about: Ref<T>,
}

#[derive(PermazenObject)]
#[permazen(aliases = Form<Person>)]
struct Value<T: Model> {
    about: Ref<T>,
}

#[derive(PermazenObject)]
#[permazen(aliases(Form<Person>))]
struct Form<T: Model> {
    about: Ref<T>,
}

#[derive(PermazenObject)]
#[permazen(aliases(PersonPlain = Plain<Person>))]
struct Plain {
    name: String,
}

#[derive(PermazenObject)]
#[permazen(aliases(PersonLifetime = Lifetime<Person>))]
struct Lifetime<'a, T> {
    about: &'a T,
}

#[derive(PermazenObject)]
#[permazen(aliases(
    Good = Several<Person, i32>,
    WrongStruct = Other<Person, i32>,
    WrongPath = self::Several<Person, i32>,
    TooFew = Several<Person>,
    None = Several,
    TooMany = Several<Person, i32, i32>,
    NoType = Several<'static, i32>,
    Several = Several<Person, i64>,
    Good = Several<Person, String>,
    Same = Several<Person, i32>,
    Renamed = Several<Person, bool> as "Good",
    BadName = Several<Person, f32> as "a b",
))]
struct Several<T: Model, V> {
    about: Ref<T>,
    value: V,
}

#[derive(PermazenObject)]
#[permazen(aliases(Once = Names<Person>, Twice = Names<Names<Person>>))]
#[permazen(name = "A", storage_id = 3, accessors = "B", nonsense)]
struct Names<T: Model> {
    about: Ref<T>,
    #[permazen(unique)]
    letter: char,
}

// A type that does not fit is reported at the alias.
#[derive(PermazenObject)]
#[permazen(aliases(OfNumber = Fits<i32>, OfBytes = Fits<Vec<u8>>, OfStr = Fits<Box<str>>))]
struct Fits<T> {
    value: T,
}

#[derive(PermazenObject)]
#[permazen(aliases(PersonLink = Link<Person>, NumberLink = Link<i32>))]
struct Link<T> {
    to: Ref<T>,
}

fn main() {
    let _ = (Good::VALUE, Once::LETTER, OfNumber::VALUE, PersonLink::TO);
}

#[derive(PermazenFields)]
#[permazen(aliases(NamedLink = Pair<Person> as "Link"))]
struct Pair<T> {
    one: Ref<T>,
}
