//! Other users of a database while it is loaded, and failures that pass.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;

use permazen::kv::fault::FaultStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{
    Capabilities, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvTransaction, Retry, TxOptions,
};
use permazen::object::Error as Object;
use permazen::schema::SchemaError;
use permazen::{Error, Obj, Permazen, PermazenObject, Ref, Result, Validation};

use crate::creating::models::{Person, Pet, database, on, pairs};

fn is_refused(error: &Error) -> bool {
    matches!(error, Error::Object(Object::Schema(SchemaError::LoadUnfinished)))
}

fn stores() -> [Arc<dyn KvDatabase>; 2] {
    [Arc::new(MemoryStore::new()), Arc::new(OptimisticDatabase::new(MemoryStore::new()))]
}

/// The objects break a rule, so that the load fails at its end.
fn fill(loader: &mut permazen::model::Loader<'_>) {
    for _ in 0..2 {
        loader.add(Person { code: Some(1), ..Person::default() }).unwrap();
    }
}

#[test]
fn others_create_no_object_between_the_transactions_of_a_load() {
    for store in stores() {
        let db = on(store.clone());
        let before = pairs(&*store);
        let mut told = Vec::new();
        let mut loader = db.loader().unwrap().memory(0).progress(|so_far| {
            told.push(so_far.written);
            let error = db.write(|tx| tx.create(Pet::default()).map(drop)).unwrap_err();
            assert!(is_refused(&error), "{error}");
            let error = db.read(|tx| tx.everything()?.count()).unwrap_err();
            assert!(is_refused(&error), "{error}");
        });
        fill(&mut loader);
        loader.finish().unwrap_err();
        assert!(told.len() > 1 && told[0] == 0, "{told:?}");
        assert_eq!(pairs(&*store), before);
        db.write(|tx| tx.create(Pet::default()).map(drop)).unwrap();
    }
}

#[test]
fn what_waits_for_its_turn_to_write_is_refused_or_stays() {
    for store in stores() {
        for _ in 0..100 {
            store.write(|tx| tx.remove_span(KeySpan::FULL)).unwrap();
            let db = on(store.clone());
            let held = store.begin(&TxOptions::writing()).unwrap();
            let created = std::thread::scope(|scope| {
                let db = &db;
                let (ready, loader_is_ready) = channel();
                scope.spawn(move || {
                    let mut loader = db.loader().unwrap().memory(0);
                    fill(&mut loader);
                    ready.send(()).unwrap();
                    loader.finish().unwrap_err();
                });
                loader_is_ready.recv().unwrap();
                let (ready, writer_is_ready) = channel();
                let writer = scope.spawn(move || {
                    ready.send(()).unwrap();
                    db.write(|tx| tx.create(Pet::default()).map(|pet| pet.id()))
                });
                writer_is_ready.recv().unwrap();
                drop(held);
                writer.join().unwrap()
            });
            let found: Vec<_> = db
                .read(|tx| tx.all::<Pet>()?.into_iter().map(|pet| Ok(pet?.id())).collect())
                .unwrap();
            match created {
                Ok(id) => assert_eq!(found, [id]),
                Err(error) => {
                    assert!(is_refused(&error), "{error}");
                    assert!(found.is_empty());
                }
            }
            assert_eq!(db.read(|tx| tx.all::<Person>()?.count()).unwrap(), 0);
        }
    }
}

#[test]
fn a_load_does_not_go_on_in_another_one() {
    let (store, db) = database();
    let many = |loader: &mut permazen::model::Loader<'_>| {
        (0..20_000).for_each(|n| {
            loader.add(Pet { name: Some(n.to_string()), owner: None }).unwrap();
        });
    };
    let (first_wrote, second_may) = channel();
    let (second_wrote, first_may) = channel();
    std::thread::scope(|scope| {
        let db = &db;
        let first = scope.spawn(move || {
            let mut goes_on = false;
            let mut loader = db.loader().unwrap().memory(0).progress(|so_far| {
                if so_far.written > 0 && !goes_on {
                    first_wrote.send(()).unwrap();
                    first_may.recv().unwrap();
                    goes_on = true;
                }
            });
            many(&mut loader);
            loader.finish().unwrap_err().to_string()
        });
        second_may.recv().unwrap();
        store.write(|tx| tx.remove_span(KeySpan::FULL)).unwrap();
        let mut first = Some(first);
        let db = on(store.clone());
        let mut loader = db.loader().unwrap().memory(0).progress(|so_far| {
            if so_far.written > 0
                && let Some(first) = first.take()
            {
                second_wrote.send(()).unwrap();
                let error = first.join().unwrap();
                assert!(error.contains("another load"), "{error}");
            }
        });
        many(&mut loader);
        let loaded = loader.finish().unwrap();
        assert_eq!(loaded.objects, 20_000);
        assert_eq!(db.read(|tx| tx.all::<Pet>()?.count()).unwrap(), 20_000);
    });
    assert_eq!(db.read(|tx| tx.everything()?.count()).unwrap(), 20_000);
    assert!(db.check_rules().unwrap().violations.is_empty());
}

#[test]
fn objects_that_came_in_spite_of_the_mark_stay() {
    let (store, db) = database();
    let mut loader = db.loader().unwrap().progress(|so_far| {
        if so_far.sorted == so_far.pairs && so_far.written == 0 {
            store.write(|tx| tx.put(b"\x55key", b"of another program")).unwrap();
        }
    });
    loader.add(Pet::default()).unwrap();
    let error = loader.finish().unwrap_err().to_string();
    assert!(error.contains("others have changed the database"), "{error}");
    assert!(pairs(&*store).iter().any(|(key, _)| key == b"\x55key"));
    on(store);
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Touchy {
    size: i32,
}

#[permazen::hooks]
impl Touchy {
    #[on_validate]
    fn panics(this: Obj<'_, Self>) -> Result<()> {
        assert_ne!(this.size()?, 7, "it is seven");
        Ok(())
    }
}

#[test]
fn a_panic_leaves_the_database_as_empty_as_it_was() {
    let (store, db) = database();
    let before = pairs(&*store);
    for at in 0..3 {
        let mut told = 0;
        let mut loader = db.loader().unwrap().memory(0).progress(|_| {
            assert_ne!(told, at, "the program panics");
            told += 1;
        });
        // So few that only `finish` tells of its progress.
        for n in 0..16_000 {
            loader.add(Pet { name: Some(n.to_string()), owner: None }).unwrap();
        }
        assert!(catch_unwind(AssertUnwindSafe(|| loader.finish())).is_err());
        assert_eq!(pairs(&*store), before);
    }
    let store = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<Touchy>().build().unwrap();
    let before = pairs(&*store);
    let mut loader = db.loader().unwrap();
    loader.add(Touchy { size: 7 }).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| loader.finish())).is_err());
    assert_eq!(pairs(&*store), before);
}

/// Hooks that check may also mend: their own object, another one, or one of another model.
#[derive(PermazenObject, Default, Clone)]
#[permazen(hooks)]
struct Mended {
    #[permazen(indexed, unique)]
    size: i32,
    name: String,
    folded: String,
    next: Option<Ref<Mended>>,
    /// The size that the next one gets.
    gives: Option<i32>,
    seen: Option<Ref<Seen>>,
}

/// Has no rules of its own.
#[derive(PermazenObject, Default, Clone)]
struct Seen {
    #[permazen(indexed)]
    size: i32,
}

#[permazen::hooks]
impl Mended {
    #[on_validate]
    fn mend(this: Obj<'_, Self>) -> Result<()> {
        let size = this.size()?;
        if size % 10 == 4 {
            // This one is then checked, too.
            if let Some(next) = this.next()? {
                next.set_size(size + 90)?;
            }
            this.set_size(size + 1)?;
        }
        if let (Some(gives), Some(next)) = (this.gives()?, this.next()?) {
            next.set_size(gives)?;
        }
        match this.seen()? {
            Some(seen) => seen.set_size(77),
            None => Ok(()),
        }
    }

    #[on_validate(fields(name))]
    fn fold(this: Obj<'_, Self>) -> Result<()> {
        this.set_folded(this.name()?.to_lowercase())
    }
}

#[test]
fn what_hooks_that_validate_write_is_kept_whenever_rules_are_checked() {
    let content = |db: &Permazen| {
        let content = |tx: &permazen::Tx| {
            let mended = tx.index(Mended::SIZE)?.iter().map(|found| {
                let (size, mended) = found?;
                Ok((size, mended.folded()?))
            });
            let seen = tx.index(Seen::SIZE)?.values().collect::<Result<Vec<i32>>>()?;
            Ok((mended.collect::<Result<Vec<_>>>()?, seen))
        };
        db.read(content).unwrap()
    };
    let with = |size, next| Mended { size, name: format!("N{size}"), next, ..Mended::default() };
    let mended = |size| if size % 10 == 4 { size + 1 } else { size };
    for validation in [Validation::AtCommit, Validation::Early] {
        let open = || {
            let builder = Permazen::builder(MemoryStore::new()).model::<Mended>().model::<Seen>();
            builder.validation(validation).build().unwrap()
        };
        let (one, loaded) = (open(), open());
        // Where each operation is checked, no two may have one size even for a moment.
        let same = if validation == Validation::AtCommit { vec![81, 81] } else { vec![] };
        let sizes = [&[44, 14, 21, 34, 84, 31], &same[..]].concat();
        let giver = |next| Mended { gives: Some(500), ..with(3, next) };
        one.write(|tx| {
            let mut next = None;
            for size in &sizes {
                next = Some(tx.create(with(*size, next))?.to_ref());
            }
            tx.create(giver(next))?;
            let seen = Some(tx.create(Seen { size: 0 })?.to_ref());
            tx.create(Mended { seen, ..with(5, None) }).map(drop)
        })
        .unwrap();
        let mut loader = loaded.loader().unwrap();
        let mut next = None;
        for size in &sizes {
            next = Some(loader.add(with(*size, next)).unwrap());
        }
        loader.add(giver(next)).unwrap();
        let seen = Some(loader.add(Seen { size: 0 }).unwrap());
        loader.add(Mended { seen, ..with(5, None) }).unwrap();
        loader.finish().unwrap();
        let found = content(&loaded);
        assert_eq!(found, content(&one), "{validation:?}");
        assert!(found.0.iter().all(|(size, _)| *size == mended(*size)), "{found:?}");
        assert!(found.0.iter().all(|(_, folded)| folded.starts_with('n')), "{found:?}");
        assert!(found.0.iter().any(|(size, _)| *size == 500), "{found:?}");
        assert_eq!(found.1, [77], "{validation:?}");

        // The write of the hook breaks a rule.
        let failing = open();
        let mut loader = failing.loader().unwrap();
        for size in [14, 15] {
            loader.add(with(size, None)).unwrap();
        }
        assert!(matches!(loader.finish().unwrap_err(), Error::Invalid(_)), "{validation:?}");
        assert_eq!(content(&failing), (vec![], vec![]), "{validation:?}");
    }
}

/// More than are checked together at a time. The hook of the last object changes the first one, so
/// that the first objects break no rule any more.
#[test]
fn hooks_of_later_objects_may_mend_earlier_ones() {
    let builder = Permazen::builder(MemoryStore::new()).model::<Mended>().model::<Seen>();
    let db = builder.build().unwrap();
    let load = |gives: Option<i32>| {
        let mut loader = db.loader().unwrap();
        let first = loader.add(Mended { size: -1, ..Mended::default() }).unwrap();
        loader.add(Mended { size: -1, ..Mended::default() }).unwrap();
        for size in 0..3_000 {
            loader.add(Mended { size: size * 10, ..Mended::default() }).unwrap();
        }
        let last = Mended { size: -5, next: Some(first), gives, ..Mended::default() };
        loader.add(last).unwrap();
        loader.finish()
    };
    assert!(matches!(load(None).unwrap_err(), Error::Invalid(_)));
    assert_eq!(load(Some(-9)).unwrap().objects, 3_003);
    let size = |size| db.read(|tx| tx.index(Mended::SIZE)?.get(size)?.count()).unwrap();
    assert_eq!([size(-1), size(-9), size(-5)], [1, 1, 1]);
}

/// Loads some objects; `plan` makes an operation of `finish` fail. Calls `then` with the result,
/// the number of pairs that a complete load has, and the store, until no operation is left that
/// could fail.
fn fail_each(
    mut plan: impl FnMut(&permazen::kv::fault::Faults, u64),
    mut then: impl FnMut(u64, Result<()>, &Permazen, &dyn KvDatabase),
) {
    for n in 1.. {
        let store = FaultStore::new(MemoryStore::new());
        let faults = store.faults();
        let store: Arc<dyn KvDatabase> = Arc::new(store);
        let none = std::time::Duration::ZERO;
        let retry = Retry { times: 3, first_pause: none, longest_pause: none };
        let builder = Permazen::builder_shared(store.clone()).retry(retry);
        let db = builder.model::<Person>().model::<Pet>().build().unwrap();
        let mut loader = db.loader().unwrap().memory(0);
        for code in 0..4 {
            loader.add(Pet { name: Some(format!("{code}")), owner: None }).unwrap();
            loader.add(Person { code: Some(code), ..Person::default() }).unwrap();
        }
        plan(&faults, n);
        let result = loader.finish().map(drop);
        let hit = faults.hits() > 0;
        faults.stop();
        then(n, result, &db, &*store);
        if !hit {
            assert!(n > 100, "{n}");
            return;
        }
    }
}

fn objects(db: &Permazen) -> usize {
    let violations = db.check_rules().unwrap().violations;
    assert!(violations.is_empty(), "{violations:?}");
    db.read(|tx| tx.everything()?.count()).unwrap()
}

#[test]
fn what_fails_for_a_reason_that_passes_is_run_again() {
    fail_each(
        |faults, n| faults.fail_nth(n, || KvError::Retry("busy".to_owned())),
        |n, result, db, _| {
            result.unwrap_or_else(|error| panic!("{n}: {error}"));
            assert_eq!(objects(db), 8);
        },
    );
}

#[test]
fn after_an_unknown_outcome_there_is_all_or_nothing() {
    for lose in [false, true] {
        let empty = pairs(&*database().0);
        let mut complete = 0;
        fail_each(
            |faults, n| {
                faults.lose_commits(lose);
                faults.fail_nth(n, || KvError::OutcomeUnknown("planned".to_owned()));
            },
            |n, result, db, store| match pairs(store) == empty {
                true => assert!(result.is_err(), "{n}"),
                false => {
                    assert_eq!(objects(db), 8, "{n}");
                    complete += u32::from(result.is_err());
                }
            },
        );
        assert_eq!(complete, u32::from(!lose), "the last commit");
    }
}

/// Stands for etcd.
struct Small(MemoryStore);

impl KvDatabase for Small {
    fn begin(&self, options: &TxOptions) -> permazen::kv::Result<Box<dyn KvTransaction + Send>> {
        self.0.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        let mut offered = self.0.capabilities();
        offered.small_transactions = true;
        offered
    }
}

#[test]
fn a_store_with_small_transactions_is_not_loaded() {
    let db = on(Arc::new(Small(MemoryStore::new())));
    let error = db.loader().unwrap_err().to_string();
    assert_eq!(error, "a loader, which writes large transactions, is not supported by this store");
}
