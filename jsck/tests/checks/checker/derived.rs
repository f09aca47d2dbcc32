//! Repairs of derived data beside damage that they keep.

use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::object::{Database, Migrate, TransactionConfig};
use permazen::schema::SchemaRemoval;
use permazen_jsck::{Class, Finding, Options, RepairReport, RepairScope, check, repair};

use crate::support::{Pairs, STALE_ENTRY, bytes, change, load, pairs};

const ANN: &str = "1000000000000001";
const BOB: &str = "1000000000000002";
const CARL: &str = "1000000000000003";

/// The small reference database, with changes made to it.
fn damaged(changes: &[(&str, Option<&str>)]) -> MemoryStore {
    let store = load("reference/R.kv.xml");
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    change(&mut *kv, changes);
    kv.commit().expect("commit");
    store
}

/// Repairs derived data, and returns the findings of the first pass too.
fn mend(store: &MemoryStore, sort_memory: usize) -> (RepairReport, Vec<Finding>) {
    let mut options = Options::default();
    options.repair = RepairScope::Derived;
    options.sort_memory = sort_memory;
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let mut found = Vec::new();
    let sink = &mut |finding: &Finding| found.push(finding.clone());
    let report = repair(&mut *kv, &options, sink, &mut |_| {}, &mut |_| Ok(())).expect("repair");
    kv.commit().expect("commit");
    (report, found)
}

fn all(store: &MemoryStore) -> Pairs {
    pairs(&*store.begin(&TxOptions::reading()).expect("begin"))
}

/// What is wrong: the class and the key of each finding.
fn wrong(store: &MemoryStore) -> Vec<(Class, Vec<u8>)> {
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    let mut wrong = Vec::new();
    let sink = &mut |finding: &Finding| wrong.push((finding.class, finding.key.clone()));
    check(&*kv, &Options::default(), sink).expect("check");
    wrong
}

#[test]
fn entries_of_an_object_with_damage_stay_with_it() {
    let (name, age) = ("100000000000000111", "100000000000000112");
    let damages: &[&[(&str, Option<&str>)]] = &[
        // The object to which the first one refers; only its content is left.
        &[(BOB, None)],
        // A text without its end, alone and with the entry that it has.
        &[(name, Some("416e6e"))],
        &[
            (name, Some("416e6e")),
            ("11416e6e001000000000000001", None),
            ("11416e6e1000000000000001", Some("")),
        ],
        // Bytes after a value that is in a composite index.
        &[(age, Some("a700"))],
        // An element in the middle of a list.
        &[("10000000000000011701", None)],
        // The meta-data of an object that is in indexes.
        &[(ANN, Some("00"))],
    ];
    for damage in damages {
        let store = damaged(damage);
        let before = all(&store);
        let (report, found) = mend(&store, Options::default().sort_memory);
        assert_eq!((report.changes, all(&store) == before), (0, true), "{damage:?}: {found:?}");
        assert_eq!(report.left.findings, found.len() as u64, "{damage:?}");
        let in_scope = found.iter().find(|finding| finding.is_in(RepairScope::Derived));
        assert_eq!(in_scope, None, "{damage:?}");
        assert!(found.iter().any(|finding| finding.class.is_derived()), "{damage:?}: {found:?}");
    }
}

/// The library goes by what the object stores when it removes the entry of a reference.
#[test]
fn a_reference_that_is_kept_can_be_changed_and_its_object_deleted() {
    let store = damaged(&[(BOB, None)]);
    let before = wrong(&store);
    mend(&store, Options::default().sort_memory);
    assert_eq!(wrong(&store), before);
    let database = Database::new(Arc::new(store.clone()));
    let config = TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never);
    let tx = database.begin(&config).expect("begin");
    let [ann, carl]: [ObjId; 2] = [ANN, CARL].map(|id| id.parse().expect("an ID"));
    tx.set(ann, "spouse", &Value::Ref(carl), Migrate::No).expect("set");
    assert!(tx.delete(ann).expect("delete"));
    tx.commit().expect("commit");
    let after = wrong(&store);
    let new: Vec<_> = after.iter().filter(|finding| !before.contains(finding)).collect();
    assert!(new.is_empty(), "{new:?}");
    assert!(after.len() < before.len(), "{after:?}");
}

#[test]
fn entries_of_other_objects_are_mended() {
    let lost = ("11426f62001000000000000002", None);
    let store = damaged(&[("100000000000000112", Some("a700")), STALE_ENTRY, lost]);
    let (report, _) = mend(&store, Options::default().sort_memory);
    // The surplus entry is of the object with damage, the missing one is of another.
    assert_eq!((report.changes, report.passes), (1, 1));
    let now = all(&store);
    let has = |key: &str| now.contains_key(&bytes(key));
    assert!(has(lost.0) && has(STALE_ENTRY.0));
    // Without memory for the objects with damage, no entry is mended.
    let store = damaged(&[("100000000000000112", Some("a700")), lost]);
    let before = all(&store);
    let (report, _) = mend(&store, 0);
    assert_eq!((report.changes, all(&store) == before), (0, true));
    assert!(report.left.findings > 1);
    // Without such objects, none is needed.
    let store = damaged(&[lost]);
    let (report, _) = mend(&store, 0);
    assert_eq!((report.changes, report.left.findings), (1, 0));
}
