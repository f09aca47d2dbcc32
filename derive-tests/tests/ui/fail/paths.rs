use permazen::model::Path;
use permazen::{PermazenObject, Ref, Result, Tx};

#[derive(PermazenObject)]
struct Person {
    name: String,
    friend: Option<Ref<Person>>,
}

#[derive(PermazenObject)]
struct User {
    account: Option<Ref<Person>>,
}

fn paths() {
    let _ = Path::of::<Person>().to(Person::NAME);
    let _ = Path::of::<Person>().to(User::ACCOUNT);
    let _ = Path::of::<User>().from(User::ACCOUNT);
    let _ = Path::of::<String>();
}

fn referrers(tx: &Tx) -> Result<()> {
    let user = tx.create_default::<User>()?;
    user.referrers(User::ACCOUNT)?;
    user.follow(&Path::of::<Person>().to(Person::FRIEND))?;
    Ok(())
}

fn main() {}
