//! A refused commit, and what is checked again.

use permazen::encoding::Value;
use permazen::object::{Callback, Migrate, Transaction};
use permazen::{Permazen, PermazenObject, Validation};

use super::*;

#[derive(PermazenObject, Debug, Default, Clone)]
struct User {
    #[permazen(indexed, unique)]
    email: String,
}

fn user(email: &str) -> User {
    User { email: email.into() }
}

#[test]
fn a_refused_commit_gives_the_transaction_back() {
    let db = database::<User>();
    let tx = db.begin().unwrap();
    tx.create(user("a")).unwrap();
    let second = tx.create(user("a")).unwrap().to_ref();
    let refused = tx.commit().unwrap_err();
    assert!(matches!(refused.error(), Error::Invalid(_)));
    assert!(!refused.is_retryable());
    let tx = refused.into_transaction().unwrap();
    assert!(tx.core().is_open());
    // Objects that failed the check stay queued.
    let again = tx.commit().unwrap_err();
    let tx = again.into_transaction().unwrap();
    violations(tx.validate());
    violations(tx.validate());
    tx.get(second).unwrap().set_email("b").unwrap();
    tx.validate().unwrap();
    tx.commit().unwrap();
    assert_eq!(db.read(|tx| tx.all::<User>()?.count()).unwrap(), 2);
}

#[test]
fn a_refused_commit_that_is_dropped_rolls_back() {
    let db = database::<User>();
    let commit = || -> Result<()> {
        let tx = db.begin()?;
        tx.create(user("a"))?;
        tx.create(user("a"))?;
        tx.commit()?;
        Ok(())
    };
    violations(commit());
    assert_eq!(db.read(|tx| tx.all::<User>()?.count()).unwrap(), 0);
    // The store is free for others.
    db.write(|tx| Ok(tx.create(user("a"))?.id())).unwrap();
}

struct SetsEmail(ObjId);

impl Callback for SetsEmail {
    fn before_commit(&self, tx: &Transaction, _: bool) -> permazen::object::Result<()> {
        tx.set(self.0, "email", &Value::String("a".into()), Migrate::No)
    }
}

#[test]
fn what_callbacks_change_is_checked() {
    let db = database::<User>();
    let tx = db.begin().unwrap();
    tx.create(user("a")).unwrap();
    let other = tx.create(user("b")).unwrap().id();
    tx.core().add_callback(Arc::new(SetsEmail(other))).unwrap();
    let refused = tx.commit().unwrap_err();
    assert!(matches!(refused.error(), Error::Invalid(_)));
}

struct Discards;

impl Callback for Discards {
    fn before_commit(&self, tx: &Transaction, _: bool) -> permazen::object::Result<()> {
        tx.set_read_only()
    }
}

#[test]
fn what_a_callback_discards_breaks_no_rule() {
    let db = database::<User>();
    db.write(|tx| {
        tx.core().add_callback(Arc::new(Discards))?;
        tx.create(user("a"))?;
        tx.create(user("a")).map(drop)
    })
    .unwrap();
    assert_eq!(db.read(|tx| tx.all::<User>()?.count()).unwrap(), 0);
}

#[test]
fn a_store_that_fails_in_a_check_rolls_back() {
    let store = permazen::kv::fault::FaultStore::new(MemoryStore::new());
    let faults = store.faults();
    let db = Permazen::builder(store).model::<User>().build().unwrap();
    let tx = db.begin().unwrap();
    tx.create(user("a")).unwrap();
    faults.fail_nth(1, || permazen::kv::KvError::Retry("planned".to_owned()));
    assert!(tx.validate().unwrap_err().is_retryable());
    drop(tx);
    let tx = db.begin().unwrap();
    tx.create(user("a")).unwrap();
    faults.fail_nth(1, || permazen::kv::KvError::Retry("planned".to_owned()));
    let refused = tx.commit().unwrap_err();
    assert!(refused.is_retryable(), "{refused}");
    assert!(refused.into_transaction().is_none());
    faults.stop();
    assert_eq!(db.read(|tx| tx.all::<User>()?.count()).unwrap(), 0);
}

#[test]
fn deleted_objects_and_undone_operations_break_no_rule() {
    let db = database::<User>();
    db.write(|tx| {
        tx.create(user("a"))?;
        tx.create(user("a"))?.delete()?;
        let undone: Result<()> = tx.core().atomic(|_| {
            tx.create(user("a"))?;
            Err(Error::other("no"))
        });
        undone.unwrap_err();
        Ok(())
    })
    .unwrap();
}

/// What the check finds right is wrong again when the operation is undone.
#[test]
fn a_check_in_an_undone_operation_does_not_count() {
    let db = database::<User>();
    let refused = db.write(|tx| {
        tx.create(user("a"))?;
        let second = tx.create(user("a"))?;
        let undone: Result<()> = tx.core().atomic(|_| {
            second.set_email("b")?;
            tx.validate()?;
            Err(Error::other("no"))
        });
        assert!(matches!(undone, Err(Error::Other(_))), "{undone:?}");
        Ok(())
    });
    assert_eq!(violations(refused).len(), 2);
}

#[test]
fn rules_are_checked_when_asked() {
    let store = Arc::new(MemoryStore::new());
    let build = |validation| {
        Permazen::builder_shared(Arc::clone(&store) as Arc<_>)
            .model::<User>()
            .validation(validation)
            .build()
            .unwrap()
    };
    let off = build(Validation::Off);
    let two = off.write(|tx| {
        let ids = [tx.create(user("a"))?.id(), tx.create(user("a"))?.id()];
        tx.get::<User>(ids[0])?.revalidate()?;
        tx.validate()?;
        Ok(ids)
    });
    let [first, _] = two.unwrap();
    let manual = build(Validation::Manual);
    manual.write(|tx| Ok(tx.create(user("a"))?.id())).unwrap();
    let refused = manual.write(|tx| tx.get::<User>(first)?.revalidate());
    let refused = violations(refused);
    assert_eq!(refused.iter().next().unwrap().others.len(), 2);
    // An object that is not touched is not checked.
    let db = build(Validation::AtCommit);
    db.write(|tx| {
        assert_eq!(tx.get::<User>(first)?.email()?, "a");
        Ok(tx.create(user("b"))?.id())
    })
    .unwrap();
    db.write(|tx| {
        tx.set_validation(Validation::Off)?;
        Ok(tx.create(user("b"))?.id())
    })
    .unwrap();
    let gone = first;
    db.write(|tx| tx.get::<User>(gone)?.delete()).unwrap();
    let missing = db.write(|tx| tx.get::<User>(gone)?.revalidate());
    assert!(matches!(missing, Err(Error::Object(_))), "{missing:?}");
}
