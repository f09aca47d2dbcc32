//! Transactions that are begun within another one of the same thread, where writers take turns.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen::kv::KvError;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::model::creations;
use permazen::{Obj, Permazen, PermazenObject, Result};

thread_local! {
    /// Where the hooks find the database.
    static DB: RefCell<Option<Permazen>> = const { RefCell::new(None) };
}

/// As in most programs: a function that begins a transaction of its own.
fn service() -> Result<()> {
    let db = DB.with_borrow(Clone::clone).unwrap();
    db.write(|tx| tx.create(Entry { nests: "nowhere".to_owned() }).map(drop))
}

/// An object that calls the function in the hook of this name.
#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Entry {
    nests: String,
}

fn nest(this: Obj<'_, Entry>, hook: &str) -> Result<()> {
    if this.nests()? == hook { service() } else { Ok(()) }
}

#[permazen::hooks]
impl Entry {
    #[on_change(fields(nests))]
    fn changed(this: Obj<'_, Self>) -> Result<()> {
        nest(this, "change")
    }

    #[on_delete]
    fn deleted(this: Obj<'_, Self>) -> Result<()> {
        nest(this, "delete")
    }

    #[on_validate(fields(nests))]
    fn valid(this: Obj<'_, Self>) -> Result<()> {
        nest(this, "validate")
    }
}

/// Whether it was refused because the thread would have waited for itself.
fn is_refused(result: Result<()>) -> bool {
    let Err(error) = result else { return false };
    let is_within = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(KvError::WithinWrite { .. }))
    };
    assert!(error.causes().any(is_within), "{error:?}");
    assert!(!error.is_retryable(), "{error}");
    true
}

/// For each place that calls the function, the outcome on this database.
fn calls(db: &Permazen) -> Vec<bool> {
    DB.set(Some(db.clone()));
    let entry = |hook: &str| Entry { nests: hook.to_owned() };
    let create = |hook: &str| db.write(|tx| tx.create(entry(hook)).map(drop));
    let delete = || db.write(|tx| tx.create(entry("delete"))?.delete().map(drop));
    let observed = || {
        db.write(|tx| {
            tx.observe(creations::<Entry>(), |_, ()| service())?;
            tx.create(entry("nowhere")).map(drop)
        })
    };
    let by_hand = || db.write(|_| db.begin()?.commit().map_err(Into::into));
    let again = || {
        db.write(|_| {
            Permazen::builder_shared(Arc::clone(db.database().kv()))
                .model::<Other>()
                .build()
                .map(drop)
        })
    };
    let found = [
        db.write(|_| service()),
        create("change"),
        delete(),
        create("validate"),
        observed(),
        by_hand(),
        again(),
        db.read(|_| service()),
    ];
    DB.set(None);
    found.into_iter().map(is_refused).collect()
}

#[derive(PermazenObject, Default)]
struct Other {}

#[test]
fn a_transaction_within_another_one_is_refused_where_writers_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::open_or_create(dir.path()).unwrap();
    let refused = [true, true, true, true, true, true, true, false];
    for store in [Arc::new(MemoryStore::new()) as Arc<dyn permazen::kv::KvDatabase>, Arc::new(lmdb)]
    {
        let db = Permazen::builder_shared(store).model::<Entry>().build().unwrap();
        assert_eq!(calls(&db), refused);
        // An observer of commits is called when the transaction has ended.
        DB.set(Some(db.clone()));
        let told = AtomicBool::new(false);
        let observer = db.observe_committed::<Entry>(move |_, _| {
            if !told.swap(true, Ordering::Relaxed) {
                service().unwrap();
            }
        });
        db.write(|tx| tx.create(Entry::default()).map(drop)).unwrap();
        db.stop_observing(observer.unwrap());
        assert_eq!(db.read(|tx| tx.all::<Entry>()?.count()).unwrap(), 3);
    }
    let db = Permazen::builder(OptimisticDatabase::new(MemoryStore::new()));
    assert_eq!(calls(&db.model::<Entry>().build().unwrap()), [false; 8]);
}
