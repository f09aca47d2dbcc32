//! Damage in particular places: the class it gets, and what repair makes of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen::__internal::schema::{deflate, inflate};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, KvTransaction, TxOptions};
use permazen::schema::SchemaIndex;
use permazen_jsck::{Class, Options, RepairReport, RepairScope, check, repair};

use crate::support::{Pairs, bytes, change, load, pairs};

/// One of the databases that golden cases start from, with changes made to it.
fn damaged(base: &str, changes: &[(&str, Option<&str>)]) -> MemoryStore {
    let store = load(&format!("corruptions/bases/{base}.xml.gz"));
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    change(&mut *kv, changes);
    kv.commit().expect("commit");
    store
}

fn classes(store: &MemoryStore) -> Vec<Class> {
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    let mut found = Vec::new();
    check(&*kv, &Options::default(), &mut |finding| found.push(finding.class)).expect("check");
    found
}

fn mend(kv: &mut (dyn KvTransaction + Send), options: &Options) -> RepairReport {
    repair(kv, options, &mut |_| {}, &mut |_| {}, &mut |_| Ok(())).expect("repair")
}

/// The pairs of a database after repairs, with at most `limit` findings in each run.
fn mended(store: &MemoryStore, limit: u64) -> Pairs {
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let mut options = Options::default();
    options.max_findings = limit;
    for _ in 0..10_000 {
        if mend(&mut *kv, &options).found.findings == 0 {
            return pairs(&*kv);
        }
    }
    panic!("it does not come to an end");
}

/// An element under a list index that is written too long. All elements after it move up, and those
/// among them that cannot be used are removed.
#[test]
fn elements_that_move_up_are_kept() {
    let list = bytes("28000000000000030d");
    let value = |n: u32| vec![0x80 + (n % 100) as u8];
    let index = |n: u32| match n {
        0..251 => vec![n as u8],
        251..507 => vec![0xfb, (n - 251) as u8],
        _ => [&[0xfc][..], &(n as u16 - 251).to_be_bytes()].concat(),
    };
    let store = damaged("base-a", &[]);
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    for n in 0..512 {
        kv.put(&[&list[..], &index(n)].concat(), &value(n)).expect("put");
    }
    kv.put(&[&list[..], &[0xfc, 0, 5]].concat(), &[0x78]).expect("put");
    kv.put(&[&list[..], &index(508)].concat(), &[0xf9]).expect("put");
    kv.put(&[&list[..], &index(509)].concat(), &[0xf8, 0, 0]).expect("put");
    kv.commit().expect("commit");
    let mut expected: Vec<Vec<u8>> = (0..507).map(value).collect();
    expected.push(vec![0x78]);
    expected.push(value(507));
    let one = mended(&store, u64::MAX);
    let elements = |pairs: &Pairs| -> Vec<Vec<u8>> {
        pairs.iter().filter(|(k, _)| k.starts_with(&list)).map(|(_, v)| v.clone()).collect()
    };
    let found = elements(&one);
    assert_eq!(found[..509], expected);
    // The element whose index is written too long gets a shorter index, but not the one that its
    // neighbour has now.
    assert_eq!(found.len(), 512);
    assert_eq!(found[510..], [value(510), value(511)]);
    for limit in [1, 2] {
        assert!(mended(&store, limit) == one, "limit {limit}");
    }
}

#[test]
fn missing_elements_leave_a_gap_and_a_stray_one_has_a_bad_index() {
    let missing = |keys: &[&'static str]| keys.iter().map(|&key| (key, None)).collect::<Vec<_>>();
    let tasks = ["28000000000000012600", "28000000000000012601", "28000000000000012602"];
    let hours = ["28000000000000030d01", "28000000000000030d02", "28000000000000030d03"];
    for gap in [&tasks[1..], &tasks, &tasks[..2], &hours, &hours[1..]] {
        let found = classes(&damaged("base-a", &missing(gap)));
        assert!(found.contains(&Class::ListGap), "{gap:?}: {found:?}");
        assert!(!found.contains(&Class::BadListIndex), "{gap:?}: {found:?}");
    }
    for stray in [("28000000000000012609", "c800000000000001"), ("28000000000000030d09", "87")] {
        let found = classes(&damaged("base-a", &[(stray.0, Some(stray.1))]));
        assert!(found.contains(&Class::BadListIndex), "{stray:?}: {found:?}");
    }
    // Positions 1 and 3, each in five bytes. Readers find neither.
    for stray in ["280000000000000126feffffff06", "280000000000000126feffffff08"] {
        let found = classes(&damaged("base-a", &[(stray, Some("c800000000000001"))]));
        assert!(found.contains(&Class::BadListIndex), "{stray}: {found:?}");
        assert!(!found.contains(&Class::ListGap), "{stray}: {found:?}");
    }
}

#[test]
fn an_object_of_which_only_index_entries_are_left_lacks_its_meta_data() {
    for (base, id) in [("base-a", "fb31000000000004"), ("base-b", "0100000000000009")] {
        let store = damaged(base, &[(id, None)]);
        let found = classes(&store);
        let count = found.iter().filter(|&&class| class == Class::MissingObjectMeta).count();
        assert_eq!(count, 1, "{base}: {found:?}");
        let mut kv = store.begin(&TxOptions::writing()).expect("begin");
        let mut options = Options::default();
        options.repair = RepairScope::Derived;
        mend(&mut *kv, &options);
        assert!(check(&*kv, &options, &mut |_| {}).expect("check").is_clean(), "{base}");
    }
    let lone = damaged("base-a", &[("0080012800000000000009", Some(""))]);
    assert_eq!(classes(&lone), [Class::DanglingSchemaIndexEntry]);
}

#[test]
fn an_index_entry_is_canonical_up_to_its_end() {
    for key in ["22882800000000000001fc000000", "1961002800000000000001fc0005"] {
        let found = classes(&damaged("base-a", &[(key, Some(""))]));
        assert_eq!(found, [Class::UndecodableIndexEntry], "{key}");
    }
}

#[test]
fn white_space_around_a_schema_is_nothing_to_remark_on() {
    let store = damaged("base-a", &[]);
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    let value = kv.get(&bytes("000101")).expect("get").expect("a schema").into_owned();
    let xml = inflate(&value).expect("inflate");
    drop(kv);
    let classes_with = |xml: &[u8]| {
        let value = permazen::kv::Hex(&deflate(xml)).to_string();
        classes(&damaged("base-a", &[("000101", Some(&value))]))
    };
    assert_eq!(classes_with(&[&xml, &b" \r\n\t\n"[..]].concat()), []);
    let inside = String::from_utf8(xml).expect("UTF-8").replace("/>", " />");
    assert_eq!(classes_with(inside.as_bytes()), [Class::UnusualSchemaXml]);
}

/// This looks the same as a database whose record of the schema was lost.
#[test]
fn objects_of_a_schema_that_is_not_recorded_go_if_asked_for() {
    let store = damaged(
        "base-a",
        &[
            ("fb31000000000004", Some("02")),
            ("008001fb31000000000004", None),
            ("008002fb31000000000004", Some("")),
        ],
    );
    assert_eq!(classes(&store), [Class::MissingSchema]);
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let before = pairs(&*kv);
    let mut options = Options::default();
    assert_eq!(mend(&mut *kv, &options).changes, 0);
    assert_eq!(pairs(&*kv), before);
    options.schemas.insert(SchemaIndex::new(2).expect("an index"), None);
    let mut found = Vec::new();
    check(&*kv, &options, &mut |finding| found.push(finding.class)).expect("check");
    assert!(found.contains(&Class::UnknownSchemaIndex), "{found:?}");
    mend(&mut *kv, &options);
    assert!(check(&*kv, &Options::default(), &mut |_| {}).expect("check").is_clean());
    let gone = ["fb31000000000004", "008002fb31000000000004"].map(bytes);
    assert!(gone.iter().all(|key| !pairs(&*kv).contains_key(key)));
}

/// A recorded schema is not removed while it has objects.
#[test]
fn a_recorded_schema_is_not_dropped_from_under_its_objects() {
    let store = damaged("base-b", &[]);
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let before = pairs(&*kv);
    let mut options = Options::default();
    options.schemas.insert(SchemaIndex::new(2).expect("an index"), None);
    assert!(mend(&mut *kv, &options).left.unrepairable > 0);
    assert_eq!(pairs(&*kv), before);
}

#[test]
fn a_repair_that_is_stopped_changes_nothing() {
    let store = damaged("base-a", &[("7d01", Some("aa")), ("7d02", Some("aa"))]);
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let before = pairs(&*kv);
    let stop = Arc::new(AtomicBool::new(false));
    let mut options = Options::default();
    options.stop = Some(Arc::clone(&stop));
    let mut found = |_: &permazen_jsck::Finding| stop.store(true, Ordering::Relaxed);
    let report = repair(&mut *kv, &options, &mut found, &mut |_| {}, &mut |_| Ok(()));
    let report = report.expect("repair");
    assert_eq!((report.changes, report.passes), (0, 0));
    assert!(report.found.findings > 0 && !report.left.complete);
    assert_eq!(pairs(&*kv), before);
}
