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
fn entries_that_follow_from_damage_stay_with_it() {
    let (name, age) = ("100000000000000111", "100000000000000112");
    let damages: &[&[(&str, Option<&str>)]] = &[
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
    mend(&store, Options::default().sort_memory);
    let before = wrong(&store);
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

/// There is no object, only its content: its entries are surplus, and those of references to it
/// follow from values that are kept.
#[test]
fn all_entries_of_an_object_without_meta_data_go() {
    let store = damaged(&[(BOB, None)]);
    let mut right = all(&store);
    let entries = [
        "0080011000000000000002",
        "11426f62001000000000000002",
        "13ff1000000000000002",
        "14ff1000000000000002",
        "1f426f62007f1000000000000002",
    ];
    for entry in entries {
        assert!(right.remove(&bytes(entry)).is_some(), "{entry}");
    }
    let (report, _) = mend(&store, Options::default().sort_memory);
    assert_eq!(report.changes, entries.len() as u64);
    assert!(all(&store) == right);
}

/// In each case, something is wrong with the object that has the stale entry, but no entry follows
/// from that.
#[test]
fn damage_from_which_no_entry_follows_keeps_none() {
    let cases = [
        (Class::UnknownField, ("100000000000000121", Some("7f"))),
        (Class::BadCounterValue, ("10000000000000011c", Some("00"))),
        (Class::NonEmptyElementValue, ("1000000000000001157800", Some("01"))),
        (Class::BadObjectFlags, (ANN, Some("0105"))),
        (Class::ObjectMetaTrailingGarbage, (ANN, Some("010000"))),
        // Beside the pair of the name.
        (Class::TrailingGarbage, ("10000000000000011100", Some("416e6e00"))),
        // In a field that has no index of its own, only one with the name.
        (Class::TrailingGarbage, ("100000000000000112", Some("a700"))),
    ];
    for (class, damage) in cases {
        let store = damaged(&[damage, STALE_ENTRY]);
        let mut right = all(&store);
        right.remove(&bytes(STALE_ENTRY.0));
        let (report, found) = mend(&store, Options::default().sort_memory);
        assert!(found.iter().any(|finding| finding.class == class), "{class}: {found:?}");
        assert_eq!((report.changes, all(&store) == right), (1, true), "{class}: {found:?}");
    }
    let stored_default = ("100000000000000212", Some("7f"));
    let store = damaged(&[stored_default, ("11426f6f001000000000000002", Some(""))]);
    let (report, found) = mend(&store, Options::default().sort_memory);
    assert!(found.iter().any(|finding| finding.class == Class::DefaultValueStored), "{found:?}");
    assert_eq!((report.changes, report.left.findings), (1, 1), "{found:?}");
}

#[test]
fn entries_of_other_objects_and_indexes_are_mended() {
    let lost = ("11426f62001000000000000002", None);
    let store = damaged(&[("100000000000000112", Some("a700")), STALE_ENTRY, lost]);
    let (report, _) = mend(&store, Options::default().sort_memory);
    // The surplus entry is of the object with damage, the missing one is of another.
    assert_eq!((report.changes, report.passes), (2, 1));
    let now = all(&store);
    let has = |key: &str| now.contains_key(&bytes(key));
    assert!(has(lost.0) && !has(STALE_ENTRY.0));
    assert!(has("1f416e6e00a71000000000000001") && !has("1f416e6e007f1000000000000001"));
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
