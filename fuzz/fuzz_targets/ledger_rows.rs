//! Damage done to the rows of a small repository, with checksums made right or not: every operation
//! on it comes to an end. If bits were only flipped, each read is an error or returns the written
//! data.
//!
//! The input is a list of changes: a byte for the kind of change, then its arguments.
#![no_main]

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::decoders::sealed;
use permazen_ledger::{Clock, LastWriterWins, MAIN, Page, PageId, Repository, Result};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The rows of a repository with one page, which has two branches and a tag.
static ROWS: LazyLock<Vec<(Vec<u8>, Vec<u8>)>> = LazyLock::new(|| {
    let text = include_str!("../../ledger/tests/portable/rows.txt");
    let bytes = |hex: &str| -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("a byte");
        (0..hex.len()).step_by(2).map(digit).collect()
    };
    let row = |line: &str| line.split_once(' ').map(|(key, value)| (bytes(key), bytes(value)));
    text.lines().filter_map(row).collect()
});

/// The content of `main` if nothing was damaged.
static CONTENT: LazyLock<Map> = LazyLock::new(|| {
    let page = open(&store(&ROWS)).and_then(|it| it.page("golden", PageId::ROOT)).expect("a page");
    content(&page).expect("the content")
});

#[derive(Debug)]
struct AlwaysTheSame;

impl Clock for AlwaysTheSame {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000)
    }
}

fn store(rows: &[(Vec<u8>, Vec<u8>)]) -> MemoryStore {
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing()).expect("a transaction");
    rows.iter().for_each(|(key, row)| tx.put(key, row).expect("a put"));
    tx.commit().expect("a commit");
    store
}

fn open(store: &MemoryStore) -> Result<Repository> {
    Repository::builder(store.clone()).clock(Arc::new(AlwaysTheSame)).manual_maintenance().open()
}

fn content(page: &Page) -> Result<Map> {
    let snapshot = page.snapshot(&page.head(MAIN)?)?;
    let pairs = snapshot.scan(KeySpan::FULL, Direction::Forward)?;
    Ok(pairs
        .map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())))
        .collect::<std::result::Result<_, _>>()?)
}

/// The bytes of the input.
struct Input<'i>(&'i [u8]);

impl<'i> Input<'i> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self) -> Option<&'i [u8]> {
        let len = usize::from(self.byte()?);
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// An index into something with this number of parts.
    fn index(&mut self, len: usize) -> Option<usize> {
        let index = usize::from(self.byte()?) << 8 | usize::from(self.byte()?);
        index.checked_rem(len)
    }
}

/// A row whose checksum is right.
fn right(key: &[u8], row: &[u8]) -> Vec<u8> {
    match key {
        [0x10, 1, rest @ ..] => sealed(1, rest, row),
        _ => sealed(0, key, row),
    }
}

/// Makes one change. Whether it flips bits and nothing else.
fn change(rows: &mut Vec<(Vec<u8>, Vec<u8>)>, input: &mut Input<'_>) -> Option<bool> {
    let what = input.byte()? % 6;
    if what == 0 {
        // A row of the repository, or of its page.
        let key = input.bytes()?;
        let prefix: &[u8] = if key.first() < Some(&0x10) { &[] } else { &[0x10, 1] };
        let key = [prefix, key].concat();
        let row = [input.bytes()?, &[0; 4]].concat();
        rows.push((key.clone(), right(&key, &row)));
        return Some(false);
    }
    let at = input.index(rows.len())?;
    let (key, row) = &mut rows[at];
    match what {
        1 | 2 => {
            let at = input.index(row.len())?;
            row[at] ^= input.byte()?;
        }
        3 => {
            let from = input.index(row.len())?;
            let bytes = input.bytes()?;
            let to = row.len().min(from + bytes.len());
            row[from..to].copy_from_slice(&bytes[..to - from]);
        }
        4 => *row = [input.bytes()?, &[0; 4]].concat(),
        _ => {
            rows.swap_remove(at);
            return Some(false);
        }
    }
    if what > 1 {
        *row = right(key, row);
    }
    Some(what == 1)
}

/// Does everything there is to do.
fn everything(repository: &Repository, page: &Page) -> Result<()> {
    let _ = page.tags();
    for (branch, heads) in page.branches().unwrap_or_default() {
        for head in heads.iter().take(4) {
            let _ = page.log(*head).map(|log| log.take(50).filter(|commit| commit.is_ok()).count());
            let _ = page.merge(MAIN, head, &mut LastWriterWins);
            let old = page.head(MAIN)?;
            let _ = page.diff(&old, head, KeySpan::FULL, Direction::Reverse).map(Iterator::count);
        }
        if let Ok(db) = page.database(&branch) {
            let write = || -> Result<()> {
                let mut tx = db.begin(&TxOptions::writing())?;
                tx.put(b"new", b"value")?;
                tx.remove_span(KeySpan::new(b"\0\0\0\x10", Some(b"\0\0\0\x40")))?;
                Ok(tx.commit()?)
            };
            let _ = write();
        }
    }
    for _ in 0..40 {
        if !page.collect_slice()? {
            break;
        }
    }
    repository.maintain()?;
    page.verify().map(drop)
}

fuzz_target!(|input: &[u8]| {
    let mut input = Input(input);
    let mut rows = ROWS.clone();
    let mut only_flips = true;
    while let Some(is_flip) = change(&mut rows, &mut input) {
        only_flips &= is_flip;
    }
    let store = store(&rows);
    let Ok(repository) = open(&store) else { return };
    let _ = repository.verify();
    let _ = repository.pages();
    let Ok(page) = repository.page("golden", PageId::ROOT) else { return };
    let found = content(&page);
    if only_flips {
        assert!(found.is_err() || found.is_ok_and(|it| it == *CONTENT), "other content");
    }
    let _ = everything(&repository, &page);
    drop(page);
    let _ = repository.delete_page("golden", PageId::ROOT);
    let _ = repository.verify();
});
