//! Observers that are called after a commit.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, KvError};
use permazen::model::Committed::{self, Changed, Created, Deleted};
use permazen::object::{self, Callback, Transaction};
use permazen::{Counter, Error, Obj, Permazen, PermazenObject, Ref, Result};

use crate::hooks::{assert_log, builder, log};

#[derive(PermazenObject, Default)]
struct Person {
    age: i32,
    tags: Vec<String>,
    hits: Counter,
    #[permazen(inverse_delete = "nullify")]
    friend: Option<Ref<Person>>,
}

#[derive(PermazenObject, Default)]
struct Other {
    n: i32,
}

#[derive(PermazenObject, Default)]
struct Unregistered {}

type Told = Arc<Mutex<Vec<(Ref<Person>, Committed)>>>;

fn database() -> (Permazen, Told) {
    let db = builder().model::<Person>().model::<Other>().build().unwrap();
    let told = Told::default();
    let log = Arc::clone(&told);
    db.observe_committed::<Person>(move |person, what| log.lock().unwrap().push((person, what)))
        .unwrap();
    (db, told)
}

fn take(told: &Told) -> Vec<(Ref<Person>, Committed)> {
    std::mem::take(&mut *told.lock().unwrap())
}

#[test]
fn each_object_is_told_once_with_what_was_done_in_sum() {
    let (db, told) = database();
    let (ann, bob) = db
        .write(|tx| {
            let ann = tx.create(Person { age: 3, ..Person::default() })?;
            tx.create(Other { n: 1 })?;
            let bob = tx.create(Person { friend: Some(ann.to_ref()), ..Person::default() })?;
            ann.set_age(4)?;
            bob.tags()?.push("x")?;
            tx.create_default::<Person>()?.delete()?;
            assert!(told.lock().unwrap().is_empty());
            Ok((ann.to_ref(), bob.to_ref()))
        })
        .unwrap();
    assert_eq!(take(&told), [(ann, Created), (bob, Created)]);
    db.write(|tx| {
        tx.get(bob)?.set_age(9)?;
        tx.get(ann)?.set_age(4)?;
        tx.get(ann)?.hits().add(1)
    })
    .unwrap();
    assert_eq!(take(&told), [(bob, Changed)]);
    db.write(|tx| {
        tx.get(ann)?.set_age(1)?;
        tx.get(ann)?.delete()
    })
    .unwrap();
    assert_eq!(take(&told), [(ann, Deleted), (bob, Changed)]);
    db.write(|tx| {
        tx.get(bob)?.delete()?;
        tx.get(bob)?.recreate()
    })
    .unwrap();
    assert_eq!(take(&told), [(bob, Changed)]);
}

#[test]
fn what_was_undone_or_not_committed_is_not_told() {
    let (db, told) = database();
    let ann =
        db.write(|tx| Ok(tx.create(Person { age: 3, ..Person::default() })?.to_ref())).unwrap();
    take(&told);
    let mut attempt = 0;
    db.write(|tx| {
        attempt += 1;
        if attempt == 1 {
            tx.get(ann)?.set_age(100)?;
            return Err(KvError::Retry("planned".into()).into());
        }
        let undone: Result<(), Error> = tx.core().atomic(|_| {
            tx.get(ann)?.set_age(50)?;
            tx.create_default::<Person>()?;
            Err(Error::other("undone"))
        });
        assert!(undone.is_err());
        Ok(())
    })
    .unwrap();
    assert_eq!(take(&told), []);
    let tx = db.begin().unwrap();
    tx.get(ann).unwrap().set_age(8).unwrap();
    tx.rollback().unwrap();
    assert_eq!(take(&told), []);
    assert_eq!(db.read(|tx| tx.get(ann)?.age()).unwrap(), 3);
}

#[test]
fn an_observer_may_write_and_can_be_removed() {
    let (db, told) = database();
    assert!(matches!(
        db.observe_committed::<Unregistered>(|_, _| ()),
        Err(Error::NotRegistered { .. })
    ));
    let writer = db.clone();
    let observer = db
        .observe_committed::<Person>(move |_, what| {
            if what == Created {
                writer.write(|tx| tx.create(Other { n: 1 }).map(drop)).unwrap();
            }
        })
        .unwrap();
    let add = || db.write(|tx| tx.create_default::<Person>().map(drop)).unwrap();
    add();
    assert!(db.stop_observing(observer));
    add();
    assert_eq!(take(&told).len(), 2);
    assert_eq!(db.read(|tx| tx.all::<Other>()?.count()).unwrap(), 1);
}

#[derive(PermazenObject, Default)]
struct First {
    n: i32,
}

#[derive(PermazenObject, Default)]
struct Second {
    a: i32,
    b: i32,
    c: i32,
}

/// A type gets another storage ID, if a program without it has removed its schema.
#[test]
fn a_type_that_got_another_storage_id_is_still_told() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let open = || Permazen::builder_shared(Arc::clone(&store));
    let db = open().model::<Person>().model::<Other>().build().unwrap();
    let told = Told::default();
    let log = Arc::clone(&told);
    db.observe_committed::<Person>(move |person, what| log.lock().unwrap().push((person, what)))
        .unwrap();
    let add = || db.write(|tx| Ok(tx.create_default::<Person>()?.to_ref())).unwrap();
    let first = add();
    db.write(|tx| tx.get(first)?.delete()).unwrap();
    assert_eq!(take(&told), [(first, Created), (first, Deleted)]);
    // A program removes the schema, and takes its storage IDs.
    let schema = db.read(|tx| Ok(tx.schema().id)).unwrap();
    let other = open().model::<First>().build().unwrap();
    other.write(|tx| Ok(tx.core().remove_schema(schema)?)).unwrap();
    let other = open().model::<Second>().build().unwrap();
    other.write(|tx| tx.create_default::<Second>().map(drop)).unwrap();
    let second = add();
    assert_ne!(first.id().storage_id(), second.id().storage_id());
    assert_eq!(take(&told), [(second, Created)]);
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Parent {
    n: i32,
}

#[derive(PermazenObject, Default)]
struct Child {
    #[permazen(forward_delete, inverse_delete = "nullify")]
    parent: Option<Ref<Parent>>,
}

#[permazen::hooks]
impl Parent {
    #[on_create]
    fn refused(this: Obj<'_, Self>) -> Result<()> {
        if DELETES_NEW.get() { this.delete().map(drop) } else { Ok(()) }
    }

    #[on_delete]
    fn children(this: Obj<'_, Self>) -> Result<()> {
        for child in this.referrers(Child::PARENT)?.to_vec()? {
            child.delete()?;
        }
        Ok(())
    }

    #[on_delete]
    fn last(this: Obj<'_, Self>) -> Result<()> {
        log(format!("last {}", this.n()?));
        Ok(())
    }
}

thread_local! {
    static DELETES_NEW: Cell<bool> = const { Cell::new(false) };
}

#[test]
fn a_deletion_that_a_hook_for_it_leads_to_waits_for_the_other_hooks() {
    let db = builder().model::<Parent>().model::<Child>().build().unwrap();
    db.observe_committed::<Parent>(|_, what| log(format!("{what:?}"))).unwrap();
    db.write(|tx| {
        let parent = tx.create(Parent { n: 7 })?;
        tx.create(Child { parent: Some(parent.to_ref()) }).map(drop)
    })
    .unwrap();
    assert_log(["Created"]);
    db.write(|tx| {
        let parent = tx.all::<Parent>()?.to_vec()?.remove(0);
        assert!(parent.delete()?);
        assert!(!parent.exists()?);
        assert_log(["last 7"]);
        Ok(())
    })
    .unwrap();
    assert_log(["Deleted"]);
    assert_eq!(db.read(|tx| tx.all::<Child>()?.count()).unwrap(), 0);
}

#[test]
fn a_hook_that_deletes_a_new_object_refuses_the_creation() {
    let db = builder().model::<Parent>().model::<Child>().build().unwrap();
    db.observe_committed::<Parent>(|_, what| log(format!("{what:?}"))).unwrap();
    DELETES_NEW.set(true);
    db.write(|tx| {
        for created in [tx.create_default::<Parent>(), tx.create(Parent { n: 1 })] {
            let refused = created.unwrap_err().to_string();
            assert!(refused.starts_with("Parent::refused of object"), "{refused}");
            assert!(refused.contains("to refuse the creation, return an error"), "{refused}");
        }
        assert_eq!(tx.all::<Parent>()?.count()?, 0);
        assert_log(["last 0", "last 0"]);
        Ok(())
    })
    .unwrap();
    DELETES_NEW.set(false);
    assert_log([]);
}

#[test]
fn what_a_read_only_transaction_discards_is_not_told() {
    let (db, told) = database();
    let ended = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&ended);
    db.write(|tx| {
        let log = Arc::clone(&log);
        tx.core().set_read_only()?;
        tx.on_complete(move |committed| log.lock().unwrap().push(committed))?;
        tx.create_default::<Person>().map(drop)
    })
    .unwrap();
    assert_eq!(take(&told), []);
    assert_eq!(*ended.lock().unwrap(), [true]);
    assert_eq!(db.read(|tx| tx.all::<Person>()?.count()).unwrap(), 0);
}

/// Makes the transaction read-only when its end has begun.
struct Discards;

impl Callback for Discards {
    fn before_commit(&self, tx: &Transaction, read_only: bool) -> object::Result<()> {
        log(format!("read-only before: {read_only}"));
        tx.set_read_only()
    }
}

#[test]
fn what_a_callback_discards_is_not_told() {
    let (db, told) = database();
    db.write(|tx| {
        // The second one comes after the first one has decided.
        tx.core().add_callback(Arc::new(Discards))?;
        tx.core().add_callback(Arc::new(Discards))?;
        tx.create_default::<Person>().map(drop)
    })
    .unwrap();
    assert_log(["read-only before: false", "read-only before: true"]);
    assert_eq!(take(&told), []);
    assert_eq!(db.read(|tx| tx.all::<Person>()?.count()).unwrap(), 0);
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Discarded {
    n: i32,
}

#[permazen::hooks]
impl Discarded {
    #[on_validate]
    fn discard(this: Obj<'_, Self>) -> Result<()> {
        Ok(this.tx().core().set_read_only()?)
    }
}

#[test]
fn what_a_hook_that_checks_discards_is_not_told() {
    let db = builder().model::<Discarded>().build().unwrap();
    db.observe_committed::<Discarded>(|_, what| log(format!("{what:?}"))).unwrap();
    db.write(|tx| tx.create(Discarded { n: 1 }).map(drop)).unwrap();
    assert_log([]);
    assert_eq!(db.read(|tx| tx.all::<Discarded>()?.count()).unwrap(), 0);
}
