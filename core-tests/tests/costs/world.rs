//! The models of docs/src/costs.md, and a database with objects of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::kv::counting::{Counter as Counting, CountingStore, Operations};
use permazen::kv::memory::MemoryStore;
use permazen::{
    Counter, Model, Obj, ObjId, ObjIdGenerator, Permazen, PermazenObject, Ref, Result, Tx,
};

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(hooks, composite(name = "byAuthorYear", fields(author, year)))]
pub(crate) struct Note {
    pub text: String,
    #[permazen(indexed)]
    pub title: String,
    #[permazen(indexed, unique)]
    pub code: i32,
    pub author: String,
    pub year: i32,
    /// A hook watches it.
    pub watched: i32,
    pub views: Counter,
    #[permazen(inverse_delete = "nullify", cascade(inverse = ["thread"]))]
    pub answers: Option<Ref<Note>>,
}

#[permazen::hooks]
impl Note {
    #[on_change(fields(watched))]
    fn watch(_this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
}

#[derive(PermazenObject, Debug, Default, Clone)]
pub(crate) struct Bag {
    pub labels: BTreeSet<i32>,
    pub list: Vec<i32>,
    pub map: BTreeMap<i32, i32>,
    #[permazen(element(indexed))]
    pub indexed_set: BTreeSet<i32>,
    #[permazen(element(indexed))]
    pub indexed_list: Vec<i32>,
    #[permazen(key(indexed), value(indexed))]
    pub indexed_map: BTreeMap<i32, i32>,
}

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(singleton)]
pub(crate) struct Settings {
    pub theme: i32,
}

#[derive(PermazenObject, Debug, Default, Clone)]
pub(crate) struct Checked {
    #[permazen(validate = positive)]
    pub number: i32,
    pub name: String,
}

fn positive(number: &i32) -> Result<(), &'static str> {
    if *number > 0 { Ok(()) } else { Err("is not positive") }
}

/// `Moving` in the version before.
mod before {
    #[derive(permazen::PermazenObject, Debug, Default, Clone)]
    #[permazen(name = "Moving")]
    pub(crate) struct Moving {
        pub name: String,
        pub number: i32,
    }
}

#[derive(PermazenObject, Debug, Default, Clone)]
pub(crate) struct Moving {
    pub name: String,
    pub number: i64,
    pub fresh: i32,
}

pub(crate) struct World {
    db: Permazen,
    counting: Counting,
    /// The second to the fourth answer the first. The fifth to the tenth have its title.
    pub notes: Vec<Ref<Note>>,
    bag: Ref<Bag>,
    checked: Ref<Checked>,
    /// Of the schema before.
    moving: ObjId,
}

/// A measured operation. Its work before [`World::start`] does not count.
pub(crate) type Measure = fn(&World, &Tx);

impl World {
    pub(crate) fn new() -> World {
        let store = CountingStore::new(MemoryStore::new());
        let counting = store.counter();
        let store = Arc::new(store);
        let old = Permazen::builder_shared(store.clone()).model::<before::Moving>();
        let old = old.build().unwrap();
        let moving = before::Moving { name: "a".into(), number: 1 };
        let moving = old.write(|tx| Ok(tx.create(&moving)?.id())).unwrap();
        let db = Permazen::builder_shared(store)
            .model::<Note>()
            .model::<Bag>()
            .model::<Checked>()
            .model::<Settings>()
            .model::<Moving>();
        let db = db.build().unwrap();
        // The transaction remembers objects by their IDs, so what it must look up depends on these.
        db.database().set_id_generator(ObjIdGenerator::from_seed(1));
        let world = db.write(|tx| {
            let mut notes: Vec<Ref<Note>> = Vec::new();
            for code in 1..=10 {
                let answers = if code <= 4 { notes.first().copied() } else { None };
                let title = if code <= 4 { format!("t{code}") } else { "same".into() };
                notes.push(tx.create(&Note { answers, title, ..note(code) })?.to_ref());
            }
            let checked = tx.create(Checked { number: 1, name: "a".into() })?.to_ref();
            tx.singleton::<Settings>()?;
            let (db, counting) = (db.clone(), counting.clone());
            let bag = tx.create(bag())?.to_ref();
            Ok(World { db, counting, notes, bag, checked, moving })
        });
        world.unwrap()
    }

    /// The cost of an operation.
    pub(crate) fn cost(&self, measure: Measure) -> Operations {
        let tx = self.db.begin().unwrap();
        self.start();
        measure(self, &tx);
        let cost = self.counting.take();
        tx.rollback().unwrap();
        cost
    }

    /// Forgets the counts so far.
    pub(crate) fn start(&self) {
        self.counting.take();
    }

    pub(crate) fn db(&self) -> &Permazen {
        &self.db
    }

    /// The note with this code. The transaction has used it before; this does not count.
    pub(crate) fn note<'t>(&self, tx: &'t Tx, code: usize) -> Obj<'t, Note> {
        self.used(tx, self.notes[code - 1])
    }

    pub(crate) fn bag<'t>(&self, tx: &'t Tx) -> Obj<'t, Bag> {
        self.used(tx, self.bag)
    }

    pub(crate) fn checked<'t>(&self, tx: &'t Tx) -> Obj<'t, Checked> {
        self.used(tx, self.checked)
    }

    pub(crate) fn moving<'t>(&self, tx: &'t Tx) -> Obj<'t, Moving> {
        self.used(tx, Ref::new(self.moving))
    }

    fn used<'t, M: Model>(&self, tx: &'t Tx, object: Ref<M>) -> Obj<'t, M> {
        let object = tx.get(object).unwrap();
        assert!(object.exists().unwrap());
        self.start();
        object
    }
}

/// A note in which every field but the reference has a value.
pub(crate) fn note(code: i32) -> Note {
    Note {
        text: "a".into(),
        title: format!("t{code}"),
        code,
        author: "Ann".into(),
        year: 2000 + code,
        watched: 1,
        views: Counter(1),
        answers: None,
    }
}

pub(crate) fn bag() -> Bag {
    let map: BTreeMap<i32, i32> = [(1, 1), (2, 2), (3, 3)].into();
    Bag {
        labels: [1, 2, 3].into(),
        list: vec![1, 2, 3],
        map: map.clone(),
        indexed_set: [1, 2, 3].into(),
        indexed_list: vec![1, 2, 3],
        indexed_map: map,
    }
}
