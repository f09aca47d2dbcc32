//! Queries that cannot be: no index, values of another type, objects of another type.
use std::collections::{BTreeMap, BTreeSet};

use permazen::{PermazenObject, Ref, Result, Tx};

#[derive(PermazenObject, Default)]
#[permazen(composite(name = "byNameAge", fields(name, age)))]
struct Person {
    #[permazen(indexed)]
    name: String,
    #[permazen(indexed)]
    age: i32,
    plain: BTreeSet<String>,
    tags: Vec<String>,
    scores: BTreeMap<String, i32>,
    boss: Option<Ref<Person>>,
}

#[derive(PermazenObject, Default)]
struct Company {
    name: String,
}

fn without_an_index(tx: &Tx) -> Result<()> {
    tx.index(Person::PLAIN)?;
    tx.index(Person::TAGS.positions())?;
    tx.index(Person::SCORES.key())?;
    tx.index(Person::SCORES.value().with_keys())?;
    Ok(())
}

fn of_another_type(tx: &Tx) -> Result<()> {
    tx.index(Person::AGE)?.range("a".."b")?;
    tx.index(Person::BY_NAME_AGE)?.prefix(5)?;
    let company = tx.create(Company::default())?;
    tx.index(Person::BOSS)?.get(company)?;
    tx.find(Person::BOSS, company.to_ref())?;
    Ok(())
}

fn options(tx: &Tx) -> Result<()> {
    let person = tx.create(Person::default())?;
    person.set_boss(Some(person))?;
    person.set_boss(&Some(5))?;
    person.set_boss(&Some(person.any()))?;
    person.set_boss(person.any())?;
    person.set_name(None)
}

fn main() {}
