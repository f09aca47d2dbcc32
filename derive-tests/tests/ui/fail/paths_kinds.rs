use permazen::model::Path;
use permazen::{Obj, PermazenFields, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject)]
struct Person {
    friend: Option<Ref<Person>>,
}

#[derive(PermazenFields)]
struct Owned {
    owner: Option<Ref<Person>>,
    age: i32,
}

#[derive(PermazenObject)]
struct Dog {
    #[permazen(flatten)]
    owned: Owned,
}

#[derive(PermazenKind)]
#[permazen(fields = Owned)]
enum Pet<'t> {
    Dog(Obj<'t, Dog>),
}

#[derive(PermazenObject)]
struct Walk {
    pet: Ref<PetKind>,
}

fn paths() {
    let pets = Path::of::<Walk>().to(Walk::PET);
    let _ = pets.to(PetKind::OWNED.age);
    let _ = pets.to(Person::FRIEND);
    let _ = pets.from(Person::FRIEND);
}

fn main() {}
