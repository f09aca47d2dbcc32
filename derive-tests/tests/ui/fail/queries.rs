use permazen::{PermazenObject, Result, Tx};

#[derive(PermazenObject)]
struct Person {
    name: Option<String>,
    #[permazen(indexed)]
    age: i32,
}

fn queries(tx: &Tx) -> Result<()> {
    tx.index(Person::NAME)?;
    tx.index(Person::AGE)?.get("Ann")?;
    tx.all::<String>()?;
    Ok(())
}

fn setters(tx: &Tx) -> Result<()> {
    let person = tx.create_default::<Person>()?;
    person.set_age("old")
}

fn handles_end_with_their_transaction(db: &permazen::Permazen) -> Result<()> {
    let tx = db.begin()?;
    let person = tx.create_default::<Person>()?;
    tx.commit()?;
    person.set_age(3)
}

fn main() {}
