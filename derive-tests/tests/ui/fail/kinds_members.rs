use permazen::{Obj, PermazenFields, PermazenKind, PermazenObject};

#[derive(PermazenFields)]
struct Named {
    name: String,
}

#[derive(PermazenObject)]
struct Dog {
    #[permazen(flatten)]
    named: Named,
}

#[derive(PermazenObject)]
struct Cat {
    good: bool,
}

#[derive(PermazenKind)]
#[permazen(fields = Named)]
enum LacksFields<'t> {
    Dog(Obj<'t, Dog>),
    Cat(Obj<'t, Cat>),
}

#[derive(PermazenKind)]
enum Pair<'t> {
    Dog(Obj<'t, Dog>),
    Cat(Obj<'t, Cat>),
}

#[derive(PermazenKind)]
enum Twice<'t> {
    Dog(Obj<'t, Dog>),
    Pair(Pair<'t>),
}

fn match_is_exhaustive(pair: Pair<'_>) -> bool {
    match pair {
        Pair::Dog(_) => true,
    }
}

fn main() {}
