//! The changes that a repair announces before it makes any, and its counts.

use std::cell::Cell;
use std::io;

use permazen::kv::counting::CountingStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen_jsck::{Error, Intent, Options, check, repair};

use crate::support::{STALE_ENTRY, change, fill, pairs};

/// Damage of objects and of indexes.
const DAMAGE: [(&str, Option<&str>); 6] = [
    STALE_ENTRY,
    ("01", Some("aa")),
    ("10000000000000011701", None),
    ("100000000000000112", Some("a700")),
    ("13ff1000000000000002", None),
    ("2000000000000001", None),
];

fn damaged() -> MemoryStore {
    let store = MemoryStore::new();
    fill(&store, |kv| change(kv, &DAMAGE));
    store
}

#[test]
fn all_changes_of_a_pass_are_told_before_the_first_is_made() {
    let mut results = Vec::new();
    for sort_memory in [Options::default().sort_memory, 100, 0] {
        let store = CountingStore::new(damaged());
        let counter = store.counter();
        let made = || counter.read().puts + counter.read().removes;
        let mut options = Options::default();
        options.sort_memory = sort_memory;
        let mut kv = store.begin(&TxOptions::writing()).expect("begin");
        // Announced in passes that have ended, and in this one.
        let (ended, told) = (Cell::new(0), Cell::new(0));
        let report = repair(&mut *kv, &options, &mut |_| {}, &mut |_| {}, &mut |intent| {
            assert_eq!(made(), ended.get(), "changes are made before they are told: {intent:?}");
            match intent {
                Intent::Change { old, new, .. } => {
                    assert!(old.is_some() || new.is_some(), "{intent:?}");
                    told.set(told.get() + 1);
                }
                Intent::Pass => ended.set(ended.get() + told.replace(0)),
            }
            Ok(())
        })
        .expect("repair");
        assert!(report.changes >= DAMAGE.len() as u64, "{report:?}");
        assert_eq!((made(), ended.get(), told.get()), (report.changes, report.changes, 0));
        assert!(check(&*kv, &options, &mut |_| {}).expect("check").is_clean());
        results.push(pairs(&*kv));
    }
    assert!(results.iter().all(|result| *result == results[0]), "memory makes a difference");
}

#[test]
fn nothing_is_changed_if_it_cannot_be_told() {
    let store = damaged();
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let before = pairs(&*kv);
    for fails_at in [0, 3, u32::MAX] {
        let mut told = 0;
        let mut tell = |intent: &Intent<'_>| {
            told += 1;
            match told > fails_at || *intent == Intent::Pass {
                true => Err(io::Error::other("no room")),
                false => Ok(()),
            }
        };
        let failed = repair(&mut *kv, &Options::default(), &mut |_| {}, &mut |_| {}, &mut tell);
        assert!(matches!(&failed, Err(Error::File(e)) if e.to_string() == "no room"), "{failed:?}");
        assert_eq!(pairs(&*kv), before);
    }
}

#[test]
fn with_a_limit_all_that_is_left_is_counted() {
    let store = damaged();
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let all = check(&*kv, &Options::default(), &mut |_| {}).expect("check").findings;
    let mut options = Options::default();
    options.max_findings = 2;
    let report = repair(&mut *kv, &options, &mut |_| {}, &mut |_| {}, &mut |_| Ok(()));
    let report = report.expect("repair");
    let left = check(&*kv, &Options::default(), &mut |_| {}).expect("check");
    assert_eq!((report.found.findings, report.found.complete), (2, false));
    assert_eq!(report.left.findings, left.findings);
    assert!(report.left.complete && left.findings > 0 && left.findings < all, "{report:?}");
}
