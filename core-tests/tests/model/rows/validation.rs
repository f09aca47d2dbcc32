//! Section 14: validation.

use permazen::object::Error as ObjectError;
use permazen::{Error, Obj, PermazenObject, Validation};

use crate::rows::*;

#[derive(PermazenObject, Default)]
#[permazen(hooks, validate = whole)]
struct Person {
    #[permazen(indexed, unique, exclude(nulls))]
    email: Option<String>,
    #[permazen(validate = adult)]
    age: i32,
    other: i32,
}

fn adult(age: &i32) -> Result<(), String> {
    log("age");
    if *age >= 0 { Ok(()) } else { Err("too young".to_owned()) }
}

fn whole(person: &Person) -> Result<(), String> {
    log("whole");
    if person.other == 13 { Err("unlucky".to_owned()) } else { Ok(()) }
}

#[permazen::hooks]
impl Person {
    #[on_validate(fields(other))]
    fn check(this: Obj<'_, Self>) -> Result<(), String> {
        log("hook");
        if this.other().unwrap() == 14 { Err("no".to_owned()) } else { Ok(()) }
    }
}

fn young() -> Person {
    Person { age: -1, ..Person::default() }
}

#[test]
fn m14_1_01_off_checks_nothing() {
    let db = builder().model::<Person>().validation(Validation::Off).build().unwrap();
    db.write(|tx| {
        let person = tx.create(young())?;
        person.revalidate()?;
        tx.validate()?;
        person.delete()?;
        let refused = person.revalidate();
        assert!(
            matches!(refused, Err(Error::Object(ObjectError::DeletedObject { .. }))),
            "{refused:?}"
        );
        tx.create(young()).map(drop)
    })
    .unwrap();
    assert_log([]);
}

#[test]
fn m14_1_02_manual_checks_what_is_named() {
    let db = builder().model::<Person>().validation(Validation::Manual).build().unwrap();
    let id = db.write(|tx| Ok(tx.create(young())?.id())).unwrap();
    assert_log([]);
    let refused = db.write(|tx| tx.get::<Person>(id)?.revalidate());
    assert_eq!(broken(refused), [(id, Rule::Valid, "Person.age".to_owned())]);
}

#[test]
fn m14_1_03_what_has_changed_is_checked_at_commit() {
    let db = database::<Person>();
    let mut id = None;
    let refused = db.write(|tx| {
        id = Some(tx.create(young())?.id());
        assert_log([]);
        Ok(())
    });
    assert_eq!(broken(refused), [(id.unwrap(), Rule::Valid, "Person.age".to_owned())]);
}

#[test]
fn m14_2_01_new_objects_are_checked_wholly() {
    let db = database::<Person>();
    db.write(|tx| tx.create_default::<Person>().map(drop)).unwrap();
    let mut told = LOG.take();
    told.sort();
    assert_eq!(told, ["age", "hook", "whole"]);
}

#[test]
fn m14_2_04_and_05_a_change_of_a_field_checks_what_is_about_it() {
    let db = database::<Person>();
    let id = db.write(|tx| Ok(tx.create_default::<Person>()?.id())).unwrap();
    LOG.take();
    let told = |change: &dyn Fn(Obj<'_, Person>) -> Result<()>| {
        db.write(|tx| change(tx.get::<Person>(id)?)).unwrap();
        let mut told = LOG.take();
        told.sort();
        told
    };
    assert_eq!(told(&|it| it.set_age(5)), ["age", "whole"]);
    assert_eq!(told(&|it| it.set_other(5)), ["hook", "whole"]);
    // The same value is no change.
    assert_eq!(told(&|it| it.set_email(None)), [""; 0]);
    assert_eq!(told(&|it| it.revalidate()), ["age", "hook", "whole"]);
}

#[test]
fn m14_2_03_a_copied_object_is_checked() {
    let db = database::<Person>();
    let refused = db.write(|tx| {
        let memory = tx.detached()?;
        let person = memory.create(young())?;
        person.copy_to(tx, permazen::model::Copy::new().silent()).map(drop)
    });
    assert_eq!(violations(refused).len(), 1);
}

#[test]
fn m14_3_01_and_02_requests_are_merged_and_a_deleted_object_leaves() {
    let db = database::<Person>();
    let id = db.write(|tx| Ok(tx.create_default::<Person>()?.id())).unwrap();
    LOG.take();
    db.write(|tx| {
        let person = tx.get::<Person>(id)?;
        person.revalidate()?;
        person.set_age(4)?;
        person.revalidate()
    })
    .unwrap();
    let mut told = LOG.take();
    told.sort();
    assert_eq!(told, ["age", "hook", "whole"], "each once");
    db.write(|tx| {
        let person = tx.get::<Person>(id)?;
        person.set_age(-1)?;
        person.delete().map(drop)
    })
    .unwrap();
}

#[test]
fn m14_4_01_and_04_all_that_is_wrong_is_told_and_stays_queued() {
    let db = database::<Person>();
    let tx = db.begin().unwrap();
    let email = || Some("a".to_owned());
    let one = tx.create(Person { email: email(), other: 13, ..young() }).unwrap();
    let two = tx.create(Person { email: email(), other: 14, ..Person::default() }).unwrap();
    let mut expected = [
        (one.id(), Rule::Unique, "Person.email"),
        (one.id(), Rule::Valid, "Person.age"),
        (one.id(), Rule::Valid, "Person"),
        (two.id(), Rule::Unique, "Person.email"),
        (two.id(), Rule::Valid, "Person::check"),
    ]
    .map(|(id, rule, path)| (id, rule, path.to_owned()));
    expected.sort_by_key(|(object, _, path)| (*object, path.clone()));
    assert_eq!(broken(tx.validate()), expected);
    // It is the same a second time, and at the commit.
    assert_eq!(broken(tx.validate()), expected);
    one.set_email(None).unwrap();
    one.set_age(1).unwrap();
    one.set_other(1).unwrap();
    assert_eq!(broken(tx.validate()), [(two.id(), Rule::Valid, "Person::check".to_owned())]);
    let two = two.to_ref();
    let refused = tx.commit().unwrap_err();
    assert!(matches!(refused.error(), Error::Invalid(violations) if violations.len() == 1));
    let tx = refused.into_transaction().unwrap();
    tx.get(two).unwrap().set_other(1).unwrap();
    tx.commit().unwrap();
    assert_eq!(db.read(|tx| tx.all::<Person>()?.count()).unwrap(), 2);
}

#[test]
fn m14_4_05_a_rule_over_a_singleton_names_the_other_one() {
    #[derive(PermazenObject, Default)]
    #[permazen(singleton)]
    struct Settings {
        n: i32,
    }
    let db = database::<Settings>();
    db.write(|tx| {
        let one = tx.create_default::<Settings>()?;
        let two = tx.create(Settings { n: 1 })?;
        let refused = violations(tx.validate());
        let mut found: Vec<_> = refused.iter().map(|it| (it.object, it.others.clone())).collect();
        found.sort();
        let mut expected = [(one.id(), vec![two.id()]), (two.id(), vec![one.id()])];
        expected.sort();
        assert_eq!(found, expected);
        two.delete().map(drop)
    })
    .unwrap();
}
