//! A value that an object loses as it moves to another schema leaves no null where the model
//! requires a value.

use permazen::kv::KvDatabase;
use permazen::object::{CopyOptions, Migrate};
use permazen::{Any, PermazenEnum, PermazenObject, Ref, Tx};

use super::*;

mod before {
    use super::*;

    #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
    pub(super) enum State {
        Open,
        Closed,
        Waiting,
    }

    #[derive(PermazenObject)]
    #[permazen(storage_id = 100)]
    pub(super) struct Person {
        pub(super) name: String,
    }

    #[derive(PermazenObject)]
    #[permazen(storage_id = 200)]
    pub(super) struct Issue {
        pub(super) state: State,
        pub(super) text: i32,
        pub(super) about: Ref<Any>,
        pub(super) labels: Vec<i32>,
        pub(super) mail: Option<String>,
        pub(super) votes: i32,
    }
}

mod after {
    use super::*;

    #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
    pub(super) enum State {
        Open,
        Closed,
    }

    #[derive(PermazenObject)]
    #[permazen(storage_id = 100)]
    pub(super) struct Person {
        pub(super) name: String,
    }

    #[derive(PermazenObject)]
    #[permazen(storage_id = 200)]
    pub(super) struct Issue {
        #[permazen(upgrade = "lossy")]
        pub(super) state: State,
        #[permazen(upgrade = "reset")]
        pub(super) text: String,
        #[permazen(upgrade = "lossy")]
        pub(super) about: Ref<Issue>,
        #[permazen(upgrade = "lossy")]
        pub(super) labels: String,
        #[permazen(was = "mail")]
        pub(super) email: String,
        pub(super) votes: i32,
        pub(super) tags: Vec<i32>,
    }
}

fn old(store: &Arc<dyn KvDatabase>) -> Permazen {
    let builder = Permazen::builder_shared(Arc::clone(store));
    builder.model::<before::Person>().model::<before::Issue>().build().unwrap()
}

fn new(store: &Arc<dyn KvDatabase>) -> Permazen {
    let builder = Permazen::builder_shared(Arc::clone(store));
    builder.model::<after::Person>().model::<after::Issue>().build().unwrap()
}

/// An issue of the program before, in which all values are lost but `mail`, which it lacks.
fn stored() -> (Arc<dyn KvDatabase>, ObjId) {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let id = old(&store).write(|tx| {
        let ann = tx.create(before::Person { name: "Ann".into() })?.to_ref();
        let issue = before::Issue {
            state: before::State::Waiting,
            text: 7,
            about: Ref::new(ann.id()),
            labels: Vec::new(),
            mail: None,
            votes: 1,
        };
        Ok(tx.create(issue)?.id())
    });
    (store, id.unwrap())
}

fn paths(violations: &Violations) -> Vec<&str> {
    assert!(violations.iter().all(|it| it.rule == Rule::Required), "{violations}");
    violations.iter().map(|it| &*it.path).collect()
}

#[test]
fn what_a_move_for_a_change_loses_must_be_set() {
    let (store, id) = stored();
    let db = new(&store);
    // A field that the old schema has, one that it lacks, and a collection.
    let changes: [fn(&Tx, ObjId) -> Result<()>; 4] = [
        |tx, id| tx.get::<after::Issue>(id)?.set_email("x"),
        |tx, id| tx.get::<after::Issue>(id)?.tags()?.push(1),
        |tx, id| {
            let core = tx.core();
            let value = permazen::encoding::Value::String("x".into());
            Ok(core.set(id, "email", &value, Migrate::Yes)?)
        },
        |tx, id| tx.get::<after::Issue>(id)?.set_state(after::State::Open),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let refused = violations(db.write(|tx| change(tx, id)));
        let expected: &[&str] = match number {
            3 => &["Issue.about", "Issue.text"],
            _ => &["Issue.about", "Issue.state", "Issue.text"],
        };
        assert_eq!(paths(&refused), expected, "change {number}");
    }
    // The program before still has everything.
    let seen = old(&store).read(|tx| tx.get::<before::Issue>(id)?.load()).unwrap();
    assert_eq!((seen.state, seen.text), (before::State::Waiting, 7));
    // With values, the object moves.
    db.write(|tx| {
        let issue = tx.get::<after::Issue>(id)?;
        issue.tags()?.push(1)?;
        issue.set_state(after::State::Closed)?;
        issue.set_text("seven")?;
        issue.set_about(issue)?;
        Ok(())
    })
    .unwrap();
    // The values that it lacked before do not count: the e-mail address, and the label that no list
    // had.
    let report = db.check_rules().unwrap();
    assert_eq!(paths(&report.violations), ["Issue.labels", "Issue.email"]);
}

/// Programs whose collections have elements of different types. A move to the second one loses the
/// text.
mod collections {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    pub(super) mod before {
        use super::*;

        #[derive(PermazenObject)]
        pub(in super::super) struct Note {
            pub(in super::super) text: i32,
            pub(in super::super) labels: Vec<i32>,
            pub(in super::super) marks: BTreeSet<i32>,
            pub(in super::super) sizes: BTreeMap<String, i32>,
        }
    }

    pub(super) mod after {
        use super::*;

        #[derive(PermazenObject)]
        pub(in super::super) struct Note {
            #[permazen(upgrade = "reset")]
            pub(in super::super) text: String,
            pub(in super::super) labels: Vec<i64>,
            pub(in super::super) marks: BTreeSet<i64>,
            pub(in super::super) sizes: BTreeMap<String, i64>,
        }
    }
}

#[test]
fn what_a_move_for_the_content_of_a_collection_loses_must_be_set() {
    use collections::{after, before};
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let old = open::<before::Note>(&store).build().unwrap();
    let id = old.write(|tx| {
        let (labels, marks, sizes) = Default::default();
        Ok(tx.create(before::Note { text: 7, labels, marks, sizes })?.id())
    });
    let id = id.unwrap();
    let db = open::<after::Note>(&store).build().unwrap();
    let setters: [fn(&Tx, ObjId) -> Result<()>; 3] = [
        |tx, id| tx.get::<after::Note>(id)?.set_labels([1_i64]),
        |tx, id| tx.get::<after::Note>(id)?.set_marks([1_i64]),
        |tx, id| tx.get::<after::Note>(id)?.set_sizes([("m", 1_i64)]),
    ];
    for (number, set) in setters.into_iter().enumerate() {
        let refused = violations(db.write(|tx| set(tx, id)));
        assert_eq!(paths(&refused), ["Note.text"], "setter {number}");
    }
    // The program before still has everything.
    assert_eq!(old.read(|tx| tx.get::<before::Note>(id)?.text()).unwrap(), 7);
    db.write(|tx| {
        setters.iter().try_for_each(|set| set(tx, id))?;
        tx.get::<after::Note>(id)?.set_text("seven")
    })
    .unwrap();
    let seen = db.read(|tx| tx.get::<after::Note>(id)?.load()).unwrap();
    assert_eq!((&*seen.text, seen.labels, seen.sizes.len()), ("seven", vec![1], 1));
}

#[test]
fn a_change_of_a_field_where_it_is_moves_nothing() {
    let (store, id) = stored();
    let db = new(&store);
    db.write(|tx| tx.get::<after::Issue>(id)?.set_votes(2)).unwrap();
    let seen = old(&store).read(|tx| tx.get::<before::Issue>(id)?.load()).unwrap();
    assert_eq!((seen.text, seen.votes), (7, 2));
}

#[test]
fn a_schema_that_the_transaction_records_counts() {
    let (store, id) = stored();
    let old = old(&store);
    let db = Permazen::builder(MemoryStore::new()).model::<after::Person>().model::<after::Issue>();
    let db = db.build().unwrap();
    let refused = db.write(|tx| {
        tx.core().add_schema(&old.read(|tx| Ok((*tx.schema().model).clone()))?)?;
        let source = old.begin_read()?;
        for person in source.all::<before::Person>()?.ids() {
            source.core().copy_to(person?, tx.core(), &mut CopyOptions::new())?;
        }
        source.core().copy_to(id, tx.core(), &mut CopyOptions::new())?;
        Ok(())
    });
    let refused = violations(refused);
    assert_eq!(paths(&refused), ["Issue.email"], "{refused}");
}
