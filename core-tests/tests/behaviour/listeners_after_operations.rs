//! An operation that changes several things calls listeners when all changes are made. Listeners
//! never see a part of it, and their changes do not mix with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use permazen::encoding::Value;
use permazen::kv::counting::CountingStore;
use permazen::kv::memory::MemoryStore;
use permazen::object::{
    ChangeKind, CopyOptions, Error, FieldChange, IdMap, Migrate, ObjectBuilder, Result,
    Transaction, Watch,
};
use permazen::{Counter, Permazen, PermazenObject, Ref, StorageId, Tx};

use crate::support::*;

// ---------------------------------------------------------------------- typed objects

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
#[permazen(storage_id = 10)]
struct Note {
    #[permazen(storage_id = 11)]
    title: String,
    #[permazen(storage_id = 12, indexed)]
    rank: i32,
    #[permazen(storage_id = 13)]
    tags: Vec<String>,
    #[permazen(storage_id = 15)]
    labels: BTreeSet<String>,
    #[permazen(storage_id = 17)]
    scores: BTreeMap<String, i32>,
    #[permazen(storage_id = 19)]
    links: Vec<Ref<Note>>,
    #[permazen(storage_id = 21)]
    hits: Counter,
}

const FIELDS: [&str; 6] = ["title", "rank", "tags", "labels", "scores", "links"];

fn note(title: &str, rank: i32, tags: &[&str]) -> Note {
    let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
    Note {
        title: title.to_owned(),
        rank,
        labels: tags.iter().cloned().collect(),
        scores: tags.iter().map(|tag| (tag.clone(), rank)).collect(),
        tags,
        links: Vec::new(),
        hits: Counter(i64::from(rank)),
    }
}

fn notes() -> Permazen {
    Permazen::builder(MemoryStore::new()).model::<Note>().build().unwrap()
}

fn on_note(
    tx: &Tx,
    field: &str,
    listener: impl Fn(&Transaction, &FieldChange) -> Result<()> + Send + Sync + 'static,
) {
    let field = tx.core().field_storage_id("Note", field).unwrap();
    tx.core()
        .on_change(field, Watch::itself(), Arc::new(move |tx, change, _| listener(tx, change)))
        .unwrap();
}

#[test]
fn a_stored_object_is_not_mixed_with_what_its_listeners_write() {
    notes()
        .write(|tx| {
            let object = tx.create(note("first", 1, &["a", "b", "c"]))?;
            on_note(tx, "rank", |tx, change| {
                let tags = tx.list_view(change.id(), "tags", Migrate::No)?;
                tags.insert(0, &Value::from("renamed"))?;
                tx.map_view(change.id(), "scores", Migrate::No)?.clear()
            });
            object.store(&note("second", 2, &["a"]))?;
            let stored = object.load()?;
            assert_eq!(stored.tags, ["renamed", "a"]);
            assert_eq!(stored.scores, BTreeMap::new());
            assert_eq!(
                (stored.title.as_str(), stored.rank, stored.hits),
                ("second", 2, Counter(1)),
                "the counter keeps its number"
            );
            Ok(())
        })
        .unwrap();
}

#[test]
fn every_listener_sees_all_content_of_a_stored_object() {
    notes()
        .write(|tx| {
            let other = tx.create(note("other", 0, &[]))?;
            let object = tx.create(note("first", 1, &["a", "b", "c"]))?;
            let (seen, log) = Log::pair();
            for field in FIELDS {
                let log = log.clone();
                on_note(tx, field, move |tx, change| {
                    let data = tx.load(change.id(), Migrate::No)?;
                    let all: Result<Vec<_>> = FIELDS.iter().map(|name| data.decode(name)).collect();
                    log.add((field, all?))
                });
            }
            let new = Note { links: vec![other.to_ref()], ..note("second", 2, &["x"]) };
            object.store(&new)?;
            let data = tx.core().load(object.id(), Migrate::No)?;
            let now: Vec<_> = FIELDS.iter().map(|name| data.decode(name).unwrap()).collect();
            let seen = seen.all();
            let changed: BTreeSet<_> = seen.iter().map(|(field, _)| *field).collect();
            assert_eq!(changed, BTreeSet::from(FIELDS));
            assert!(seen.iter().all(|(_, then)| *then == now), "{seen:?}");
            Ok(())
        })
        .unwrap();
}

/// A listener's change comes after `store`. The listeners that are called later still get what
/// `store` changed.
#[test]
fn listeners_get_what_store_changed_although_a_listener_has_changed_it_again() {
    notes()
        .write(|tx| {
            let object = tx.create(note("first", 1, &[]))?;
            on_note(tx, "rank", |tx, change| {
                tx.list_view(change.id(), "tags", Migrate::No)?.push(&Value::from("x"))
            });
            let (changes, log) = Log::pair();
            on_note(tx, "tags", move |_, change| {
                if let ChangeKind::ListAdd { index, value } = change.decode()? {
                    log.add(format!("{index}:{}", show(&value)))?;
                }
                Ok(())
            });
            object.store(&note("second", 2, &["a"]))?;
            assert_eq!(changes.all(), ["0:a", "1:x"]);
            assert_eq!(object.load()?.tags, ["a", "x"]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_listener_may_delete_the_object_that_is_stored() {
    let db = notes();
    db.write(|tx| {
        let object = tx.create(note("first", 1, &["a", "b"]))?;
        on_note(tx, "title", |tx, change| tx.delete(change.id()).map(drop));
        let calls = Arc::new(Mutex::new(0));
        let count = Arc::clone(&calls);
        on_note(tx, "tags", move |_, _| {
            *count.lock().unwrap() += 1;
            Ok(())
        });
        object.store(&note("second", 2, &["c"]))?;
        assert!(!object.exists()?);
        assert_eq!(*calls.lock().unwrap(), 2, "one replaced, one removed");
        assert!(tx.core().read_pairs(|kv| Ok(findings(kv)))?.is_empty());
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_listener_that_fails_leaves_all_that_was_stored() {
    notes()
        .write(|tx| {
            let object = tx.create(note("first", 1, &["a", "b"]))?;
            on_note(tx, "title", |_, _| Err(Error::listener("no")));
            let new = note("second", 2, &["c"]);
            let failed = object.store(&new);
            assert!(
                matches!(&failed, Err(permazen::Error::Object(Error::Listener(_)))),
                "{failed:?}"
            );
            let counted = Note { hits: Counter(1), ..new };
            assert_eq!(object.load()?, counted, "the counter keeps its number");
            Ok(())
        })
        .unwrap();
}

#[test]
fn storing_costs_a_scan_and_what_differs() {
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    let db = Permazen::builder(store).model::<Note>().build().unwrap();
    let (object, others, value) = db
        .write(|tx| {
            let others = [1, 2, 3].map(|n| tx.create(note("other", n, &[])).unwrap().to_ref());
            let value = Note { links: others.to_vec(), ..note("first", 1, &["a", "b"]) };
            Ok((tx.create(value.clone())?.to_ref(), others, value))
        })
        .unwrap();
    let cost = |value: &Note| {
        db.write(|tx| {
            let object = tx.get(object)?;
            object.exists()?;
            counter.take();
            object.store(value)?;
            let cost = counter.take();
            Ok((cost.gets, cost.seeks, cost.writes()))
        })
        .unwrap()
    };
    assert_eq!(cost(&value), (0, 1, 0), "references that stay are not looked at");
    // The value; the old and the new index entry.
    assert_eq!(cost(&Note { rank: 2, ..value.clone() }), (0, 1, 3));
    let [one, two, three] = others;
    let turned = Note { links: vec![one, three, two], rank: 2, hits: Counter(2), ..value };
    // A get for each object that a place newly refers to. Each place has an element and two index
    // entries. The counter keeps its number.
    assert_eq!(cost(&turned), (2, 1, 3 + 3));
}

// ---------------------------------------------------------------------- every operation

/// Lists, sets and maps, with an index and without.
const ALL: &str = r#"<Schema><ObjectType name="B" storageId="11"/><ObjectType name="A" storageId="10">
<SimpleField name="n" encoding="urn:fdc:permazen.io:2020:int" storageId="20"/>
<ReferenceField name="ref" storageId="21" inverseDelete="NULLIFY"/>
<ListField name="refs" storageId="22"><ReferenceField storageId="23" inverseDelete="NULLIFY"/></ListField>
<ListField name="gone" storageId="24"><ReferenceField storageId="25" inverseDelete="REMOVE"/></ListField>
<ListField name="plain" storageId="26"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="27"/></ListField>
<SetField name="set" storageId="28"><ReferenceField storageId="29" inverseDelete="REMOVE"/></SetField>
<MapField name="map" storageId="30"><ReferenceField storageId="31" inverseDelete="REMOVE"/><ReferenceField storageId="32" inverseDelete="NULLIFY"/></MapField>
<ReferenceField name="owner" storageId="33" inverseDelete="DELETE"/>
</ObjectType></Schema>"#;

const WATCHED: [u32; 8] = [20, 21, 22, 24, 26, 28, 30, 33];

fn to_b(numbers: &[u8]) -> Vec<Value> {
    numbers.iter().map(|n| Value::Ref(b(*n))).collect()
}

/// A1 to A3 with content in every field. A3 belongs to A2, and A1 refers to it.
fn filled(world: &World) -> Transaction {
    let tx = world.begin(ALL);
    (1..=4).for_each(|n| {
        create(&tx, b(n));
    });
    for n in 1..=3 {
        let id = create(&tx, a(n));
        set(&tx, id, "n", int(n.into()));
        set(&tx, id, "ref", Value::Ref(b(1)));
        for list in ["refs", "gone"] {
            let list = tx.list_view(id, list, Migrate::No).unwrap();
            list.extend(&to_b(&[1, 2, 1, n])).unwrap();
        }
        let plain = tx.list_view(id, "plain", Migrate::No).unwrap();
        plain.extend(&ints(&[5, 3, 4, n.into()])).unwrap();
        for target in [1, 2] {
            let target = Value::Ref(b(target));
            tx.set_view(id, "set", Migrate::No).unwrap().add(&target).unwrap();
            tx.map_view(id, "map", Migrate::No).unwrap().put(&target, &target).unwrap();
        }
    }
    set(&tx, a(3), "owner", to_a(2));
    set(&tx, a(1), "ref", to_a(2));
    tx
}

type Operation = (&'static str, fn(&Transaction) -> Result<()>);

const OPERATIONS: &[Operation] = &[
    ("ListView::extend", |tx| {
        tx.list_view(a(1), "refs", Migrate::No)?.extend(&to_b(&[3, 4])).map(drop)
    }),
    ("ListView::extend without an index", |tx| {
        tx.list_view(a(1), "plain", Migrate::No)?.extend(&ints(&[8, 9])).map(drop)
    }),
    ("ListView::insert_all", |tx| {
        tx.list_view(a(1), "plain", Migrate::No)?.insert_all(1, &ints(&[8, 9])).map(drop)
    }),
    ("ListView::remove_range", |tx| tx.list_view(a(1), "plain", Migrate::No)?.remove_range(1, 3)),
    ("ListView::retain", |tx| {
        let list = tx.list_view(a(1), "plain", Migrate::No)?;
        list.retain(|value| *value == int(3)).map(drop)
    }),
    ("ListView::clear", |tx| tx.list_view(a(1), "refs", Migrate::No)?.clear()),
    ("SetView::retain", |tx| tx.set_view(a(1), "set", Migrate::No)?.retain(|_| false).map(drop)),
    ("SetView::clear", |tx| tx.set_view(a(1), "set", Migrate::No)?.clear()),
    ("MapView::retain", |tx| tx.map_view(a(1), "map", Migrate::No)?.retain(|_, _| false).map(drop)),
    ("MapView::clear", |tx| tx.map_view(a(1), "map", Migrate::No)?.clear()),
    ("Transaction::delete that nullifies and removes", |tx| tx.delete(b(1)).map(drop)),
    ("Transaction::delete with cascades", |tx| tx.delete(a(2)).map(drop)),
    ("Transaction::create_with", |tx| {
        tx.create_with(Some(a(4)), &tx.load(a(1), Migrate::No)?).map(drop)
    }),
    ("Transaction::store_object", |tx| {
        tx.store_object(a(1), &tx.load(a(3), Migrate::No)?, Migrate::No)
    }),
    ("Transaction::store_object of nothing", |tx| {
        let object_type = tx.object_type(a(1))?;
        tx.store_object(a(1), &ObjectBuilder::new(object_type).finish(), Migrate::No)
    }),
    ("Transaction::replace_object", |tx| {
        let data = tx.load(a(3), Migrate::No)?;
        tx.replace_object(a(1), &data, &mut CopyOptions::new()).map(drop)
    }),
    ("Transaction::copy_to", |tx| {
        let mut ids = IdMap::from([(a(3), Some(a(1))), (b(1), Some(b(4)))]);
        tx.copy_to(a(3), tx, &mut CopyOptions::new().mapping_ids(&mut ids)).map(drop)
    }),
];

fn content(tx: &Transaction) -> Result<Vec<String>> {
    tx.read_pairs(|kv| {
        let pairs = kv.scan(permazen::kv::KeySpan::FULL, permazen::kv::Direction::Forward)?;
        Ok(pairs
            .map(|pair| pair.map(|(key, value)| hex(&key) + "=" + &hex(&value)).unwrap())
            .collect())
    })
}

fn findings(kv: &dyn permazen::kv::KvRead) -> Vec<String> {
    let mut findings = Vec::new();
    let options = permazen_jsck::Options::default();
    permazen_jsck::check(kv, &options, &mut |finding| findings.push(finding.to_string())).unwrap();
    findings
}

/// Calls this function on every change of every field.
fn on_all(
    tx: &Transaction,
    fields: impl IntoIterator<Item = StorageId>,
    listener: impl Fn(&Transaction, &FieldChange) -> Result<()> + Clone + Send + Sync + 'static,
) {
    for field in fields {
        let listener = listener.clone();
        tx.on_change(field, Watch::itself(), Arc::new(move |tx, change, _| listener(tx, change)))
            .unwrap();
    }
}

#[test]
fn listeners_are_called_after_all_changes_of_an_operation() {
    for (name, run) in OPERATIONS {
        let world = World::new();
        let tx = filled(&world);
        let (seen, log) = Log::pair();
        on_all(&tx, WATCHED.map(sid), move |tx, _| log.add(content(tx)?));
        run(&tx).unwrap();
        let now = content(&tx).unwrap();
        let seen = seen.all();
        assert!(!seen.is_empty(), "{name}");
        assert!(seen.iter().all(|then| *then == now), "{name}: {} calls", seen.len());
    }
}

/// The first listener that runs gives the object other content. That stays, whatever listeners are
/// still called for the operation.
#[test]
fn what_the_first_listener_makes_of_an_object_stays() {
    for (name, run) in OPERATIONS {
        let world = World::new();
        let tx = filled(&world);
        let object_type = tx.object_type(a(1)).unwrap();
        let mut other = ObjectBuilder::new(object_type);
        let list = permazen::object::FieldValue::List(ints(&[70, 71, 72]));
        other.set("plain", &list).unwrap();
        let other = other.finish();
        let mine = other.clone();
        let done = Arc::new(Mutex::new(None));
        let first = Arc::clone(&done);
        on_all(&tx, WATCHED.map(sid), move |tx, change| {
            let mut first = first.lock().unwrap();
            if first.is_none() {
                *first = Some(change.id());
                drop(first);
                tx.store_object(change.id(), &mine, Migrate::No)?;
            }
            Ok(())
        });
        run(&tx).unwrap();
        let id = done.lock().unwrap().unwrap();
        let stored = tx.load(id, Migrate::No).unwrap();
        for field in &other.object_type().fields {
            assert!(other.pairs(field).eq(stored.pairs(field)), "{name}: {} of {id}", field.name);
        }
        let wrong = tx.read_pairs(|kv| Ok(findings(kv))).unwrap();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
}
