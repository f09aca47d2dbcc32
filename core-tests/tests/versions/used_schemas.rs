//! Which schemas without objects stay because this process has a database open with them.

use std::sync::Arc;

use permazen::Permazen;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::prefix::Prefixed;
use permazen::kv::sqlite::SqliteStore;
use permazen::kv::{KvDatabase, KvError, KvTransaction, TxOptions};
use permazen::schema::SchemaRemoval;

/// No other test has these models, since a database on a store that cannot be told from others
/// keeps their schemas in all of them.
mod earlier {
    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Lamp {
        pub(super) watts: i32,
    }
}

mod later {
    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Lamp {
        pub(super) lumens: i64,
    }
}

/// A store of a program, which has only the methods without a default.
struct Plain(MemoryStore);

impl KvDatabase for Plain {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>, KvError> {
        self.0.begin(options)
    }
}

type Store = Arc<dyn KvDatabase>;

/// Whether an unused schema stays in `store` while a database with it is open on `used`.
fn stays(store: &Store, used: &Store) -> bool {
    let open = Permazen::builder_shared(Arc::clone(used)).model::<earlier::Lamp>().build().unwrap();
    drop(Permazen::builder_shared(Arc::clone(store)).model::<earlier::Lamp>().build().unwrap());
    let builder = Permazen::builder_shared(Arc::clone(store)).model::<later::Lamp>();
    let db = builder.schema_removal(SchemaRemoval::Always).build().unwrap();
    let recorded = || {
        // The first transaction can have one removed, and the next one sees it.
        db.write(|_| Ok(())).unwrap();
        db.read(|tx| Ok(tx.core().bundle().schemas().len())).unwrap()
    };
    let while_open = recorded();
    drop(open);
    assert_eq!(recorded(), 1);
    while_open == 2
}

#[test]
fn a_schema_stays_in_the_database_that_is_open_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = |name: &str| -> Store {
        let path = dir.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Arc::new(LmdbStore::open_or_create(path).unwrap())
    };
    let sqlite = |name: &str| -> Store {
        Arc::new(SqliteStore::open_or_create(dir.path().join(name)).unwrap())
    };
    let memory = || -> Store { Arc::new(MemoryStore::new()) };
    let optimistic =
        |below: &Store| -> Store { Arc::new(OptimisticDatabase::new(Arc::clone(below))) };

    // The same database, by another way.
    let below = memory();
    for (store, used) in [
        (Arc::clone(&below), Arc::clone(&below)),
        (Arc::clone(&below), optimistic(&below)),
        (optimistic(&below), Arc::clone(&below)),
        (lmdb("one"), lmdb("one")),
        (sqlite("one.db"), sqlite("one.db")),
    ] {
        assert!(stays(&store, &used));
    }
    // Others.
    let mut others = vec![(memory(), memory()), (memory(), optimistic(&below))];
    // Elsewhere, files are not told apart.
    if cfg!(unix) {
        others.extend([
            (lmdb("two"), lmdb("three")),
            (sqlite("two.db"), sqlite("three.db")),
            (memory(), lmdb("one")),
        ]);
    }
    for (store, used) in others {
        assert!(!stays(&store, &used));
    }
    // A part of a store may overlap with another part.
    let part = |prefix: &[u8]| -> Store { Arc::new(Prefixed::new(Arc::clone(&below), prefix)) };
    assert!(stays(&part(b"\xf1"), &part(b"\xf2")));
    // They may be the same.
    let plain = || -> Store { Arc::new(Plain(MemoryStore::new())) };
    assert!(stays(&plain(), &memory()));
    assert!(stays(&memory(), &plain()));
}
