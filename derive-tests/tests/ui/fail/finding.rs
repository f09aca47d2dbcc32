use permazen::{Counter, PermazenObject, Ref, Result, Tx};

#[derive(PermazenObject)]
struct Company {
    #[permazen(indexed)]
    name: String,
}

#[derive(PermazenObject)]
#[permazen(composite(name = "nameAge", fields(name, age)))]
struct Person {
    name: String,
    #[permazen(indexed)]
    age: i32,
    employer: Option<Ref<Company>>,
    tags: Vec<String>,
    visits: Counter,
}

fn not_indexed(tx: &Tx) -> Result<()> {
    tx.find(Person::NAME, "Ann")?;
    tx.find(Person::TAGS, "new")?;
    tx.find_ref(Person::VISITS, 3)?;
    Ok(())
}

fn wrong_value(tx: &Tx) -> Result<()> {
    tx.find(Person::AGE, "Ann")?;
    tx.find(Person::NAME_AGE, ("Ann", "old"))?;
    tx.find(Person::NAME_AGE, "Ann")?;
    tx.index(Person::NAME_AGE)?.get(("Ann",))?;
    Ok(())
}

fn wrong_target(tx: &Tx) -> Result<()> {
    let ann = tx.create_default::<Person>()?;
    tx.find(Person::EMPLOYER, ann)?;
    tx.index(Person::EMPLOYER)?.get(ann.to_ref())?;
    Ok(())
}

fn not_strings(tx: &Tx) -> Result<()> {
    tx.index(Person::AGE)?.starts_with("1")?;
    tx.index(Person::NAME_AGE)?.prefix("Ann")?.starts_with("1")?;
    tx.index(Person::NAME_AGE)?.prefix("Ann")?.prefix(3)?.starts_with("1")?;
    Ok(())
}

fn sets_of_other_types(tx: &Tx) -> Result<()> {
    let adults = tx.index(Person::AGE)?.get(18)?;
    adults.union(tx.all::<Company>()?);
    adults.intersection_all([tx.index(Company::NAME)?.get("Acme")?]);
    adults.difference(tx.index(Person::AGE)?.range(65..)?);
    Ok(())
}

fn main() {}
