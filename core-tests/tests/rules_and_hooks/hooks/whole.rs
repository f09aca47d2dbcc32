//! Hooks while whole objects are copied, stored and deleted with others, and in transactions that
//! do not commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use permazen::kv::KvError;
use permazen::kv::counting::CountingStore;
use permazen::kv::memory::MemoryStore;
use permazen::object::CopyOptions;
use permazen::{Error, Obj, Permazen, PermazenObject, Ref, Result};

use crate::hooks::{assert_log, builder, log};

#[derive(PermazenObject, Default, Clone)]
#[permazen(hooks)]
struct Folder {
    name: String,
    #[permazen(inverse_delete = "delete")]
    parent: Option<Ref<Folder>>,
    #[permazen(element(inverse_delete = "remove"))]
    links: Vec<Ref<Folder>>,
}

#[permazen::hooks]
impl Folder {
    #[on_create]
    fn created(_: Obj<'_, Self>) -> Result<()> {
        log("created");
        Ok(())
    }

    #[on_change(fields(name))]
    fn renamed(this: Obj<'_, Self>) -> Result<()> {
        log(format!("renamed {}", this.name()?));
        Ok(())
    }

    #[on_change(fields(links))]
    fn linked(this: Obj<'_, Self>) -> Result<()> {
        log(format!("links of {}: {}", this.name()?, this.links()?.len()?));
        Ok(())
    }

    #[on_delete]
    fn deleted(this: Obj<'_, Self>) -> Result<()> {
        log(format!("deleted {}", this.name()?));
        // A hook may delete objects that would be deleted later, and create objects that do not
        // stay.
        if this.name()? == "root" {
            let copies = this.tx().all::<Folder>()?.iter();
            for folder in copies.collect::<Result<Vec<_>>>()? {
                if folder.name()? == "first" {
                    folder.delete()?;
                }
            }
            this.tx().create(folder("late", Some(this)))?;
        }
        Ok(())
    }
}

fn folder(name: &str, parent: Option<Obj<'_, Folder>>) -> Folder {
    Folder {
        name: name.to_owned(),
        parent: parent.map(|parent| parent.to_ref()),
        links: Vec::new(),
    }
}

#[test]
fn deletions_with_a_cascade_call_each_hook_once() {
    let db = builder().model::<Folder>().build().unwrap();
    db.write(|tx| {
        let root = tx.create(folder("root", None))?;
        tx.create(folder("first", Some(root)))?;
        let second = tx.create(folder("second", Some(root)))?;
        let other = tx.create(folder("other", None))?;
        other.links()?.push(second)?;
        other.links()?.push(root)?;
        crate::hooks::LOG.take();
        assert!(root.delete()?);
        let mut log = crate::hooks::LOG.take();
        // Hooks are called for changes at the end, when all is deleted.
        let last = log.split_off(log.len() - 3);
        assert_eq!(last[1..], ["links of other: 0", "links of other: 0"], "{log:?} {last:?}");
        log.push(last[0].clone());
        log.sort();
        let expected =
            ["created", "deleted first", "deleted late", "deleted root", "deleted second"];
        let is_deletion = |line: &&String| !line.starts_with("renamed");
        assert_eq!(log.iter().filter(is_deletion).collect::<Vec<_>>(), expected);
        assert_eq!(tx.all::<Folder>()?.count()?, 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_copy_calls_hooks_unless_it_is_silent() {
    let (from, to) = (
        builder().model::<Folder>().build().unwrap(),
        builder().model::<Folder>().build().unwrap(),
    );
    let (from, to) = (from.begin().unwrap(), to.begin().unwrap());
    let loud = from.create(folder("loud", None)).unwrap();
    let silent = from.create(folder("silent", None)).unwrap();
    crate::hooks::LOG.take();
    from.core().copy_to(loud.id(), to.core(), &mut CopyOptions::new()).unwrap();
    assert_log(["created", "renamed loud"]);
    from.core().copy_to(silent.id(), to.core(), &mut CopyOptions::new().silent()).unwrap();
    assert_log([]);
    assert_eq!(to.all::<Folder>().unwrap().count().unwrap(), 2);
    // Hooks are called again for changes after the silent copy.
    to.get::<Folder>(silent.to_ref()).unwrap().set_name("loud now").unwrap();
    assert_log(["renamed loud now"]);
}

#[test]
fn an_attempt_that_is_run_again_calls_hooks_again() {
    let db = builder().model::<Folder>().build().unwrap();
    let mut attempts = 0;
    db.write(|tx| {
        attempts += 1;
        tx.create(folder("x", None))?;
        if attempts == 1 { Err(KvError::Retry("planned".into()).into()) } else { Ok(()) }
    })
    .unwrap();
    assert_log(["created", "renamed x", "created", "renamed x"]);
    assert_eq!(db.read(|tx| tx.all::<Folder>()?.count()).unwrap(), 1);
}

#[test]
fn a_transaction_for_reading_refuses_what_hooks_would_be_told_of() {
    let db = builder().model::<Folder>().build().unwrap();
    let x = db.write(|tx| Ok(tx.create(folder("x", None))?.to_ref())).unwrap();
    crate::hooks::LOG.take();
    let refused = db.read(|tx| tx.get(x)?.set_name("y"));
    assert!(matches!(refused, Err(Error::Object(permazen::object::Error::ReadOnly))));
    assert_log([]);
}

#[derive(PermazenObject, Default)]
struct Plain {
    n: i32,
    other: i64,
}

mod hooked {
    use super::*;

    #[derive(PermazenObject, Default)]
    #[permazen(hooks)]
    pub(super) struct Plain {
        pub(super) n: i32,
        pub(super) other: i64,
    }

    #[permazen::hooks]
    impl Plain {
        #[on_change(fields(n))]
        fn changed(_: Obj<'_, Self>) -> Result<()> {
            Ok(())
        }
    }
}

#[test]
fn hooks_cost_nothing_where_they_watch_nothing() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let counter = store.counter();
    let plain = Permazen::builder_shared(store.clone()).model::<Plain>().build().unwrap();
    let hooked = Permazen::builder_shared(store).model::<hooked::Plain>().build().unwrap();
    let cost = |set: &dyn Fn()| {
        counter.take();
        set();
        let cost = counter.take();
        (cost.reads(), cost.writes())
    };
    let begins = [&plain, &hooked].map(|db| {
        drop(db.begin_read().unwrap());
        cost(&|| drop(db.begin_read().unwrap()))
    });
    assert_eq!(begins[0], begins[1]);
    let tx = plain.begin().unwrap();
    let it = tx.create(Plain { n: 1, other: 1 }).unwrap();
    let without = cost(&|| it.set_n(2).unwrap());
    assert_eq!(without, (0, 1));
    assert_eq!(cost(&|| it.set_other(2).unwrap()), without);
    tx.commit().unwrap();
    let tx = hooked.begin().unwrap();
    let it = tx.create(hooked::Plain { n: 1, other: 1 }).unwrap();
    // A watched field is read before it is set.
    assert_eq!(cost(&|| it.set_n(2).unwrap()), (1, 1));
    assert_eq!(cost(&|| it.set_other(2).unwrap()), without);
}

#[test]
fn hooks_of_many_transactions_in_many_threads_do_not_meet() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    #[derive(PermazenObject, Default)]
    #[permazen(hooks)]
    struct Counted {
        n: i64,
        sum: i64,
    }

    #[permazen::hooks]
    impl Counted {
        #[on_change(fields(n))]
        fn add(this: Obj<'_, Self>) -> Result<()> {
            CALLS.fetch_add(1, Ordering::Relaxed);
            this.set_sum(this.sum()? + this.n()?)
        }
    }

    let db = builder().model::<Counted>().build().unwrap();
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let db = db.clone();
            scope.spawn(move || {
                let it = db.write(|tx| Ok(tx.create_default::<Counted>()?.to_ref())).unwrap();
                for n in 1..=10 {
                    db.write(|tx| tx.get(it)?.set_n(n * thread)).unwrap();
                }
                assert_eq!(db.read(|tx| tx.get(it)?.sum()).unwrap(), 55 * thread);
            });
        }
    });
    assert!(CALLS.load(Ordering::Relaxed) >= 40);
}
