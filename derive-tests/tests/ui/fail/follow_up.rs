//! The rest of a program uses what has a mistake; the mistake is all there is to report.
use std::collections::HashSet;

use permazen::kv::memory::MemoryStore;
use permazen::{Permazen, PermazenEnum, PermazenObject, Ref, Result};

#[derive(PermazenObject, Debug, Clone, Default)]
#[permazen(composite(name = "byNameAge", fields(name, age)))]
struct Person {
    #[permazen(indexed)]
    name: String,
    #[permazen(indxed)]
    age: i32,
    unsigned: u128,
    friends: Option<HashSet<String>>,
    boss: Option<Ref<Self>>,
    #[permazen(unique)]
    email: Option<String>,
}

#[derive(PermazenEnum, Debug, Clone, Copy)]
enum Kind {
    A = 1,
    B,
}

#[derive(PermazenObject)]
struct Generic<T> {
    value: T,
}

#[derive(PermazenObject)]
struct Tuple(i32);

#[derive(PermazenEnum, Debug, Clone)]
struct NoEnum;

#[derive(PermazenObject)]
struct Sound {
    kind: Option<Kind>,
    kinds: Vec<NoEnum>,
    person: Option<Ref<Person>>,
    generic: Option<Ref<Generic<i32>>>,
    tuple: Option<Ref<Tuple>>,
}

fn main() -> Result<()> {
    let db = Permazen::builder(MemoryStore::new())
        .model::<Person>()
        .model::<Generic<i32>>()
        .model::<Tuple>()
        .model::<Sound>()
        .build()?;
    db.write(|tx| {
        let person = tx.create(Person::default())?;
        person.set_age(3)?;
        person.set_unsigned(5)?;
        let _: u128 = person.unsigned()?;
        let _ = person.friends()?;
        person.set_boss(person)?;
        let _ = person.boss()?.map(|boss| boss.name());
        person.set_email("ann@example.com")?;
        let _ = tx.index(Person::NAME)?.get("Ann")?;
        let _ = tx.index(Person::BY_NAME_AGE)?;
        let _ = person.load()?.unsigned;
        let sound = tx.create_default::<Sound>()?;
        sound.set_kind(Kind::A)?;
        sound.set_person(person)?;
        let _ = sound.generic()?.map(|generic| generic.load());
        let _ = tx.all::<Tuple>()?;
        Ok(())
    })
}
