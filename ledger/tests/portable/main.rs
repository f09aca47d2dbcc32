//! The same bytes on every machine: the rows of a small repository, written on a machine whose
//! numbers have their last byte first, are read and checked, and its contents have the same roots
//! when they are written again.
//!
//! It is small enough for Miri, which plays a machine whose numbers have their first byte first:
//!
//! ```text
//! rustup component add miri rust-src --toolchain nightly
//! CC=cc MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test \
//!     --target s390x-unknown-linux-gnu -p permazen-ledger --test portable
//! ```
//!
//! `CC` is for libraries in C, which the crate's other tests use. They are built and never run.
//!
//! Format 1 is frozen: rows that cannot be read any more, or other roots, are a mistake in the
//! code. Only a row of a kind that the sample does not have is a reason to write it again, with
//! `PERMAZEN_GOLDEN=write`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, Hex, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{Clock, CommitId, LastWriterWins, MAIN, Page, PageId, Repository, Secret};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const ROWS: &str = include_str!("rows.txt");

/// The root of the content of `main`. Equal contents have equal roots.
const ROOT: &str = "e35bee32fb60024df0959fe748f9353499eb7638779794326bdf53f1445439bd";

/// The merge of `other` into `main`. It has no time of its own and nothing random.
const MERGE: &str = "875dc242a4bca29efc6646d4ea98d703ebfef0533c1ff97bc56d906c5c71100e";

#[derive(Debug)]
struct AlwaysTheSame;

impl Clock for AlwaysTheSame {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000)
    }
}

fn secret() -> Secret {
    Secret::new(std::array::from_fn(|at| at as u8))
}

/// Bytes without a pattern that are the same everywhere.
fn noise(len: usize) -> Vec<u8> {
    let mut output = vec![0; len];
    blake3::Hasher::new().finalize_xof().fill(&mut output);
    output
}

/// The content of `main`: leaves and a level above them, short values, one of one chunk, one of
/// several.
fn content() -> Map {
    let square = |number: u32| (u64::from(number) * u64::from(number)).to_be_bytes();
    let mut content: Map =
        (0..300_u32).map(|number| (number.to_be_bytes().to_vec(), square(number).into())).collect();
    content.insert(vec![7; 300], b"a long key".to_vec());
    content.insert(b"one chunk".to_vec(), noise(600));
    content.insert(b"several chunks".to_vec(), noise(20_000));
    content
}

fn open(host: &MemoryStore) -> Repository {
    let builder = Repository::builder(host.clone()).clock(Arc::new(AlwaysTheSame));
    builder.manual_maintenance().open_or_create().unwrap()
}

fn write(page: &Page, branch: &str, change: impl FnOnce(&mut dyn KvWrite)) -> CommitId {
    let db = page.database(branch).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    change(&mut *tx);
    tx.commit().unwrap();
    page.head(branch).unwrap()
}

/// A repository with two branches and a tag.
fn written() -> MemoryStore {
    let host = MemoryStore::new();
    let repository = open(&host);
    let page = repository.create_page_with("golden", PageId::ROOT, secret()).unwrap();
    let first = write(&page, MAIN, |tx| tx.put(b"gone", b"soon").unwrap());
    page.create_branch("other", &first).unwrap();
    page.set_tag("first", &first).unwrap();
    page.with_author_and_message("Ann", "all of it", || {
        write(&page, MAIN, |tx| {
            tx.remove(b"gone").unwrap();
            content().iter().for_each(|(key, value)| tx.put(key, value).unwrap());
        });
    })
    .unwrap();
    write(&page, "other", |tx| tx.put(b"other", &noise(2_000)).unwrap());
    drop((page, repository));
    host
}

fn pairs(read: &dyn KvRead) -> Map {
    let pairs = read.scan(KeySpan::FULL, Direction::Forward).unwrap();
    pairs.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// A store with the rows of the file.
fn golden() -> MemoryStore {
    let host = MemoryStore::new();
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    for line in ROWS.lines() {
        let (key, value) = line.split_once(' ').unwrap();
        tx.put(&bytes(key), &bytes(value)).unwrap();
    }
    tx.commit().unwrap();
    host
}

#[test]
fn rows_of_another_machine_are_read() {
    if std::env::var("PERMAZEN_GOLDEN").is_ok_and(|value| value == "write") {
        let mut text = String::new();
        for (key, value) in pairs(&written().begin(&TxOptions::reading()).unwrap()) {
            writeln!(text, "{} {}", Hex(&key), Hex(&value)).unwrap();
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/portable/rows.txt");
        std::fs::write(path, text).unwrap();
        return;
    }
    let repository = open(&golden());
    let found = repository.verify().unwrap();
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    let page = repository.page("golden", PageId::ROOT).unwrap();
    let (head, other) = (page.head(MAIN).unwrap(), page.head("other").unwrap());
    let snapshot = page.snapshot(&head).unwrap();
    assert!(pairs(&snapshot) == content(), "the contents differ");
    assert_eq!(snapshot.root().to_string(), ROOT);
    let first = page.snapshot(&page.tag("first").unwrap()).unwrap();
    assert_eq!(pairs(&first), [(b"gone".to_vec(), b"soon".to_vec())].into());
    let commit = page.commit(&head).unwrap().unwrap();
    assert_eq!(commit.time.as_millis(), 1_700_000_000_000);
    assert_eq!(commit.generation, 2);
    // A merge is a function of its parents.
    let merge = page.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    assert_eq!(merge.to_string(), MERGE);
    let merged = page.snapshot(&merge).unwrap();
    assert_eq!(merged.get(b"other").unwrap().as_deref(), Some(&noise(2_000)[..]));
    let found = repository.verify().unwrap();
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[test]
fn equal_contents_have_the_root_of_another_machine() {
    let repository = open(&MemoryStore::new());
    let page = repository.create_page_with("again", PageId::ROOT, secret()).unwrap();
    // In several commits, in another order.
    for (at, (key, value)) in content().iter().rev().enumerate() {
        if at % 100 == 0 {
            write(&page, MAIN, |tx| tx.put(key, value).unwrap());
        }
    }
    let head = write(&page, MAIN, |tx| {
        content().iter().for_each(|(key, value)| tx.put(key, value).unwrap());
    });
    assert_eq!(page.snapshot(&head).unwrap().root().to_string(), ROOT);
}

/// The node that the description of the format shows, and its digest.
#[test]
fn a_leaf_has_these_bytes() {
    let leaf = bytes("00000000020004006170706c00040009000165310001793232");
    assert_eq!(permazen_ledger::decoders::node(&leaf).as_deref(), Some(&leaf[..]));
    let repository = open(&MemoryStore::new());
    let page = repository.create_page("leaf", PageId::ROOT).unwrap();
    let head = write(&page, MAIN, |tx| {
        tx.put(b"apple", b"1").unwrap();
        tx.put(b"apply", b"22").unwrap();
    });
    let digest = blake3::derive_key("permazen ledger 1: node", &leaf);
    assert_eq!(page.snapshot(&head).unwrap().root().0, digest);
}
