//! A long value goes in and out with little memory.
#![allow(clippy::unwrap_used)]

mod counting;

use std::io::{Read, Write};
use std::sync::Mutex;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions};
use permazen_ledger::{MAIN, Merger, Page, PageId, Repository, Result};

use counting::memory_of;

/// The allocations of all tests are counted together, so the tests run one after the other.
static TURN: Mutex<()> = Mutex::new(());

const LEN: usize = 48 << 20;

fn page(dir: &tempfile::TempDir) -> Page {
    let host = LmdbStore::builder().create(true).map_size(1 << 30).open(dir.path()).unwrap();
    let repository = Repository::builder(host).manual_maintenance().open_or_create().unwrap();
    repository.create_page("test", PageId::ROOT).unwrap()
}

/// Makes an entry at the end of each merge.
struct Finishing;

impl Merger for Finishing {
    fn needs_values(&self) -> bool {
        false
    }

    fn has_derived(&self) -> bool {
        true
    }

    fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
        Ok(merged.put(b"derived", b"anew")?)
    }
}

#[test]
fn a_merge_with_derived_entries_holds_no_long_values() {
    let _turn = TURN.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let page = page(&dir);
    let put = |branch: &str, key: &[u8], value: &[u8]| {
        let db = page.database(branch).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(key, value).unwrap();
        tx.commit().unwrap();
    };
    put(MAIN, b"key", b"1");
    page.create_branch("other", &page.head(MAIN).unwrap()).unwrap();
    let mut writer = page.write_value(None).unwrap();
    (0..LEN >> 20).for_each(|n| writer.write_all(&vec![n as u8; 1 << 20]).unwrap());
    put(MAIN, b"film", writer.finish().unwrap().as_bytes());
    put("other", b"key", b"2");
    let from = page.head("other").unwrap();
    let ((), merged) = memory_of(|| {
        page.merge(MAIN, &from, &mut Finishing).unwrap();
    });
    assert!(merged < 1 << 20, "{merged} bytes to merge");
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    assert_eq!(snapshot.value_len(b"film").unwrap(), Some(LEN as u64));
    assert_eq!(snapshot.value_len(b"derived").unwrap(), Some(4));
}

#[test]
fn a_long_value_needs_little_memory() {
    let _turn = TURN.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let page = page(&dir);
    // The caller may come with much at once.
    let mut value: Vec<u8> = Vec::with_capacity(LEN);
    let mut state = 1_u64;
    while value.len() < LEN {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        value.extend_from_slice(&(state ^ state >> 29).to_be_bytes());
    }
    let ((), written) = memory_of(|| {
        let mut writer = page.write_value(None).unwrap();
        writer.write_all(&value).unwrap();
        let film = writer.finish().unwrap();
        let db = page.database(MAIN).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"film", film.as_bytes()).unwrap();
        tx.commit().unwrap();
    });
    assert!(written < 4 << 20, "{written} bytes to write");
    let ((), read) = memory_of(|| {
        let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
        let mut reader = snapshot.read_value(b"film").unwrap().unwrap();
        let (mut part, mut at) = (vec![0; 10_000], 0);
        while at < LEN {
            let len = reader.read(&mut part).unwrap();
            assert!(part[..len] == value[at..at + len]);
            at += len;
        }
    });
    assert!(read < 1 << 20, "{read} bytes to read");
}
