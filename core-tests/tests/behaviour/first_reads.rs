//! The first read of an object takes its own pair and the field at once. It must find the same as a
//! later read, which knows that the object exists.

use std::sync::Arc;

use permazen::ObjId;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{Durability, KvDatabase};
use permazen::object::{Database, Migrate, Transaction, TransactionConfig};
use permazen::schema::{ResolvedField, SchemaModel};
use proptest::prelude::*;

use crate::support::*;

/// The example schema with more fields before the collections, and one after them.
fn schema() -> String {
    let field = |name: &str, id: u8| {
        let encoding = "urn:fdc:permazen.io:2020:int";
        format!(r#"<SimpleField name="{name}" encoding="{encoding}" storageId="{id}"/>"#)
    };
    let more: String = (0..4).map(|n| field(&format!("more{n}"), 16 + n)).collect();
    FOO.replace("<CounterField", &format!("{more}{}<CounterField", field("late", 40)))
}

fn config(xml: &str) -> TransactionConfig {
    TransactionConfig::new(SchemaModel::from_xml(xml.as_bytes()).unwrap()).unwrap()
}

fn stores() -> (tempfile::TempDir, Vec<Arc<dyn KvDatabase>>) {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
    let lmdb = lmdb.open(dir.path()).unwrap();
    let optimistic = OptimisticDatabase::new(MemoryStore::new());
    (dir, vec![Arc::new(lmdb), Arc::new(MemoryStore::new()), Arc::new(optimistic)])
}

/// A step on an object before it is read.
#[derive(Debug, Clone)]
enum Step {
    Set(u8, &'static str, i32),
    Name(u8, String),
    Add(u8, i32),
    Delete(u8),
    /// Creates it in the schema without the fields that were added.
    Old(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let n = 1..=4_u8;
    let ints = prop::sample::select(vec!["i", "more0", "more1", "more2", "more3", "late"]);
    prop_oneof![
        4 => (n.clone(), ints, -1..2).prop_map(|(n, name, value)| Step::Set(n, name, value)),
        2 => (n.clone(), "[a-b]{0,2}").prop_map(|(n, name)| Step::Name(n, name)),
        4 => (n.clone(), 0..30).prop_map(|(n, element)| Step::Add(n, element)),
        1 => n.clone().prop_map(Step::Delete),
        1 => n.prop_map(Step::Old),
    ]
}

fn run(tx: &Transaction, old: permazen::schema::SchemaId, step: &Step) {
    let (Step::Set(n, ..) | Step::Name(n, _) | Step::Add(n, _) | Step::Delete(n) | Step::Old(n)) =
        step;
    let id = foo_id(*n);
    match step {
        Step::Delete(_) => tx.delete(id).unwrap(),
        Step::Old(_) => tx.create_with_id_in(id, old).unwrap(),
        Step::Set(..) | Step::Name(..) | Step::Add(..) => tx.create_with_id(id).unwrap(),
    };
    match step {
        Step::Set(_, name, value) => tx.set(id, name, &int(*value), Migrate::Yes).unwrap(),
        Step::Name(_, name) => tx.set(id, "s", &text(name), Migrate::Yes).unwrap(),
        Step::Add(_, element) => {
            let set = tx.set_view(id, "set", Migrate::Yes).unwrap();
            set.add(&int(*element)).unwrap();
        }
        Step::Delete(_) | Step::Old(_) => {}
    }
}

/// The value of a field, or the error, as text.
fn told(tx: &Transaction, id: ObjId, field: &ResolvedField) -> String {
    match tx.encoded().get(id, field, Migrate::No, <[u8]>::to_vec) {
        Ok(value) => hex(&value),
        Err(error) => error.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_first_read_finds_what_later_reads_find(
        steps in prop::collection::vec(step(), 0..40),
        unsaved in prop::collection::vec(step(), 0..6),
    ) {
        let (_dir, stores) = stores();
        for store in stores {
            let db = Database::new(store);
            let tx = db.begin(&config(FOO)).unwrap();
            let old = tx.schema().id;
            // A schema is recorded with its first object.
            create(&tx, foo_id(6));
            tx.commit().unwrap();
            let tx = db.begin(&config(&schema())).unwrap();
            steps.iter().for_each(|step| run(&tx, old, step));
            tx.commit().unwrap();
            let current = config(&schema());
            // One at a time, because LMDB has one writer.
            let begin = |unsaved: &[Step]| {
                let tx = db.begin(&current).unwrap();
                unsaved.iter().for_each(|step| run(&tx, old, step));
                tx
            };
            let fields = begin(&[]).schema().object_type("Foo").unwrap().fields.clone();
            let ids = (1..=6).map(foo_id).chain([id("0b00000000000000")]);
            let asked: Vec<_> = ids.flat_map(|id| fields.iter().map(move |field| (id, field))).collect();
            for unsaved in [&[], &unsaved[..]] {
                let tx = begin(unsaved);
                // Without conflict detection, nothing is remembered.
                let untracked: Vec<_> = tx.untracked(|tx| {
                    asked.iter().map(|(id, field)| told(tx, *id, field)).collect()
                });
                asked.iter().for_each(|(id, _)| assert!(tx.exists(*id).is_ok()));
                let known: Vec<_> = asked.iter().map(|(id, field)| told(&tx, *id, field)).collect();
                drop(tx);
                prop_assert_eq!(untracked, known.clone());
                for ((id, field), known) in asked.iter().zip(known) {
                    let first = told(&begin(unsaved), *id, field);
                    prop_assert_eq!(first, known, "{} {}", id, field.name);
                }
            }
        }
    }
}
