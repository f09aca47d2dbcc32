//! Transactions that are each right, and together would break a rule.

use std::sync::Barrier;

use permazen::PermazenObject;
use permazen::kv::KvDatabase;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::sqlite::SqliteStore;

use super::*;

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(composite(name = "nameAge", fields(name, age), unique))]
struct User {
    #[permazen(indexed, unique)]
    email: String,
    name: String,
    age: i32,
}

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(singleton)]
struct Settings {
    #[permazen(default = String::new())]
    theme: String,
}

fn user(email: &str, name: &str, age: i32) -> User {
    User { email: email.into(), name: name.into(), age }
}

fn open(store: Arc<dyn KvDatabase>) -> Permazen {
    let db = Permazen::builder_shared(store);
    db.model::<User>().model::<Settings>().build().unwrap()
}

/// A database on each store.
fn databases(scratch: &tempfile::TempDir) -> Vec<Permazen> {
    let lmdb = |name| LmdbStore::open_or_create(scratch.path().join(name)).unwrap();
    let sqlite = SqliteStore::open_or_create(scratch.path().join("sqlite")).unwrap();
    let stores: [Arc<dyn KvDatabase>; 5] = [
        Arc::new(MemoryStore::new()),
        Arc::new(OptimisticDatabase::new(MemoryStore::new())),
        Arc::new(lmdb("lmdb")),
        Arc::new(OptimisticDatabase::new(lmdb("optimistic"))),
        Arc::new(sqlite),
    ];
    stores.into_iter().map(open).collect()
}

/// Runs two transactions at the same time. Returns what both say.
fn at_once<T: Send + std::fmt::Debug>(
    db: &Permazen,
    run: impl Fn(usize) -> Result<T> + Sync,
) -> [Result<T>; 2] {
    let _ = db;
    let barrier = Barrier::new(2);
    let one = |n| {
        barrier.wait();
        run(n)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| one(1));
        [one(0), other.join().unwrap()]
    })
}

/// Exactly one of the two is refused, because of a rule.
fn one_is_refused<T: std::fmt::Debug>(results: [Result<T>; 2]) {
    let (done, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!((done.len(), refused.len()), (1, 1), "{done:?} {refused:?}");
    refused.into_iter().for_each(|refused| drop(violations(refused)));
}

#[test]
fn of_two_that_take_a_value_one_is_refused_on_every_store() {
    let scratch = tempfile::tempdir().unwrap();
    for db in databases(&scratch) {
        one_is_refused(at_once(&db, |n| {
            db.write(|tx| Ok(tx.create(user("a", &format!("{n}"), 1))?.id()))
        }));
        one_is_refused(at_once(&db, |n| {
            db.write(|tx| Ok(tx.create(user(&format!("composite {n}"), "x", 1))?.id()))
        }));
        let ids = db.write(|tx| {
            Ok([tx.create(user("c", "c", 1))?.id(), tx.create(user("d", "d", 1))?.id()])
        });
        let ids = ids.unwrap();
        one_is_refused(at_once(&db, |n| db.write(|tx| tx.get::<User>(ids[n])?.set_email("taken"))));
        one_is_refused(at_once(&db, |_| db.write(|tx| Ok(tx.create(Settings::default())?.id()))));
        assert!(db.check_rules().unwrap().is_clean());
        // Both find the same object, or one makes it.
        let [one, other] = at_once(&db, |_| db.write(|tx| Ok(tx.singleton::<Settings>()?.id())));
        assert_eq!(one.unwrap(), other.unwrap());
    }
}

/// The check of one transaction runs before the other commits.
#[test]
fn a_check_that_is_out_of_date_is_a_conflict() {
    type Change = fn(&permazen::Tx, usize) -> Result<()>;
    let changes: [Change; 3] = [
        |tx, n| tx.create(user("a", &format!("{n}"), 1)).map(drop),
        |tx, n| tx.create(user(&format!("{n}"), "x", 1)).map(drop),
        |tx, _| tx.create(Settings::default()).map(drop),
    ];
    for change in changes {
        let db = open(Arc::new(OptimisticDatabase::new(MemoryStore::new())));
        let (first, second) = (db.begin().unwrap(), db.begin().unwrap());
        change(&first, 0).unwrap();
        change(&second, 1).unwrap();
        first.validate().unwrap();
        second.validate().unwrap();
        first.commit().unwrap();
        let refused = second.commit().unwrap_err();
        assert!(refused.is_retryable(), "{refused}");
        assert!(refused.into_transaction().is_none());
        assert!(db.check_rules().unwrap().is_clean());
    }
}

/// Another transaction takes the value that this one gives away.
#[test]
fn a_value_that_is_free_only_after_the_commit() {
    let db = open(Arc::new(OptimisticDatabase::new(MemoryStore::new())));
    let id = db.write(|tx| Ok(tx.create(user("a", "a", 1))?.id())).unwrap();
    let (gives, takes) = (db.begin().unwrap(), db.begin().unwrap());
    gives.get::<User>(id).unwrap().set_email("b").unwrap();
    takes.create(user("a", "b", 1)).unwrap();
    gives.commit().unwrap();
    let refused = takes.commit().unwrap_err();
    // It sees the database as it was when it began.
    assert!(matches!(refused.error(), Error::Invalid(_)), "{refused}");
}
