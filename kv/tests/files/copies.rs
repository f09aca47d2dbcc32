//! Copies of stores: each has one state of its source, is there as a whole or not at all, and can
//! be watched and stopped.
#![cfg(all(feature = "lmdb", feature = "sqlite", feature = "xml"))]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use permazen_kv::copy::{Copied, Watch, copy_pairs};
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{KvDatabase, KvError, Result, TxOptions, xml};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{Pairs, dump, put, reading, role, spawn, spawn_limited, wait_for, writing};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

/// The ways to make a copy in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The pairs of any store, as a new environment, file or dump.
    PairsToLmdb,
    PairsToSqlite,
    PairsToXml,
    /// The files.
    Lmdb,
    Sqlite,
}

const WAYS: [Way; 5] =
    [Way::PairsToLmdb, Way::PairsToSqlite, Way::PairsToXml, Way::Lmdb, Way::Sqlite];

impl Way {
    /// A store that can be copied in this way.
    fn source(self, path: &Path) -> Source {
        match self {
            Way::Sqlite | Way::PairsToLmdb => {
                Source::Sqlite(SqliteStore::open_or_create(path).unwrap())
            }
            _ => Source::Lmdb(LmdbStore::open_or_create(path).unwrap()),
        }
    }

    fn copy(self, source: &Source, target: &Path, watch: &mut Watch<'_>) -> Result<Copied> {
        let pairs = || reading(source.store());
        match (self, source) {
            (Way::Lmdb, Source::Lmdb(store)) => store.copy_to_watched(target, watch),
            (Way::Sqlite, Source::Sqlite(store)) => store.copy_to(target, watch),
            (Way::PairsToLmdb, _) => LmdbStore::builder().create_from(target, &pairs(), watch),
            (Way::PairsToSqlite, _) => SqliteStore::builder().create_from(target, &pairs(), watch),
            (Way::PairsToXml, _) => xml::create_from(target, &pairs(), xml::Style::Indented, watch),
            _ => unreachable!("{self:?}"),
        }
    }

    /// Opens a copy, changes it, and returns its pairs from before; `None` if there is no copy.
    fn found(self, target: &Path) -> Option<Pairs> {
        if !self.file(target).exists() {
            return None;
        }
        Some(match self {
            Way::PairsToXml => {
                let store = MemoryStore::new();
                let mut tx = writing(&store);
                xml::load(&mut *tx, fs::File::open(target).unwrap()).unwrap();
                dump(&*tx)
            }
            Way::PairsToLmdb | Way::Lmdb => use_copy(&LmdbStore::open(target).unwrap()),
            Way::PairsToSqlite | Way::Sqlite => use_copy(&SqliteStore::open(target).unwrap()),
        })
    }

    /// The file of a copy.
    fn file(self, target: &Path) -> PathBuf {
        match self {
            Way::PairsToLmdb | Way::Lmdb => target.join("data.mdb"),
            _ => target.to_owned(),
        }
    }

    fn part(self, target: &Path) -> PathBuf {
        let mut part = self.file(target).into_os_string();
        part.push(".part");
        part.into()
    }
}

/// The pairs of a copy, which is a store like any other.
fn use_copy(store: &dyn KvDatabase) -> Pairs {
    let pairs = dump(&*reading(store));
    assert_eq!(store.verify().unwrap(), [""; 0]);
    put(store, b"new", b"value");
    let mut tx = writing(store);
    tx.remove(b"new").unwrap();
    tx.commit().unwrap();
    pairs
}

enum Source {
    Lmdb(LmdbStore),
    Sqlite(SqliteStore),
}

impl Source {
    fn store(&self) -> &dyn KvDatabase {
        match self {
            Source::Lmdb(store) => store,
            Source::Sqlite(store) => store,
        }
    }
}

/// Pairs with all kinds of keys and values, of about `size` bytes in all.
fn fill(store: &dyn KvDatabase, seed: u64, size: usize) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut tx = writing(store);
    tx.put(b"", b"the empty key").unwrap();
    tx.put(&[0xff; 510], b"").unwrap();
    let mut left = size;
    while left > 0 {
        let key: Vec<u8> = (0..rng.random_range(1..40)).map(|_| rng.random()).collect();
        let len = if rng.random_range(0..100) == 0 { 20_000 } else { rng.random_range(0..100) };
        tx.put(&key, &vec![rng.random(); len]).unwrap();
        left = left.saturating_sub(key.len() + len);
    }
    tx.commit().unwrap();
}

/// Calls `test` with each way, a filled source of `size` bytes, and the path of the copy.
fn in_each_way(size: usize, test: impl Fn(Way, &Source, &Path)) {
    for way in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let source = way.source(&dir.path().join("source"));
        fill(source.store(), 5, size);
        test(way, &source, &dir.path().join("copy"));
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        let is_part = |path: &PathBuf| path.to_str().unwrap().contains(".part");
        assert!(!left.iter().any(is_part), "{way:?} left {left:?}");
    }
}

#[test]
fn a_copy_has_all_pairs_and_can_be_used() {
    in_each_way(3_000_000, |way, source, target| {
        let mut told = Vec::new();
        let mut tell = |copied: Copied| told.push(copied);
        let copied = way.copy(source, target, &mut Watch::new().progress(&mut tell)).unwrap();
        let expected = dump(&*reading(source.store()));
        assert_eq!(way.found(target).unwrap(), expected, "{way:?}");
        // The watch got the progress, up to the end.
        assert_eq!(told.last(), Some(&copied));
        assert!(told.len() > 2 && told.is_sorted_by_key(|copied| copied.bytes), "{way:?} {told:?}");
        match way {
            Way::Lmdb | Way::Sqlite => {
                let of = copied.of.unwrap();
                assert!(copied.bytes <= of && copied.bytes > of / 2, "{way:?} {copied:?}");
            }
            _ => {
                let bytes: usize = expected.iter().map(|(k, v)| k.len() + v.len()).sum();
                assert_eq!((copied.pairs, copied.bytes), (expected.len() as u64, bytes as u64));
            }
        }
    });
}

#[test]
fn an_empty_store_can_be_copied() {
    for way in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let source = way.source(&dir.path().join("source"));
        let target = dir.path().join("copy");
        way.copy(&source, &target, &mut Watch::new()).unwrap();
        assert_eq!(way.found(&target), Some(Vec::new()), "{way:?}");
    }
}

/// Commits of others while the copy is made are not in it.
#[test]
fn a_copy_has_one_state() {
    in_each_way(6_000_000, |way, source, target| {
        let before = dump(&*reading(source.store()));
        let mut number = 0_u32;
        let mut change = |_| {
            number += 1;
            let mut tx = writing(source.store());
            tx.put(&number.to_be_bytes(), &[7; 3000]).unwrap();
            let (first, _) = before[number as usize % before.len()].clone();
            tx.remove(&first).unwrap();
            let (last, _) = before[before.len() - number as usize].clone();
            tx.put(&last, b"changed").unwrap();
            tx.commit().unwrap();
        };
        way.copy(source, target, &mut Watch::new().progress(&mut change)).unwrap();
        assert!(number > 3, "{way:?}: {number} commits");
        assert_eq!(way.found(target).unwrap(), before, "{way:?}");
        assert_ne!(dump(&*reading(source.store())), before);
    });
}

#[test]
fn a_copy_can_be_stopped_at_any_time() {
    in_each_way(4_000_000, |way, source, target| {
        for after in 0.. {
            let stop = AtomicBool::new(after == 0);
            let mut told = 0;
            let mut tell = |_| {
                told += 1;
                if told == after {
                    stop.store(true, Ordering::Relaxed);
                }
            };
            let mut watch = Watch::new().stop(&stop).progress(&mut tell);
            let copied = way.copy(source, target, &mut watch);
            if stop.load(Ordering::Relaxed) && copied.is_err() {
                assert!(matches!(copied, Err(KvError::Stopped(_))), "{way:?} {copied:?}");
                assert!(!target.exists(), "{way:?}");
                continue;
            }
            // It was complete before it could be stopped.
            copied.unwrap();
            assert!(after > 2, "{way:?} was told {told} times");
            assert_eq!(way.found(target).unwrap(), dump(&*reading(source.store())));
            break;
        }
        // The source is as usable as before.
        put(source.store(), b"after", b"");
    });
}

#[test]
fn what_is_there_stays() {
    in_each_way(10_000, |way, source, target| {
        way.copy(source, target, &mut Watch::new()).unwrap();
        let before = fs::read(way.file(target)).unwrap();
        put(source.store(), b"more", b"");
        let error = way.copy(source, target, &mut Watch::new()).unwrap_err();
        assert!(matches!(error, KvError::Open { .. }), "{way:?} {error}");
        assert!(error.to_string().contains("already"), "{way:?} {error}");
        assert_eq!(fs::read(way.file(target)).unwrap(), before);
        // Another program makes the file meanwhile.
        fs::remove_file(way.file(target)).unwrap();
        let mut told = 0;
        let file = way.file(target);
        let mut tell = |_| {
            told += 1;
            fs::write(&file, "another").unwrap();
        };
        let error = way.copy(source, target, &mut Watch::new().progress(&mut tell)).unwrap_err();
        assert!(error.to_string().contains("already"), "{way:?} {error}");
        assert_eq!(fs::read(way.file(target)).unwrap(), b"another");
    });
}

#[test]
fn a_part_that_was_left_over_is_replaced_and_one_in_use_is_not() {
    in_each_way(3_000_000, |way, source, target| {
        let part = way.part(target);
        fs::create_dir_all(part.parent().unwrap()).unwrap();
        fs::write(&part, vec![5; 100_000]).unwrap();
        // A second copy, while the first is being made.
        let mut second = None;
        let mut tell = |_| {
            second.get_or_insert_with(|| way.copy(source, target, &mut Watch::new()));
        };
        way.copy(source, target, &mut Watch::new().progress(&mut tell)).unwrap();
        let refused = second.unwrap().unwrap_err().to_string();
        assert!(refused.contains("another copy is just being written"), "{way:?} {refused}");
        assert_eq!(way.found(target).unwrap(), dump(&*reading(source.store())), "{way:?}");
    });
}

#[test]
fn pairs_are_copied_into_a_transaction_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let from = MemoryStore::new();
    fill(&from, 9, 200_000);
    let stores: [&dyn KvDatabase; 3] = [
        &MemoryStore::new(),
        &LmdbStore::open_or_create(dir.path().join("lmdb")).unwrap(),
        &SqliteStore::open_or_create(dir.path().join("sqlite")).unwrap(),
    ];
    for store in stores {
        put(store, b"old", b"value");
        let stop = AtomicBool::new(true);
        let mut tx = writing(store);
        let stopped = copy_pairs(&from.snapshot(), &mut *tx, &mut Watch::new().stop(&stop));
        assert!(matches!(stopped, Err(KvError::Stopped("copying"))));
        tx.rollback();
        assert_eq!(dump(&*reading(store)).len(), 1);
        let mut tx = writing(store);
        let copied = copy_pairs(&from.snapshot(), &mut *tx, &mut Watch::new()).unwrap();
        tx.commit().unwrap();
        let found = dump(&*reading(store));
        assert_eq!(found.len() as u64, copied.pairs + 1);
        let expected = dump(&from.snapshot());
        assert!(found.iter().filter(|(key, _)| key != b"old").eq(expected.iter()));
    }
}

#[test]
fn a_key_that_the_store_cannot_hold_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let from = MemoryStore::new();
    put(&from, &[7; 511], b"");
    let target = dir.path().join("copy");
    let copied = LmdbStore::builder().create_from(&target, &from.snapshot(), &mut Watch::new());
    assert!(matches!(copied, Err(KvError::KeyTooLong { len: 511, max: 510, .. })));
    assert!(!target.exists());
    let target = dir.path().join("copy.db");
    SqliteStore::builder().create_from(&target, &from.snapshot(), &mut Watch::new()).unwrap();
    assert_eq!(Way::Sqlite.found(&target).unwrap(), dump(&from.snapshot()));
}

/// A new store with pairs is as small as LMDB's and SQLite's own ways to make one.
#[test]
fn new_stores_are_packed() {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::open_or_create(dir.path().join("lmdb")).unwrap();
    let sqlite = SqliteStore::open_or_create(dir.path().join("sqlite")).unwrap();
    // In an order that leaves pages half full.
    (0..20).for_each(|seed| fill(&lmdb, seed, 100_000));
    let mut tx = writing(&sqlite);
    copy_pairs(&reading(&lmdb), &mut *tx, &mut Watch::new()).unwrap();
    tx.commit().unwrap();
    let size = |path: &Path| fs::metadata(path).unwrap().len() as f64;
    lmdb.copy_to(dir.path().join("by-lmdb")).unwrap();
    let from = reading(&lmdb);
    LmdbStore::builder().create_from(dir.path().join("ours"), &from, &mut Watch::new()).unwrap();
    let ours = size(&dir.path().join("ours/data.mdb"));
    let by_lmdb = size(&dir.path().join("by-lmdb/data.mdb"));
    assert!(ours < by_lmdb * 1.02, "{ours} bytes, {by_lmdb} by LMDB");
    let vacuumed = dir.path().join("vacuumed");
    let connection = rusqlite::Connection::open(dir.path().join("sqlite")).unwrap();
    connection.execute("VACUUM INTO ?1", [vacuumed.to_str().unwrap()]).unwrap();
    let target = dir.path().join("ours.db");
    SqliteStore::builder().create_from(&target, &from, &mut Watch::new()).unwrap();
    let (ours, by_sqlite) = (size(&target), size(&vacuumed));
    assert!(ours < by_sqlite * 1.02, "{ours} bytes, {by_sqlite} by SQLite");
}

#[test]
fn names_of_databases_and_tables_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let from = MemoryStore::new();
    put(&from, b"key", b"value");
    let lmdb = LmdbStore::builder().database_name("other");
    lmdb.create_from(dir.path().join("lmdb"), &from.snapshot(), &mut Watch::new()).unwrap();
    assert!(LmdbStore::open(dir.path().join("lmdb")).is_err());
    let store = lmdb.open(dir.path().join("lmdb")).unwrap();
    assert_eq!(dump(&*reading(&store)), dump(&from.snapshot()));
    let sqlite = SqliteStore::builder().table_name("odd \"name\"");
    let file = dir.path().join("sqlite");
    sqlite.create_from(&file, &from.snapshot(), &mut Watch::new()).unwrap();
    assert!(SqliteStore::open(&file).is_err());
    let store = sqlite.read_only(true).open(&file).unwrap();
    assert_eq!(dump(&*reading(&store)), dump(&from.snapshot()));
    for name in ["", "a\0b"] {
        let named = LmdbStore::builder().database_name(name);
        let target = dir.path().join("never");
        assert!(named.create_from(&target, &from.snapshot(), &mut Watch::new()).is_err());
        assert!(!target.exists());
    }
}

/// An SQLite file is copied with everything in it.
#[test]
fn a_copy_of_an_sqlite_file_has_its_other_tables() {
    let dir = tempfile::tempdir().unwrap();
    let (path, target) = (dir.path().join("source"), dir.path().join("copy"));
    let store = SqliteStore::open_or_create(&path).unwrap();
    put(&store, b"key", b"value");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE other AS SELECT 42 AS x").unwrap();
    SqliteStore::builder()
        .read_only(true)
        .open(&path)
        .unwrap()
        .copy_to(&target, &mut Watch::new())
        .unwrap();
    let copy = rusqlite::Connection::open(&target).unwrap();
    assert_eq!(copy.query_row("SELECT x FROM other", [], |row| row.get::<_, i64>(0)), Ok(42));
    drop(copy);
    assert_eq!(Way::Sqlite.found(&target).unwrap(), dump(&*reading(&store)));
}

/// A limit to the size of files stands for a full disk.
#[test]
fn a_copy_without_room_leaves_nothing() {
    for way in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let source = way.source(&dir.path().join("source"));
        fill(source.store(), 5, 3_000_000);
        drop(source);
        let (mut child, mut out) = spawn_limited(CHILD, &format!("full {way:?}"), dir.path(), 1000);
        let said = wait_for(&mut out, "failed: ");
        assert!(child.wait().unwrap().success());
        assert!(said.contains("copy"), "{way:?}: {said}");
        assert!(!dir.path().join("copy").exists() && !way.part(&dir.path().join("copy")).exists());
        let source = way.source(&dir.path().join("source"));
        way.copy(&source, &dir.path().join("copy"), &mut Watch::new()).unwrap();
    }
}

/// The processes that this program starts.
#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    let (task, name) = role.split_once(' ').unwrap();
    let way = WAYS.into_iter().find(|way| format!("{way:?}") == name).unwrap();
    let source = way.source(&path.join("source"));
    if task == "full" {
        let failed = way.copy(&source, &path.join("copy"), &mut Watch::new()).unwrap_err();
        println!("failed: {failed}");
        return;
    }
    let mut out = std::io::stdout().lock();
    for number in 1.. {
        let copied = way.copy(&source, &path.join(format!("copy-{number}")), &mut Watch::new());
        copied.unwrap();
        writeln!(out, "copied {number}").unwrap();
        out.flush().unwrap();
    }
}

/// `PERMAZEN_KILLS` sets how often each way is killed; twice unless set.
#[test]
fn kills_leave_a_whole_copy_or_none() {
    let kills = std::env::var("PERMAZEN_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills: u32 = kills.unwrap_or(2);
    let mut rng = StdRng::seed_from_u64(u64::from(std::process::id()));
    for way in WAYS {
        let (mut whole, mut absent, mut parts) = (0, 0, 0);
        let dir = tempfile::tempdir().unwrap();
        let source = way.source(&dir.path().join("source"));
        fill(source.store(), 5, 1_000_000);
        let expected = dump(&*reading(source.store()));
        drop(source);
        // The next copy to the same place is made, also if something is left there.
        let copy_again = |target: &Path| {
            let source = way.source(&dir.path().join("source"));
            way.copy(&source, target, &mut Watch::new()).unwrap();
            assert_eq!(way.found(target).as_ref(), Some(&expected));
        };
        let remove = |target: &Path| {
            let _ = fs::remove_dir_all(target);
            let _ = fs::remove_file(target);
        };
        for kill in 0..kills {
            let (mut process, mut out) = spawn(CHILD, &format!("copy {way:?}"), dir.path());
            let mut copied: u32 = wait_for(&mut out, "copied ").parse().unwrap();
            std::thread::sleep(Duration::from_micros(rng.random_range(0..20_000)));
            process.kill().unwrap();
            process.wait().unwrap();
            for line in std::io::BufRead::lines(out) {
                let line = line.unwrap();
                let number =
                    line.rsplit_once("copied ").and_then(|(_, number)| number.parse().ok());
                copied = copied.max(number.unwrap_or(0));
            }
            for number in 1..=copied + 1 {
                let target = dir.path().join(format!("copy-{number}"));
                match way.found(&target) {
                    Some(found) => {
                        assert!(found == expected, "{way:?}, kill {kill}: copy {number}");
                        whole += 1;
                    }
                    None => {
                        assert_eq!(number, copied + 1, "{way:?}, kill {kill}: it was reported");
                        absent += 1;
                        parts += u32::from(way.part(&target).exists());
                        copy_again(&target);
                    }
                }
                remove(&target);
                if way.part(&target).exists() {
                    // The process was killed after the copy got its name, but before that of the
                    // part was removed.
                    assert_eq!(number, copied + 1, "{way:?}, kill {kill}: it was reported");
                    copy_again(&target);
                    remove(&target);
                }
                assert!(!target.exists() && !way.part(&target).exists());
            }
            let source = way.source(&dir.path().join("source"));
            assert!(dump(&*reading(source.store())) == expected, "{way:?}: the source");
            assert!(source.store().begin(&TxOptions::writing()).is_ok());
        }
        println!("{way:?}: {whole} copies, {absent} unfinished, {parts} parts left");
    }
}
