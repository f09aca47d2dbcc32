//! Observers of one transaction and of a database.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use permazen::model::{Path, along, changes, creations, deletions};
use permazen::{Error, Obj, Permazen, PermazenObject, Ref, Result};

use crate::hooks::{assert_log, builder, log};

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Person {
    name: Option<String>,
    age: i32,
    #[permazen(inverse_delete = "nullify")]
    friend: Option<Ref<Person>>,
    tags: Vec<String>,
}

#[permazen::hooks]
impl Person {
    #[on_change(fields(age))]
    fn hook(_: Obj<'_, Self>) -> Result<()> {
        log("hook");
        Ok(())
    }
}

#[derive(PermazenObject, Default)]
struct Unregistered {
    n: i32,
}

fn database() -> Permazen {
    builder().model::<Person>().build().unwrap()
}

#[test]
fn an_observer_of_a_transaction_is_told_after_the_hooks() {
    let db = database();
    db.write(|tx| {
        tx.observe(Person::AGE, |person, age| {
            log(format!("{} -> {} {}", age.old()?, age.new()?, person.age()?));
            Ok(())
        })?;
        tx.observe(creations::<Person>(), |person, ()| {
            log(format!("created {:?}", person.name()?));
            Ok(())
        })?;
        tx.observe(deletions::<Person>(), |person, ()| {
            log(format!("deleted {:?}", person.name()?));
            Ok(())
        })?;
        tx.observe(changes::<Person>(), |_, change| {
            log(format!("changed {}", change.field()));
            Ok(())
        })?;
        tx.observe(Person::TAGS, |_, tags| {
            log(format!("{:?}", tags.what()?));
            Ok(())
        })?;
        let ann = tx.create(Person { name: Some("Ann".into()), age: 3, ..Person::default() })?;
        assert_log(["created None", "hook", "0 -> 3 3", "changed age", "changed name"]);
        ann.tags()?.push("x")?;
        assert_log(["changed tags", "Add { index: 0, element: \"x\" }"]);
        ann.delete()?;
        assert_log(["deleted Some(\"Ann\")"]);
        Ok(())
    })
    .unwrap();
    // Other transactions have no such observers.
    db.write(|tx| tx.create(Person { name: Some("Bob".into()), ..Person::default() }).map(drop))
        .unwrap();
    assert_log([]);
}

#[test]
fn the_error_of_an_observer_undoes_the_operation() {
    let db = database();
    db.write(|tx| {
        let ann = tx.create(Person { age: 3, ..Person::default() })?;
        tx.observe(Person::AGE, |_, age| match age.new()? {
            0.. => Ok(()),
            _ => Err(Error::other("too young")),
        })?;
        let error = ann.set_age(-1).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("observer of Person of object {} failed: too young", ann.id())
        );
        assert_eq!(ann.age()?, 3);
        assert!(matches!(
            tx.observe(Unregistered::N, |_, _| Ok(())),
            Err(Error::NotRegistered { .. })
        ));
        Ok(())
    })
    .unwrap();
    assert!(matches!(db.observe(Unregistered::N, |_, _| Ok(())), Err(Error::NotRegistered { .. })));
}

#[test]
fn an_observer_of_the_database_is_told_in_all_threads_until_it_is_removed() {
    let db = database();
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let observer = db
        .observe(Person::AGE, move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    let add = |db: &Permazen| {
        db.write(|tx| tx.create(Person { age: 1, ..Person::default() })?.set_age(2)).unwrap();
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| add(&db.clone()));
        }
    });
    assert_eq!(told.load(Ordering::Relaxed), 8);
    let other = db.observe(Person::AGE, |_, _| Ok(())).unwrap();
    let open = db.begin().unwrap();
    assert!(db.stop_observing(observer));
    assert!(!db.stop_observing(observer));
    // A transaction that has begun before still calls it.
    open.create(Person { age: 1, ..Person::default() }).unwrap();
    open.rollback().unwrap();
    assert_eq!(told.load(Ordering::Relaxed), 9);
    add(&db);
    assert_eq!(told.load(Ordering::Relaxed), 9);
    assert!(db.stop_observing(other));
    assert_eq!(Arc::strong_count(&told), 1);
}

#[test]
fn an_observer_may_add_another_one() {
    let db = database();
    let ids = Arc::new(Mutex::new(Vec::new()));
    db.write(|tx| {
        let ids = Arc::clone(&ids);
        tx.observe(creations::<Person>(), move |person, ()| {
            let ids = Arc::clone(&ids);
            person.tx().observe(Person::AGE, move |person, _| {
                ids.lock().unwrap().push(person.id());
                Ok(())
            })
        })?;
        let ann = tx.create_default::<Person>()?;
        ann.set_age(1)?;
        Ok(())
    })
    .unwrap();
    assert_eq!(ids.lock().unwrap().len(), 1);
}

#[derive(PermazenObject, Default)]
struct Pet {
    owner: Option<Ref<Person>>,
    age: i32,
}

#[test]
fn an_observer_that_needs_a_model_that_is_missing_is_refused_at_once() {
    let db = database();
    let pets = Path::of::<Person>().from(Pet::OWNER);
    let refused = db.observe(along(&pets, Pet::AGE), |_, _| Ok(()));
    assert!(matches!(refused, Err(Error::NotRegistered { .. })));
    db.write(|tx| {
        let refused = tx.observe(along(&pets, Pet::AGE), |_, _| Ok(()));
        assert!(matches!(refused, Err(Error::NotRegistered { .. })));
        tx.create_default::<Person>().map(drop)
    })
    .unwrap();
}
