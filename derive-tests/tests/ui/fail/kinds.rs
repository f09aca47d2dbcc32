use permazen::{Obj, PermazenFields, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject)]
struct Dog {
    good: bool,
}

#[derive(PermazenObject)]
struct Cat {
    good: bool,
}

#[derive(PermazenKind)]
enum WithoutLifetime {
    Dog(Ref<Dog>),
}

#[derive(PermazenKind)]
enum MemberWithoutLifetime<'t> {
    Dog(Obj<Dog>),
    Cat(Obj<'t, Cat>),
}

#[derive(PermazenKind)]
enum Twice<'t> {
    One(Obj<'t, Dog>),
    Other(Obj<'t, Dog>),
}

#[derive(PermazenKind)]
enum NoHandles<'t> {
    Dog(Obj<'t, Dog>),
    Cat(Ref<Cat>),
    Fields { cat: Obj<'t, Cat> },
    Nothing,
}

#[derive(PermazenKind)]
enum Empty<'t> {}

#[derive(PermazenKind)]
struct NoEnum<'t>(Obj<'t, Dog>);

#[derive(PermazenKind)]
#[permazen(field = Dog)]
enum Attributes<'t> {
    #[permazen(rename = "dog")]
    Dog(Obj<'t, Dog>),
}

#[derive(PermazenFields)]
struct Generic<T> {
    value: T,
}

#[derive(PermazenFields)]
#[permazen(name = "Name", singleton)]
struct NoModel {
    #[permazen(unique)]
    name: String,
}

#[derive(PermazenFields)]
enum NoStruct {}

#[derive(PermazenFields)]
struct Named {
    name: String,
}

#[derive(PermazenObject)]
#[permazen(composite(name = "nameGood", fields(name, good)))]
struct Flattening {
    good: bool,
    #[permazen(flatten, indexed)]
    named: Named,
    Named: bool,
}

fn main() {}
