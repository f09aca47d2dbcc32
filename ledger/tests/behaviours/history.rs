//! Rows 62 to 69: which commits and pieces are kept, and which are collected.

use permazen_kv::KvRead;
use permazen_ledger::{LedgerError, MAIN, Retention};

use super::setting::{ALL, Map, Setting, content, many};

#[test]
fn t062_what_is_read_during_a_collection_stays() {
    let setting = Setting::new();
    let old = setting.put_all(&many(2_000));
    let before = content(&setting.page, &old);
    setting.page.set_retention(Retention::Heads).unwrap();
    let snapshot = setting.page.snapshot(&old).unwrap();
    setting.write(MAIN, |tx| tx.remove_span(ALL).unwrap());
    let mut slices = 0;
    while setting.page.collect_slice().unwrap() {
        slices += 1;
        let found: Map = super::setting::pairs(&snapshot, ALL, permazen_kv::Direction::Forward)
            .into_iter()
            .collect();
        assert!(found == before);
    }
    assert!(slices > 3, "{slices} slices");
    assert_eq!(content(&setting.cold(), &old), before);
}

#[test]
fn t063_what_others_share_stays_and_the_rest_goes() {
    let setting = Setting::new();
    let map = many(3_000);
    let old = setting.put_all(&map);
    let (last, _) = map.last_key_value().unwrap();
    let shared = setting.pieces(1).len();
    setting.put(last, b"another");
    let both = setting.pieces(1).len();
    setting.page.set_retention(Retention::Heads).unwrap();
    setting.page.collect().unwrap();
    // As many nodes as a page with this content has, and no other.
    let left = setting.pieces(1).len();
    assert!(left < both && left >= shared - 3, "{shared}, {both}, {left}");
    let fresh = Setting::new();
    fresh.put_all(&setting.content());
    assert_eq!(left, fresh.pieces(1).len());
    assert!(matches!(setting.page.snapshot(&old), Err(LedgerError::NoCommit { .. })));
}

#[test]
fn t065_without_history_only_the_head_remains() {
    let setting = Setting::new();
    for number in 0..5 {
        setting.put(b"key", &[number]);
    }
    setting.page.set_retention(Retention::Heads).unwrap();
    setting.page.collect().unwrap();
    let rows: Vec<_> = setting.rows(&[0x22]).into_keys().collect();
    assert_eq!(rows, [[&[0x22][..], &setting.head().0.0].concat()]);
    assert_eq!(setting.get(b"key"), Some(vec![4]));
}

#[test]
fn t066_the_commit_of_a_snapshot_stays_readable() {
    let setting = Setting::new();
    let commits: Vec<_> = (0..6).map(|number| setting.put(b"key", &[number])).collect();
    let snapshot = setting.page.snapshot(&commits[2]).unwrap();
    setting.page.set_retention(Retention::Last(2)).unwrap();
    setting.page.collect().unwrap();
    assert_eq!(snapshot.get(b"key").unwrap().as_deref(), Some(&[2][..]));
    let is_there = |commit| setting.page.snapshot(commit).is_ok();
    let there: Vec<bool> = commits.iter().map(is_there).collect();
    assert_eq!(there, [false, false, true, false, true, true]);
}

#[test]
fn t067_what_two_heads_have_in_common_stays() {
    let setting = Setting::new();
    let older = setting.put(b"key", b"1");
    let common = setting.put(b"key", b"2");
    setting.branch("other");
    let between = setting.put(b"here", b"1");
    setting.put(b"here", b"2");
    setting.put_on("other", b"there", b"3");
    setting.page.set_retention(Retention::Heads).unwrap();
    setting.page.collect().unwrap();
    assert!(matches!(setting.page.snapshot(&older), Err(LedgerError::NoCommit { .. })));
    assert!(setting.page.snapshot(&common).is_ok() && setting.page.snapshot(&between).is_ok());
    setting.merge("other");
    assert_eq!(setting.content().len(), 3);
    // Merged commits need no base any more.
    setting.page.remove_branch("other").unwrap();
    setting.page.collect().unwrap();
    assert_eq!(setting.rows(&[0x22]).len(), 1);
}
