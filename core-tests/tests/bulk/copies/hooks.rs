//! Which hooks and observers know of transactions in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use permazen::kv::memory::MemoryStore;
use permazen::model::{Copy, creations};
use permazen::{Error, Obj, Permazen, PermazenObject, Result};

#[derive(PermazenObject, Default, Debug)]
#[permazen(hooks)]
struct Article {
    #[permazen(indexed, unique)]
    title: String,
    /// How often the hook was called.
    made: i32,
}

#[permazen::hooks]
impl Article {
    #[on_change(fields(title))]
    fn titled(this: Obj<'_, Self>) -> Result<()> {
        this.set_made(this.made()? + 1)
    }
}

/// Has no hooks, but others may observe it.
#[derive(PermazenObject, Default, Debug)]
struct Plain {
    name: String,
}

#[test]
fn hooks_of_models_know_of_transactions_in_memory_and_observers_of_the_database_do_not() {
    let db =
        Permazen::builder(MemoryStore::new()).model::<Article>().model::<Plain>().build().unwrap();
    let counter = || Arc::new(AtomicUsize::new(0));
    let (everywhere, committed, in_source, in_memory) =
        (counter(), counter(), counter(), counter());
    let told = |counter: &Arc<AtomicUsize>| counter.load(Ordering::Relaxed);

    let count = Arc::clone(&everywhere);
    db.observe(creations::<Article>(), move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
    .unwrap();
    let count = Arc::clone(&committed);
    db.observe_committed(move |_: permazen::Ref<Article>, _| {
        count.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();

    let (memory, article) = db
        .write(|tx| {
            let count = Arc::clone(&in_source);
            tx.observe(creations::<Article>(), move |_, _| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })?;
            let article = tx.create(Article { title: "one".into(), made: 0 })?;
            Ok((tx.detached()?, (article.to_ref(), tx.snapshot()?)))
        })
        .unwrap();
    let (article, source) = article;
    assert_eq!((told(&everywhere), told(&committed), told(&in_source)), (1, 1, 1));

    // A new object, and a copy: the hook of the model is called for both.
    let new = memory.create(Article { title: "two".into(), made: 0 }).unwrap();
    assert_eq!(new.made().unwrap(), 1);
    let article = source.get(article).unwrap();
    assert_eq!(article.made().unwrap(), 1, "the hook was called where it was created");
    let copy = article.copy_to(&memory, Copy::new()).unwrap();
    assert_eq!(copy.made().unwrap(), 2);
    let silent = article.copy_to(&memory, Copy::new().clone_ids().silent()).unwrap();
    assert_eq!(silent.made().unwrap(), 1);

    // The rules of the models hold, when they are asked for: there is no commit.
    let broken = memory.validate().unwrap_err();
    assert!(matches!(broken, Error::Invalid(_)), "{broken}");

    // Observers of this transaction are called, also for copies of objects whose model has no
    // hooks.
    let count = Arc::clone(&in_memory);
    memory
        .observe(creations::<Plain>(), move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    let plain = source.create(Plain::default()).unwrap();
    plain.copy_to(&memory, Copy::new()).unwrap();
    assert_eq!(told(&in_memory), 1);

    // Neither the observers of the database nor those of the source were called for any of this.
    assert_eq!((told(&everywhere), told(&committed), told(&in_source)), (1, 1, 1));
}
