//! Mix-ins, kinds and hooks with mistakes, used by the rest of a program; the mistakes are all
//! there is to report.
use permazen::kv::memory::MemoryStore;
use permazen::model::{Changed, With};
use permazen::{Obj, Permazen, PermazenFields, PermazenKind, PermazenObject, Result};

#[derive(PermazenFields)]
#[permazen(hooks)]
struct Named {
    #[permazen(indexed)]
    name: String,
    #[permazen(indxed)]
    age: i32,
    large: u128,
}

#[permazen::hooks]
impl Named {
    #[on_create]
    fn made(this: With<'_, Self>) -> Result<()> {
        this.set_age(1)
    }

    #[on_change(fields(name))]
    fn named(this: With<'_, Self>, name: &Changed<'_, Self, String>) -> Result<()> {
        name.new()?;
        this.set_large(2_u128)
    }
}

#[derive(PermazenFields)]
struct Outer {
    #[permazen(flatten)]
    named: Named,
    #[permazen(encodng = "x")]
    note: String,
}

#[derive(PermazenObject)]
struct Dog {
    #[permazen(flatten)]
    outer: Outer,
}

#[derive(PermazenObject)]
struct Cat {
    #[permazen(flatten)]
    named: Named,
    tx: i32,
}

#[derive(PermazenKind)]
#[permazen(fields = Named, hooks)]
enum Pet<'t> {
    Dog(Obj<'t, Dog>),
    Cat(Obj<'t, Cat>),
}

#[permazen::hooks]
impl Pet<'_> {
    #[on_create]
    fn made(this: Pet<'_>) -> Result<()> {
        match this {
            Pet::Dog(dog) => dog.set_note("new"),
            Pet::Cat(cat) => cat.set_age(9),
        }
    }

    #[on_change(fields(named.name))]
    fn named(_: Pet<'_>, name: &Changed<'_, PetKind, String>) -> Result<()> {
        name.new().map(drop)
    }
}

#[derive(PermazenObject)]
#[permazen(aliases(Numbers = Values<i32>, Words = Values<String>), hoks)]
struct Values<T: permazen::encoding::FieldType> {
    value: T,
    #[permazen(flatten)]
    named: Named,
}

#[derive(PermazenKind)]
#[permazen(feilds = Named)]
enum Any<'t> {
    Numbers(Obj<'t, Numbers>),
    Cat(Obj<'t, Cat>),
}

fn main() -> Result<()> {
    let db = Permazen::builder(MemoryStore::new()).kind::<PetKind>().kind::<AnyKind>();
    let db = db.model::<Words>().build()?;
    db.write(|tx| {
        for pet in tx.all::<PetKind>()? {
            let pet = pet?;
            println!("{} {}", pet.name()?, pet.large()?);
        }
        for any in tx.all::<AnyKind>()? {
            match any? {
                Any::Numbers(numbers) => println!("{}", numbers.value()?),
                Any::Cat(cat) => println!("{}", cat.name()?),
            }
        }
        let named = Named { name: "n".into(), age: 0, large: 1 };
        let words = tx.create(Words { value: "x".into(), named })?;
        words.set_value("y")?;
        words.set_age(3)?;
        tx.index(Dog::OUTER.named.name)?.count()?;
        tx.index(PetKind::NAMED.name)?.count()?;
        Ok(())
    })
}

/// Two fields whose constants have one name.
#[derive(PermazenFields)]
struct Towns {
    home_town: String,
    #[permazen(rename = "town")]
    homeTown: String,
}
