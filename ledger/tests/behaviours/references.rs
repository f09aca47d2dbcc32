//! Rows 53, 59 to 61, 64 and 70: reference rows, and which pieces are collected with them. That row
//! 70 also holds for random histories is tested in `collection.rs`.

use std::collections::BTreeSet;
use std::io::Write;

use permazen_kv::counting::CountingStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
use permazen_ledger::{LedgerError, MAIN, PageId, Repository, Retention, ValueRef};

use super::setting::{Setting, many, noise};
use crate::support::page::assert_clean;

/// A page that keeps reference rows.
fn setting() -> Setting {
    let setting = Setting::new();
    setting.page.set_reference_rows(true).unwrap();
    setting
}

fn stream(setting: &Setting, bytes: &[u8]) -> ValueRef {
    let mut writer = setting.page.write_value(None).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// A value that is written and given up.
fn give_up(setting: &Setting, bytes: &[u8]) {
    let mut writer = setting.page.write_value(None).unwrap();
    writer.write_all(bytes).unwrap();
    // A thread stores the bytes that were written, and the rest in memory is not written at all.
    drop(writer);
    assert!(!setting.rows(&[0x26]).is_empty());
}

/// The references: to, kind and from.
fn references(setting: &Setting) -> Vec<([u8; 32], u8, [u8; 32])> {
    let rows = setting.rows(&[0x24]).into_keys();
    rows.map(|key| {
        assert_eq!(key.len(), 66);
        (key[1..33].try_into().unwrap(), key[33], key[34..].try_into().unwrap())
    })
    .collect()
}

fn of_kind(setting: &Setting, kind: u8) -> usize {
    references(setting).into_iter().filter(|(_, of, _)| *of == kind).count()
}

fn pieces(setting: &Setting) -> BTreeSet<Vec<u8>> {
    setting.rows(&[0x23]).into_keys().collect()
}

#[test]
fn t053_eager_and_lazy_values_have_rows_of_their_own() {
    let setting = setting();
    let (eager, lazy) = (noise(3_000, 1), noise(3_000, 2));
    let lazy = stream(&setting, &lazy);
    setting.write(MAIN, |tx| {
        tx.put(b"eager", &eager).unwrap();
        tx.put(b"lazy", lazy.lazy().as_bytes()).unwrap();
        tx.put(b"short", &[1; 512]).unwrap();
    });
    let root = setting.root();
    let from_root: Vec<u8> = references(&setting)
        .into_iter()
        .filter(|(_, _, from)| *from == root.0)
        .map(|(_, kind, _)| kind)
        .collect();
    assert_eq!(from_root.iter().filter(|kind| **kind == 0).count(), 1);
    assert_eq!(from_root.iter().filter(|kind| **kind == 1).count(), 1);
    // And the row of the commit.
    assert_eq!(references(&setting).len(), 3);
    assert!(references(&setting).contains(&(root.0, 2, setting.head().0.0)));
    // One value under two keys has one row.
    setting.put(b"again", &eager);
    setting.page.set_retention(Retention::Heads).unwrap();
    setting.page.collect().unwrap();
    assert_eq!((of_kind(&setting, 0), of_kind(&setting, 1), of_kind(&setting, 2)), (1, 1, 1));
    assert_clean(&setting.page);
}

#[test]
fn t059_and_060_what_a_commit_refers_to_stays() {
    for is_synced in [false, true] {
        let setting = setting();
        let commit = setting.put(b"key", &noise(3_000, 1));
        setting.page.set_tag("tag", &commit).unwrap();
        if is_synced {
            let remote = setting.page.remote();
            remote.attach().unwrap();
            let local = remote.local_pieces(None, 10).unwrap();
            let local: Vec<_> = local.iter().map(|piece| piece.digest).collect();
            remote.mark_synced(&[commit], &local, &[]).unwrap();
        }
        setting.remove(b"key");
        setting.page.set_retention(Retention::Heads).unwrap();
        setting.page.collect().unwrap();
        // Only the tag keeps the leaf, and the leaf the value.
        assert_eq!(setting.pieces(1).len() + setting.pieces(2).len(), 2);
        assert!(setting.page.snapshot(&commit).unwrap().value_len(b"key").unwrap().is_some());
        assert_clean(&setting.page);
    }
}

#[test]
fn t061_what_a_piece_refers_to_stays() {
    let setting = setting();
    let long = noise(3_000_000, 1);
    setting.put(b"key", &long);
    let (all, rows) = (pieces(&setting), references(&setting));
    // An index piece leads to each chunk.
    let chunks = setting.pieces(2).len();
    assert!(chunks > 100 && of_kind(&setting, 0) > chunks);
    // That each of them is in doubt changes nothing.
    setting.page.set_retention(Retention::Heads).unwrap();
    give_up(&setting, &long);
    setting.page.collect().unwrap();
    assert_eq!((pieces(&setting), references(&setting)), (all, rows));
    assert!(setting.rows(&[0x36]).is_empty());
    assert_clean(&setting.page);
}

#[test]
fn t064_what_is_needed_again_stays_and_the_rest_goes() {
    let setting = setting();
    let page = &setting.page;
    let (one, two) = (noise(40_000, 1), noise(40_000, 2));
    setting.write(MAIN, |tx| {
        tx.put(b"one", &one).unwrap();
        tx.put(b"other", &two).unwrap();
    });
    let before = setting.pieces(2).len();
    setting.write(MAIN, |tx| tx.remove_span(super::setting::ALL).unwrap());
    page.set_retention(Retention::Heads).unwrap();
    // The commit goes, and its leaf may be garbage from then on.
    while setting.rows(&[0x36]).is_empty() {
        assert!(page.collect_slice().unwrap());
    }
    // Another process puts one of the values again.
    let elsewhere = setting.cold();
    let db = elsewhere.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"again", &one).unwrap();
    tx.commit().unwrap();
    drop((db, elsewhere));
    while page.collect_slice().unwrap() {}
    assert_eq!(setting.get(b"again"), Some(one));
    let after = setting.pieces(2).len();
    assert!(after > 0 && after < before, "{after} of {before} chunks");
    assert!(setting.rows(&[0x36]).is_empty());
    assert_clean(&setting.page);
}

#[test]
fn t070_both_collectors_keep_the_same() {
    let run = |with_references: bool| {
        let setting = Setting::new();
        let page = &setting.page;
        setting.put_all(&many(3_000));
        page.set_reference_rows(with_references).unwrap();
        for number in 0..20_u8 {
            setting.put(&[number % 3], &noise(usize::from(number) * 9_000, number.into()));
            setting.put_all(&many(u32::from(number) * 11));
            if number % 5 == 0 {
                setting.branch(&format!("branch {number}"));
            }
            if number == 12 {
                page.remove_branch("branch 10").unwrap();
                page.set_retention(Retention::Last(2)).unwrap();
                page.collect().unwrap();
            }
            if number % 5 == 1 {
                give_up(&setting, &noise(2_000_000, 7));
            }
        }
        page.collect().unwrap();
        assert_clean(&setting.page);
        pieces(&setting)
    };
    let (with, without) = (run(true), run(false));
    assert!(with.len() > 50 && with == without);
}

#[test]
fn rows_come_and_go_in_slices_and_any_process_continues() {
    let setting = Setting::new();
    setting.put_all(&many(20_000));
    setting.put(b"long", &noise(2_000_000, 1));
    setting.put_all(&many(300));
    // Garbage that is there before.
    give_up(&setting, &noise(2_000_000, 2));
    let cold = setting.cold();
    cold.set_reference_rows(true).unwrap();
    assert!(setting.page.has_reference_rows().unwrap());
    assert_clean(&setting.page);
    // The process that has given up a value removes the row of the stream.
    setting.page.collect().unwrap();
    let pieces = pieces(&setting);
    assert_eq!(setting.page.verify().unwrap().unreachable_pieces, 0);
    // Each piece but the empty node has one at least.
    assert!(references(&setting).len() >= pieces.len());

    setting.page.set_reference_rows(false).unwrap();
    assert!(!cold.has_reference_rows().unwrap());
    assert!(setting.rows(&[0x24]).is_empty() && setting.rows(&[0x36]).is_empty());
    assert_eq!(self::pieces(&setting), pieces);
    // There is nothing to do, and nothing is done.
    cold.set_reference_rows(false).unwrap();
    assert_clean(&setting.page);
}

#[test]
fn what_was_garbage_stays_garbage_when_the_rows_go() {
    let setting = setting();
    setting.put(b"key", &noise(100_000, 1));
    setting.remove(b"key");
    setting.page.set_retention(Retention::Heads).unwrap();
    while setting.rows(&[0x36]).is_empty() {
        assert!(setting.page.collect_slice().unwrap());
    }
    setting.page.set_reference_rows(false).unwrap();
    setting.page.collect().unwrap();
    assert_eq!(setting.rows(&[0x23]).len(), 0);
    assert_clean(&setting.page);
}

#[test]
fn a_damaged_piece_stays_with_all_that_it_leads_to() {
    let setting = setting();
    setting.put(b"key", &noise(100_000, 1));
    setting.put(b"other", &noise(3_000, 3));
    setting.write(MAIN, |tx| tx.remove_span(super::setting::ALL).unwrap());
    let is_index = |row: &Vec<u8>| row[0] == 3;
    let (key, mut row) = setting.rows(&[0x23]).into_iter().find(|(_, row)| is_index(row)).unwrap();
    *row.last_mut().unwrap() ^= 1;
    let chunks = setting.pieces(2).len();
    let mut tx =
        permazen_kv::KvDatabase::begin(&setting.host, &permazen_kv::TxOptions::writing()).unwrap();
    tx.put(&[&[0x10, 1][..], &key].concat(), &row).unwrap();
    tx.commit().unwrap();
    setting.page.set_retention(Retention::Heads).unwrap();
    for _ in 0..2 {
        let error = setting.page.collect().unwrap_err();
        assert!(matches!(error, LedgerError::Integrity { .. }), "{error}");
        // The other value is gone, and so are the leaves.
        assert_eq!(setting.pieces(2).len(), chunks - 1);
        assert_eq!((setting.pieces(1).len(), setting.rows(&[0x36]).len()), (0, 1));
    }
    // Without these rows it is garbage as any other.
    setting.page.set_reference_rows(false).unwrap();
    setting.page.collect().unwrap();
    assert_eq!(setting.rows(&[0x23]).len(), 0);
}

#[test]
fn verify_finds_rows_that_are_missing_or_too_many() {
    let setting = setting();
    setting.put(b"key", &noise(100_000, 1));
    setting.put_all(&many(500));
    let rows = setting.rows(&[0x24]);
    let changed = |change: &dyn Fn(&mut dyn KvWrite)| {
        let copy = MemoryStore::new();
        let mut tx =
            permazen_kv::KvDatabase::begin(&copy, &permazen_kv::TxOptions::writing()).unwrap();
        let all = super::setting::pairs(
            &setting.host.snapshot(),
            super::setting::ALL,
            permazen_kv::Direction::Forward,
        );
        all.iter().for_each(|(key, row)| tx.put(key, row).unwrap());
        change(&mut tx);
        tx.commit().unwrap();
        let repository = Repository::builder(copy).exclusive().manual_maintenance().open().unwrap();
        let page = repository.page("test", PageId::ROOT).unwrap();
        page.verify().unwrap().findings
    };
    let stored = |key: &[u8]| [&[0x10, 1][..], key].concat();
    assert!(changed(&|_| {}).is_empty());
    for (key, row) in &rows {
        let findings = changed(&|tx| tx.remove(&stored(key)).unwrap());
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].row, *key);
        let wrong = [&row[..], &[0]].concat();
        assert_eq!(changed(&|tx| tx.put(&stored(key), &wrong).unwrap())[0].row, *key);
    }
    // The row of another page, put here with its checksum made right.
    let mut other = rows.keys().next().unwrap().clone();
    other[40] ^= 1;
    let row = permazen_ledger::decoders::sealed(1, &other, &[0; 4]);
    let findings = changed(&|tx| tx.put(&stored(&other), &row).unwrap());
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].row, other);
}

#[test]
fn a_row_too_many_is_found_without_reading_all_pieces_again() {
    let setting = setting();
    setting.put_all(&many(5_000));
    setting.put(b"key", b"value");
    let store = CountingStore::new(setting.host.clone());
    let counter = store.counter();
    let page = Repository::builder(store).exclusive().manual_maintenance().open().unwrap();
    let page = page.page("test", PageId::ROOT).unwrap();
    let gets = |findings: usize| {
        counter.take();
        let found = page.verify().unwrap().findings;
        assert_eq!(found.len(), findings, "{found:#?}");
        counter.take().gets
    };
    let clean = gets(0);
    // Rows of a node and of a commit that do not lead there, and one of a piece that is not here.
    let (to, _, from) = references(&setting).into_iter().find(|row| row.1 == 0).unwrap();
    let head = setting.head().0.0;
    let mut tx = setting.host.begin(&TxOptions::writing()).unwrap();
    for (to, kind, from) in [([1; 32], 0, from), (to, 2, head), (to, 1, [2; 32])] {
        let key = [&[0x24][..], &to, &[kind], &from].concat();
        let mut hasher = blake3::Hasher::new_derive_key("permazen ledger 1: row");
        hasher.update(&1_u64.to_be_bytes()).update(&key);
        let row = hasher.finalize();
        tx.put(&[&[0x10, 1], &key[..]].concat(), &row.as_bytes()[..4]).unwrap();
    }
    tx.commit().unwrap();
    let more = gets(3) - clean;
    assert!(more < 10, "{more} gets more than {clean}");
}
