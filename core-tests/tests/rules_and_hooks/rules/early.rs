//! Rules that are checked at the end of each operation.

use permazen::{Counter, Permazen, PermazenObject, Validation};

use super::*;

#[derive(PermazenObject, Debug, Default, Clone)]
struct User {
    #[permazen(indexed, unique)]
    email: String,
}

fn user(email: &str) -> User {
    User { email: email.into() }
}

fn early() -> Permazen {
    builder::<User>().validation(Validation::Early).build().unwrap()
}

#[test]
fn an_operation_that_breaks_a_rule_is_undone() {
    let db = early();
    db.write(|tx| {
        let ann = tx.create(user("a"))?;
        violations(tx.create(user("a")).map(|it| it.id()));
        assert_eq!(tx.all::<User>()?.count()?, 1);
        let bob = tx.create(user("b"))?;
        violations(bob.set_email("a"));
        assert_eq!(bob.email()?, "b");
        assert_eq!(tx.index(User::EMAIL)?.get("a")?.count()?, 1);
        ann.set_email("c")?;
        bob.set_email("a")
    })
    .unwrap();
}

#[derive(PermazenObject, Debug, Default, Clone)]
struct Adult {
    #[permazen(validate = adult)]
    age: i32,
    #[permazen(validate = few)]
    hits: Counter,
    #[permazen(validate = short)]
    names: Vec<String>,
}

fn adult(age: &i32) -> Result<(), String> {
    if *age >= 18 { Ok(()) } else { Err(format!("{age} is too young")) }
}

fn few(hits: &Counter) -> Result<(), String> {
    if hits.0 < 10 { Ok(()) } else { Err(format!("{} hits", hits.0)) }
}

fn short(names: &[String]) -> Result<(), String> {
    if names.len() < 2 { Ok(()) } else { Err(format!("{} names", names.len())) }
}

/// The field has no index and no listener, so that no other code needs its old value.
#[test]
fn a_single_write_is_undone() {
    let db = builder::<Adult>().validation(Validation::Early).build().unwrap();
    db.write(|tx| {
        let adult = tx.create(Adult { age: 30, ..Adult::default() })?;
        violations(adult.set_age(7));
        violations(adult.hits().add(10));
        violations(adult.hits().set(10));
        adult.names()?.push("a")?;
        violations(adult.names()?.push("b"));
        let loaded = adult.load()?;
        assert_eq!((loaded.age, loaded.hits, loaded.names.len()), (30, Counter(0), 1));
        Ok(())
    })
    .unwrap();
}

#[test]
fn several_operations_are_checked_together() {
    let db = early();
    db.write(|tx| {
        let (a, b) = (tx.create(user("a"))?, tx.create(user("b"))?);
        violations(a.set_email("b"));
        tx.core().atomic(|_| {
            a.set_email("b")?;
            b.set_email("a")
        })
    })
    .unwrap();
}

#[test]
fn a_check_in_a_part_that_is_undone_does_not_count() {
    let db = early();
    db.write(|tx| {
        let (a, b) = (tx.create(user("a"))?, tx.create(user("b"))?);
        let refused: Result<()> = tx.core().atomic(|_| {
            b.set_email("a")?;
            let undone: Result<()> = tx.core().atomic(|_| {
                a.set_email("c")?;
                tx.validate()?;
                Err(Error::other("no"))
            });
            assert!(matches!(undone, Err(Error::Other(_))), "{undone:?}");
            Ok(())
        });
        violations(refused);
        assert_eq!((a.email()?, b.email()?), ("a".to_owned(), "b".to_owned()));
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_was_noted_before_is_checked_at_commit() {
    let db = database::<User>();
    let refused = db.write(|tx| {
        tx.create(user("a"))?;
        tx.create(user("a"))?;
        tx.set_validation(Validation::Early)?;
        tx.create(user("b"))?;
        Ok(())
    });
    assert_eq!(violations(refused).len(), 2);
}
