//! The measured operations, by the names that they have on the page.

use permazen::Tx;
use permazen::model::{Copy, Path};

use crate::world::{Checked, Measure, Note, Settings, bag, note};

type Measures = &'static [(&'static str, Measure)];

pub(crate) const ALL: &[Measures] =
    &[FIELDS, COLLECTIONS, OBJECTS, QUERIES, REFERENCES, RULES, HOOKS, COPIES, MOVES];

const FIELDS: Measures = &[
    ("read a field", |w, tx| drop(w.note(tx, 1).text().unwrap())),
    ("set a field", |w, tx| w.note(tx, 1).set_text("b").unwrap()),
    ("set a field to the default of its type", |w, tx| w.checked(tx).set_number(0).unwrap()),
    ("set an indexed field", |w, tx| w.note(tx, 1).set_title("b").unwrap()),
    ("set an indexed field to the value that it has", |w, tx| {
        w.note(tx, 1).set_title("t1").unwrap();
    }),
    ("set a unique field", |w, tx| w.note(tx, 1).set_code(99).unwrap()),
    ("set a field of a composite index on two", |w, tx| w.note(tx, 1).set_year(1).unwrap()),
    ("set a field that a hook watches", |w, tx| w.note(tx, 1).set_watched(2).unwrap()),
    ("follow a reference", |w, tx| assert!(w.note(tx, 2).answers().unwrap().is_some())),
    ("set a reference to an object not used before", |w, tx| {
        w.note(tx, 2).set_answers(w.notes[8]).unwrap()
    }),
    ("read a counter", |w, tx| assert_eq!(w.note(tx, 1).views().get().unwrap(), 1)),
    ("add to a counter", |w, tx| w.note(tx, 1).views().add(1).unwrap()),
    ("set a counter", |w, tx| w.note(tx, 1).views().set(7).unwrap()),
];

const COLLECTIONS: Measures = &[
    ("get a collection: `bag.list()`", |w, tx| drop(w.bag(tx).list().unwrap())),
    ("`contains` of a set, `get` of a map", |w, tx| {
        assert!(w.bag(tx).labels().unwrap().contains(2).unwrap());
    }),
    ("`get` of a list", |w, tx| assert_eq!(w.bag(tx).list().unwrap().get(1).unwrap(), Some(2))),
    ("`len` of a list", |w, tx| assert_eq!(w.bag(tx).list().unwrap().len().unwrap(), 3)),
    ("read a collection of three elements", |w, tx| {
        assert_eq!(w.bag(tx).labels().unwrap().iter().count(), 3);
    }),
    ("`add` to a set", |w, tx| {
        assert!(w.bag(tx).labels().unwrap().add(4).unwrap());
    }),
    ("`add` to an indexed set", |w, tx| {
        assert!(w.bag(tx).indexed_set().unwrap().add(4).unwrap());
    }),
    ("`remove` from a set", |w, tx| {
        assert!(w.bag(tx).labels().unwrap().remove(2).unwrap());
    }),
    ("`remove` from an indexed set", |w, tx| {
        assert!(w.bag(tx).indexed_set().unwrap().remove(2).unwrap());
    }),
    ("`insert` a new key into a map", |w, tx| {
        let _old = w.bag(tx).map().unwrap().insert(4, 4).unwrap();
    }),
    ("`insert` a new key into a map with two indexes", |w, tx| {
        let _old = w.bag(tx).indexed_map().unwrap().insert(4, 4).unwrap();
    }),
    ("`push` to a list", |w, tx| w.bag(tx).list().unwrap().push(4).unwrap()),
    ("`push` to an indexed list", |w, tx| {
        w.bag(tx).indexed_list().unwrap().push(4).unwrap();
    }),
    ("`pop` from a list", |w, tx| {
        let _old = w.bag(tx).list().unwrap().pop().unwrap();
    }),
    ("`set` in a list", |w, tx| {
        let _old = w.bag(tx).list().unwrap().set(1, 7).unwrap();
    }),
    ("`insert` before two elements of a list", |w, tx| {
        w.bag(tx).list().unwrap().insert(1, 7).unwrap();
    }),
];

const OBJECTS: Measures = &[
    ("`tx.get(reference)`", |w, tx| assert_eq!(tx.get(w.notes[0]).unwrap().to_ref(), w.notes[0])),
    ("`exists`, for an object not used before", |w, tx| {
        assert!(tx.get(w.notes[0]).unwrap().exists().unwrap());
    }),
    ("`create` a note with all values, but without reference", |w, tx| {
        let note = note(77);
        w.start();
        tx.create(&note).unwrap();
    }),
    ("`create_many`: two notes like that", |w, tx| {
        let notes = [note(77), note(78)];
        w.start();
        tx.create_many(&notes).unwrap();
    }),
    ("`create_default` a note", |_, tx| assert!(tx.create_default::<Note>().is_ok())),
    ("`load` a note", |w, tx| drop(w.note(tx, 1).load().unwrap())),
    ("`store` a note of which nothing has changed", |w, tx| {
        let value = w.note(tx, 1).load().unwrap();
        w.start();
        w.note(tx, 1).store(&value).unwrap();
    }),
    ("`store` a note of which the text has changed", |w, tx| {
        let value = Note { text: "b".into(), ..w.note(tx, 1).load().unwrap() };
        w.start();
        w.note(tx, 1).store(&value).unwrap();
    }),
    ("`delete` a note to which nothing refers", |w, tx| {
        assert!(w.note(tx, 10).delete().unwrap());
    }),
    ("`delete` a note that three others answer", |w, tx| {
        assert!(w.note(tx, 1).delete().unwrap());
    }),
    ("`create` a bag", |w, tx| {
        let bag = bag();
        w.start();
        tx.create(&bag).unwrap();
    }),
    ("`load` a bag", |w, tx| drop(w.bag(tx).load().unwrap())),
    ("`delete` a bag", |w, tx| assert!(w.bag(tx).delete().unwrap())),
    ("begin a transaction, and end it", |w, _| w.db().read(|_: &Tx| Ok(())).unwrap()),
];

const QUERIES: Measures = &[
    ("`tx.index(Note::TITLE)?`, `.get(…)`, `.range(…)`", |_, tx| {
        let _ = tx.index(Note::TITLE).unwrap().range("a"..).unwrap();
    }),
    ("`find`, if there is one", |_, tx| {
        assert!(tx.find(Note::TITLE, "t1").unwrap().is_some());
    }),
    ("`find`, if there is none", |_, tx| {
        assert!(tx.find(Note::TITLE, "none").unwrap().is_none());
    }),
    ("the six objects with a value", |_, tx| {
        assert_eq!(tx.index(Note::TITLE).unwrap().get("same").unwrap().iter().count(), 6);
    }),
    ("`contains` of these", |w, tx| {
        assert!(tx.index(Note::TITLE).unwrap().get("same").unwrap().contains(w.notes[6]).unwrap());
    }),
    ("`count` of these", |_, tx| {
        assert_eq!(tx.index(Note::TITLE).unwrap().get("same").unwrap().count().unwrap(), 6);
    }),
    ("a range of four entries", |_, tx| {
        assert_eq!(tx.index(Note::TITLE).unwrap().range("t1"..="t4").unwrap().iter().count(), 4);
    }),
    ("the first or last entry of a range", |_, tx| {
        assert!(tx.index(Note::TITLE).unwrap().range("t"..).unwrap().first().unwrap().is_some());
    }),
    ("three entries of ten: `.iter().take(3)`", |_, tx| {
        assert_eq!(tx.index(Note::CODE).unwrap().iter().take(3).count(), 3);
    }),
    ("a page of three: `.page(3, None)`", |_, tx| {
        drop(tx.index(Note::CODE).unwrap().page(3, None).unwrap());
    }),
    ("a composite index: one author, a range of three years", |_, tx| {
        let years = tx.index(Note::BY_AUTHOR_YEAR).unwrap().prefix("Ann").unwrap();
        assert_eq!(years.range(2002..2005).unwrap().iter().count(), 3);
    }),
    ("the intersection of six objects and one", |_, tx| {
        let same = tx.index(Note::TITLE).unwrap().get("same").unwrap();
        let one = tx.index(Note::CODE).unwrap().get(7).unwrap();
        assert_eq!(same.intersection(one).iter().count(), 1);
    }),
    ("the union of six objects and one", |_, tx| {
        let same = tx.index(Note::TITLE).unwrap().get("same").unwrap();
        let one = tx.index(Note::CODE).unwrap().get(1).unwrap();
        assert_eq!(same.union(one).iter().count(), 7);
    }),
    ("all ten notes: `tx.all::<Note>()`", |_, tx| {
        assert_eq!(tx.all::<Note>().unwrap().iter().count(), 10);
    }),
    ("how many notes: `tx.all::<Note>()?.count()`", |_, tx| {
        assert_eq!(tx.all::<Note>().unwrap().count().unwrap(), 10);
    }),
    ("is there a note: `tx.all::<Note>()?.is_empty()`", |_, tx| {
        assert!(!tx.all::<Note>().unwrap().is_empty().unwrap());
    }),
];

const REFERENCES: Measures = &[
    ("`note.referrers(Note::ANSWERS)?`, three objects", |w, tx| {
        assert_eq!(w.note(tx, 1).referrers(Note::ANSWERS).unwrap().iter().count(), 3);
    }),
    ("a path of one step forward", |w, tx| {
        let path = Path::of::<Note>().to(Note::ANSWERS);
        w.start();
        assert!(w.note(tx, 2).follow(&path).unwrap().is_some());
    }),
    ("a path of one step back to three objects", |w, tx| {
        let path = Path::of::<Note>().from(Note::ANSWERS);
        w.start();
        assert_eq!(w.note(tx, 1).follow(&path).unwrap().iter().count(), 3);
    }),
    ("a path of a step forward and a step back", |w, tx| {
        let path = Path::of::<Note>().to(Note::ANSWERS).from(Note::ANSWERS);
        w.start();
        assert_eq!(w.note(tx, 2).follow(&path).unwrap().iter().count(), 3);
    }),
];

const RULES: Measures = &[
    ("a commit that has changed nothing that rules are about", |w, tx| {
        w.note(tx, 1).set_text("b").unwrap();
        w.start();
        tx.validate().unwrap();
    }),
    ("a changed unique field", |w, tx| {
        w.note(tx, 1).set_code(99).unwrap();
        w.start();
        tx.validate().unwrap();
    }),
    ("a changed field with own validation", |w, tx| {
        w.checked(tx).set_number(5).unwrap();
        w.start();
        tx.validate().unwrap();
    }),
    ("a new object with own validation", |w, tx| {
        tx.create(Checked { number: 5, name: "b".into() }).unwrap();
        w.start();
        tx.validate().unwrap();
    }),
    ("`tx.singleton::<Settings>()`, if it is there", |_, tx| {
        assert!(tx.singleton::<Settings>().is_ok());
    }),
];

const HOOKS: Measures = &[
    ("set a field that no hook watches, of a model with hooks", |w, tx| {
        w.note(tx, 3).set_text("c").unwrap();
    }),
    ("set a watched field to the value that it has", |w, tx| {
        w.note(tx, 1).set_watched(1).unwrap();
    }),
];

const COPIES: Measures = &[
    ("`tx.snapshot()`", |_, tx| drop(tx.snapshot().unwrap())),
    ("copy a note to a detached transaction", |w, tx| {
        let memory = tx.detached().unwrap();
        w.start();
        w.note(tx, 10).copy_to(&memory, Copy::new()).unwrap();
    }),
    ("copy a note and its three answers, by a cascade", |w, tx| {
        let memory = tx.detached().unwrap();
        w.start();
        w.note(tx, 1).copy_to(&memory, Copy::new().cascade("thread")).unwrap();
    }),
    ("copy a note to a new one in the same transaction", |w, tx| {
        w.note(tx, 10).copy_to(tx, Copy::new().clone_ids()).unwrap();
    }),
];

const MOVES: Measures = &[
    ("read or set a field of the same definition", |w, tx| {
        w.moving(tx).set_name("b").unwrap();
    }),
    ("read a field that is new", |w, tx| {
        assert_eq!(w.moving(tx).fresh().unwrap(), 0);
    }),
    ("set a field that is new: the object moves", |w, tx| {
        w.moving(tx).set_fresh(1).unwrap();
    }),
    ("`migrate`", |w, tx| assert!(w.moving(tx).migrate().unwrap())),
    ("`migrate` an object that has moved", |w, tx| {
        assert!(w.moving(tx).migrate().unwrap());
        assert!(!w.moving(tx).migrate().unwrap());
    }),
];
