use permazen::{AnyObj, Obj, PermazenFields, PermazenKind, PermazenObject, Ref, Result, Tx};

struct Plain;

#[derive(PermazenFields)]
struct Named {
    #[permazen(indexed)]
    name: String,
    age: i32,
}

#[derive(PermazenObject)]
struct Dog {
    #[permazen(flatten)]
    named: Named,
}

#[derive(PermazenObject)]
struct Rock {
    #[permazen(flatten)]
    named: Plain,
}

#[derive(PermazenKind)]
enum Pet<'t> {
    Dog(Obj<'t, Dog>),
}

#[derive(PermazenKind)]
enum OfAny<'t> {
    Any(AnyObj<'t>),
}

#[derive(PermazenKind)]
#[permazen(fields = Plain)]
enum OfPlain<'t> {
    Dog(Obj<'t, Dog>),
}

#[derive(PermazenObject)]
struct Walk {
    pet: Ref<PetKind>,
    wrong: Option<Ref<Pet<'static>>>,
}

#[derive(PermazenObject)]
struct Stone {
    weight: i32,
}

fn uses(tx: &Tx, walk: Obj<'_, Walk>, stone: Obj<'_, Stone>) -> Result<()> {
    walk.set_pet(stone)?;
    let _: Ref<PetKind> = stone.into();
    let _: Ref<OfPlainKind> = walk.pet()?.to_ref().within();
    walk.pet()?.referrers(Walk::WRONG)?;
    stone.referrers(Walk::PET)?;
    tx.index(Named::AGE)?;
    tx.index(Dog::NAMED.age)?;
    tx.all::<Pet<'_>>()?;
    Ok(())
}

fn main() {}
